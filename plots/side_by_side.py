#!/usr/bin/env python3
"""Trainings side by side on one slide: networks and batches by machine, backend and schedule.

Reads the JSON of "dlscale report A B --side-by-side --format json". A panel is a training at one
batch and number of ranks; its bars are images a second, the fastest first, and their ratio to it.
Example: plots/side_by_side.py side_by_side.json -o summary
"""

import dataclasses
import re

import figure_io
from figure_io import plt

SLIDE = (12.8, 7.2)  # inches, 16:9
MOST_BARS = 10  # in a panel; what is slower is counted below it


@dataclasses.dataclass(frozen=True)
class Training:
    """One question of a training, and who answers it how fast."""

    network: str
    batch: int  # images per rank
    ranks: int
    dtype: str
    rates: list  # (images/s, name of the column), the fastest first

    def title(self):
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        return f"{self.network}, {ranks} with {self.batch} images each, {self.dtype}"


def training_of(row, columns):
    """The training of a row; None for a row of another benchmark."""
    question = row["measurement"]
    if not question.startswith("e2e "):
        return None
    axes = dict(re.findall(r"(\w+)=(\S+)", question))
    images = int(axes["batch"]) * int(axes["ranks"])
    times = zip(columns, row["times_s"], strict=True)
    rates = [(images / time, name) for name, time in times if time is not None]
    rates.sort(key=lambda rate: (-rate[0], rate[1]))
    return Training(
        axes["network"], int(axes["batch"]), int(axes["ranks"]), axes.get("dtype", ""), rates
    )


def trainings_of(document):
    """All trainings, by network, ranks and batch."""
    rows = (training_of(row, document["columns"]) for row in document["rows"])
    found = [one for one in rows if one is not None]
    if not found:
        raise figure_io.BadInputError(
            "no training was measured in two of the places, so there is nothing side by side. "
            "Name results of dlscale bench e2e."
        )
    return sorted(found, key=lambda one: (one.network, one.ranks, one.batch))


def source_of(column):
    """The folder or file that a column is from: "A" of "A · onednn · wait_free"."""
    return column.split(" · ")[0]


def draw_training(axes, training, colours):
    shown = training.rates[:MOST_BARS]
    best = shown[0][0]
    for place, (rate, name) in enumerate(shown):
        axes.barh(place, rate, color=colours[source_of(name)], height=0.7)
        ratio = "" if place == 0 else f", {rate / best:.2f} of the fastest"
        text = f" {rate:.4g}{ratio}"
        inside = rate > 0.6 * best
        axes.text(
            rate,
            place,
            figure_io.label(text + " " if inside else text),
            va="center",
            ha="right" if inside else "left",
            color="white" if inside else "black",
            fontsize=8,
        )
    names = [figure_io.label(name) for _, name in shown]
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, best * 1.02)
    axes.set_title(figure_io.label(training.title()), loc="left", fontsize=9, fontweight="bold")
    left_out = len(training.rates) - len(shown)
    axes.set_xlabel("images/s" + (f"; {left_out} slower ones are not drawn" if left_out else ""))


def draw(trainings, most):
    shown = trainings[:most]
    columns = 1 if len(shown) == 1 else 2
    lines = -(-len(shown) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=SLIDE, squeeze=False)
    sources = sorted({source_of(name) for one in trainings for _, name in one.rates})
    colours = {
        source: figure_io.COLOURS[i % len(figure_io.COLOURS)] for i, source in enumerate(sources)
    }
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for axes, training in zip(grid.flat, shown, strict=False):
        draw_training(axes, training, colours)
    title = "Trainings side by side, images a second (less is worse), the fastest first"
    if len(shown) < len(trainings):
        title += f"; {len(trainings) - len(shown)} more trainings are not drawn"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.tight_layout()
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("side_by_side", help="JSON of dlscale report --side-by-side")
    parser.add_argument("--most", type=int, default=6, help="panels at most (default: 6)")
    parser.add_argument("--network", help="only the trainings of this network")
    arguments = parser.parse_args()
    if arguments.most < 1:
        raise figure_io.BadInputError(f"--most is {arguments.most}. Write 1 or more.")
    document = figure_io.read_json(arguments.side_by_side, "dlscale.side_by_side")
    trainings = trainings_of(document)
    if arguments.network is not None:
        networks = sorted({one.network for one in trainings})
        trainings = [one for one in trainings if one.network == arguments.network]
        if not trainings:
            raise figure_io.BadInputError(
                f"no training of {arguments.network} is in {arguments.side_by_side}. "
                f"There are: {', '.join(networks)}."
            )
    figure_io.save(draw(trainings, arguments.most), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
