#!/usr/bin/env python3
"""Rooflines with every layer of a network under them: a mark a layer and algorithm.

Reads the JSON of "dlscale roofline show --format json", which has the ceilings in f32, and, for
those of other precisions, result files of "dlscale bench peak" from the same machine.
By the algorithm's own operations and bytes (--intensity algorithm) no mark can stand above the
roofs that hold it; by those of the direct convolution (--intensity effective) all algorithms of a
layer stand above each other, the fastest on top, and may be above the roof.
Example: plots/roofline.py roofline.json peak.jsonl --network vgg16 -o roofline
"""

import dataclasses

import algorithms
import convolutions
import figure_io
from figure_io import plt

INTENSITIES = {
    "algorithm": (
        "intensity_flops_per_byte",
        "executed_flops_per_s",
        "operations of the algorithm a byte that it moves",
        "GFLOP/s executed by the algorithm",
    ),
    "effective": (
        "effective_intensity_flops_per_byte",
        "effective_flops_per_s",
        "operations of the direct convolution a byte of its tensors",
        "effective GFLOP/s",
    ),
}
MOST_NUMBERED = 32  # layers; beyond that numbers cannot be read


@dataclasses.dataclass(frozen=True)
class Peak:
    """The most that arithmetic reached in a precision."""

    dtype: str
    isa: str
    flops_per_s: float

    def name(self):
        return f"{self.dtype} multiply-adds, {self.isa}"


def peaks_of(paths, threads):
    """The fastest instruction set of each precision but f32, whose ceilings the document has, with as
    many threads on a rank alone."""
    fastest = {}
    for path in paths:
        for record in figure_io.read_measurements(path):
            axes = record["axes"]
            if record["benchmark"] != "peak" or axes["operation"] != "fma":
                continue
            if record["status"] not in ("ok", "unstable") or axes["threads"] != str(threads):
                continue
            if axes["ranks_on_node"] != "1" or axes["dtype"] == "f32":
                continue
            rate = record["work"]["flops"] / record["series"]["time"]["summary"]["median"]
            peak = Peak(axes["dtype"], axes["isa"], rate)
            if axes["dtype"] not in fastest or rate > fastest[axes["dtype"]].flops_per_s:
                fastest[axes["dtype"]] = peak
    return sorted(fastest.values(), key=lambda peak: peak.flops_per_s)


def names_of(kernel):
    """(network or list, layer) of all layers that run the kernel."""
    pairs = (text.rsplit(" ", 1) for text in kernel["layers"])
    return [(convolutions.set_of(network, layer), layer) for network, layer in pairs]


def networks_of(kernels):
    """Names of the networks and lists, in order."""
    return sorted({network for kernel in kernels for network, _ in names_of(kernel)})


def layer_in(kernel, network):
    """The first layer of that network that runs the kernel, or None."""
    mine = [layer for name, layer in names_of(kernel) if name == network]
    return min(mine, key=convolutions.natural, default=None)


def marks_of(kernels, network, of, batch):
    """{layer: {algorithm: kernel}} in the order of the layers' names."""
    marks = {}
    for kernel in kernels:
        layer = layer_in(kernel, network)
        if layer is not None and kernel["pass"] == of and kernel["batch"] == batch:
            key = (kernel["backend"], kernel["algorithm"])
            marks.setdefault(layer, {})[key] = kernel
    return {layer: marks[layer] for layer in sorted(marks, key=convolutions.natural)}


def usual_batch(kernels, network, asked):
    """The batch asked for, or that of most kernels; of several the largest."""
    batches = [kernel["batch"] for kernel in kernels if layer_in(kernel, network) is not None]
    if asked is not None and asked not in batches:
        raise figure_io.BadInputError(
            f"{network} was not measured with batch {asked}. "
            f"There are {', '.join(map(str, sorted(set(batches))))}."
        )
    return asked or max(set(batches), key=lambda batch: (batches.count(batch), batch))


