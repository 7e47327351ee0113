"""README.md of a folder of results: what ran, what it found, what was left out and why."""

import math
import statistics

import gpu_plan
import rivals
from record import FILES


def _seconds(row):
    return f"{row['seconds']:.0f} s" if row.get("seconds") is not None else ""


def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + [
        "| " + " | ".join(str(cell).replace("|", "/") for cell in row) + " |" for row in rows
    ]


def _percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def _machine_lines(machine):
    rows = [
        (name, str(value).splitlines()[-1] if value else "-")
        for name, value in machine.items()
        if name not in ("nvidia_smi",)
    ]
    return ["## Machine", "", *_table(["", ""], rows), ""]


def _models_lines(steps):
    """The last verdict of each machine that was fitted."""
    rows = {}
    for step in steps:
        details = step.get("details", {})
        if "median_absolute_error" in details:
            rows["cpu" if step["step"].startswith("cpu") else "gpu"] = details
    if not rows:
        return []
    found = [
        "## Predicted against measured",
        "",
        "Median absolute error over all that was trained, each counted once, from parts alone:",
        "",
    ]
    for name, details in rows.items():
        errors = ", ".join(
            f"{phase} {_percent(error)}"
            for phase, error in details["median_absolute_error"].items()
        )
        count = f"{details['cells']} training" + ("s" if details["cells"] != 1 else "")
        found.append(f"- {name}, {count}: {errors}")
        if details["speedups"]:
            found.append(f"  - speed-up: {_percent(details['median_absolute_speedup_error'])}")
    return [*found, ""]


def _scaling_lines(record):
    """Predictions for more GPUs than there were, from what one measured and data sheets of links."""
    rows, cluster, ranks = [], "", []
    for line in record.lines("models.jsonl"):
        if not line["what"].startswith("prediction "):
            continue
        found = {each["run"]["ranks"]: each for each in line["document"]["predictions"]}
        run = next(iter(found.values()))["run"]
        cluster, ranks = run["cluster"], sorted({*ranks, *found})
        words = [run["network"], run["batch"], run["dtype"], _way(run)]
        rows.append((words, {number: each["images_per_s"] for number, each in found.items()}))
    if not rows:
        return []
    head = ["network", "images a rank", "dtype", "", *[f"on {number}" for number in ranks]]
    cells = [[*words, *[f"{of[n]:.0f}" if n in of else "-" for n in ranks]] for words, of in rows]
    return [
        "## Predicted for more GPUs",
        "",
        f"Images a second of a cluster of nodes like `{cluster}`, from what was measured on one GPU and",
        "what the data sheets of that cluster say of its links, which nobody has measured here.",
        "",
        *_table(head, cells),
        "",
    ]


def _busy_lines(machine):
    """Whose work is on the GPU, too: times are then of a GPU that is shared."""
    others = machine.get("others_on_gpu")
    if not others:
        return []
    named = ", ".join(f"{name} ({number})" for number, name in others)
    return [f"**Other processes computed on the GPU when this began: {named}. Take no time below for "
            "that of a GPU at rest.**", ""]  # fmt: skip


def _median_of(series):
    """Of the slowest rank, over all iterations."""
    return statistics.median(max(times) for times in zip(*series["samples"], strict=True))


COMPUTING = ["t_f", "t_b", "t_u"]


def _way(axes):
    """How training launched its kernels, for the head of a column."""
    fused = ", ReLUs fused" if axes.get("fuse") == "relu" else ""
    return ("graph" if axes.get("launch") == "graph" else "eager") + fused


def _computing(series):
    """Median of what the device computes in an iteration."""
    phases = [series[name]["samples"] for name in COMPUTING]
    ranks = zip(*phases, strict=True)
    sums = [[sum(parts) for parts in zip(*rank, strict=True)] for rank in ranks]
    return _median_of({"samples": sums})


def _ours(record):
    """(batch, dtype) → column → medians of the trainings of ResNet-50 that alternated with
    PyTorch's."""
    found = {}
    for row in record.lines("training.jsonl"):
        axes, series = row.get("axes", {}), row.get("series", {})
        if axes.get("network") != "resnet50" or "t_iter" not in series:
            continue
        if int(axes.get("repeat", 1)) in (gpu_plan.ALONE, *gpu_plan.TIMED):
            continue
        columns = found.setdefault((int(axes["batch"]), axes["dtype"]), {})
        columns.setdefault(_way(axes), []).append(_median_of(series["t_iter"]))
        if all(name in series for name in COMPUTING):
            columns.setdefault(_way(axes) + ", computing", []).append(_computing(series))
    return found


def _theirs(record):
    """(batch, dtype, mode, input) → medians."""
    found = {}
    for row in record.lines("pytorch.jsonl"):
        if "median_s" in row:
            key = (row["batch"], row["dtype"], row["mode"], row["input"])
            found.setdefault(key, []).append(row["median_s"])
    return found


def _peer_row(key, medians, own, columns):
    batch, dtype, mode, source = key
    rate = batch / statistics.median(medians)
    cells = [batch, dtype, f"{mode}, input on the {source}", f"{rate:.0f}"]
    for name in columns:
        own_rate = batch / statistics.median(own[name]) if name in own else None
        cells += [f"{own_rate:.0f}", f"{own_rate / rate:.3f}"] if own_rate else ["-", "-"]
    return cells


