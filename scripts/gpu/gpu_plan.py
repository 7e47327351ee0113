"""Steps on the GPU: parts of an iteration, training, and predictions held against it."""

import shlex

import machine
import models
from session import Step

NETWORKS = ["resnet50", "googlenet", "alexnet", "vgg16"]
DTYPES = ["bf16", "tf32", "f32"]
BATCHES = [64, 256, 16, 128, 32]  # the most telling first: time may end the list anywhere
PICTURES = 4096
# As sets are kept that were resized once: decoding 110 kB would keep 16 cores from feeding a GPU.
PICTURE = "--width 256 --height 256 --picture-size 20kB"
DATA = "--data {work}/pictures-256"
NEEDS = ("cuda",)
OTHERS = "batch_norm,relu,max_pooling,average_pooling,softmax_cross_entropy"
RATE = "--rate 0.001"  # no network's loss grows without bound in the few iterations that are timed


def words_of(session, text):
    """The words of a command line; {work} is the folder of the run, which no name of a file has."""
    return [word.replace("{work}", str(session.work)) for word in shlex.split(text)]


def bench(benchmark, text, output="parts.jsonl", ranks=0):
    """An action: a benchmark whose results go into a file of the record."""

    def action(session, limit):
        if not session.record.has_room(output):
            return session.no_room(output)
        words = ["bench", benchmark, *words_of(session, text), "-o", "-"]
        return session.execute(session.programs.command(words, ranks), limit, output)

    return action


def make_data(text):
    """An action: writes a data set."""

    def action(session, limit):
        words = ["data", "make", *words_of(session, text)]
        return session.execute(session.programs.command(words), limit)

    return action


def feeding():
    """Of the loader: all cores but those of the training thread and of the driver's."""
    return f"{DATA} --loader-threads {max(1, machine.usable_cores() - 2)} --prefetch 4"


def train(network, batch, dtype, iterations, repeat=1, launch="eager"):
    """An action: training, every iteration timed."""
    return bench(
        "e2e",
        f"--network {network} --batch {batch} --dtype {dtype} --backend cuda {feeding()} "
        f"--iterations {iterations} --warmup 5 --repeat {repeat} --launch {launch} {RATE}",
        "training.jsonl",
    )


def cluster():
    """The description of the GPU that is here: of its data sheet where there is one."""
    return "h200x8" if "H200" in machine.output_of(["nvidia-smi", "-L"]) else "local"


def _quick_of(dtype):
    cells = [
        ("h2d", "copies of batches to the device", 10, "memory",
         f"--operations h2d --networks {','.join(NETWORKS)} --batch 16,32,64,128,256"),
        ("update", "SGD update", 8, "update", ""),
    ]  # fmt: skip
    return [
        Step(f"{name}-{dtype}", doc, name, seconds, 60,
             bench(benchmark, f"{words} --backend cuda --dtype {dtype} --max-time 0.2"), NEEDS,
             f"{name}-{dtype}")
        for name, doc, seconds, benchmark, words in cells
    ]  # fmt: skip


def _checked(dtype):
    words = f"--network resnet50 --batch 32 --dtype {dtype} --backend cuda --max-time 0.05"
    return Step(f"conv-resnet50-{dtype}-checked", "every kernel of ResNet-50, answers checked",
                "checked", 40, 150, bench("conv", words), NEEDS, f"conv-{dtype}")  # fmt: skip


def quick_steps():
    """Each part of an iteration once, with the answers of ResNet-50's kernels checked."""
    data = make_data(f"--out {{work}}/pictures-256 --pictures {PICTURES} {PICTURE}")
    memory = bench("memory", "--operations copy,triad --max-time 0.3")
    pictures = f"{feeding()} --networks {','.join(NETWORKS)} --batch 64 --max-time 1"
    found = [Step("data", f"write {PICTURES} pictures of 256 x 256", "data", 15, 90, data, NEEDS)]
    found += [_checked(dtype) for dtype in DTYPES]
    for dtype in DTYPES:
        found += _quick_of(dtype)
    return [
        *found,
        Step("memory", "bandwidth of the host's memory", "memory", 8, 30, memory, NEEDS),
        Step("io", "reading and decoding pictures", "io", 12, 60, bench("io", pictures), NEEDS),
    ]


# A product of each kind: one that starting takes longer than, one of the caches, one of the peak.
PRODUCTS = "512x512x512,2048x2048x2048,8192x8192x8192"


def _products():
    squares = f"--sizes {PRODUCTS} --dtype bf16,tf32,f32,f16 --cache cold,hot --max-time 0.1"
    transformer = "--list transformer --max-time 0.05 --dtype"
    return [
        Step("gemm-squares", "square matrix products in every precision", "gemm-squares", 25, 90,
             bench("gemm", f"--backend cuda {squares}"), NEEDS, "gemm"),
    ] + [
        Step(f"gemm-transformer-{dtype}", "matrix products of GPT-2 and BERT", "gemm-transformer",
             80, 180, bench("gemm", f"--backend cuda {transformer} {dtype}"), NEEDS, "gemm")
        for dtype in DTYPES[:2]
    ]  # fmt: skip


def probe_steps():
    """The GPU itself, its matrix products, and how far each algorithm that cuDNN still has gets."""
    device = bench("device", "--backend cuda --max-time 0.1")
    found = [Step("device", "memory, launches and copies", "device", 90, 240, device, NEEDS, "device")]
    for dtype in DTYPES[:2]:
        words = f"--network resnet50 --dtype {dtype} --backend cuda --algorithms all --batch"
        found.append(
            Step(f"layers-{dtype}", "cuDNN beside our own kernels for ResNet-50's other layers",
                 "layers", 90, 240, bench("conv", f"{words} 32 --layers {OTHERS} --max-time 0.02"),
                 NEEDS, f"conv-{dtype}")
        )  # fmt: skip
        words += " 64 --layers convolution"
        found.append(
            Step(f"algorithms-{dtype}", "every algorithm for ResNet-50's convolutions", "algorithms",
                 120, 300, bench("conv", f"{words} --max-time 0.02"), NEEDS, f"conv-{dtype}")
        )  # fmt: skip
    products = _products()
    return [found[0], products[0], *found[1:], *products[1:]]


def training_steps():
    """For each network, batch and precision: its kernels, then training; predictions in between."""
    found = []
    fit = models.fit_and_judge("gpu", "parts.jsonl", "training.jsonl", "cuda", cluster(), 1)
    for batch in BATCHES:
        for dtype in DTYPES:
            for network in NETWORKS:
                found += _pair(network, batch, dtype)
            found.append(
                Step(f"fit-{batch}-{dtype}", "calibrate, validate", "fit", 3, 60, fit, NEEDS)
            )
    return found


def _pair(network, batch, dtype):
    cell = f"{network}-{batch}-{dtype}"
    kernels = bench(
        "conv",
        f"--network {network} --batch {batch} --dtype {dtype} --backend cuda --check no "
        "--max-time 0.05",
    )
    return [
        Step(f"conv-{cell}", "every kernel", f"conv-{network}", 25, 120, kernels, NEEDS,
             f"conv-{dtype}"),
        Step(f"train-{cell}", "training", f"train-{network}", 15, 90,
             train(network, batch, dtype, 40), NEEDS, f"train-{dtype}"),
    ]  # fmt: skip
