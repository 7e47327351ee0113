"""What a GPU does at most by its data sheet, and which clusters have such GPUs."""

import re

SCALES = {"G": 1e9, "T": 1e12}
FILLERS = ("nvidia", "tesla", "geforce")


def _plain(name):
    """As names are compared: dlscale takes a GPU's sheet by the same rule (core/device_file.cpp)."""
    word = re.sub(r"[^a-z0-9]", "", name.lower())
    for filler in FILLERS:
        word = word.replace(filler, "", 1)
    return word


def _names(sheet):
    """What a sheet answers to: its file's name, its own, and what publications call it."""
    listed = re.search(r"^aliases: \[(.*)\]", sheet, re.MULTILINE)
    aliases = re.findall(r'"([^"]*)"|([^,"]+)', listed.group(1)) if listed else []
    ids = re.findall(r"^(?:device|name): (.*)$", sheet, re.MULTILINE)
    return ids + [quoted or plain.strip() for quoted, plain in aliases if (quoted or plain).strip()]


def _sheet(configs, gpu):
    """(id, text) of the data sheet of a GPU by what its driver calls it; None if there is none."""
    wanted = _plain(gpu)
    for path in sorted((configs / "devices").glob("*.yaml")) if wanted else []:
        text = path.read_text(encoding="utf-8")
        if wanted in map(_plain, _names(text)):
            return path.stem, text
    return None


def of(configs, gpu):
    """{"sheet", "peak" (operations a second by precision), "bandwidth" (bytes a second)} of a GPU by
    the name its driver gives it; None where no sheet in the folder of configurations tells them."""
    found = _sheet(configs, gpu)
    if found is None:
        return None
    name, text = found
    peak = re.search(r"^peak: \{(.*)\}", text, re.MULTILINE)
    memory = re.search(r"^memory_bandwidth: ([\d.]+) ([GT])B/s", text, re.MULTILINE)
    if peak is None or memory is None:
        return None
    rates = re.findall(r"(\w+): ([\d.]+) ([GT])FLOP/s", peak.group(1))
    return {
        "sheet": name,
        "peak": {dtype: float(rate) * SCALES[scale] for dtype, rate, scale in rates},
        "bandwidth": float(memory.group(1)) * SCALES[memory.group(2)],
    }


def cluster_of(configs, gpu):
    """The described node whose GPUs are of this kind, as "dgx_h100"; None if there is none."""
    found = _sheet(configs, gpu)
    if found is None:
        return None
    answers = set(map(_plain, _names(found[1])))
    for path in sorted((configs / "clusters").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        device = re.search(r"^device:\n  name: (.*)$", text, re.MULTILINE)
        one_node = re.search(r"^nodes: 1$", text, re.MULTILINE)
        if device and one_node and _plain(device.group(1)) in answers:
            return path.stem
    return None


def least_seconds(ceilings, dtype, flops, moved):
    """(seconds, what bounds them: "arithmetic" or "memory") of work, or None where the peak in that
    precision is not known."""
    peak = ceilings["peak"].get(dtype)
    if peak is None:
        return None
    computing, moving = flops / peak, moved / ceilings["bandwidth"]
    return (computing, "arithmetic") if computing > moving else (moving, "memory")
