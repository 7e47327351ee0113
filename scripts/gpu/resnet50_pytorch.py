#!/usr/bin/env python3
"""ResNet-50 in PyTorch as a user would train it: channels last, autocast, cudnn.benchmark.

The network of configs/networks/resnet50.yaml (stride in the first 1 x 1 convolution of a block),
SGD with momentum and weight decay, mean cross-entropy. Reads requests from standard input, one a
line, "MODE INPUT ITERATIONS ROUND", and answers each with one JSON line: the time of every
iteration by the device's own clock. MODE is eager, graph (the whole iteration as a CUDA graph) or
compile (torch.compile). INPUT is device (the batch lies there already: nothing but the iteration
is timed) or host (it is copied from pinned memory in every iteration).
"""

import argparse
import contextlib
import json
import math
import os
import sys
import time

import torch
from torch import nn

BLOCKS = [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)]
PARAMETERS = 25_557_032  # of ResNet-50 with 1000 classes


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, projects):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(inputs, width, 1, stride, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False),
            nn.BatchNorm2d(4 * width),
        )
        self.shortcut = (
            nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )
            if projects
            else nn.Identity()
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.main(x) + self.shortcut(x))


def resnet50():
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for count, width, stride in BLOCKS:
        for block in range(count):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1, block == 0))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def choose_precision(dtype):
    """tf32: of convolutions and matrix products. f32: nowhere."""
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.benchmark = True


class Training:
    """A network, its batch and its optimizer, with the iterations of each mode."""

    def __init__(self, device, dtype, batch):
        torch.manual_seed(1)
        self.device = torch.device(device)
        self.low = {"bf16": torch.bfloat16, "f16": torch.float16}.get(dtype)
        self.model = resnet50().to(self.device, memory_format=torch.channels_last).train()
        self.criterion = nn.CrossEntropyLoss()
        on_gpu = self.device.type == "cuda"
        options = {"fused": True} if on_gpu else {}
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4, **options
        )
        # In the order in which it is computed on: else every copy would be rearranged on its way.
        self.on_host = torch.randn(batch, 3, 224, 224).to(memory_format=torch.channels_last)
        if on_gpu:
            self.on_host = self.on_host.pin_memory()
        self.images = self.on_host.to(self.device).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (batch,)).to(self.device)
        self.loss = None
        self._steps = {}

    def _autocast(self, capturing=False):
        if self.low is None:
            return contextlib.nullcontext()
        # While a graph is captured, a cache of converted weights would outlive what it points to.
        return torch.autocast(self.device.type, dtype=self.low, cache_enabled=not capturing)

    def _iterate(self, model, capturing=False):
        with self._autocast(capturing):
            self.loss = self.criterion(model(self.images), self.labels)
        self.loss.backward()
        self.optimizer.step()

    def _eager(self, model):
        def step():
            self.optimizer.zero_grad(set_to_none=True)
            self._iterate(model)

        return step

    def _graph(self):
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(5):
                self.optimizer.zero_grad(set_to_none=True)
                self._iterate(self.model, capturing=True)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self._iterate(self.model, capturing=True)
        return graph.replay

    def step(self, mode):
        """What does one iteration, made at its first use."""
        if mode not in self._steps:
            make = {
                "eager": lambda: self._eager(self.model),
                "graph": self._graph,
                "compile": lambda: self._eager(torch.compile(self.model)),
            }[mode]
            self._steps[mode] = make()
        return self._steps[mode]

    def release(self):
        """Gives the device's memory back, for whoever is measured next in turn: a graph, whose pool
        is its own, and what the allocator keeps. What torch.compile made stays."""
        self._steps.pop("graph", None)
        self.loss = None
        self.optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            return torch.cuda.memory_reserved()
        return 0

    def feed(self):
        self.images.copy_(self.on_host, non_blocking=True)


def timed_on_gpu(step, iterations):
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(iterations + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    return [1e-3 * a.elapsed_time(b) for a, b in zip(marks, marks[1:])]  # noqa: B905 (Python 3.9)


def timed_on_cpu(step, iterations):
    times = []
    for _ in range(iterations):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return times


def summary(samples):
    """Median and its 95 % interval by order statistics (normal approximation to the binomial)."""
    ordered, n = sorted(samples), len(samples)
    half = 0.98 * math.sqrt(n)
    low, high = math.floor(n / 2 - half), math.ceil(n / 2 + half)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return {
        "median_s": middle,
        "ci95_low_s": ordered[max(0, low)],
        "ci95_high_s": ordered[min(n - 1, high)],
    }


def measure(training, mode, source, iterations):
    step = training.step(mode)

    def whole():
        training.feed()
        step()

    chosen = whole if source == "host" else step
    timed = timed_on_gpu if training.device.type == "cuda" else timed_on_cpu
    warmup = 10 if training.device.type == "cuda" else 1
    timed(chosen, warmup)
    samples = timed(chosen, iterations)
    return {"samples_s": samples, **summary(samples), "loss": float(training.loss)}


def describe(options):
    return {
        "schema": "dlscale.peer",
        "version": 1,
        "peer": "pytorch",
        "network": "resnet50",
        "batch": options.batch,
        "dtype": options.dtype,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
    }


def answer(training, options, line):
    mode, source, iterations, number = line.split()
    row = describe(options) | {"mode": mode, "input": source, "round": int(number)}
    try:
        row |= measure(training, mode, source, int(iterations))
        row |= {"images_per_s": options.batch / row["median_s"]}
    except Exception as error:  # a mode that PyTorch cannot do here is a row that says so
        row |= {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    with contextlib.suppress(Exception):  # after an error nothing may be left that can be asked
        row["kept_bytes"] = training.release()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--dtype", choices=["f32", "tf32", "bf16", "f16"], default="bf16")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    choose_precision(options.dtype)
    training = Training(options.device, options.dtype, options.batch)
    counted = sum(parameter.numel() for parameter in training.model.parameters())
    if counted != PARAMETERS:
        sys.exit(f"this is no ResNet-50: {counted} parameters instead of {PARAMETERS}")
    for line in sys.stdin:
        print(json.dumps(answer(training, options, line)), file=answers)


if __name__ == "__main__":
    main()
