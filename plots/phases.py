#!/usr/bin/env python3
"""Phases of training iterations as stacked bars: predicted beside measured, run by run.

Reads the JSON of "dlscale validate --format json".
Example: plots/phases.py validation.json -o phases
"""

import figure_io
from figure_io import plt

BAR = 0.36
ORDER = ["sequential", "wait_free", "bucketed", "merged_greedy", "merged", "horovod"]
ORDER += ["reduce_scatter_overlap", "priority"]


def phase_times(run, side):
    """Milliseconds by phase of one side, "predicted_s" or "measured_s"."""
    return {phase["phase"]: 1e3 * phase[side] for phase in run["phases"]}


def stack(axes, position, times, hatch, named):
    """One bar; `named` collects the phases that have a legend entry."""
    bottom = 0.0
    for phase, word, colour in figure_io.PHASES:
        height = times.get(phase, 0.0)
        if height <= 0:
            continue
        axes.bar(
            position,
            height,
            BAR,
            bottom,
            color=colour,
            edgecolor="white",
            linewidth=0.4,
            hatch=hatch,
            label=None if phase in named else figure_io.label(word),
        )
        named.add(phase)
        bottom += height
    return bottom


def run_label(run):
    ranks = run["run"]["ranks"]
    how = run["run"]["schedule"]
    if run["run"].get("synchronisation") == "parameter_server":
        how += "\nby server"
    return figure_io.label(f"{how}\n{ranks} rank{'s' if ranks > 1 else ''}")


def draw_network(axes, network, runs, named):
    highest = 0.0
    for position, run in enumerate(runs):
        predicted = stack(
            axes, position - BAR / 2 - 0.01, phase_times(run, "predicted_s"), "", named
        )
        measured = stack(
            axes, position + BAR / 2 + 0.01, phase_times(run, "measured_s"), "////", named
        )
        top = max(predicted, measured)
        highest = max(highest, top)
        error = run["phases"][0]["error"]
        if error is not None:
            axes.annotate(
                f"{100 * error:+.1f} %",
                (position, top),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
    axes.set_xticks(range(len(runs)), [run_label(run) for run in runs], fontsize=7.5)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 1.12 * highest if highest else 1)
    axes.set_title(figure_io.label(network), loc="left", fontsize=9.5)
    axes.grid(axis="y")


def place(run):
    """Where a run stands: schedules from the plainest on, ranks ascending."""
    schedule = run["run"]["schedule"]
    index = ORDER.index(schedule) if schedule in ORDER else len(ORDER)
    return index, schedule, run["run"].get("synchronisation", ""), run["run"]["ranks"]


def by_network(runs):
    networks = {}
    for run in runs:
        settings = run["run"]
        name = f"{settings['network']}, batch {settings['batch']}, {settings['dtype']}"
        networks.setdefault(name, []).append(run)
    for each in networks.values():
        each.sort(key=place)
    return networks


def draw(validation):
    networks = by_network(validation["runs"])
    if not networks:
        raise figure_io.BadInputError("the validation has no run. Measure some: dlscale bench e2e.")
    widest = max(len(runs) for runs in networks.values())
    figure, rows = plt.subplots(
        len(networks), 1, figsize=(max(5.5, 1.15 * widest), 2.6 * len(networks)), squeeze=False
    )
    named = set()
    for axes, (network, runs) in zip(rows[:, 0], networks.items(), strict=True):
        draw_network(axes, network, runs, named)
        axes.set_ylabel("time of an iteration, ms")
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=colour, label=word)
        for phase, word, colour in figure_io.PHASES
        if phase in named
    ]
    handles += [
        plt.Rectangle((0, 0), 1, 1, facecolor="#dddddd", label="left bar: predicted"),
        plt.Rectangle(
            (0, 0),
            1,
            1,
            facecolor="#dddddd",
            edgecolor="white",
            hatch="////",
            label="right bar: measured",
        ),
    ]
    figure.tight_layout()
    figure.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, fontsize=8
    )
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("validation", help="JSON of dlscale validate")
    arguments = parser.parse_args()
    validation = figure_io.read_json(arguments.validation, "dlscale.validation")
    figure_io.save(draw(validation), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
