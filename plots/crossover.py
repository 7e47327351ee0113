#!/usr/bin/env python3
"""Which algorithm is fastest, by size of the filter and of the image, and by how much.

Reads result files of "dlscale bench conv --algorithms all". Where several shapes share a cell (of
other channels), an algorithm counts by the geometric mean of its times over all of them. Filters
that are kept transformed ("..._kept_filters") are left out: training cannot keep them.
Example: plots/crossover.py conv.jsonl -o crossover
"""

import dataclasses
import math

import algorithms
import convolutions
import figure_io
from figure_io import plt

CELL = (0.72, 0.56)  # inches
ABSENT = {"facecolor": "#f4f6f8", "edgecolor": "#d5dae0", "linewidth": 0.5}


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is said of the shapes with one filter and one image."""

    best: tuple | None  # (backend, algorithm); None: no algorithm ran all shapes
    only_kept: bool = False  # none ran at all, but with kept filters, which ran all shapes
    lead: float | None = None  # time of the second over that of the best; None: without a second
    tie: bool = False  # the interval of another overlaps that of the best
    won: int = 0  # shapes at which no other is faster than the best by more than the intervals
    shapes: int = 0

    def none_text(self):
        """In the words of the report's tables."""
        if self.only_kept:
            return "only with\nkept filters"
        return "none ran" if self.shapes == 1 else "none ran\nall shapes"

    def lead_text(self):
        if self.lead is None:
            return "alone"
        return f"tie ({self.lead:.2f} ×)" if self.tie else f"{self.lead:.2f} ×"


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def timed(by, counts=convolutions.may_win):
    """Median times of the algorithms that ran, of those that `counts` holds for."""
    return {
        key: timing.median
        for key, timing in by.items()
        if timing.median is not None and counts(key)
    }


def ran_all(results, counts=convolutions.may_win):
    """Such algorithms with a time at every shape; `results`: one {algorithm: Timing} a shape."""
    return set.intersection(*(set(timed(by, counts)) for by in results))


def leaders(by):
    """Algorithms that may be the fastest: the intervals of the others begin where its own, which
    has the least median, has ended."""
    times = timed(by)
    best = min(times, key=times.get, default=None)
    return {key for key in times if by[key].low <= by[best].high}


def cell_of(results):
    candidates = ran_all(results)
    if not candidates:
        none_competes = not any(timed(by) for by in results)
        only_kept = none_competes and bool(ran_all(results, counts=lambda key: True))
        return Cell(None, only_kept=only_kept, shapes=len(results))

    def mean(key, what):
        return geometric_mean([getattr(by[key], what) for by in results])

    ordered = sorted(candidates, key=lambda key: (mean(key, "median"), key))
    best = ordered[0]
    won = sum(best in leaders(by) for by in results)
    if len(ordered) == 1:
        return Cell(best, won=won, shapes=len(results))
    lead = mean(ordered[1], "median") / mean(best, "median")
    tie = any(mean(key, "low") <= mean(best, "high") for key in ordered[1:])
    return Cell(best, lead=lead, tie=tie, won=won, shapes=len(results))


def filter_place(shape):
    return (shape.kernel_h * shape.kernel_w, shape.kernel_h, shape.stride, shape.groups)


def image_place(shape):
    return (shape.height * shape.width, shape.height)


def map_of(study, of, batch):
    """Cells by (filter, image), and both axes' texts in their order."""
    groups, filters, images = {}, {}, {}
    for case, by in study.timings.items():
        if case.of != of or case.batch != batch:
            continue
        shape = convolutions.shape_of(case.kernel)
        key = (shape.filter_text(), shape.image_text())
        groups.setdefault(key, []).append(by)
        filters[key[0]] = filter_place(shape)
        images[key[1]] = image_place(shape)
    cells = {key: cell_of(results) for key, results in groups.items()}
    return cells, sorted(filters, key=filters.get), sorted(images, key=images.get)


def draw_absent(axes, column, row, text, hatch):
    axes.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, hatch=hatch, **ABSENT))
    if text:
        axes.text(column, row, text, ha="center", va="center", fontsize=6.5, color="#4d5661")


