"""Fits a machine to the parts measured so far and holds its predictions against the training."""

import json
import re
import statistics

from record import take_apart
from session import Outcome

FINDINGS = (0, 1, 3)  # exit codes of dlscale validate: passed, limits missed, not all judged
# Of predictions for more GPUs than were measured: one node, then nodes.
RANKS = "1,2,4,8,16,32,64"


def _command(session, words, limit, name, what):
    """Runs a verb that writes a JSON file; its document goes into models.jsonl, in place of the one
    before it."""
    target = session.work / (re.sub(r"[^\w.-]", "_", f"{name}-{what}") + ".json")
    outcome = session.execute(session.programs.command([*words, "-o", target]), limit)
    if outcome.code in FINDINGS and target.exists():
        outcome.status, outcome.reason = "ok", ""
        document = json.loads(target.read_text(encoding="utf-8"))
        key = {"of": name, "what": what}
        session.record.replace_line("models.jsonl", key, key | {"document": document})
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


def _trained_cells(record, training):
    """What was trained, as options of dlscale predict, each once."""
    cells = {}
    for row in record.lines(training):
        axes = row.get("axes", {})
        if row.get("benchmark") != "e2e" or "t_iter" not in row.get("series", {}):
            continue
        names = [name for name in ["batch", "dtype", "launch", "fuse"] if name in axes]
        source = (row.get("network") or {}).get("source", axes["network"])
        words = ["--network", source]
        for name in names:
            words += [f"--{name}", axes[name]]
        cells["-".join([axes["network"], *(axes[name] for name in names)])] = words
    return cells


def predict_scaling(name, parts, training, backend, cluster):
    """An action: what the parts measured on one GPU, with the links that a cluster of such GPUs has
    by its data sheet, say of training on more of them; each network, batch and precision once."""
    told = set()

    def action(session, limit):
        record = session.record
        cells = _trained_cells(record, training)
        if not record.path(parts).exists() or set(cells) <= told:
            return Outcome("skipped", "nothing new was trained of which to predict more ranks")
        measured = take_apart(record.path(parts), session.work / f"{name}-parts")
        words = ["calibrate", measured, "--backend", backend, "--cluster", cluster]
        outcome, machine = _command(session, words, limit, name, f"machine of {cluster}")
        lacking = []
        for cell, options in cells.items():
            if outcome.status != "ok":
                continue  # the cells before, too, go by the machine of this turn, which is what is kept
            words = ["predict", "--machine", machine, *options, "--ranks", RANKS]
            predicted, _ = _command(
                session, [*words, "--format", "json"], limit, name, f"prediction {cell}"
            )
            if predicted.status in ("timed out", "interrupted"):
                return predicted
            if predicted.status == "ok":
                told.add(cell)
            else:
                lacking.append(f"{cell}: {predicted.reason}")
        if outcome.status == "ok" and lacking:
            return Outcome("failed", "; ".join(lacking))
        return outcome

    return action


def _median_absolute(errors):
    return statistics.median(map(abs, errors)) if errors else None


def summary(validation):
    """Median absolute errors of the iteration and of each phase, and of the speed-up. What was
    trained more often than others counts once, by the median of its errors."""
    runs = validation["runs"]
    cells = {}
    for run in runs:
        errors = cells.setdefault(json.dumps(run["run"], sort_keys=True), {})
        for phase in run["phases"]:
            # A phase that is nothing beside the iteration has no error worth a mean.
            if phase["measured_s"] > 0.01 * _phase(run, "t_iter")["measured_s"]:
                errors.setdefault(phase["phase"], []).append(phase["error"])
    phases = {}
    for errors in cells.values():
        for phase, all_ in errors.items():
            phases.setdefault(phase, []).append(statistics.median(all_))
    speedups = speedup_errors(runs)
    return {
        "runs": len(runs),
        "cells": len(cells),
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
