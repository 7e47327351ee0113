"""Traits of software (traits.csv): what a framework's release and precision decide about the kernels that run."""
import csv
import re

HALF = ("mixed", "fp16", "bf16")


def read(path):
    with open(path, encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    for row in rows:
        row["pattern"] = re.compile(row["match"], re.I)
    return rows


def find(rows, case):
    """The first row whose patterns, kind of network and precision fit."""
    network, precision = case["network"], case["precision"]
    kind = "transformer" if "hidden" in network else "cnn"
    group = "mixed" if precision.startswith(HALF) else precision
    for row in rows:
        if row["kind"] == kind and row["precision"] in ("any", group) and row["network"] in network["name"] \
                and row["pattern"].search(case["run"]["framework"]):
            return row
    raise SystemExit("no traits for framework %r: add a row to traits.csv" % case["run"]["framework"])


def fine_tuned(case):
    """Question answering runs at 384 tokens; the biomedical runs label words: neither has a vocabulary head."""
    return case["network"].get("seq") == 384 or "biobert" in case["source"]


def computed_tokens(row, case, batch):
    """The share of the padded tokens that is computed, where the row's condition holds."""
    name, _, value = row["tokens_if"].partition("=")
    if name == "seq" and case["network"].get("seq") != int(value):
        return 1.0
    if name == "batch" and batch < float(value):
        return 1.0
    return float(row["tokens"])


def age(row):
    """0 from the middle of 2019 on, 1 for the libraries of autumn 2016."""
    return max(0.0, (2019.5 - float(row["libraries"])) / 2.8)


def alternatives(row):
    """Unknown traits take each of their values; a heuristic choice of algorithms may miss the fast ones."""
    out = [row]
    if row["search"] == "heuristic":
        out = [dict(row, search="exhaustive"), dict(row, search="direct")]
    if row["layout"] == "unknown":
        out = [dict(o, layout=v) for o in out for v in ("channels_first", "channels_last")]
    return out
