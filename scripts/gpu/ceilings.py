"""What a device does at most by its data sheet, as a description of a cluster has it."""

import re

SCALES = {"G": 1e9, "T": 1e12}


def of(configs, cluster):
    """{"cluster", "peak" (operations a second by precision), "bandwidth" (bytes a second)} of a
    cluster in the folder of configurations; None where it is not described there."""
    path = configs / "clusters" / f"{cluster}.yaml"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    peak = re.search(r"^  peak: \{(.*)\}", text, re.MULTILINE)
    memory = re.search(r"^  memory_bandwidth: ([\d.]+) ([GT])B/s", text, re.MULTILINE)
    if peak is None or memory is None:
        return None
    rates = re.findall(r"(\w+): ([\d.]+) ([GT])FLOP/s", peak.group(1))
    return {
        "cluster": cluster,
        "peak": {dtype: float(rate) * SCALES[scale] for dtype, rate, scale in rates},
        "bandwidth": float(memory.group(1)) * SCALES[memory.group(2)],
    }


def least_seconds(ceilings, dtype, flops, moved):
    """(seconds, what bounds them: "arithmetic" or "memory") of work, or None where the peak in that
    precision is not known."""
    peak = ceilings["peak"].get(dtype)
    if peak is None:
        return None
    computing, moving = flops / peak, moved / ceilings["bandwidth"]
    return (computing, "arithmetic") if computing > moving else (moving, "memory")
