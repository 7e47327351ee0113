"""Steps on the processor's cores: data-parallel training on 1, 2, 4, … ranks, and predictions."""

import dataclasses
import shlex

import machine
import models
from gpu_plan import RATE, bench, make_data
from session import Step

NETWORKS = [("alexnet", 32), ("googlenet", 16), ("resnet50", 8)]
MOST_RANKS = 16
NEEDS = ("onednn",)
DATA = "--data {work}/pictures-cpu"


def rank_counts(cores):
    """1, 2, 4, … up to the cores, 16 at most."""
    counts = [1]
    while counts[-1] * 2 <= min(cores, MOST_RANKS):
        counts.append(counts[-1] * 2)
    return counts


def _step(name, doc, kind, seconds, limit, benchmark, count, words):
    """A benchmark on `count` ranks. A rank is one core, on which its threads take turns."""
    action = bench(benchmark, f"{words} --cores-per-rank 1", "cpu.jsonl", count if count > 1 else 0)
    needs = NEEDS if count == 1 else (*NEEDS, "mpi")
    return Step(f"{name}-{count}", f"{doc}, {count} ranks", kind, seconds, limit, action, needs)


def _name(network):
    """Of a network's file, for the names of steps."""
    return network.rpartition("/")[2].removesuffix(".yaml")


def _parts(network, batch, ranks):
    """Kernels, alone and with all workers at once; all-reduces of each number of ranks."""
    name, source = _name(network), shlex.quote(network)
    kernels = f"--network {source} --batch {batch} --check no --max-time 0.1"
    gradients = f"--sizes gradients --networks {source} --waiting spin,sleep --max-time 0.1"
    found = [
        _step(
            f"cpu-conv-{name}", "every kernel", f"cpu-conv-{name}", 30, 120, "conv", count, kernels
        )
        for count in dict.fromkeys([1, ranks[-1]])
    ]
    return found + [
        _step(f"cpu-comm-{name}", "all-reduces", "cpu-comm", 15, 60, "comm", count, gradients)
        for count in ranks[1:]
    ]


def _shared_parts(ranks, networks):
    """What no network has to itself, alone and with all workers at once."""
    names = ",".join(shlex.quote(name) for name, _ in networks)
    # Of a copy, several sizes: from one nobody can tell latency and bandwidth apart.
    sizes = sorted({1, 8, 32} | {batch for _, batch in networks})
    batches = ",".join(map(str, sizes))
    cells = {
        "update": "--sizes 1MiB,16MiB,128MiB --max-time 0.3",
        "memory": f"--operations copy,h2d --sizes 64MiB --networks {names} --batch {batches} "
        "--max-time 0.3",
        "io": f"{DATA} --networks {names} --max-time 0.5",
    }
    return [
        _step(f"cpu-{name}", name, f"cpu-{name}", 8, 120, name, count, words)
        for count in dict.fromkeys([1, ranks[-1]])
        for name, words in cells.items()
    ]


def _training(network, batch, ranks, iterations):
    name = _name(network)
    words = f"--network {shlex.quote(network)} --batch {batch} {DATA} --iterations {iterations}"
    return [
        _step(f"cpu-train-{name}", "training", f"cpu-train-{name}", 20, 90, "e2e", count,
              f"{words} --warmup 2 {RATE}")
        for count in ranks
    ]  # fmt: skip


def steps(networks, iterations, pictures):
    """`networks`: (name or file, batch), in the order of value; none: those of NETWORKS. They leave
    the GPU idle, so its turns come first."""
    networks = networks or NETWORKS
    ranks = rank_counts(machine.usable_cores())
    data = make_data(f"--out {{work}}/pictures-cpu --pictures {pictures}")
    found = [
        Step("cpu-data", f"write {pictures} pictures of 110 kB", "cpu-data", 15, 90, data, NEEDS)
    ]
    found += _shared_parts(ranks, networks)
    fit = models.fit_and_judge("cpu", "cpu.jsonl", "cpu.jsonl", "onednn", "local", ranks[-1])
    for network, batch in networks:
        found += _parts(network, batch, ranks)
        found += _training(network, batch, ranks, iterations)
        found.append(
            Step(f"cpu-fit-{_name(network)}", "calibrate, validate", "cpu-fit", 3, 60, fit, NEEDS)
        )
    return [dataclasses.replace(step, turn=1) for step in found]