def draw_roof(axes, document, first):
    """The levels of memory from an intensity up to their ridge, and the peak."""
    peak = 1e-9 * document["peak_flops_per_s"]
    for index, level in enumerate(document["levels"]):
        slope = 1e-9 * level["bandwidth_bytes_per_s"]
        axes.plot(
            [first, peak / slope],
            [slope * first, peak],
            color="black",
            linewidth=0.9,
            linestyle=["-", "--", "-.", ":"][index % 4],
            label=figure_io.label(f"{level['name']}, {slope:.3g} GB/s"),
        )
    axes.axhline(peak, color="black", linewidth=1.4, label=f"peak, {peak:.4g} GFLOP/s")


def note(axes, height, text):
    """Text on a horizontal ceiling, at its right end."""
    axes.annotate(
        figure_io.label(text),
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        fontsize=6.5,
    )


def ceilings_of(document, peaks):
    """(name, GFLOP/s): those of arithmetic in f32 below the peak, and peaks of other precisions."""
    found = [(each["name"], each["flops_per_s"]) for each in document["arithmetic_ceilings"]]
    found += [(peak.name(), peak.flops_per_s) for peak in peaks]
    return [(name, 1e-9 * rate) for name, rate in found]


def draw_ceilings(axes, document, peaks):
    for name, rate in ceilings_of(document, peaks):
        axes.axhline(rate, color=figure_io.GREY, linewidth=0.9, linestyle="--")
        note(axes, rate, f"{rate:.4g}: {name}")
    sheet = document["data_sheet_flops_per_s"]
    if sheet is not None:
        axes.axhline(1e-9 * sheet, color=figure_io.GREY, linewidth=0.9, linestyle=":")
        note(axes, 1e-9 * sheet, f"{1e-9 * sheet:.4g}: f32 by the data sheet")


def fastest(by):
    return min(by, key=lambda key: by[key]["time_s"])


def draw_marks(axes, marks, styles, intensity):
    x, y, _, _ = INTENSITIES[intensity]
    for key, style in styles.items():
        mine = [by[key] for by in marks.values() if key in by]
        if not mine:
            continue
        axes.plot(
            [kernel[x] for kernel in mine],
            [1e-9 * kernel[y] for kernel in mine],
            style.mark,
            markersize=4.5,
            markeredgewidth=0.4,
            markeredgecolor="white",
            color=style.colour,
            label=figure_io.label(style.name),
        )
    if len(marks) > MOST_NUMBERED:
        return
    for number, by in enumerate(marks.values(), start=1):
        if not by:
            continue  # not measured in this pass
        best = by[fastest(by)]
        axes.annotate(
            str(number),
            (best[x], 1e-9 * best[y]),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=6.5,
        )


def draw_key(axes, marks):
    """Which number is which layer; numbers stand at the fastest algorithm of a layer."""
    axes.set_axis_off()
    names = list(marks)
    if len(names) > MOST_NUMBERED:
        text = [f"{len(names)} layers:", "the tables name them"]
    else:
        text = [f"{number}  {name}" for number, name in enumerate(names, start=1)]
        text.insert(0, "at its fastest algorithm:")
    axes.text(
        0,
        1,
        figure_io.label("\n".join(text)),
        va="top",
        fontsize=6.5,
        transform=axes.transAxes,
    )


def span_of(document, all_marks, intensity):
    """Intensities to show: those of all marks and of all ridges, with room on both sides."""
    x = INTENSITIES[intensity][0]
    found = [kernel[x] for marks in all_marks for by in marks.values() for kernel in by.values()]
    peak = document["peak_flops_per_s"]
    found += [peak / level["bandwidth_bytes_per_s"] for level in document["levels"]]
    return min(found) / 2, 2 * max(found)


def under_one_condition(kernels):
    """Those measured in the state of caches of most, and what that is."""
    states = [kernel["cache"] for kernel in kernels]
    cache = min(set(states), key=lambda state: (-states.count(state), state))
    mine = [kernel for kernel in kernels if kernel["cache"] == cache]
    threads = mine[0]["threads"]
    text = f"{threads} thread{'' if threads == 1 else 's'}, {cache} caches"
    if len(mine) < len(kernels):
        text += f"; {len(kernels) - len(mine)} kernels with other caches are left out"
    return mine, text


