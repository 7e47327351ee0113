#!/usr/bin/env python3
"""The roofline with every layer of a network under it: a mark a layer and algorithm.

Reads the JSON of "dlscale roofline show --format json". Marks count the algorithm's own operations
and bytes, so that none can stand above the roofs that hold it.
Example: plots/roofline.py roofline.json --network vgg16 -o roofline
"""

import algorithms
import convolutions
import figure_io
from figure_io import plt

INTENSITY, SPEED = "intensity_flops_per_byte", "executed_flops_per_s"
MOST_NUMBERED = 32  # layers; beyond that numbers cannot be read


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


def usual_batch(kernels):
    """The batch of most kernels; of several the largest."""
    batches = [kernel["batch"] for kernel in kernels]
    return max(set(batches), key=lambda batch: (batches.count(batch), batch))


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


def draw_ceilings(axes, document):
    for each in document["arithmetic_ceilings"]:
        rate = 1e-9 * each["flops_per_s"]
        axes.axhline(rate, color=figure_io.GREY, linewidth=0.9, linestyle="--")
        note(axes, rate, f"{rate:.4g}: {each['name']}")
    sheet = document["data_sheet_flops_per_s"]
    if sheet is not None:
        axes.axhline(1e-9 * sheet, color=figure_io.GREY, linewidth=0.9, linestyle=":")
        note(axes, 1e-9 * sheet, f"{1e-9 * sheet:.4g}: f32 by the data sheet")


def fastest(by):
    return min(by, key=lambda key: by[key]["time_s"])


def draw_marks(axes, marks, styles):
    for key, style in styles.items():
        mine = [by[key] for by in marks.values() if key in by]
        if not mine:
            continue
        axes.plot(
            [kernel[INTENSITY] for kernel in mine],
            [1e-9 * kernel[SPEED] for kernel in mine],
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
            (best[INTENSITY], 1e-9 * best[SPEED]),
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


def span_of(document, marks_by_pass):
    """Intensities to show: those of all marks and of all ridges, with room on both sides."""
    found = [k[INTENSITY] for marks in marks_by_pass.values() for by in marks.values() for k in by.values()]
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


def draw_panel(axes, document, marks, styles, span):
    draw_roof(axes, document, span[0])
    draw_ceilings(axes, document)
    draw_marks(axes, marks, styles)
    figure_io.set_plain_log(axes.xaxis)
    figure_io.set_plain_log(axes.yaxis)
    axes.set_xlim(*span)
    axes.grid()
    axes.set_xlabel("operations of the algorithm a byte that it moves", fontsize=8)


def draw(document, network, passes, condition):
    """A panel a pass, and the key."""
    kernels = document["kernels"]
    styles = algorithms.styles({(kernel["backend"], kernel["algorithm"]) for kernel in kernels})
    shown = [each for each in kernels if layer_in(each, network) and each["pass"] in passes]
    batch = usual_batch(shown)
    by_pass = {of: marks_of(kernels, network, of, batch) for of in passes}
    by_pass = {of: marks for of, marks in by_pass.items() if marks}
    ordered = sorted({layer for marks in by_pass.values() for layer in marks}, key=convolutions.natural)
    span = span_of(document, by_pass)
    widths = [4.1] * len(by_pass) + [1.5]
    figure, row = plt.subplots(1, len(widths), figsize=(sum(widths), 3.9), width_ratios=widths)
    for axes, (of, marks) in zip(row, by_pass.items(), strict=False):
        draw_panel(axes, document, {layer: marks.get(layer, {}) for layer in ordered}, styles, span)
        title = f"{network}, {convolutions.PASSES[of]}, batch {batch}"
        axes.set_title(figure_io.label(title), loc="left", fontsize=9.5)
    row[0].set_ylabel("GFLOP/s executed by the algorithm")
    draw_key(row[-1], dict.fromkeys(ordered))
    figure.suptitle(figure_io.label(f"f32, {condition}"), x=0.01, ha="left", fontsize=9.5)
    figure.tight_layout()
    figure_io.add_legend(figure, columns=4)
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("roofline", help="JSON of dlscale roofline show")
    parser.add_argument("--network", required=True, help="the network whose layers to draw")
    convolutions.add_pass_option(parser)
    arguments = parser.parse_args()
    document = figure_io.read_json(arguments.roofline, "dlscale.roofline")
    if not document["kernels"]:
        raise figure_io.BadInputError("the results have no kernel to draw. Run dlscale bench conv.")
    document["kernels"], condition = under_one_condition(document["kernels"])
    kernels = [each for each in document["kernels"] if layer_in(each, arguments.network)]
    if not kernels:
        there = ", ".join(networks_of(document["kernels"]))
        raise figure_io.BadInputError(f"{arguments.network} is not among the networks measured: {there}.")
    wanted = convolutions.passes_among({kernel["pass"] for kernel in kernels}, arguments.of)
    figure_io.save(draw(document, arguments.network, wanted, condition), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
