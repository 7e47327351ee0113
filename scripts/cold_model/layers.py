"""Layers become matrix products and passes over memory.

A convolution or linear layer gives up to three products; everything else moves elements through memory.
"""
import csv
import math
import os
from dataclasses import dataclass

CONV, LINEAR, BATCHED = 0, 1, 2
FORWARD, DATA, WEIGHTS = 0, 1, 2


@dataclass(frozen=True)
class Product:
    cls: int        # CONV, LINEAR, BATCHED
    what: int       # FORWARD, DATA, WEIGHTS
    g: float        # groups, or batch of products
    m: float        # rows, columns and depth of one of the g products
    n: float
    k: float
    el: float       # elements of all operands and of the result, all g
    act: float      # those of them that are activations or their gradients
    wino: float     # multiplications saved by Winograd's minimal filtering; 0 where it does not apply
    cin: float      # channels in the depth (k = r s cin), for padding to the tensor cores' grain
    stride: int     # of a convolution


class Work:
    def __init__(self):
        self.products = {}     # Product -> count
        self.el = [0.0, 0.0]   # elements that passes over memory move, forward and backward
        self.kernels = [0, 0]  # kernels of such passes
        self.params = 0.0
        self.tensors = 0

    def add(self, p, n=1):
        self.products[p] = self.products.get(p, 0) + n

    def move(self, forward, backward, kf=1, kb=1):
        self.el[0] += forward
        self.el[1] += backward
        self.kernels[0] += kf
        self.kernels[1] += kb


def table(folder, name):
    with open(os.path.join(folder, "net_%s.csv" % name), encoding="utf-8") as f:
        return list(csv.DictReader(f))


def winograd(r, s, stride, g, ci, co, ho, wo):
    """F(2x2, 3x3): 2.25 fewer multiplications, less where the output is odd."""
    if g != 1 or stride != 1 or r != s or not (r == 3 and ci >= 16 or r == 5 and min(ci, co) >= 64):
        return 0.0
    full = 2.25
    return full * ho * wo / (4.0 * math.ceil(ho / 2) * math.ceil(wo / 2))


def conv(w, b, c, h, wi, k, r, s, st, g, ho, wo, first):
    x, y, wt = b * c * h * wi, b * k * ho * wo, k * c * r * s / g
    el = x + y + wt
    red = winograd(r, s, st, g, c, k, ho, wo)
    cg, kg = c / g, k / g
    one = r * s == 1
    w.add(Product(CONV, FORWARD, g, b * ho * wo, kg, r * s * cg, el, x + y, red, cg, st))
    if not first:
        if one:
            w.add(Product(CONV, DATA, g, b * ho * wo, cg, kg, el, x + y, 0.0, kg, st))
        else:
            redb = winograd(r, s, st, g, k, c, h, wi)
            w.add(Product(CONV, DATA, g, b * ho * wo * st * st, cg, r * s * kg / (st * st), el, x + y, redb, kg, st))
    w.add(Product(CONV, WEIGHTS, g, kg, r * s * cg, b * ho * wo, el, x + y, red, b * ho * wo, st))


def linear(w, rows, c, k, first=False, n=1):
    el = rows * c + rows * k + c * k
    w.add(Product(LINEAR, FORWARD, 1, rows, k, c, el, 0, 0.0, c, 1), n)
    if not first:
        w.add(Product(LINEAR, DATA, 1, rows, c, k, el, 0, 0.0, k, 1), n)
    w.add(Product(LINEAR, WEIGHTS, 1, k, c, rows, el, 0, 0.0, rows, 1), n)


def batched(w, g, m, n, k, times=1):
    el = g * (m * k + k * n + m * n)
    w.add(Product(BATCHED, FORWARD, g, m, n, k, el, 0, 0.0, k, 1), times)
    w.add(Product(BATCHED, DATA, g, m, k, n, el, 0, 0.0, n, 1), times)
    w.add(Product(BATCHED, WEIGHTS, g, k, n, m, el, 0, 0.0, m, 1), times)


