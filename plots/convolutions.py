"""Measured convolutions for the figures: which shape, by which algorithm, how fast.

Rows of "dlscale bench conv" as its result files have them. Figures compare algorithms under one
condition: everything but the kernel, the pass, the batch and the algorithm is the same.
"""

import collections
import dataclasses
import re
import statistics

import figure_io

PASSES = {
    "forward": "forward",
    "backward_data": "backward-data",
    "backward_filter": "backward-filter",
}
ABOUT_THE_CASE = {"network", "layer", "kernel", "pass", "batch", "backend", "algorithm", "repeat"}
USUAL = {"ranks": "1", "ranks_on_node": "1", "fuse": "none", "values": "normal"}  # not worth a word


@dataclasses.dataclass(frozen=True)
class Shape:
    """A convolution without its batch, as its key names it."""

    channels: int
    height: int
    width: int
    outputs: int
    kernel_h: int
    kernel_w: int
    stride: int
    pad: int
    groups: int

    def text(self):
        """ "64 × 56 × 56 → 64, 3 × 3", and what is unusual."""
        text = f"{self.channels} × {self.height} × {self.width} → {self.outputs}"
        return f"{text}, {self.filter_text()}"

    def filter_text(self):
        text = f"{self.kernel_h} × {self.kernel_w}"
        if self.stride != 1:
            text += f", stride {self.stride}"
        if self.groups != 1:
            text += f", {self.groups} groups"
        return text

    def image_text(self):
        if self.height == self.width:
            return str(self.height)
        return f"{self.height} × {self.width}"


@dataclasses.dataclass(frozen=True)
class Case:
    """What is computed."""

    kernel: str
    of: str  # the pass
    batch: int


@dataclasses.dataclass
class Timing:
    """What was found of a case by an algorithm; seconds, or None with a reason."""

    median: float | None
    low: float | None = None
    high: float | None = None
    flops: float | None = None  # of the direct convolution, whatever ran
    reason: str = ""

    def rate(self, seconds):
        """Operations of the direct convolution a second."""
        return self.flops / seconds


@dataclasses.dataclass
class Study:
    """All that was measured under one condition."""

    condition: dict
    timings: dict  # Case -> {(backend, algorithm): Timing}
    layers: dict  # kernel -> ["vgg16 conv1_2", ...]
    left_out: int  # measurements under other conditions
    no_layers: int = 0  # of strides or paddings that differ by direction: no layer has such

    def algorithms(self):
        return {key for by in self.timings.values() for key in by}

    def batches(self, of):
        """How many kernels were measured at each batch."""
        return collections.Counter(case.batch for case in self.timings if case.of == of)

    def passes(self):
        there = {case.of for case in self.timings}
        return [each for each in PASSES if each in there]

    def condition_text(self):
        """ "f32, 1 thread, cold caches"."""
        rest = dict(self.condition)
        parts = []
        if "dtype" in rest:
            parts.append(rest.pop("dtype"))
        if "threads" in rest:
            count = rest.pop("threads")
            parts.append(f"{count} thread{'' if count == '1' else 's'}")
        if "cache" in rest:
            parts.append(f"{rest.pop('cache')} caches")
        parts += [f"{name} {value}" for name, value in rest.items() if USUAL.get(name) != value]
        return ", ".join(parts)

    def left_out_text(self):
        """What the figure does not show, or nothing."""
        parts = []
        if self.left_out:
            parts.append(f"{self.left_out} measurements under other conditions")
        if self.no_layers:
            parts.append(f"{self.no_layers} of strides or paddings that differ by direction")
        return f"{' and '.join(parts)} are left out" if parts else ""


def shape_of(kernel):
    """The shape in a key; None if strides or paddings differ by direction."""
    sizes = dict(re.fullmatch(r"([a-z]+)(\d.*)", word).groups() for word in kernel.split()[1:10])
    names = ["c", "h", "w", "k", "r", "s", "stride", "pad", "groups"]
    if not all(sizes[name].isdigit() for name in names):
        return None
    return Shape(*(int(sizes[name]) for name in names))


def set_of(network, layer):
    """The network, or the list that a convolution stands in: those of lists are their own network,
    named after both."""
    return network.removesuffix(f"_{layer}")


def is_convolution(record):
    return (
        record["benchmark"] == "conv"
        and record["axes"].get("pass") in PASSES
        and record["axes"]["kernel"].startswith("convolution ")
    )