def draw_cell(axes, column, row, cell, style):
    axes.add_patch(
        plt.Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=style.colour, edgecolor="white")
    )
    lines = [style.word.replace(", ", ",\n") if len(style.word) > 9 else style.word]
    lines.append(cell.lead_text())
    if cell.won < cell.shapes:
        lines.append(f"at {cell.won} of {cell.shapes}")
    axes.text(
        column,
        row,
        figure_io.label("\n".join(lines)),
        ha="center",
        va="center",
        fontsize=6.5,
        linespacing=1.05,
        color=algorithms.ink_on(style.colour),
    )


def draw_map(axes, cells, filters, images, styles):
    for row, filter_text in enumerate(filters):
        for column, image in enumerate(images):
            cell = cells.get((filter_text, image))
            if cell is None:
                draw_absent(axes, column, row, "", "xx")
            elif cell.best is None:
                draw_absent(axes, column, row, cell.none_text(), "")
            else:
                draw_cell(axes, column, row, cell, styles[cell.best])
    axes.set_xlim(-0.5, len(images) - 0.5)
    axes.set_ylim(-0.5, len(filters) - 0.5)
    axes.set_xticks(range(len(images)), images, rotation=0 if len(images) < 25 else 90)
    axes.set_yticks(range(len(filters)), filters)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("height and width of the input, pixels")
    axes.set_ylabel("filter")


def handles_of(maps, styles):
    best = {cell.best for cells, _, _ in maps for cell in cells.values() if cell.best}
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=styles[key].colour, label=figure_io.label(style.name))
        for key, style in styles.items()
        if key in best
    ]
    absent = any(len(cells) < len(rows) * len(columns) for cells, rows, columns in maps)
    if absent:
        handles.append(plt.Rectangle((0, 0), 1, 1, hatch="xx", label="not measured", **ABSENT))
    return handles


def notes_of(maps, study):
    """What the reader must know, below the maps."""
    all_cells = [cell for cells, _, _ in maps for cell in cells.values()]
    notes = ["In a cell: the fastest algorithm and the time of the second over its own"]
    if any(cell.tie for cell in all_cells):
        notes.append("tie: the 95 % interval of another overlaps that of the fastest")
    if any(cell.shapes > 1 for cell in all_cells):
        notes.append(
            "shapes of one cell: geometric mean; of shapes, those at which it is the fastest or ties"
        )
    if study.left_out_text():
        notes.append(study.left_out_text())
    return "; ".join(notes) + "."


def draw(study, passes, batch):
    styles = algorithms.styles(study.algorithms())
    batches = [convolutions.batch_of(study, of, batch) for of in passes]
    maps = [map_of(study, of, each) for of, each in zip(passes, batches, strict=True)]
    widest = max(len(images) for _, _, images in maps)
    heights = [len(filters) for _, filters, _ in maps]
    figure, rows = plt.subplots(
        len(maps),
        1,
        figsize=(max(6.0, 1.6 + CELL[0] * widest), sum(1.0 + CELL[1] * rows for rows in heights)),
        height_ratios=[1.0 + CELL[1] * rows for rows in heights],
        squeeze=False,
    )
    for axes, of, each, one in zip(rows[:, 0], passes, batches, maps, strict=True):
        draw_map(axes, *one, styles)
        title = f"{convolutions.PASSES[of]}, batch {each}, {study.condition_text()}"
        axes.set_title(figure_io.label(title), loc="left", fontsize=9.5)
    figure.tight_layout()
    figure.legend(
        handles=handles_of(maps, styles),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=4,
        fontsize=8,
        title=figure_io.label(notes_of(maps, study)),
        title_fontsize=8,
    )
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    convolutions.add_options(parser)
    convolutions.add_pass_option(parser)
    parser.add_argument(
        "--batch", type=int, help="images (default: the batch most shapes were measured at)"
    )
    arguments = parser.parse_args()
    study = convolutions.study_of(arguments.results, arguments.only)
    passes = convolutions.passes_among(study.passes(), arguments.of)
    figure_io.save(draw(study, passes, arguments.batch), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
