"""Time of matrix products: tiles and waves on the multiprocessors, and memory.

A product m x n x k is cut into tiles that run in waves over the multiprocessors. A tile takes its flops at the rate of a
multiprocessor, longer by what its operands take from shared memory; the least over tiles and splits of k counts.
"""
import numpy as np

from layers import CONV, DATA, WEIGHTS

TILES = [(256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (128, 32), (32, 128), (32, 32), (128, 8)]
SPLITS = [1, 4, 16, 64]
BM, BN, SK = (np.array(x, float) for x in zip(*[(m, n, s) for m, n in TILES for s in SPLITS]))

# Fixed: physics or published kernel times.
FIXED = {
    "power": 2.2,            # compute and memory overlap: (compute^p + memory^p)^(1/p)
    "shared": 2.0,           # a warp's tile is half as wide as its block's: each operand is read twice
    "start": 1000.0,         # clocks before a tile computes, and after
    "copies": 2.0,           # passes to turn a channels-first tensor for tensor cores: read and written once more
    "strided": 0.5,          # gradient of data of a strided convolution (DeepBench)
    "old_half": 1.5,         # element-wise kernels in 16 bits of old libraries do not use wide loads
    "graph": 0.4,            # cost of a launch in a CUDA graph
}

# Fitted: centre and standard deviation of the logarithm.
PRIOR = {
    "e": (0.92, 0.05),       # of the peak at the sustained clock, inner loop of a product
    "conv": (0.93, 0.05),    # of that, convolutions
    "convw": (0.85, 0.08),   # of that, their gradient of weights
    "t0": (10e-6, 0.25),     # s a kernel
    "em": (0.88, 0.05),      # of the memory's bandwidth
    "w": (0.60, 0.25),       # sustained clock between base (0) and boost (1), logarithmic
    "old": (0.65, 0.15),     # of that, convolutions of old libraries on ordinary cores
    "oldtc": (0.40, 0.25),   # and on tensor cores
}


class Products:
    """Many products at once: what does not depend on the constants is worked out once."""

    def __init__(self, products, devices, tensor, peak, element):
        """products: list; devices, tensor (on tensor cores), peak (flop/s), element (bytes): one each."""
        def of(f):
            return np.array([f(p) for p in products], float)

        g, m, n, k, cin = (of(lambda p, f=f: getattr(p, f)) for f in ("g", "m", "n", "k", "cin"))
        self.tensor, self.element = np.array(tensor, bool), np.array(element, float)
        self.conv = of(lambda p: p.cls) == CONV
        self.weights = self.conv & (of(lambda p: p.what) == WEIGHTS)
        self.strided = self.conv & (of(lambda p: p.what) == DATA) & (of(lambda p: p.stride) > 1)
        k = np.where(self.tensor & self.conv, k / cin * np.ceil(cin / 8) * 8, k)
        self.saved = np.where(self.tensor, 0.0, of(lambda p: p.wino))
        self.elements, self.activations = of(lambda p: p.el), of(lambda p: p.act)
        self.flop = 2 * g * m * n * k
        units = np.array([d.units for d in devices])
        self.waves = np.ceil((g[:, None] * np.ceil(m[:, None] / BM) * np.ceil(n[:, None] / BN)) * SK / units[:, None])
        depth = k[:, None] / SK
        self.work = np.where((SK == 1) | (depth >= 64), 2 * BM * BN * np.ceil(depth), np.inf)
        self.partial = np.where(SK > 1, 8.0 * (g * m * n)[:, None] * np.minimum(SK, 8), 0.0)
        self.peak = np.array(peak, float)
        self.peak_clock = np.array([d.tensor_clock if t else d.boost for d, t in zip(devices, tensor)])
        self.per_clock = self.peak / (units * self.peak_clock)
        self.base = np.array([d.base for d in devices])
        self.bandwidth = np.array([d.bandwidth for d in devices])
        self.issue = np.array([d.issue for d in devices])

    def times(self, c, age, copied):
        """s each, without the launch. age of the convolution library; copied: 1 where tensors must be turned."""
        clock = self.base ** (1 - c["w"]) * self.peak_clock ** c["w"]
        e = c["e"] * self.issue * np.where(self.conv, c["conv"], 1.0) * np.where(self.weights, c["convw"], 1.0)
        rate = self.per_clock * clock * np.where(self.strided, e * FIXED["strided"], e)
        memory = c["em"] * self.bandwidth
        shared = FIXED["shared"] * self.per_clock * self.element / 256
        tile = self.work * ((1 + shared[:, None] * (1 / BM + 1 / BN)) / rate[:, None]) + (FIXED["start"] / clock)[:, None]
        compute = (self.waves * tile + self.partial / memory[:, None]).min(axis=1)
        old = np.where(self.conv, np.where(self.tensor, c["oldtc"], c["old"]) ** age, 1.0)
        winograd = np.where(self.saved > 0, compute / np.maximum(self.saved, 1e-9), np.inf)
        compute = np.minimum(compute / old, winograd)
        traffic = self.elements * self.element / memory
        p = FIXED["power"]
        return (compute ** p + traffic ** p) ** (1 / p) \
            + copied * FIXED["copies"] * self.activations * self.element / memory

    def roofline(self):
        """s each at full peak and bandwidth."""
        return np.maximum(self.flop / self.peak, self.elements * self.element / self.bandwidth)