def _peer_lines(record):
    theirs, ours = _theirs(record), _ours(record)
    if not theirs:
        return []
    columns = sorted({name for key in theirs for name in ours.get(key[:2], {})})
    rows = [_peer_row(key, all_, ours.get(key[:2], {}), columns) for key, all_ in theirs.items()]
    head = ["batch", "dtype", "PyTorch", "images/s"]
    for name in columns:
        head += [f"ours: {name}", "ratio"]
    return [
        "## ResNet-50 beside PyTorch",
        "",
        "Medians over rounds taken in turn. Ours reads and decodes JPEG pictures, copies them and",
        "normalises them on the device within the iteration; computing is forward, backward and",
        "update of the same iterations.",
        "",
        *_table(head, rows),
        "",
    ]


# Student's t, 97.5 %, by degrees of freedom.
STUDENT = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def _mean_ratio(ratios):
    """Geometric mean of the ratios of rounds with its 95 % interval, by their spread: of the
    logarithms as if they were normal. Of fewer than three rounds there is no interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.mean(logs)
    if len(logs) < 3:
        return math.exp(mean), None
    half = STUDENT[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), (math.exp(mean - half), math.exp(mean + half))


def _timing_rounds(record):
    """Cell → round → phases timed or not → median; whole rounds only."""
    found = {}
    for row in record.lines("training.jsonl"):
        axes, series = row.get("axes", {}), row.get("series", {})
        number = int(axes.get("repeat", 1))
        if number in gpu_plan.TIMED and "t_iter" in series:
            cell = (axes["network"], axes["batch"], axes["dtype"], _way(axes))
            times = found.setdefault(cell, {}).setdefault(number, {})
            times[axes["phases"]] = _median_of(series["t_iter"])
    whole = {
        cell: [times for times in rounds.values() if len(times) == 2]
        for cell, rounds in found.items()
    }
    return {cell: rounds for cell, rounds in whole.items() if rounds}


def _timing_lines(record):
    """What marking the ends of phases adds to an iteration, by trainings in turn."""
    found = []
    for (network, batch, dtype, way), rounds in _timing_rounds(record).items():
        timed, whole = (1e3 * statistics.median(each[key] for each in rounds) for key in ("yes", "no"))
        ratio, interval = _mean_ratio([each["yes"] / each["no"] for each in rounds])
        spread = (
            f"95 % interval {interval[0]:.4f} to {interval[1]:.4f}"
            if interval
            else "too few rounds for an interval"
        )
        count = f"{len(rounds)} rounds" if len(rounds) > 1 else "1 round"
        found.append(
            f"- {network}, batch {batch}, {dtype}, {way}: {timed:.3f} ms an iteration with its "
            f"phases timed, {whole:.3f} ms as a whole; ratio {ratio:.4f}, {spread} ({count})"
        )
    return ["## What timing phases costs", "", *found, ""] if found else []


def _rival_lines(record, ceilings):
    table = rivals.compare(record, ceilings)
    if not table:
        return []
    said = rivals.told(table, ceilings)
    return ["## Our convolutions beside cuDNN's", "", *said, "", *_table(rivals.HEAD, table), ""]


def _steps_lines(steps):
    ran = [step for step in steps if step["status"] in ("ok", "failed", "timed out", "interrupted")]
    left = [step for step in steps if step not in ran]
    found = [
        "## Steps",
        "",
        *_table(
            ["step", "status", "time", ""],
            [
                (step["step"], step["status"], _seconds(step), step.get("reason") or _tests(step))
                for step in ran
            ],
        ),
        "",
    ]
    if not left:
        return found
    reasons = {}
    for step in left:
        reasons.setdefault((step["status"], step["reason"]), []).append(step["step"])
    found += ["## Not done", ""]
    for (status, reason), names in reasons.items():
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        found.append(f"- {status}: {reason}: {shown}")
    return [*found, ""]


def _tests(step):
    details = step.get("details", {})
    if "passed" in details:
        return (
            f"{details['passed']} passed, {len(details['failed'])} failed, "
            f"{details['skipped']} skipped"
        )
    return "; ".join(details.get("summary", []))


def text(record, title, state):
    """The whole page, made of what the record holds."""
    lines = record.lines("steps.jsonl")
    machine = next((line["machine"] for line in lines if "machine" in line), {})
    steps = [line for line in lines if "step" in line]
    found = [f"# {title}", "", state, ""]
    ceilings = next((line["ceilings"] for line in lines if "ceilings" in line), None)
    found += _busy_lines(machine)
    found += _models_lines(steps) + _scaling_lines(record)
    found += _peer_lines(record) + _timing_lines(record)
    found += _rival_lines(record, ceilings)
    found += _steps_lines(steps)
    found += _machine_lines(machine)
    files = [(f"`{name}`", what) for name, what in FILES.items() if record.path(name).exists()]
    found += ["## Files", "", *_table(["file", "holds"], files), ""]
    return "\n".join(found)
