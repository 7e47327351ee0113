#!/usr/bin/env python3
"""Speed of convolutions against the batch: a panel a layer, a line an algorithm, 95 % intervals.

Reads result files of "dlscale bench conv --algorithms all" with several batches. Speed counts the
operations of the direct convolution, whatever ran: a higher line is a shorter time.
Example: plots/batch_speed.py conv.jsonl --pass forward -o batch_speed
"""

import algorithms
import convolutions
import figure_io
from figure_io import plt


def batches_by_kernel(study, of):
    """kernel -> {batch: {algorithm: Timing}} of kernels with two batches or more."""
    kernels = {}
    for case, by in study.timings.items():
        if case.of == of:
            kernels.setdefault(case.kernel, {})[case.batch] = by
    return {kernel: batches for kernel, batches in kernels.items() if len(batches) > 1}


def pass_of(study, asked):
    """The pass to draw."""
    there = [of for of in study.passes() if batches_by_kernel(study, of)]
    if asked in there or (asked is None and there):
        return asked or there[0]
    what = f"{convolutions.PASSES[asked]} " if asked else ""
    raise figure_io.BadInputError(
        f"no {what}convolution was measured with two batches. Measure with dlscale bench conv "
        "--batch 1,4,16."
    )


def operations(batches):
    """Of the largest batch: what panels are chosen by."""
    flops = [t.flops for t in batches[max(batches)].values() if t.flops is not None]
    return max(flops, default=0)


def line_of(batches, key):
    """(batch, operations/s, low, high) where the algorithm has a time, batches ascending."""
    points = []
    for batch in sorted(batches):
        timing = batches[batch].get(key)
        if timing is None or timing.median is None:
            continue
        rates = (timing.rate(timing.median), timing.rate(timing.high), timing.rate(timing.low))
        points.append((batch, *rates))
    return points


def draw_kernel(axes, batches, styles):
    for key, style in styles.items():
        points = line_of(batches, key)
        if not points:
            continue
        at = [point[0] for point in points]
        median, low, high = ([1e-9 * point[i] for point in points] for i in (1, 2, 3))
        axes.fill_between(at, low, high, color=style.colour, alpha=0.25, linewidth=0)
        axes.plot(
            at,
            median,
            color=style.colour,
            marker=style.mark,
            markersize=4,
            linewidth=1.1,
            label=figure_io.label(style.name),
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(batches), [str(batch) for batch in sorted(batches)])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid()
    axes.set_xlabel("batch, images")


def title_of(study, kernel):
    names = study.layers[kernel]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}\n{convolutions.shape_of(kernel).text()}"


def draw(study, of, most):
    kernels = batches_by_kernel(study, of)
    shown = sorted(kernels, key=lambda kernel: (-operations(kernels[kernel]), kernel))[:most]
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(max(4.2, 3.6 * columns), 2.7 * lines), squeeze=False
    )
    styles = algorithms.styles(study.algorithms())
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for axes, kernel in zip(grid.flat, shown, strict=False):
        draw_kernel(axes, kernels[kernel], styles)
        axes.set_title(figure_io.label(title_of(study, kernel)), loc="left", fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("effective GFLOP/s")
    title = f"{convolutions.PASSES[of]}, {study.condition_text()}"
    if len(kernels) > len(shown):
        title += f"; the {len(shown)} of {len(kernels)} kernels with most operations"
    if study.left_out_text():
        title += f"; {study.left_out_text()}"
    figure.suptitle(figure_io.label(title), x=0.01, ha="left", fontsize=9.5)
    figure.tight_layout()
    figure_io.add_legend(figure)
    return figure


def main():
    parser = figure_io.parser_of(__doc__)
    convolutions.add_options(parser)
    parser.add_argument(
        "--pass",
        dest="of",
        choices=list(convolutions.PASSES),
        help="the pass (default: the first that was measured with two batches)",
    )
    parser.add_argument("--most", type=int, default=12, help="panels at most (default: 12)")
    arguments = parser.parse_args()
    if arguments.most < 1:
        raise figure_io.BadInputError(f"--most is {arguments.most}. Write 1 or more.")
    study = convolutions.study_of(arguments.results, arguments.only)
    of = pass_of(study, arguments.of)
    figure_io.save(draw(study, of, arguments.most), arguments.output)


if __name__ == "__main__":
    figure_io.run(main)