def draw_panel(axes, document, peaks, marks, styles, intensity, span):
    draw_roof(axes, document, span[0])
    draw_ceilings(axes, document, peaks)
    draw_marks(axes, marks, styles, intensity)
    figure_io.set_plain_log(axes.xaxis)
    figure_io.set_plain_log(axes.yaxis)
    axes.set_xlim(*span)
    axes.grid()
    axes.set_xlabel(INTENSITIES[intensity][2], fontsize=8)


def draw_network(row, document, peaks, network, wanted, styles, span):
    """One row of panels: the passes of a network, and the key."""
    batch = usual_batch(document["kernels"], network, wanted.batch)
    by_pass = {of: marks_of(document["kernels"], network, of, batch) for of in wanted.passes}
    names = {layer: None for marks in by_pass.values() for layer in marks}
    ordered = sorted(names, key=convolutions.natural)
    for axes, of in zip(row, wanted.passes, strict=False):
        marks = {layer: by_pass[of].get(layer, {}) for layer in ordered}
        if not any(marks.values()):
            axes.set_axis_off()
            continue
        draw_panel(axes, document, peaks, marks, styles, wanted.intensity, span)
        title = f"{network}, {convolutions.PASSES[of]}, batch {batch}"
        axes.set_title(figure_io.label(title), loc="left", fontsize=9.5)
    row[0].set_ylabel(INTENSITIES[wanted.intensity][3])
    draw_key(row[-1], dict.fromkeys(ordered))


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is to be drawn."""

    networks: list
    passes: list
    batch: int | None
    intensity: str
    condition: str  # "1 thread, cold caches"


def draw(document, peaks, wanted):
    kernels = document["kernels"]
    styles = algorithms.styles({(kernel["backend"], kernel["algorithm"]) for kernel in kernels})
    shown = [
        marks_of(kernels, network, of, usual_batch(kernels, network, wanted.batch))
        for network in wanted.networks
        for of in wanted.passes
    ]
    span = span_of(document, shown, wanted.intensity)
    columns = len(wanted.passes) + 1
    figure, grid = plt.subplots(
        len(wanted.networks),
        columns,
        figsize=(4.1 * len(wanted.passes) + 1.5, 3.9 * len(wanted.networks)),
        width_ratios=[4.1] * len(wanted.passes) + [1.5],
        squeeze=False,
    )
    for row, network in zip(grid, wanted.networks, strict=True):
        draw_network(row, document, peaks, network, wanted, styles, span)
    figure.suptitle(figure_io.label(f"f32, {wanted.condition}"), x=0.01, ha="left", fontsize=9.5)
    figure.tight_layout()
    figure_io.add_legend(figure, columns=4)
    return figure


def wanted_of(arguments, kernels, condition):
    there = networks_of(kernels)
    if arguments.network and arguments.network not in there:
        raise figure_io.BadInputError(
            f"{arguments.network} is not among the networks measured: {', '.join(there)}."
        )
    found = {kernel["pass"] for kernel in kernels}
    passes = [of for of in convolutions.PASSES if of in found]
    if arguments.of:
        if arguments.of not in passes:
            raise figure_io.BadInputError(
                f"no {convolutions.PASSES[arguments.of]} convolution is among these results."
            )
        passes = [arguments.of]
    networks = [arguments.network] if arguments.network else there
    return Wanted(networks, passes, arguments.batch, arguments.intensity, condition)


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("roofline", help="JSON of dlscale roofline show")
    parser.add_argument("peaks", nargs="*", help="result files of dlscale bench peak, for other precisions")
    parser.add_argument("--intensity", choices=list(INTENSITIES), default="algorithm")
    parser.add_argument("--network", help="one network (default: all, a row each)")
    convolutions.add_pass_option(parser)
    parser.add_argument("--batch", type=int, help="images (default: the batch of most kernels)")
    arguments = parser.parse_args()
    document = figure_io.read_json(arguments.roofline, "dlscale.roofline")
    if not document["kernels"]:
        raise figure_io.BadInputError("the results have no kernel to draw. Run dlscale bench conv.")
    document["kernels"], condition = under_one_condition(document["kernels"])
    peaks = peaks_of(arguments.peaks, document["kernels"][0]["threads"])
    wanted = wanted_of(arguments, document["kernels"], condition)
    figure_io.save(draw(document, peaks, wanted), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
