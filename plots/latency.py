#!/usr/bin/env python3
"""The staircase of a pointer chase: latency against working set, caches as measured and as told.

Reads result files of "dlscale bench latency" (operations levels and page_reach) and of "dlscale
bench device" (levels). Below the staircase: what it costs to ask where a page lies, by the memory
whose pages are in use; its steps are the reach of the TLBs.
Example: plots/latency.py latency.jsonl -o latency
"""

import dataclasses

import figure_io
from figure_io import plt

UNITS = {"s": ("ns", 1e9), "cycles": ("cycles", 1.0)}


@dataclasses.dataclass
class Level:
    """A level that the latencies show."""

    capacity: float  # bytes
    ends: bool  # within the sizes tried
    latency: float


@dataclasses.dataclass
class Curve:
    """Latencies by ascending working set, in the unit of their series."""

    name: str
    unit: str
    sizes: list
    latencies: list
    packed: list  # of as many lines side by side; empty where that was not measured
    levels: list
    told: list  # capacities as the system tells them, bytes


def values(record, name):
    """One value a size or level; nothing where the row has no such series."""
    series = record["series"].get(name)
    return series["samples"][0] if series else []


def levels_of(record):
    columns = [
        values(record, name) for name in ("level_capacity", "level_capacity_high", "level_latency")
    ]
    return [
        Level(capacity, high > capacity, latency)
        for capacity, high, latency in zip(*columns, strict=True)
    ]


def name_of(record):
    axes = record["axes"]
    parts = []
    if "pages" in axes:
        parts.append(f"{axes['pages']} pages")
    if "path" in axes:
        parts.append(f"path {axes['path'].replace('_', ' ')}")
    if axes.get("stride", "64") != "64":
        parts.append(f"stride {axes['stride']} B")
    if axes.get("ranks_on_node", "1") != "1":
        parts.append(f"one of {axes['ranks_on_node']} ranks at once")
    return ", ".join(parts)


def curve_of(record, run):
    name = name_of(record) + (f", run {run}" if run > 1 else "")
    unit = record["series"]["latency"]["unit"]
    rows = [values(record, "working_set"), values(record, "latency")]
    packed = values(record, "packed_latency")
    order = sorted(range(len(rows[0])), key=lambda i: rows[0][i])
    return Curve(
        name,
        unit,
        [rows[0][i] for i in order],
        [rows[1][i] for i in order],
        [packed[i] for i in order] if packed else [],
        levels_of(record),
        values(record, "told_capacity"),
    )


def curves_of(paths, operation):
    """Curves of an operation; repeated ones are numbered."""
    curves, runs = [], {}
    for path in paths:
        for record in figure_io.read_measurements(path):
            usable = record["status"] in ("ok", "unstable") and "latency" in record["series"]
            wanted = record["benchmark"] in ("latency", "device") and usable
            if not wanted or record["axes"]["operation"] != operation:
                continue
            name = name_of(record)
            runs[name] = runs.get(name, 0) + 1
            curves.append(curve_of(record, runs[name]))
    return sorted(curves, key=lambda curve: curve.name, reverse=True)


def draw_levels(axes, curve, colour, unit, above):
    """Capacities as lines, latencies as text on their stair."""
    word, scale = UNITS[unit]
    start = curve.sizes[0]
    for level in curve.levels:
        end = level.capacity if level.ends else curve.sizes[-1]
        if level.ends:
            axes.axvline(level.capacity, color=colour, linewidth=0.8)
        at = (start * end) ** 0.5 if level.ends else end  # where the last one begins is not told
        axes.annotate(
            f"{scale * level.latency:.3g} {word}",
            (at, scale * level.latency),
            xytext=(0, 7 if above else -14),
            textcoords="offset points",
            ha="center" if level.ends else "right",
            fontsize=7,
            color=colour,
        )
        start = max(start, end)


def capacity_names(curve):
    """ "46 KiB, 1.9 MiB": of the levels that end."""
    ends = [figure_io.size_text(level.capacity) for level in curve.levels if level.ends]
    return ", ".join(ends) if ends else "none"


