#!/usr/bin/env python3
"""Speed-up against the number of workers: predicted with interval, measured, and ideal.

Reads the JSON of "dlscale predict --format json" and, for the measured points, that of
"dlscale validate --format json".
Example: plots/speedup.py predictions.json --validation validation.json -o speedup
"""

import figure_io
from figure_io import plt

MARKERS = {"sequential": "s", "wait_free": "o", "bucketed": "^"}


def curve_name(run):
    return (run["network"], run["cluster"], run["batch"], run["dtype"], run["schedule"])


def curves_of(document):
    """Lists of predictions of one run, by network, in ascending order of ranks."""
    curves = {}
    for prediction in document["predictions"]:
        curves.setdefault(curve_name(prediction["run"]), []).append(prediction)
    networks = {}
    for name, curve in curves.items():
        curve.sort(key=lambda prediction: prediction["run"]["ranks"])
        networks.setdefault(name[0], []).append(curve)
    return networks


def measured_points(runs, network):
    """(schedule, ranks, speed-up) of every run whose 1-rank time was measured too."""
    points = []
    for run in runs:
        if run["run"]["network"] != network:
            continue
        ranks = run["run"]["ranks"]
        if ranks == 1:
            points.append((run["run"]["schedule"], 1, 1.0))
        elif run["naive_error"] is not None:
            points.append((run["run"]["schedule"], ranks, ranks * (1 + run["naive_error"])))
    return points


def draw_curve(axes, curve, colour, with_schedule):
    ranks = [prediction["run"]["ranks"] for prediction in curve]
    speedup = [prediction["speedup"] for prediction in curve]
    total = [prediction["time"]["t_iter_s"] for prediction in curve]
    slow = [prediction["t_iter_high_s"] for prediction in curve]
    fast = [prediction["t_iter_low_s"] for prediction in curve]
    schedule = curve[0]["run"]["schedule"]
    name = f"predicted, {schedule}" if with_schedule else "predicted"
    interval = figure_io.label(f"95 % interval, {schedule}" if with_schedule else "95 % interval")
    if None not in slow + fast:  # data sheets state no interval
        low = [s * t / t_slow for s, t, t_slow in zip(speedup, total, slow, strict=True)]
        high = [s * t / t_fast for s, t, t_fast in zip(speedup, total, fast, strict=True)]
        axes.fill_between(ranks, low, high, color=colour, alpha=0.25, linewidth=0, label=interval)
    axes.plot(ranks, speedup, color=colour, marker=".", markersize=4, label=figure_io.label(name))
    axes.annotate(
        f"{speedup[-1]:.3g}",
        (ranks[-1], speedup[-1]),
        xytext=(5, -3),
        textcoords="offset points",
        fontsize=8,
        color=colour,
    )
    return ranks


def draw_network(axes, network, curves, points):
    ranks = set()
    for index, curve in enumerate(curves):
        colour = figure_io.COLOURS[index % len(figure_io.COLOURS)]
        ranks.update(draw_curve(axes, curve, colour, len(curves) > 1))
    ideal = sorted(ranks)
    axes.plot(ideal, ideal, color=figure_io.GREY, linestyle="--", linewidth=0.9, label="ideal")
    for schedule in sorted({point[0] for point in points}):
        mine = [point for point in points if point[0] == schedule]
        axes.plot(
            [point[1] for point in mine],
            [point[2] for point in mine],
            MARKERS.get(schedule, "D"),
            markerfacecolor="none",
            color="black",
            markersize=5,
            label=figure_io.label(f"measured, {schedule}"),
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(ideal, [str(rank) for rank in ideal])
    axes.set_yticks(ideal, [str(rank) for rank in ideal])
    axes.minorticks_off()
    axes.grid()
    axes.set_xlabel("workers (ranks)")
    axes.set_title(figure_io.label(network), loc="left", fontsize=9.5)


def draw(predictions, validation):
    networks = curves_of(predictions)
    if not networks:
        raise figure_io.BadInputError("there is no prediction to draw. Run dlscale predict first.")
    runs = validation["runs"] if validation else []
    columns = min(3, len(networks))
    lines = -(-len(networks) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(max(4.2, 3.4 * columns), 3.3 * lines), squeeze=False
    )
    for axes in grid.flat[len(networks) :]:
        axes.remove()
    for axes, (network, curves) in zip(grid.flat, networks.items(), strict=False):
        draw_network(axes, network, curves, measured_points(runs, network))
    for axes in grid[:, 0]:
        axes.set_ylabel("speed-up over 1 worker")
    figure.tight_layout()
    figure_io.add_legend(figure)
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("predictions", help="JSON of dlscale predict")
    parser.add_argument("--validation", help="JSON of dlscale validate: the measured points")
    arguments = parser.parse_args()
    predictions = figure_io.read_json(arguments.predictions, "dlscale.prediction")
    validation = None
    if arguments.validation:
        validation = figure_io.read_json(arguments.validation, "dlscale.validation")
    figure_io.save(draw(predictions, validation), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
