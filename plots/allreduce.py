#!/usr/bin/env python3
"""Time of an all-reduce against the size of the message: measured points and the fitted line.

Reads machine files (the fit) and result files of "dlscale bench comm" (the points).
Example: plots/allreduce.py --machine machine.json results/comm.jsonl -o allreduce
"""

import statistics

import figure_io
from figure_io import plt

TRAINING = {"dtype": "f32", "op": "sum", "mode": "blocking", "in_place": "yes", "algorithm": "library"}  # or unsaid


def slowest_rank(samples):
    """Per repetition, the time of the last rank."""
    return [max(times) for times in zip(*samples, strict=True)]


def points_of(paths):
    """(bytes, median, low, high) in seconds, by (ranks, ranks on a node)."""
    points = {}
    for path in paths:
        for record in figure_io.read_measurements(path):
            axes = record["axes"]
            if record["benchmark"] != "comm" or axes.get("collective") != "all_reduce":
                continue
            if "message" in axes:  # of a replay
                continue
            if record["status"] not in ("ok", "unstable"):
                continue
            if any(axes.get(name, value) != value for name, value in TRAINING.items()):
                continue
            if "beside" in axes:  # of what work went on meanwhile
                continue
            times = slowest_rank(record["series"]["time"]["samples"])
            quartiles = statistics.quantiles(times, n=4) if len(times) > 1 else [times[0]] * 3
            key = (int(axes["ranks"]), int(axes["ranks_on_node"]))
            point = (int(axes["bytes"]), statistics.median(times), quartiles[0], quartiles[2])
            points.setdefault(key, []).append(point)
    return points


def fits_of(machine):
    """Segments of the all-reduce fit, by (ranks, ranks on a node)."""
    return {
        (fit["ranks"], fit["ranks_on_node"]): fit["segments"]
        for fit in machine["collectives"]
        if fit["collective"] == "all_reduce"
    }


def draw_points(axes, points, colour, name):
    sizes = [point[0] for point in points]
    medians = [1e3 * point[1] for point in points]
    below = [1e3 * (point[1] - point[2]) for point in points]
    above = [1e3 * (point[3] - point[1]) for point in points]
    axes.errorbar(
        sizes,
        medians,
        [below, above],
        fmt="o",
        markersize=3.5,
        markerfacecolor="none",
        elinewidth=0.8,
        color=colour,
        label=figure_io.label(f"{name}, measured (median, quartiles)"),
    )


def segment_line(segment):
    """Sizes and milliseconds along one segment, which is bent between logarithmic axes."""
    start = max(segment["from_bytes"], 1.0)
    end = max(segment["to_bytes"], start)
    steps = 40
    sizes = [start * (end / start) ** (i / steps) for i in range(steps + 1)]
    alpha = segment["alpha_s"]["value"]
    beta = segment["beta_s_per_byte"]["value"]
    return sizes, [1e3 * (alpha + beta * size) for size in sizes]


def draw_fit(axes, segments, colour, name):
    for index, segment in enumerate(segments):
        sizes, times = segment_line(segment)
        drawn = [(size, time) for size, time in zip(sizes, times, strict=True) if time > 0]
        label = figure_io.label(f"{name}, fitted α + β m") if index == 0 else None
        axes.plot(*zip(*drawn, strict=True), color=colour, linewidth=1.2, label=label)
        if index > 0:
            axes.axvline(sizes[0], color=colour, linewidth=0.6, linestyle=":")


def name_of(key):
    ranks, on_node = key
    return f"{ranks} ranks" if ranks == on_node else f"{ranks} ranks, {on_node} on a node"


def set_axes(axes, smallest, largest):
    figure_io.set_size_ticks(axes, smallest, largest)
    figure_io.set_plain_log(axes.yaxis)
    axes.minorticks_off()
    axes.grid()
    axes.set_xlabel("message size")
    axes.set_ylabel("time of an all-reduce, ms")


def draw(fits, points):
    if not fits and not points:
        raise figure_io.BadInputError("there is no all-reduce to draw. Run dlscale bench comm.")
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    sizes = []
    for index, key in enumerate(sorted(fits.keys() | points.keys())):
        colour = figure_io.COLOURS[index % len(figure_io.COLOURS)]
        if key in points:
            draw_points(axes, points[key], colour, name_of(key))
            sizes += [point[0] for point in points[key]]
        if key in fits:
            draw_fit(axes, fits[key], colour, name_of(key))
            sizes += [segment["from_bytes"] for segment in fits[key]]
            sizes += [segment["to_bytes"] for segment in fits[key]]
    set_axes(axes, max(1, min(sizes)), max(sizes))
    axes.legend(fontsize=8, loc="upper left")
    figure.tight_layout()
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("results", nargs="*", help="result files of dlscale bench comm")
    parser.add_argument("--machine", help="machine file of dlscale calibrate: the fitted line")
    arguments = parser.parse_args()
    fits = {}
    if arguments.machine:
        fits = fits_of(figure_io.read_json(arguments.machine, "dlscale.machine"))
    figure_io.save(draw(fits, points_of(arguments.results)), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
