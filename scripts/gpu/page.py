"""README.md of a folder of results: what ran, what it found, what was left out and why."""

import statistics

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
        "Median absolute error over all runs, from parts alone:",
        "",
    ]
    for name, details in rows.items():
        errors = ", ".join(
            f"{phase} {_percent(error)}"
            for phase, error in details["median_absolute_error"].items()
        )
        found.append(f"- {name}, {details['runs']} runs: {errors}")
        if details["speedups"]:
            found.append(f"  - speed-up: {_percent(details['median_absolute_speedup_error'])}")
    return [*found, ""]


def _median_of(series):
    """Of the slowest rank, over all iterations."""
    return statistics.median(max(times) for times in zip(*series["samples"], strict=True))


def _ours(record):
    """(batch, dtype) → medians of each launch, of whole iterations, of those launched as graphs and
    of computation alone."""
    found = {}
    for row in record.lines("training.jsonl"):
        axes, series = row.get("axes", {}), row.get("series", {})
        if axes.get("network") != "resnet50":
            continue
        key = (int(axes["batch"]), axes["dtype"])
        for name in ["t_iter", "compute"]:
            if name in series:
                column = "graph" if axes.get("launch") == "graph" else name
                found.setdefault(key, {}).setdefault(column, []).append(_median_of(series[name]))
    return found


def _peer_lines(record):
    theirs = {}
    for row in record.lines("pytorch.jsonl"):
        if "median_s" in row:
            theirs.setdefault((row["batch"], row["dtype"], row["mode"], row["input"]), []).append(
                row["median_s"]
            )
    if not theirs:
        return []
    ours, rows = _ours(record), []
    for (batch, dtype, mode, source), medians in theirs.items():
        rate = batch / statistics.median(medians)
        cells = [batch, dtype, f"{mode}, input on the {source}", f"{rate:.0f}"]
        for name in ["t_iter", "graph", "compute"]:
            own = ours.get((batch, dtype), {}).get(name)
            own_rate = batch / statistics.median(own) if own else None
            cells += [f"{own_rate:.0f}" if own else "-", f"{own_rate / rate:.3f}" if own else "-"]
        rows.append(cells)
    head = [
        "batch",
        "dtype",
        "PyTorch",
        "images/s",
        "ours: whole iteration",
        "ratio",
        "ours: launched as graphs",
        "ratio",
        "ours: computation",
        "ratio",
    ]
    return [
        "## ResNet-50 beside PyTorch",
        "",
        "Medians over rounds taken in turn. Ours reads and decodes JPEG pictures beside the whole",
        "iteration; the computation alone is forward, backward and update.",
        "",
        *_table(head, rows),
        "",
    ]


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
    found += _models_lines(steps) + _peer_lines(record) + _steps_lines(steps)
    found += _machine_lines(machine)
    files = [(f"`{name}`", what) for name, what in FILES.items() if record.path(name).exists()]
    found += ["## Files", "", *_table(["file", "holds"], files), ""]
    return "\n".join(found)