def draw_told(axes, told):
    for index, capacity in enumerate(told):
        label = "caches as the system tells them: " + ", ".join(map(figure_io.size_text, told))
        axes.axvline(
            capacity,
            color=figure_io.GREY,
            linewidth=1.2,
            linestyle="--",
            label=label if index == 0 else None,
        )


def set_axes(axes, curves, unit):
    smallest = min(curve.sizes[0] for curve in curves)
    largest = max(curve.sizes[-1] for curve in curves)
    figure_io.set_size_ticks(axes, smallest, largest)
    axes.set_xlim(smallest / 1.3, 1.3 * largest)
    figure_io.set_plain_log(axes.yaxis)
    axes.set_ylim(bottom=0.6 * UNITS[unit][1] * min(min(curve.latencies) for curve in curves))
    axes.grid()
    axes.set_ylabel(f"latency of an access, {UNITS[unit][0]}")


def plot_curve(axes, curve, index, scale, what):
    """Latencies, times scale, by working set; returns the colour. The label is name and what."""
    colour = figure_io.COLOURS[index % len(figure_io.COLOURS)]
    axes.plot(
        curve.sizes,
        [scale * latency for latency in curve.latencies],
        color=colour,
        marker="os^Dv"[index % 5],
        markersize=2.5,
        linewidth=0.9,
        label=figure_io.label(f"{curve.name}{what}"),
    )
    return colour


def draw_staircase(axes, curves, unit):
    scale = UNITS[unit][1]
    for index, curve in enumerate(curves):
        colour = plot_curve(axes, curve, index, scale, f"; levels end at {capacity_names(curve)}")
        draw_levels(axes, curve, colour, unit, above=index % 2 == 0)
    told = {tuple(curve.told) for curve in curves if curve.told}
    for each in sorted(told):
        draw_told(axes, each)
    set_axes(axes, curves, unit)
    axes.set_xlabel("working set, a place in every line")
    axes.set_title("Pointer chase along a random cycle", loc="left", fontsize=9.5)
    axes.legend(fontsize=7.5, loc="upper left", frameon=True, framealpha=0.9, edgecolor="none")


def draw_pages(axes, curves, unit):
    scale = UNITS[unit][1]
    for index, curve in enumerate(curves):
        what = f", one line of each; steps at {capacity_names(curve)}"
        colour = plot_curve(axes, curve, index, scale, what)
        axes.plot(
            curve.sizes,
            [scale * latency for latency in curve.packed],
            color=colour,
            linestyle=":",
            linewidth=1.2,
            label=figure_io.label(f"{curve.name}, as many lines side by side"),
        )
        for level in curve.levels:
            if level.ends:
                axes.axvline(level.capacity, color=colour, linewidth=0.8)
    set_axes(axes, curves, unit)
    axes.set_xlabel("memory whose pages are in use")
    axes.set_title("What asking for pages adds: the reach of the TLBs", loc="left", fontsize=9.5)
    axes.legend(fontsize=7.5, loc="upper left", frameon=True, framealpha=0.9, edgecolor="none")


def panels_of(stairs, pages):
    """(draw, curves, unit), a panel a unit."""
    panels = []
    for draw_panel, curves in ((draw_staircase, stairs), (draw_pages, pages)):
        for unit in sorted({curve.unit for curve in curves}, reverse=True):
            panels.append((draw_panel, [c for c in curves if c.unit == unit], unit))
    return panels


def draw(stairs, pages):
    panels = panels_of(stairs, pages)
    if not panels:
        raise figure_io.BadInputError(
            "the results have no sweep of latencies to draw. Run dlscale bench latency --operations "
            "levels,page_reach."
        )
    figure, rows = plt.subplots(
        len(panels), 1, figsize=(7.2, 3.7 * len(panels)), squeeze=False
    )
    for axes, (draw_panel, curves, unit) in zip(rows[:, 0], panels, strict=True):
        draw_panel(axes, curves, unit)
    figure.tight_layout()
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("results", nargs="+", help="result files of dlscale bench latency, device")
    arguments = parser.parse_args()
    stairs = curves_of(arguments.results, "levels")
    pages = curves_of(arguments.results, "page_reach")
    figure_io.save(draw(stairs, pages), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
