"""Published trainings become step times: work by layer, time by kernel, update, exchange."""
import dataclasses
import json
import os

import numpy as np

import devices
import kernels
import layers
import scaling
import traits

TABLES = {"ResNet-50": "resnet50_v1.5", "ResNet-152": "resnet152", "ResNeXt-101-32x4d": "resnext101_32x4d",
          "SE-ResNeXt-101-32x4d": "se_resnext101_32x4d", "Inception-v3": "inception_v3", "Inception-v4": "inception_v4",
          "DenseNet-161": "densenet161", "DenseNet-201": "densenet201", "VGG-16": "vgg16_D", "AlexNet": "alexnet_owt"}
PASSES = {"none": 0, "accumulate": 4, "sgd": 3, "momentum": 5, "adam": 8, "lamb": 10}
KERNELS = {"fused": 0.1, "tensor": 2.0, "ops": 10.0}


def load(paths):
    """Cases of all files. A one-GPU case made from a scaling case takes that one's micro-batch back."""
    cases = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            cases += [json.loads(line) for line in f if line.strip()]
    by_id = {c["id"]: c for c in cases}
    for c in cases:
        whole = by_id.get(c["id"].rsplit("-1gpu-", 1)[0])
        micro = whole and whole["run"]["parallel"].get("micro_batch")
        if micro and "micro_batch" not in c["run"]["parallel"] and c["batch_per_gpu"] >= micro:
            c["run"] = dict(c["run"], parallel=dict(c["run"]["parallel"], micro_batch=micro))
    return cases


def work_of(case, row, batch, folder, tables):
    """Work of a micro-batch of the case's network, as the traits have it run."""
    net = case["network"]
    name = net["name"]
    if name in TABLES:
        first_stride = row["variant"] == "v1" and name in ("ResNet-50", "ResNet-152")
        table = "resnet50_v1" if first_stride and name == "ResNet-50" else TABLES[name]
        if table not in tables:
            tables[table] = layers.table(folder, table)
        rows = layers.first_stride(tables[table]) if first_stride and name == "ResNet-152" else tables[table]
        return layers.cnn(rows, batch, row["elementwise"], row["norm"], row["input_gradient"] == "yes")
    if name.startswith("BERT"):
        head = "none" if traits.fine_tuned(case) else row["head"]
        return layers.bert(net, batch, row["elementwise"], row["attention"], head, traits.computed_tokens(row, case, batch))
    if name == "Transformer-Big":
        return layers.transformer_big(net, batch, row["elementwise"], row["attention"])
    if name.startswith("Transformer-XL"):
        return layers.transformer_xl(net, batch, row["elementwise"], row["attention"])
    raise SystemExit("the layers of %r are not known: leave its cases out" % name)


@dataclasses.dataclass
class Training:
    """One way in which a case may have run: one step on one GPU."""
    device: object
    row: dict
    work: object
    steps: float       # micro-batches of a step
    precision: str
    half: bool


