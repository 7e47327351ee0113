"""Our own convolutions against the best plan of cuDNN and against the roofline, of results."""

import re

import ceilings as sheet

NEAR = 0.10  # a plan so close to the roofline leaves nothing that could be told from noise
LIBRARY = ("eng", "legacy ", "graph")
HAVE_TIMES = ("ok", "unstable")


def _kind(algorithm):
    if algorithm.startswith("own "):
        return "own"
    return "library" if algorithm.startswith(LIBRARY) else None


def _rows(record):
    """(network, layer, batch, dtype, pass, cache) → kind → results, of convolutions whose
    algorithms were compared."""
    found = {}
    for row in record.lines("parts.jsonl"):
        axes = row.get("axes", {})
        kind = _kind(axes.get("algorithm", ""))
        if row.get("benchmark") != "conv" or kind is None or axes.get("fuse", "none") != "none":
            continue
        if not axes.get("kernel", "").startswith("convolution"):
            continue
        names = ["network", "layer", "batch", "dtype", "pass", "cache"]
        rows = found.setdefault(tuple(axes.get(name, "") for name in names), {})
        rows.setdefault(kind, []).append(row)
    return found


def _seconds(row):
    return row["series"]["time"]["summary"]["median"]


def _measured(rows):
    return [row for row in rows if row["status"] in HAVE_TIMES]


def _best(rows):
    return min(_measured(rows), key=_seconds, default=None)


def _overlap(one, other):
    """Whether the 95 % intervals do, so that neither is known to be the faster."""
    a, b = (each["series"]["time"]["summary"] for each in (one, other))
    return a["ci95_low"] <= b["ci95_high"] and b["ci95_low"] <= a["ci95_high"]


def _tie(own, rows):
    """Whether our best ties with a plan."""
    return own is not None and any(_overlap(own, plan) for plan in _measured(rows))


def _own_flops(row):
    """What our algorithm executes at least: as recorded; else, of Winograd, its multiplications
    without transforms and padding; None if neither is known."""
    if row.get("algorithmic_work"):
        return row["algorithmic_work"]["flops"]
    tiles = re.search(r"F\((\d+)x\1,(\d+)x\2\)", row.get("implementation", ""))
    if tiles is None:
        return None
    m, r = map(int, tiles.groups())
    return row["work"]["flops"] * (m + r - 1) ** 2 / (m * r) ** 2


def _least_of(ceilings, dtype, row):
    """(seconds, what bounds them) that our algorithm takes at least, or None if nobody knows."""
    flops = _own_flops(row)
    if flops is None:
        return None
    moved = (row.get("algorithmic_work") or row["work"])["bytes"]
    return sheet.least_seconds(ceilings, dtype, flops, max(moved, row["work"]["bytes"]))


def _own_least(ceilings, dtype, rows):
    """Of the algorithm of ours that could be fastest; None unless it is known of all of them."""
    known = [_least_of(ceilings, dtype, row) for row in _measured(rows)]
    return None if None in known else min(known, default=None)


def _milliseconds(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.4g}"


def _word(own, library, tie, roofline, least):
    """Whether ours is ahead, or ties with a plan; else whether it can be ahead. `roofline`,
    `least`: (seconds, bound) or None."""
    if library is None:
        return "cuDNN has no plan" if own is not None else "neither has an algorithm"
    theirs = _seconds(library)
    if tie:
        return "tie"
    if own is not None and _seconds(own) < theirs:
        return "ahead"
    if roofline and theirs <= (1 + NEAR) * roofline[0] and roofline[1] == "memory":
        return f"cannot: cuDNN within {max(0, theirs / roofline[0] - 1):.0%} of the memory's bound"
    if own is None:
        return "behind: no algorithm of ours"
    if least and least[0] >= theirs:
        return f"cannot: our work takes {_milliseconds(least[0])} ms at least ({least[1]})"
    if not least and roofline and theirs <= (1 + NEAR) * roofline[0]:
        return f"cuDNN within {max(0, theirs / roofline[0] - 1):.0%} of the arithmetic's bound"
    if least:
        return f"behind: our work takes {_milliseconds(least[0])} ms at least"
    return "behind"


def _work(row):
    return row.get("work") or {}


def compare(record, ceilings):
    """A row of the table for each layer and pass, in order."""
    table = []
    for key, rows in sorted(_rows(record).items()):
        own, library = _best(rows.get("own", [])), _best(rows.get("library", []))
        some = own or library
        if some is None or not _work(some):
            continue
        roofline = least = None
        if ceilings:
            work = _work(some)
            roofline = sheet.least_seconds(ceilings, key[3], work["flops"], work["bytes"])
            least = _own_least(ceilings, key[3], rows.get("own", []))
        timed = len(_measured(rows.get("library", [])))
        network, layer, batch, dtype, computed, cache = key
        table.append(
            [
                f"{network} {layer}" if layer not in network else network,
                computed, batch, dtype + ("" if cache == "cold" else f", {cache}"),
                _milliseconds(own and _seconds(own)),
                own["axes"]["algorithm"].removeprefix("own ") if own else "-",
                _milliseconds(library and _seconds(library)), timed,
                f"{_seconds(library) / _seconds(own):.2f}" if own and library else "-",
                f"{_milliseconds(roofline[0])} ({roofline[1]})" if roofline else "-",
                _word(own, library, _tie(own, rows.get("library", [])), roofline, least),
            ]
        )  # fmt: skip
    return table


HEAD = ["layer", "pass", "batch", "dtype", "ours ms", "by", "cuDNN ms", "its plans timed",
        "cuDNN / ours", "roofline ms", "ours"]  # fmt: skip


def told(table, ceilings):
    """What the table is made of, in lines."""
    ahead = sum(row[-1] == "ahead" for row in table)
    ties = sum(row[-1] == "tie" for row in table)
    cannot = sum(row[-1].startswith("cannot") for row in table)
    lines = [
        f"Ours is ahead of every plan of cuDNN that was timed in {ahead} of {len(table)} passes, "
        f"ties with one in {ties} (95 % intervals overlap), and cannot be ahead in {cannot}.",
        "Answers were not checked beside these times; the device tests check the same algorithms.",
    ]
    if ceilings:
        lines += [
            "The roofline is the larger of a direct convolution's operations over the peak of its",
            "precision and the tensors' bytes, each moved once, over the bandwidth of memory (data",
            f"sheet {ceilings['sheet']}). An algorithm that is not direct may be faster than",
            "its arithmetic, none than its memory. What our work takes at least is of the algorithm of",
            "ours that could be fastest, by its operations as recorded with the result; where they are",
            "not, by Winograd's multiplications alone, and not known with an FFT among those timed.",
        ]
    else:
        lines.append("No data sheet of this GPU is described, so there is no roofline.")
    return lines
