#!/usr/bin/env python3
"""Trains what `dlscale bench e2e` trained, in PyTorch, as a user would: channels last, autocast, cudnn.benchmark, SGD with
momentum and weight decay. Knows ResNet-50 and AlexNet.

Reads a result file of bench e2e (--like) and writes another with the same rows (--out), so that `dlscale compare`, `validate`
and `report` take both. The batch lies on the device already; where the row's launch is "graph", each phase is a CUDA graph.
Exit codes are those of dlscale: 2 bad input, 4 a loss that is not a number, 6 what is needed is missing.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import sys
import time

# scripts/on_gpu sets the library path for dlscale, but PyTorch has its own libraries.
if (outside := os.environ.pop("ON_GPU_LIBRARY_PATH", None)) is not None:
    os.environ["LD_LIBRARY_PATH"] = outside
    os.execv(sys.executable, [sys.executable, *sys.argv])
try:
    import torch
    from torch import nn
except ImportError as missing:
    print(f"pytorch_peer: python3 has no PyTorch ({missing}). Install it.", file=sys.stderr)
    sys.exit(6)

BLOCKS = [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)]  # ResNet-50: count, width, stride
PARAMETERS = {"resnet50": 25_557_032, "alexnet": 60_965_224}


def normalised(inputs, outputs, kernel, stride=1, pad=0):
    return [nn.Conv2d(inputs, outputs, kernel, stride, pad, bias=False), nn.BatchNorm2d(outputs)]


class Bottleneck(nn.Module):
    """A block whose first 1 x 1 convolution has the stride, as in configs/networks/resnet50.yaml."""

    def __init__(self, inputs, width, stride, projects):
        super().__init__()
        self.main = nn.Sequential(
            *normalised(inputs, width, 1, stride), nn.ReLU(inplace=True),
            *normalised(width, width, 3, 1, 1), nn.ReLU(inplace=True), *normalised(width, 4 * width, 1))  # fmt: skip
        self.shortcut = nn.Sequential(*normalised(inputs, 4 * width, 1, stride)) if projects else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.main(x) + self.shortcut(x))


def resnet50():
    layers, channels = [*normalised(3, 64, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for count, width, stride in BLOCKS:
        for block in range(count):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1, block == 0))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def alexnet():
    """AlexNet as in configs/networks/alexnet.yaml: with groups and normalisation, for 227 x 227 pixels."""

    def block(inputs, outputs, kernel, norm=False, **more):
        layers = [nn.Conv2d(inputs, outputs, kernel, **more), nn.ReLU(inplace=True)]
        return [*layers, nn.LocalResponseNorm(5, 5e-4, 0.75, 2), nn.MaxPool2d(3, 2)] if norm else layers

    def full(inputs):
        return [nn.Linear(inputs, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5)]

    return nn.Sequential(
        *block(3, 96, 11, norm=True, stride=4), *block(96, 256, 5, norm=True, padding=2, groups=2),
        *block(256, 384, 3, padding=1), *block(384, 384, 3, padding=1, groups=2), *block(384, 256, 3, padding=1, groups=2),
        nn.MaxPool2d(3, 2), nn.Flatten(), *full(9216), *full(4096), nn.Linear(4096, 1000))  # fmt: skip


NETWORKS = {"resnet50": (resnet50, 224), "alexnet": (alexnet, 227)}


class Training:
    """A network, its batch and its optimizer; an iteration is forward, backward and update."""

    def __init__(self, network, batch, dtype, device):
        torch.manual_seed(1)
        make, size = NETWORKS[network]
        self.device, self.loss, self.captures = torch.device(device), None, False
        self.low = {"bf16": torch.bfloat16, "f16": torch.float16}.get(dtype)
        self.model = make().to(self.device, memory_format=torch.channels_last).train()
        counted = sum(parameter.numel() for parameter in self.model.parameters())
        assert counted == PARAMETERS[network], f"{network} has {counted} parameters here"
        fused = {"fused": True} if device == "cuda" else {}
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4, **fused)
        self.images = torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last).to(self.device)
        self.labels = torch.randint(0, 1000, (batch,)).to(self.device)

    def forward(self):
        low = contextlib.nullcontext()
        if self.low is not None:  # autocast's cache of converted weights would outlive a captured graph
            low = torch.autocast(self.device.type, self.low, cache_enabled=not self.captures)
        with low:
            self.loss = nn.functional.cross_entropy(self.model(self.images), self.labels)

    def backward(self):
        self.loss.backward()

    def eager(self):
        begin = lambda: (self.optimizer.zero_grad(set_to_none=True), self.forward())  # noqa: E731
        return [begin, self.backward, self.optimizer.step]

    def graphs(self):
        self.captures = True
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(5):
                for phase in self.eager():
                    phase()
        torch.cuda.current_stream().wait_stream(beside)
        self.optimizer.zero_grad(set_to_none=True)  # so that backward writes instead of adding
        pool, replays = torch.cuda.graph_pool_handle(), []
        for phase in [self.forward, self.backward, self.optimizer.step]:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                phase()
            replays.append(graph.replay)
        return replays


def timed(phases, device, iterations):
    """Seconds of forward, backward and update for each iteration, by the device's clock."""

    def mark():
        if device == "cpu":
            return time.perf_counter()
        return torch.cuda.current_stream().record_event(torch.cuda.Event(enable_timing=True))

    marks = [mark()]
    for _ in range(iterations):
        for phase in phases:
            phase()
            marks.append(mark())
    if device == "cuda":
        torch.cuda.synchronize()
    spans = [b - a if device == "cpu" else 1e-3 * a.elapsed_time(b) for a, b in zip(marks, marks[1:])]  # noqa: B905
    return [spans[i::3] for i in range(3)]


