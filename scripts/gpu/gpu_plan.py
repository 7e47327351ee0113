"""Steps on the GPU: parts of an iteration, training, and predictions held against it."""

import shlex
import time

import driver
import machine
import models
from session import Step

NETWORKS = ["resnet50", "googlenet", "alexnet", "vgg16"]
# Seconds until a process has chosen its kernels, roughly: cuDNN compiles a plan for about a second,
# for each way to do a layer of NHWC tensors that it is asked about.
SET_UP = {"resnet50": 30, "googlenet": 30, "alexnet": 10, "vgg16": 10}
DTYPES = ["bf16", "tf32", "f32"]
BATCHES = [64, 256, 16, 128, 32]  # the most telling first: time may end the list anywhere
PICTURES = 4096
# As sets are kept that were resized once: decoding 110 kB would keep 16 cores from feeding a GPU.
PICTURE = "--width 256 --height 256 --picture-size 20kB"
DATA = "--data {work}/pictures-256"
NEEDS = ("cuda",)
RATE = "--rate 0.001"  # no network's loss grows without bound in the few iterations that are timed
ALONE = 9  # repeat of trainings that no training by PyTorch alternates with
# Repeats of those that differ in whether their phases are timed, one a round.
TIMED = range(21, 25)
# Ways of gradients, each by other collectives, and how kernels are launched: of what forward waits
# for, layer by layer, no graph is made.
EXCHANGES = {
    "wait-free": ("--schedule wait_free", "graph"),
    "reduce-scatter": ("--schedule reduce_scatter_overlap", "eager"),
    "servers": ("--schedule wait_free --synchronisation parameter_server", "graph"),
}
# Batches copied to the device, as f32: a quarter of each batch trained is as many bytes as the
# batch itself is when its pictures travel as bytes, as they do unless told otherwise.
COPIED = sorted({batch // 4 for batch in BATCHES} | set(BATCHES))


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


def feeding(ranks=1):
    """Of the loader: all cores of a rank but those of its training thread and of the driver's."""
    return f"{DATA} --loader-threads {max(1, machine.usable_cores() // ranks - 2)} --prefetch 4"


def train(
    network,
    batch,
    dtype,
    iterations,
    repeat=1,
    launch="eager",
    fuse="none",
    phases="yes",
    exchange="",
    ranks=0,
):
    """An action: training, every iteration timed, and its phases unless told not to; on several
    `ranks` by that `exchange` of gradients."""
    return bench(
        "e2e",
        f"--network {network} --batch {batch} --dtype {dtype} --backend cuda {feeding(ranks or 1)} "
        f"--iterations {iterations} --warmup 5 --repeat {repeat} --launch {launch} --fuse {fuse} "
        f"--phases {phases} {RATE} {exchange}",
        "training.jsonl",
        ranks,
    )


def _shared_of(dtype, turn):
    batches = ",".join(map(str, COPIED))
    cells = [
        ("h2d", "copies of batches to the device", 10, "memory",
         f"--operations h2d --networks {','.join(NETWORKS)} --batch {batches}"),
        ("update", "SGD update", 8, "update", ""),
    ]  # fmt: skip
    return [
        Step(f"{name}-{dtype}", doc, name, seconds, 60,
             bench(benchmark, f"{words} --backend cuda --dtype {dtype} --max-time 0.2"), NEEDS,
             f"{name}-{dtype}", turn)
        for name, doc, seconds, benchmark, words in cells
    ]  # fmt: skip


def _turn_of(dtype):
    """Training is f32 last."""
    return 0 if dtype in DTYPES[:2] else 1


def data_step():
    """What whatever trains reads."""
    action = make_data(f"--out {{work}}/pictures-256 --pictures {PICTURES} {PICTURE}")
    doc = f"write {PICTURES} pictures of 256 x 256"
    return Step("data", doc, "data", 15, 90, action, NEEDS)


def shared_steps():
    """What predictions of every network are made of, beside its kernels."""
    memory = bench("memory", "--operations copy,triad --max-time 0.3")
    pictures = f"{feeding()} --networks {','.join(NETWORKS)} --batch 64 --max-time 1"
    found = [step for dtype in DTYPES for step in _shared_of(dtype, _turn_of(dtype))]
    return [
        *found,
        Step("memory", "bandwidth of the host's memory", "memory", 8, 30, memory, NEEDS),
        Step("io", "reading and decoding pictures", "io", 12, 60, bench("io", pictures), NEEDS),
    ]


def message_steps(gpus):
    """Collectives of GPUs' memory as training makes them, of 2, 4, … ranks."""
    words = (
        "--memory device --backend cuda --collectives "
        "all_reduce,broadcast,reduce_scatter,all_gather,reduce --sizes powers,large "
        "--waiting sleep --max-time 0.04"
    )
    counts = [2]
    while counts[-1] * 2 <= gpus:
        counts.append(counts[-1] * 2)
    return [
        Step(f"comm-{ranks}", f"messages between memories of {ranks} GPUs", "comm", 120, 300,
             bench("comm", words, ranks=ranks), (*NEEDS, "mpi", "peers"), "comm")
        for ranks in counts
    ]  # fmt: skip


def joint_steps(ranks):
    """Training on several GPUs, with gradients that go from memory to memory in each way that there
    is: as the training on one GPU that is worth most, so that the speed-up is told as well."""
    seconds = SET_UP["resnet50"] + 20
    found = []
    for name, (words, launch) in EXCHANGES.items():
        action = train("resnet50", BATCHES[0], DTYPES[0], 40, ALONE, launch, "relu",
                       exchange=words, ranks=ranks)  # fmt: skip
        found.append(
            Step(f"together-{ranks}-{name}", f"training on {ranks} GPUs, {words}", "together",
                 seconds, 6 * seconds, action, (*NEEDS, "mpi", "peers"), f"together-{name}")
        )  # fmt: skip
    return found


def _checked(dtype):
    words = f"--network resnet50 --batch 32 --dtype {dtype} --backend cuda --max-time 0.05"
    return Step(f"conv-resnet50-{dtype}-checked", "every kernel of ResNet-50, answers checked",
                "checked", 90, 300, bench("conv", words), NEEDS, f"conv-{dtype}",
                0 if dtype == DTYPES[0] else 1)  # fmt: skip


def quick_steps():
    """Each part of an iteration once, with the answers of ResNet-50's kernels checked, and the
    GPU's memory, launches and copies; messages, where there are several GPUs."""
    device = bench("device", "--backend cuda --max-time 0.05")
    return [
        data_step(),
        *[_checked(dtype) for dtype in DTYPES],
        *shared_steps(),
        Step("device", "memory, launches and copies", "device", 60, 240, device, NEEDS, "device"),
        *message_steps(driver.gpu_count()),
    ]


FILES = ("parts.jsonl", "training.jsonl", "cuda")


class Judging:
    """Steps that predict what was trained so far, and, where a cluster of such GPUs is described, of
    training on more of them. Judged is a machine with the host and the links that were measured."""

    def __init__(self, cluster, gpus):
        self._cluster = cluster
        self._fit = models.fit_and_judge("gpu", *FILES, "local", max(1, gpus))
        self._predict = models.predict_scaling("gpu", *FILES, cluster)

    def steps(self, name, turn):
        found = [
            Step(f"fit-{name}", "calibrate, validate", "fit", 3, 60, self._fit, NEEDS, turn=turn)
        ]
        if self._cluster:
            doc = f"predict 1 to 64 ranks of cluster {self._cluster}"
            found.append(
                Step(f"predict-{name}", doc, "predict", 5, 60, self._predict, NEEDS, turn=turn)
            )
        return found


def training_steps(cluster=None, gpus=1):
    """For each network, batch and precision: its kernels, then training; predictions in between.
    Without the other groups, with the parts that they would have measured. `cluster`: the described
    one that has such GPUs, if any."""
    found = [data_step(), *shared_steps()]
    judging = Judging(cluster, gpus)
    for batch in BATCHES:
        for dtype in DTYPES:
            turn = 0 if (batch, dtype) == (BATCHES[0], DTYPES[0]) else 1
            for network in NETWORKS:
                found += _pair(network, batch, dtype, turn)
            found += judging.steps(f"{batch}-{dtype}", turn)
            if (batch, dtype) == (BATCHES[0], DTYPES[0]):
                found += _together(judging, gpus)
    return found + _without(judging)


def _together(judging, gpus):
    """Training on two and on all GPUs beside its predictions, with the messages they are made of."""
    messages, found = message_steps(gpus), []
    for ranks in driver.two_and_all(gpus):
        found += [step for step in messages if step.name == f"comm-{ranks}"]
        found += joint_steps(ranks)
    found += messages  # those of other numbers of GPUs; a step of the same name is done once
    return found + judging.steps("gpus", 0)


def _pair(network, batch, dtype, turn, launch="graph", fuse="relu"):
    """All networks can be graphs, those with dropout too."""
    plain = fuse == "none"
    cell = f"{network}-{batch}-{dtype}" + ("-plain" if plain else "")
    kernels = bench(
        "conv",
        f"--network {network} --batch {batch} --dtype {dtype} --backend cuda --fuse {fuse} "
        "--check no --max-time 0.05",
    )
    ready = SET_UP[network]
    return [
        Step(f"conv-{cell}", "every kernel", f"conv-{network}", ready + 20, 240, kernels, NEEDS,
             f"conv-{dtype}-{fuse}", turn),
        Step(f"train-{cell}", "training", f"train-{network}", ready + 10, 180,
             train(network, batch, dtype, 40, ALONE, launch, fuse), NEEDS,
             f"train-{dtype}-{launch}", turn),
    ]  # fmt: skip


def _round_of(number, launch, fuse):
    """An action: one training whose phases are timed and one whose are not. Who comes first changes
    from round to round (ABBA), so that neither gains by a clock that goes up or down steadily."""
    order = ["yes", "no"] if number % 2 else ["no", "yes"]
    trainings = [
        train("resnet50", 256, "bf16", 40, TIMED[number - 1], launch, fuse, phases)
        for phases in order
    ]

    def action(session, limit):
        end = time.monotonic() + limit
        for training in trainings:
            outcome = training(session, max(1, end - time.monotonic()))
            if outcome.status != "ok":
                break
        return outcome

    return action


def _timed_both_ways():
    """With and without marks at the ends of phases, in turn: what these cost."""
    seconds = 2 * (SET_UP["resnet50"] + 10)
    return [
        Step(f"phases-{launch}-{number}", "training in turn, to tell what timing phases costs",
             "phases", seconds, 4 * seconds, _round_of(number, launch, fuse), NEEDS,
             f"train-bf16-{launch}", 1)
        for number in range(1, len(TIMED) + 1)
        for launch, fuse in [("graph", "relu"), ("eager", "none")]
    ]  # fmt: skip


def _without(judging):
    """The same with ReLUs that are layers and kernels launched one by one, where it tells most."""
    found = []
    for batch, dtype in [(256, "bf16"), (16, "bf16"), (256, "tf32")]:
        for network in NETWORKS:
            found += _pair(network, batch, dtype, 1, "eager", "none")
    found += _timed_both_ways()
    found += judging.steps("plain", 1)
    words = "--network resnet50 --batch 256 --dtype bf16 --backend cuda --max-time 2"
    found.append(
        Step("overhead", "what training adds to the kernels' own times", "overhead",
             SET_UP["resnet50"] + 15, 180, bench("overhead", words, "training.jsonl"), NEEDS,
             "train-bf16", 1)
    )  # fmt: skip
    return found
