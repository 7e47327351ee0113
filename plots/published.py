#!/usr/bin/env python3
"""Predictions of published trainings: against what was measured, and errors by set, scale and network.

Reads a file of cases (docs/reference/cases.md) and one of predictions ("dlscale predict --cases").
Example: plots/published.py cases.jsonl predictions.jsonl -o training
"""

import dataclasses
import json
import math
import statistics

import figure_io
from figure_io import plt

MOST_SHOWN = 60  # per cent; what is further off stands at the edge
SCALES = [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, math.inf)]


@dataclasses.dataclass(frozen=True)
class Judged:
    """One training, measured and predicted in samples a second."""

    group: str  # its set
    gpus: int
    network: str  # kind of link between its nodes, of one node within it
    per_gpu: float  # measured speed of a GPU, over that of the given point
    predicted_per_gpu: float
    error: float  # (predicted - measured) / measured


def lines_of(path, what):
    """The objects of a file of JSON lines."""
    lines = []
    for number, text in enumerate(figure_io.read_text(path).splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text, parse_constant=figure_io.refuse_constant)
        except ValueError as error:
            raise figure_io.BadInputError(f"{path}, line {number}: {error}.") from error
        if not isinstance(line, dict) or "id" not in line:
            raise figure_io.BadInputError(f"{path}, line {number} is none of {what}.")
        lines.append(line)
    return lines


def speed_of(line, global_batch):
    """Samples a second; None where none is told."""
    if line.get("samples_per_s"):
        return line["samples_per_s"]
    return global_batch / line["iteration_s"] if line.get("iteration_s") else None


def network_of(case):
    cluster = case["cluster"]
    if case["nodes"] == 1 or cluster["inter_node"] is None:
        return cluster["intra_node"]["kind"]
    return cluster["inter_node"]["kind"]


def judged_of(case, prediction):
    """None where it was not measured or not predicted."""
    measured = speed_of(case.get("measured") or {}, case["global_batch"])
    predicted = speed_of(prediction, case["global_batch"])
    if measured is None or predicted is None:
        return None
    given = case["given"][0]
    of_given = speed_of(given, given["global_batch"]) / given["gpus"]
    return Judged(
        group=case["set"],
        gpus=case["gpus"],
        network=network_of(case),
        per_gpu=measured / case["gpus"] / of_given,
        predicted_per_gpu=predicted / case["gpus"] / of_given,
        error=(predicted - measured) / measured,
    )


def all_judged(cases, predictions):
    by_id = {line["id"]: line for line in predictions}
    found = [judged_of(case, by_id[case["id"]]) for case in cases if case["id"] in by_id]
    return [one for one in found if one is not None]


def colours_of(judged):
    names = sorted({one.group for one in judged})
    palette = [*figure_io.COLOURS, "#999999", "#c9b200", "#000000"]
    return {name: palette[index % len(palette)] for index, name in enumerate(names)}


def draw_against(axes, judged, colours):
    """Speed of a GPU beside that of the given point: what scaling leaves of it."""
    for name, colour in colours.items():
        mine = [one for one in judged if one.group == name]
        axes.plot(
            [one.per_gpu for one in mine],
            [one.predicted_per_gpu for one in mine],
            "o",
            color=colour,
            markersize=2.5,
            alpha=0.6,
            markeredgewidth=0,
            label=figure_io.label(name),
        )
    ends = [one.per_gpu for one in judged] + [one.predicted_per_gpu for one in judged]
    ends = [min(ends), max(ends)]
    axes.plot(ends, ends, color=figure_io.GREY, linestyle="--", linewidth=0.9, label="equal")
    figure_io.set_plain_log(axes.xaxis)
    figure_io.set_plain_log(axes.yaxis)
    axes.set_xlabel("measured speed of a GPU, given point = 1")
    axes.set_ylabel("predicted, likewise")
    axes.grid()


def draw_errors(axes, groups, colours):
    """A line a group: every error, the middle half of them, and their median.

    groups: list of (name, errors)
    """
    for row, (name, errors) in enumerate(groups):
        shown = [max(-MOST_SHOWN, min(MOST_SHOWN, 100 * error)) for error in errors]
        colour = colours.get(name, figure_io.COLOURS[0])
        spread = [row + 0.25 * math.sin(7 * index) for index in range(len(shown))]
        axes.plot(shown, spread, "o", color=colour, markersize=2.5, alpha=0.5, markeredgewidth=0)
        if len(shown) > 1:
            low, middle, high = statistics.quantiles(shown, n=4, method="inclusive")
        else:
            low = middle = high = shown[0]
        axes.plot([low, high], [row, row], color="black", linewidth=2.2, solid_capstyle="butt")
        axes.plot([middle], [row], "|", color="black", markersize=11, markeredgewidth=1.6)
    axes.axvline(0, color=figure_io.GREY, linewidth=0.9)
    axes.set_yticks(
        range(len(groups)),
        [figure_io.label(f"{name} ({len(errors)})") for name, errors in groups],
        fontsize=7.5,
    )
    axes.invert_yaxis()
    axes.set_xlim(-MOST_SHOWN - 2, MOST_SHOWN + 2)
    axes.set_xlabel("error %, predicted over measured speed")
    axes.grid(axis="x")


def grouped(judged, key):
    groups = {}
    for one in judged:
        groups.setdefault(key(one), []).append(one.error)
    return sorted(groups.items())


def scale_text(least, most):
    if least == most:
        return f"{least} GPU{'s' if least > 1 else ''}"
    return f"{least} to {most} GPUs" if most < math.inf else f"more than {least - 1} GPUs"


def by_scale(judged):
    groups = []
    for least, most in SCALES:
        errors = [one.error for one in judged if least <= one.gpus <= most]
        if errors:
            groups.append((scale_text(least, most), errors))
    return groups


def draw(cases, predictions):
    judged = all_judged(cases, predictions)
    if not judged:
        raise figure_io.BadInputError(
            "no case is both measured and predicted, so that there is nothing to draw. Name the "
            "predictions of these cases."
        )
    colours = colours_of(judged)
    figure, grid = plt.subplots(2, 2, figsize=(10.5, 8.4))
    draw_against(grid[0][0], judged, colours)
    draw_errors(grid[0][1], grouped(judged, lambda one: one.group), colours)
    draw_errors(grid[1][0], by_scale(judged), {})
    draw_errors(grid[1][1], grouped(judged, lambda one: one.network), {})
    titles = ["predicted against measured", "by set", "by scale", "by kind of link, between nodes or within one"]
    for axes, title in zip(grid.flat, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=9.5)
    figure.tight_layout()
    figure_io.add_legend(figure)
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("cases", help="published trainings, with what was measured")
    parser.add_argument("predictions", help="predictions of these")
    arguments = parser.parse_args()
    cases = lines_of(arguments.cases, "cases")
    if any(case.get("schema") != "dlscale.case/1" for case in cases):
        raise figure_io.BadInputError(f'{arguments.cases} holds more than "dlscale.case/1".')
    predictions = lines_of(arguments.predictions, "predictions")
    figure_io.save(draw(cases, predictions), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