def measure(row):
    """PyTorch's row of the same key. It never waits for input or gradients."""
    axes = row["axes"]
    network, launch = axes["network"], axes.get("launch", "eager")
    device = "cuda" if axes["backend"].startswith("cuda") else "cpu"
    if network not in NETWORKS or axes["ranks"] != "1":
        raise NotImplementedError(f"{network} on {axes['ranks']} ranks is not written here, but {', '.join(NETWORKS)} on one")
    if device == "cuda" and not torch.cuda.is_available():
        raise NotImplementedError("this PyTorch can use no GPU here")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = axes["dtype"] == "tf32"
    torch.backends.cudnn.benchmark = True
    training = Training(network, int(axes["batch"]), axes["dtype"], device)
    phases = training.graphs() if launch == "graph" else training.eager()
    timed(phases, device, 10 if device == "cuda" else 1)
    forward, backward, update = timed(phases, device, len(row["series"]["t_iter"]["samples"][0]))
    whole = [sum(parts) for parts in zip(forward, backward, update)]  # noqa: B905
    series = {"t_iter": whole, "t_f": forward, "t_b": backward, "t_u": update}
    series |= {name: [0.0] * len(whole) for name in ("t_io", "t_h2d", "t_comm_exposed", "t_other")}
    fine, median = math.isfinite(float(training.loss)), sorted(whole)[len(whole) // 2]
    print(f"{network} {axes['dtype']}, {launch}: {1e3 * median:.2f} ms, {int(axes['batch']) / median:.0f} images/s")
    return row | {
        "series": {name: {"unit": "s", "samples": [times]} for name, times in series.items()} if fine else {},
        "status": "ok" if fine else "wrong", "reason": "" if fine else "the loss is not finite", "warnings": [],
        "implementation": f"PyTorch {torch.__version__}, channels last, {launch}"}  # fmt: skip


def header_like(header):
    """The header with the same machine and other software."""
    libraries = header["environment"]["libraries"] | {
        "PyTorch": torch.__version__, "cuDNN of PyTorch": str(torch.backends.cudnn.version() or "none")}  # fmt: skip
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    software = {"date": date, "compiler": f"PyTorch {torch.__version__}", "flags": "", "libraries": libraries}
    return header | {"command": sys.argv, "environment": header["environment"] | software}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", type=pathlib.Path, required=True, help="result file of bench e2e")
    parser.add_argument("--out", "-o", type=pathlib.Path, required=True, help="result file to write")
    options = parser.parse_args()
    try:
        lines = [json.loads(line) for line in options.like.read_text(encoding="utf-8").splitlines()]
        header, *rows = [line for line in lines if "end" not in line]
        measured = [measure(row) for row in rows if row["status"] in ("ok", "unstable")]
    except (OSError, ValueError, KeyError, NotImplementedError) as error:
        print(f"pytorch_peer: {options.like}: {error}", file=sys.stderr)
        return 6 if isinstance(error, NotImplementedError) else 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    documents = [header_like(header), *measured, {"end": {"measurements": len(measured)}}]
    text = "".join(json.dumps(each, sort_keys=True, separators=(",", ":")) + "\n" for each in documents)
    options.out.with_suffix(".new").write_text(text, encoding="utf-8")
    options.out.with_suffix(".new").replace(options.out)
    return 4 if any(row["status"] == "wrong" for row in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
