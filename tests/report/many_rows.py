#!/usr/bin/env python3
"""Writes result files of as many rows as a long study leaves: many_rows.py FOLDER [ROWS] [SEED]

Of the schema that the program writes, four kinds of them: convolutions by algorithms, products of matrices, messages and
bandwidths of memory. Times are made up from the work, with noise that the seed determines; about one row in a hundred is
unstable, wrong or not offered. For measuring how long pages take (page_load.py), not for anything about machines.
"""

import json
import math
import pathlib
import random
import statistics
import sys

SAMPLES = 10
ENVIRONMENT = {
    "affinity": "0-15", "commit": "0123456789abcdef0123456789abcdef01234567", "compiler": "GNU 12.2.0", "cores": 16,
    "cpu": "Made-up processor", "date": "2026-11-23T00:00:00Z", "denormals": "kept", "dirty": False, "flags": "-O3",
    "governor": "performance", "host_hash": "0123456789abcdef", "kernel": "Linux 6.1", "libraries": {"oneDNN": "2.6.3"},
    "load": "0.10 0.10 0.10 1/100 1000", "memory_bytes": 64e9, "variables": {}}
ALGORITHMS = ("direct", "fft", "fft_tiled", "im2col", "winograd_f2", "winograd_f4", "winograd_f6", "kn2row")
PASSES = ("forward", "backward_data", "backward_filter")
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")


class Rows:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def row(self, benchmark, axes, seconds, **more):
        """One measurement of about that many seconds."""
        draw = self.random.random()
        status = "ok" if draw > 0.01 else "unsupported" if draw > 0.006 else "wrong" if draw > 0.005 else "unstable"
        spread = 0.01 if status != "unstable" else 0.1
        samples = [seconds * math.exp(self.random.gauss(0, spread)) for _ in range(SAMPLES)]
        timed = status in ("ok", "unstable")
        reason = {"ok": "", "unstable": "the 95 % interval of the median is still wider than ±2 %",
                  "wrong": "the answer differs from the reference by 0.5", "unsupported": "not for this shape"}[status]
        return {"axes": {name: str(value) for name, value in axes.items()}, "benchmark": benchmark, "implementation": "made up",
                "max_relative_error": 1e-6 if timed else None, "reason": reason,
                "series": {"time": self.series(samples)} if timed else {}, "status": status, "warnings": []} | more

    @staticmethod
    def series(samples):
        ordered = sorted(samples)
        middle = statistics.median(ordered)
        mad = statistics.median(abs(each - middle) for each in ordered)
        summary = {"ci95_high": ordered[8], "ci95_low": ordered[1], "mad": mad, "max": ordered[-1], "median": middle,
                   "min": ordered[0], "n": len(ordered)}
        return {"samples": [samples], "summary": summary, "unit": "s"}

    def convolutions(self, count):
        for number in range(count):
            algorithm = ALGORITHMS[number % len(ALGORITHMS)]
            direction = PASSES[number // len(ALGORITHMS) % len(PASSES)]
            layer = number // (len(ALGORITHMS) * len(PASSES))
            channels, size = 64 << layer % 4, 112 >> layer % 5
            filters, batch = 64 << layer // 4 % 4, 1 << layer // 20
            kernel = f"convolution c{channels} h{size} w{size} k{filters} r3 s3 stride1 pad1 groups1"
            flops = 2.0 * batch * size * size * channels * filters * 9
            axes = {"algorithm": algorithm, "backend": "native", "batch": batch, "cache": "cold", "dtype": "f32", "fuse": "none",
                    "kernel": kernel, "layer": f"conv{layer % 20}", "network": "made_up", "pass": direction, "ranks": 1,
                    "ranks_on_node": 1, "threads": 1, "values": "normal"}
            work = {"bytes": 4.0 * batch * size * size * (channels + filters), "flops": flops}
            yield self.row("conv", axes, flops / 5e10 * (1 + ALGORITHMS.index(algorithm) / 4), work=work, workspace_bytes=0.0)

    def products(self, count):
        for number in range(count):
            m, n, k = (64 * (1 + number // power % 16) for power in (1, 16, 256))
            axes = {"backend": "native", "cache": "cold", "dtype": "f32", "kernel": f"gemm m{m} n{n} k{k} ta0 tb0", "ranks": 1,
                    "ranks_on_node": 1, "threads": 1, "values": "normal"}
            work = {"bytes": 4.0 * (m * k + k * n + m * n), "flops": 2.0 * m * n * k}
            yield self.row("gemm", axes, 2.0 * m * n * k / 6e10 + 2e-6, work=work)

    def messages(self, count):
        for number in range(count):
            size, ranks = 4 << number % 26, 2 + number // 26 % 30
            axes = {"algorithm": "library", "bytes": size, "cache": "cold", "collective": COLLECTIVES[number // 780 % 4],
                    "dtype": "f32", "in_place": "yes", "library": "made up", "mode": "blocking", "op": "sum", "ranks": ranks,
                    "ranks_on_node": 1, "waiting": "spin"}
            seconds = 2e-6 * math.log2(ranks) + size * 2 * (ranks - 1) / ranks / 1e10
            yield self.row("comm", axes, seconds, work={"bytes": 1.0 * size, "flops": 0.0})

    def copies(self, count):
        for number in range(count):
            size = 1024 * (1 + number)
            axes = {"bytes": size, "isa": "avx512", "operation": "copy", "ranks": 1, "ranks_on_node": 1, "stores": "ordinary",
                    "threads": 1}
            bandwidth = 2e10 if size > 1 << 25 else 1e11
            yield self.row("memory", axes, size * 2 / bandwidth, work={"bytes": 2.0 * size, "flops": 0.0})


def write(path, benchmark, rows):
    header = {"benchmark": benchmark, "command": ["dlscale", "bench", benchmark], "environment": ENVIRONMENT,
              "run": {"check": "yes"}, "schema": "dlscale.result", "version": 1}
    rows = list(rows)
    with path.open("w", encoding="utf-8") as file:
        for line in (header, *rows, {"end": {"measurements": len(rows)}}):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    rows = Rows(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    folder.mkdir(parents=True, exist_ok=True)
    convolutions, products, messages = count * 4 // 10, count * 2 // 10, count * 3 // 10
    write(folder / "conv.jsonl", "conv", rows.convolutions(convolutions))
    write(folder / "gemm.jsonl", "gemm", rows.products(products))
    write(folder / "comm.jsonl", "comm", rows.messages(messages))
    write(folder / "memory.jsonl", "memory", rows.copies(count - convolutions - products - messages))


if __name__ == "__main__":
    main()
