"""Fits a machine to the parts measured so far and holds its predictions against the training."""

import json
import statistics

from record import take_apart
from session import Outcome

FINDINGS = (0, 1, 3)  # exit codes of dlscale validate: passed, limits missed, not all judged


def _command(session, words, limit, name, what):
    """Runs a verb that writes a JSON file; its document goes into models.jsonl."""
    target = session.work / f"{name}-{what}.json"
    outcome = session.execute(session.programs.command([*words, "-o", target]), limit)
    if outcome.code in FINDINGS and target.exists():
        outcome.status, outcome.reason = "ok", ""
        document = json.loads(target.read_text(encoding="utf-8"))
        session.record.line("models.jsonl", {"of": name, "what": what, "document": document})
    return outcome, target


def fit_and_judge(name, parts, training, backend, cluster, workers):
    """An action: calibrate on `parts`, then validate on `training`, both files of the record."""
    judged = [0]

    def action(session, limit):
        record = session.record
        if not record.path(parts).exists():
            return Outcome("failed", f"there is nothing to fit: no {parts}")
        if record.size(training) == judged[0]:
            return Outcome("skipped", "nothing was trained since the last fit")
        judged[0] = record.size(training)
        measured = take_apart(record.path(parts), session.work / f"{name}-parts")
        words = ["calibrate", measured, "--backend", backend, "--cluster", cluster]
        if cluster == "local":
            words += ["--workers", workers]
        outcome, machine = _command(session, words, limit, name, "machine")
        if outcome.status != "ok" or not record.path(training).exists():
            return outcome
        trained = take_apart(record.path(training), session.work / f"{name}-training")
        words = ["validate", trained, "--machine", machine, "--format", "json"]
        outcome, validation = _command(session, words, limit, name, "validation")
        if outcome.status == "ok":
            outcome.details = summary(json.loads(validation.read_text(encoding="utf-8")))
        return outcome

    return action


def _median_absolute(errors):
    return statistics.median(map(abs, errors)) if errors else None


def summary(validation):
    """Median absolute errors of the iteration and of each phase, and of the speed-up."""
    runs = validation["runs"]
    phases = {}
    for run in runs:
        for phase in run["phases"]:
            # A phase that is nothing beside the iteration has no error worth a mean.
            if phase["measured_s"] > 0.01 * _phase(run, "t_iter")["measured_s"]:
                phases.setdefault(phase["phase"], []).append(phase["error"])
    speedups = speedup_errors(runs)
    return {
        "runs": len(runs),
        "median_absolute_error": {name: _median_absolute(all_) for name, all_ in phases.items()},
        "median_absolute_speedup_error": _median_absolute([row["error"] for row in speedups]),
        "speedups": speedups,
    }


def _phase(run, name):
    return next(phase for phase in run["phases"] if phase["phase"] == name)


def speedup_errors(runs):
    """Predicted and measured speed-up over one rank, for all with more that have such a run."""

    def key(run):
        return tuple(run["run"][name] for name in ["network", "batch", "dtype", "schedule"])

    alone = {key(run): _phase(run, "t_iter") for run in runs if run["run"]["ranks"] == 1}
    rows = []
    for run in runs:
        ranks = run["run"]["ranks"]
        if ranks == 1 or key(run) not in alone:
            continue
        one, many = alone[key(run)], _phase(run, "t_iter")
        predicted, measured = (
            ranks * one[which] / many[which] for which in ["predicted_s", "measured_s"]
        )
        rows.append(
            {
                "network": run["run"]["network"],
                "ranks": ranks,
                "predicted": predicted,
                "measured": measured,
                "error": predicted / measured - 1,
            }
        )
    return rows