def first_stride(rows):
    """ResNet v1: the stride of a block sits in its first 1x1 convolution."""
    rows = [dict(r) for r in rows]
    for i, r in enumerate(rows):
        if r["kind"] == "conv" and r["r"] == "3" and r["stride"] == "2":
            j = max(x for x in range(i) if rows[x]["kind"] == "conv")
            for x in rows[j:i]:
                x["out_h"], x["out_w"] = r["out_h"], r["out_w"]
                if x["kind"] != "conv":
                    x["h"], x["w"] = r["out_h"], r["out_w"]
            rows[j]["stride"], r["stride"] = "2", "1"
            r["h"], r["w"] = r["out_h"], r["out_w"]
    return rows


def cnn(rows, b, fusion, norm="trained", input_gradient=False):
    """fusion: separate, pointwise (chains of element-wise operations), norm_act (batch norm with ReLU and sum), all"""
    w = Work()
    first = not input_gradient
    prev = None
    for r in rows:
        kind = r["kind"]
        c, h, wi, k = int(r["c"]), int(r["h"]), int(r["w"]), int(r["k"])
        ho, wo, st, g = int(r["out_h"]), int(r["out_w"]), int(r["stride"]), int(r["groups"])
        out = b * k * ho * wo
        if kind == "conv":
            conv(w, b, c, h, wi, k, int(r["r"]), int(r["s"]), st, g, ho, wo, first)
            first = False
            if int(r["bias_params"]):
                w.move(2 * out, out)
        elif kind == "fc":
            linear(w, b * h, c, k, first)
            if int(r["bias_params"]):
                w.move(2 * out, out)
        elif kind == "batchnorm":
            if norm == "frozen":               # graph of inference: its gradient transposes, then reduces term by term
                w.move(2 * out, 16 * out, 1, 10)
            else:
                w.move(3 * out, 5 * out, 2, 1)
        elif kind == "relu":
            fused = fusion in ("norm_act", "all") and prev in ("batchnorm", "eltwise_add") or fusion == "pointwise" and prev == "eltwise_add"
            if not fused:
                w.move(2 * out, 3 * out)
            else:
                w.move(0, out, 0, 0)          # the sign of the output is read once more
        elif kind == "eltwise_add":
            if fusion in ("norm_act", "all"):
                w.move(1 * out, 2 * out, 0, 1)
            else:
                w.move(3 * out, 3 * out, 1, 1)
        elif kind == "concat":
            w.move(2 * out, 2 * out)
        elif kind in ("maxpool", "avgpool"):
            w.move(b * c * h * wi + out, b * c * h * wi + 2 * out)
        elif kind == "dropout":
            w.move(2 * out, 2 * out)
        elif kind == "lrn":
            w.move(3 * out, 5 * out)
        elif kind == "softmax_xent":
            w.move(3 * out, 2 * out)
        else:
            raise SystemExit("layer kind %s has no rule" % kind)
        weights = int(r["weight_params"]) + int(r["bias_params"])
        if weights:
            w.params += weights
            w.tensors += 2 if kind == "batchnorm" or int(r["bias_params"]) else 1
        prev = kind
    return w


# Passes of one transformer layer: elements a token and per width h, per inner width f, per score; kernels.
# forward and backward.  fusion: primitive (operators of a graph), kernels (one a norm, GELU, softmax), all, epilogue
LAYER = {  #             h fwd  h bwd  f fwd f bwd  s fwd s bwd  kernels fwd, bwd
    "primitive": (26.0, 40.0, 12.0, 20.0, 11.0, 13.0, 55, 100),
    "kernels": (18.0, 24.0, 4.0, 5.0, 8.0, 9.0, 22, 36),
    "all": (9.0, 14.0, 2.0, 3.0, 4.0, 5.0, 10, 18),
    "epilogue": (6.0, 10.0, 1.0, 2.0, 4.0, 5.0, 8, 14),
}