class Trainings:
    """All cases; equal ones are computed once, unknown traits several times."""

    def __init__(self, cases, folder, rows):
        self.cases = cases
        sheets = devices.read(os.path.join(folder, "device_facts.csv"))
        tables, seen = {}, {}
        self.ways, self.rows, key_of, owner = [], [], [], []
        for c in cases:
            row = traits.find(rows, c)
            self.rows.append(row)
            device = devices.find(sheets, c["cluster"]["gpu"])
            batch = c["run"]["parallel"].get("micro_batch") or c["batch_per_gpu"]
            steps = max(1.0, round(c["batch_per_gpu"] / batch))
            precision = "tf32" if c["precision"] == "fp32" and device.tf32 else c["precision"]
            key = (json.dumps(c["network"]), device.name, precision, batch, steps, id(row), traits.fine_tuned(c))
            if key not in seen:
                seen[key] = len(seen)
                for way in traits.alternatives(row):
                    work = work_of(c, way, batch, folder, tables)
                    self.ways.append(Training(device, way, work, steps, precision, precision not in ("fp32", "tf32")))
                    owner.append(seen[key])
            key_of.append(seen[key])
        self.key_of, self.owner = np.array(key_of), np.array(owner)
        self.share = 1.0 / np.bincount(self.owner)[self.owner]
        self.way_of = np.array([int(np.argmax(self.owner == k)) for k in self.key_of])
        self.set = np.array([c["set"] for c in cases])
        self.gpus = np.array([c["gpus"] for c in cases])
        self.measured = np.array([np.log(c["global_batch"] / c["measured"]["samples_per_s"]) for c in cases])
        self.collect()

    def collect(self):
        """Arrays over products and over ways."""
        items = []
        for i, t in enumerate(self.ways):
            element = 2.0 if t.half else 4.0
            direct = t.row["search"] == "direct"
            tensor = t.device.fp16 if t.half else t.device.tf32 if t.precision == "tf32" else 0.0
            kinds = [(False, t.device.fp32)] + ([(True, tensor)] if tensor and not direct else [])
            for p, count in t.work.products.items():
                p = dataclasses.replace(p, wino=0.0) if direct else p
                for j, (on_tensor, peak) in enumerate(kinds):
                    copied = on_tensor and p.cls == layers.CONV and t.row["layout"] == "channels_first"
                    items.append((p, t.device, on_tensor, peak, element, i, count, j, float(copied)))
        products, sheets, tensor, peak, element, way, count, other, copied = (list(x) for x in zip(*items))
        self.products = kernels.Products(products, sheets, tensor, peak, element)
        self.way, self.count, self.copied = np.array(way), np.array(count, float), np.array(copied)
        self.what = np.array([p.what for p in products])
        self.other = np.nonzero(np.array(other) == 1)[0]   # on tensor cores; the one before it is the same on ordinary cores

        def of(f):
            return np.array([f(t) for t in self.ways], float)

        row = [t.row for t in self.ways]
        self.age = np.array([traits.age(r) for r in row])
        self.gap = np.array([kernels.FIXED["graph"] if r["launch"] == "cuda_graph" else 1.0 for r in row])
        size = of(lambda t: 2.0 if t.half and t.row["math"] != "float" else 4.0)
        slow = np.array([kernels.FIXED["old_half"] ** (a if t.half else 0.0) for a, t in zip(self.age, self.ways)])
        self.bytes = np.array([t.work.el for t in self.ways]) * (size * slow)[:, None]
        self.launches = np.array([t.work.kernels for t in self.ways], float)
        self.bandwidth, self.steps = of(lambda t: t.device.bandwidth), of(lambda t: t.steps)
        parameters = of(lambda t: t.work.params)
        master = of(lambda t: t.half and t.row["weights"] == "master")
        self.update_bytes = parameters * (4 * of(lambda t: PASSES[t.row["optimizer"]]) + 12 * master + 12 * (self.steps - 1))
        few = {"none": 0.0, "accumulate": 2.0}
        self.update_launches = of(lambda t: t.work.tensors * few.get(t.row["optimizer"], KERNELS.get(t.row["update"], 0.0)))

    def product_times(self, c):
        """s of each product on the better kind of cores, at the index of the ordinary one."""
        t = self.products.times(c, self.age[self.way], self.copied)
        t[self.other - 1] = np.minimum(t[self.other - 1], t[self.other])
        t[self.other] = 0.0
        return t

    def parts(self, c):
        """s of forward, backward and update of each way."""
        t = self.product_times(c) + c["t0"] * self.gap[self.way]
        t[self.other] = 0.0
        t *= self.count
        n, memory, gap = len(self.ways), c["em"] * self.bandwidth, c["t0"] * self.gap
        forward = np.bincount(self.way, t * (self.what == layers.FORWARD), n)
        backward = np.bincount(self.way, t * (self.what != layers.FORWARD), n)
        forward += self.bytes[:, 0] / memory + self.launches[:, 0] * gap
        backward += self.bytes[:, 1] / memory + self.launches[:, 1] * gap
        return forward * self.steps, backward * self.steps, self.update_bytes / memory + self.update_launches * gap

    def step(self, c):
        """s of one GPU's step, each case; the geometric mean where traits are unknown."""
        log = np.log(sum(self.parts(c))) * self.share
        return np.exp(np.bincount(self.owner, log))[self.key_of]

    def log_time(self, c):
        t = self.step(c)
        extra = np.zeros(len(t))
        for i in np.nonzero(self.gpus > 1)[0]:
            case, row = self.cases[i], self.rows[i]
            overlap = row["overlap"] if row["overlap"] != "-" else case["run"]["overlap"]
            tensors = max(2, self.ways[self.way_of[i]].work.tensors)
            extra[i] = scaling.extra(case, t[i], tensors, overlap, "hidden" in case["network"], row["transport"])
        return np.log(t + extra)

    def roofline(self):
        """log s of one GPU's step at full peak and bandwidth: matrix products alone."""
        t = self.products.roofline()
        t[self.other - 1] = np.minimum(t[self.other - 1], t[self.other])
        t[self.other] = 0.0
        total = np.bincount(self.way, t * self.count, len(self.ways)) * self.steps
        return np.log(total[self.way_of])