def condition_of(record):
    axes = record["axes"]
    return tuple(sorted((name, axes[name]) for name in axes.keys() - ABOUT_THE_CASE))


def algorithm_of(record):
    """What was asked for: "chosen" where a row is of what training runs."""
    return record["axes"]["backend"], record["axes"].get("algorithm", "chosen")


def may_win(key):
    """Whether an algorithm competes for the fastest: filters transformed once and kept serve
    inference, but training changes them in every iteration."""
    return not key[1].endswith("_kept_filters")


def timing_of(records):
    """Of all measurements of a case by an algorithm: the median of their medians."""
    usable = [each for each in records if each["status"] in ("ok", "unstable")]
    if not usable:
        first = records[0]
        return Timing(None, reason=first.get("reason") or first["status"])
    summaries = [each["series"]["time"]["summary"] for each in usable]
    return Timing(
        statistics.median(each["median"] for each in summaries),
        min(each["ci95_low"] for each in summaries),
        max(each["ci95_high"] for each in summaries),
        usable[0]["work"]["flops"],
    )


def parse_only(texts):
    """--only cache=cold: an axis and the value wanted."""
    wanted = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise figure_io.BadInputError(f'--only is "{text}". Write it as cache=cold.')
        wanted[name] = value
    return wanted


def most_frequent(records, what):
    """The condition of most measurements; of several the first by name."""
    counts = collections.Counter(condition_of(record) for record in records)
    if not counts:
        raise figure_io.BadInputError(
            f"the results have no convolution to draw{what}. Run dlscale bench conv --algorithms all."
        )
    return min(counts, key=lambda condition: (-counts[condition], condition))


def study_of(paths, only):
    """Convolutions in result files under the condition that `only` narrows down."""
    records = [r for path in paths for r in figure_io.read_measurements(path) if is_convolution(r)]
    wanted = parse_only(only)
    matching = [
        record
        for record in records
        if all(record["axes"].get(name) == value for name, value in wanted.items())
    ]
    what = f" with {', '.join(only)}" if only else ""
    condition = most_frequent(matching, what)
    mine = [record for record in matching if condition_of(record) == condition]
    layers_only = [record for record in mine if shape_of(record["axes"]["kernel"]) is not None]
    groups, layers = {}, {}
    for record in without_chosen(layers_only):
        axes = record["axes"]
        case = Case(axes["kernel"], axes["pass"], int(axes["batch"]))
        groups.setdefault(case, {}).setdefault(algorithm_of(record), []).append(record)
        name = f"{set_of(axes['network'], axes['layer'])} {axes['layer']}"
        if name not in layers.setdefault(axes["kernel"], []):
            layers[axes["kernel"]].append(name)
    timings = {
        case: {key: timing_of(found) for key, found in by.items()}
        for case, by in groups.items()
    }
    left_out = len(matching) - len(mine)
    return Study(dict(condition), timings, layers, left_out, len(mine) - len(layers_only))


def without_chosen(records):
    """What training runs is one of the algorithms again; it counts only where none is named."""
    named = [record for record in records if algorithm_of(record)[1] != "chosen"]
    return named or records


def add_options(parser):
    parser.add_argument("results", nargs="+", help="result files of dlscale bench conv")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="measurements with that value of an axis, such as cache=cold or backend=native; "
        "else those under the condition of most of them, which the figure names",
    )


def batch_of(study, of, asked):
    """The batch asked for, or the one most kernels were measured at; of several the largest."""
    batches = study.batches(of)
    if asked is not None:
        if asked not in batches:
            there = ", ".join(str(batch) for batch in sorted(batches))
            raise figure_io.BadInputError(
                f"no {PASSES[of]} convolution was measured with batch {asked}. There are {there}."
            )
        return asked
    return max(batches, key=lambda batch: (batches[batch], batch))


def natural(text):
    """Sorts conv10 behind conv2."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def add_pass_option(parser):
    parser.add_argument(
        "--pass", dest="of", choices=list(PASSES), help="one pass (default: all that are there)"
    )


def passes_among(there, asked):
    """The passes to draw, of those that were measured."""
    if asked is not None and asked not in there:
        raise figure_io.BadInputError(f"no {PASSES[asked]} convolution is among these results.")
    return [asked] if asked else [each for each in PASSES if each in there]