def layer(w, fusion, attention, t, h, f, heads, q, kv, b, n=1, cross=False):
    """n layers over t tokens: attention of b sequences (q by kv scores), then two products."""
    linear(w, t, h, h, n=4 * n)
    linear(w, t, h, f, n=n)
    linear(w, t, f, h, n=n)
    d = h / heads
    batched(w, b * heads, q, kv, d, n)
    batched(w, b * heads, q, d, kv, n)
    hf, hb, ff, fb, sf, sb, kf, kb = LAYER[fusion]
    s = b * heads * q * kv
    if attention == "fused":
        sf = sb = 0.0
        kf, kb = kf - 2, kb - 3
    w.move(n * (t * h * hf + t * f * ff + s * sf), n * (t * h * hb + t * f * fb + s * sb), n * kf, n * kb)


def vocabulary(w, rows, h, v):
    linear(w, rows, h, v)
    w.move(4 * rows * v, 3 * rows * v, 3, 2)


def bert(net, b, fusion, attention, head, padded):
    """head: none, masked (15.6 % of the tokens), all.  padded: share of the tokens that is computed."""
    h, f, v, heads, layers = net["hidden"], net["ffn"], net["vocab"], net["heads"], net["layers"]
    seq = net["seq"] * padded
    t = b * seq
    w = Work()
    layer(w, fusion, attention, t, h, f, heads, seq, seq, b, layers)
    w.move(8 * t * h, 8 * t * h, 6, 8)
    if head != "none":
        rows = b * max(20.0, 0.156 * net["seq"]) if head == "masked" else t
        linear(w, rows, h, h)
        w.move(rows * h * 6, rows * h * 8, 4, 6)
        vocabulary(w, rows, h, v)
    w.params = net["parameters"]
    w.tensors = 16 * layers + 10
    return w


def transformer_big(net, b_tokens, fusion, attention):
    """Encoder and decoder of 6 layers, sentences of 32 tokens, logits for every token of the target."""
    h, f, v, heads = net["hidden"], net["ffn"], net["vocab"], net["heads"]
    t, seq = b_tokens, 32.0
    b = t / seq
    w = Work()
    layer(w, fusion, attention, t, h, f, heads, seq, seq, b, 6)
    layer(w, fusion, attention, t, h, f, heads, seq, seq, b, 6)
    linear(w, t, h, h, n=4 * 6)
    batched(w, b * heads, seq, seq, h / heads, 6)
    batched(w, b * heads, seq, h / heads, seq, 6)
    hf, hb, ff, fb, sf, sb, kf, kb = LAYER[fusion]
    w.move(6 * 0.5 * t * h * hf, 6 * 0.5 * t * h * hb, 3 * kf, 3 * kb)
    vocabulary(w, t, h, v)
    w.params = net["parameters"]
    w.tensors = 16 * 18
    return w


def transformer_xl(net, b_tokens, fusion, attention):
    """Relative attention over a memory as long as the segment; adaptive softmax of 20,000 + 25 % rows."""
    h, f, heads, layers = net["hidden"], net["ffn"], net["heads"], net["layers"]
    t, q = b_tokens, float(net["seq"])
    kv = 2 * q
    b = t / q
    w = Work()
    linear(w, t, h, h, n=2 * layers)               # query and output
    linear(w, 2 * t, h, 2 * h, n=layers)           # key and value over memory and segment
    linear(w, kv, h, h, n=layers)                  # positions
    linear(w, t, h, f, n=layers)
    linear(w, t, f, h, n=layers)
    d = h / heads
    batched(w, b * heads, q, kv, d, 2 * layers)
    batched(w, b * heads, q, d, kv, layers)
    hf, hb, ff, fb, sf, sb, kf, kb = LAYER[fusion]
    s = b * heads * q * kv
    w.move(layers * (t * h * (hf + 6) + t * f * ff + s * (sf + 6)),
           layers * (t * h * (hb + 6) + t * f * fb + s * (sb + 6)), layers * (kf + 8), layers * (kb + 12))
    vocabulary(w, t, h, 25000)
    w.params = net["parameters"]
    w.tensors = 12 * layers + 20
    return w
