"""Steps that time our ResNet-50 and PyTorch's in turn, so that both see the same minutes."""

import contextlib
import json
import os
import pathlib
import selectors
import subprocess
import time

import gpu_plan
from session import Outcome, Step

SCRIPT = pathlib.Path(__file__).with_name("resnet50_pytorch.py")
ROUNDS = 3
ITERATIONS = 40
# (batch, dtype) in the order of value.
CELLS = [(256, "bf16"), (256, "tf32"), (64, "bf16"), (64, "tf32"), (128, "bf16"), (128, "tf32")]
MODES = [("eager", "device"), ("graph", "device"), ("eager", "host")]
COMPILED = [("compile", "device"), ("graph", "device")]


class PeerError(Exception):
    """PyTorch does not answer; the message says how it ended."""


class Peer:
    """The process in which PyTorch trains when it is asked to."""

    def __init__(self, session, python, batch, dtype):
        self._session = session
        session.record.log(f"$ {python} {SCRIPT.name} --batch {batch} --dtype {dtype}")
        with session.record.path("log.txt").open("ab") as log:
            # With the environment this was started in: PyTorch brings its own libraries.
            self._process = subprocess.Popen(
                [python, str(SCRIPT), "--batch", str(batch), "--dtype", dtype],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=session.work,
                env=dict(os.environ),
                start_new_session=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    def measure(self, mode, source, number, end):
        """Asks for a row and waits for it until `end`."""
        try:
            self._process.stdin.write(f"{mode} {source} {ITERATIONS} {number}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise PeerError("PyTorch ended; the log says why") from error
        row = json.loads(self._line(end))
        self._session.record.line("pytorch.jsonl", row)
        return row

    def _line(self, end):
        text = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not text.endswith(b"\n"):
                if time.monotonic() > end or self._session.signal:
                    raise PeerError("PyTorch did not answer in time")
                if not selector.select(0.2):
                    continue
                piece = os.read(self._process.stdout.fileno(), 65536)
                if not piece:
                    raise PeerError("PyTorch ended; the log says why")
                text += piece
        return text


def _ours(session, batch, dtype, number, end):
    """An iteration with its input, as graphs too, and its computation alone. Returns what stops all,
    and why there are no graphs."""
    compute = f"--network resnet50 --batch {batch} --dtype {dtype} --backend cuda --max-time 2"
    actions = [
        gpu_plan.train("resnet50", batch, dtype, ITERATIONS, number),
        gpu_plan.bench("overhead", compute, "training.jsonl"),
    ]
    for action in actions:
        outcome = action(session, max(1, end - time.monotonic()))
        if outcome.status != "ok":
            return outcome, []
    graph = gpu_plan.train("resnet50", batch, dtype, ITERATIONS, number, "graph")
    outcome = graph(session, max(1, end - time.monotonic()))
    return None, [] if outcome.status == "ok" else [f"our graph: {outcome.reason}"]


def _theirs(session, peer, modes, number, end):
    failed = []
    for mode, source in modes:
        if error := peer.measure(mode, source, number, end).get("error"):
            failed.append(f"{mode}: {error}")
    return failed


def _in_turn(python, batch, dtype, modes, rounds):
    def action(session, limit):
        end = time.monotonic() + limit
        failed = []
        try:
            with Peer(session, python, batch, dtype) as peer:
                for number in range(1, rounds + 1):
                    failed += _theirs(session, peer, modes, number, end)
                    problem, lacking = _ours(session, batch, dtype, number, end)
                    if problem:
                        return problem
                    failed += lacking
        except PeerError as error:
            return Outcome("interrupted" if session.signal else "failed", str(error))
        return Outcome("ok", "; ".join(dict.fromkeys(failed)))

    return action


def steps(python):
    """Eager and as graphs in turn with ours; compiled, which takes long to prepare, after those."""
    needs = ("cuda", "torch")
    found = []
    for batch, dtype in CELLS:
        found.append(
            Step(
                f"pytorch-{batch}-{dtype}",
                "ResNet-50 here and in PyTorch, in turn",
                "pytorch",
                75,
                150,
                _in_turn(python, batch, dtype, MODES, ROUNDS),
                needs,
                f"train-{dtype}",
            )
        )
    for batch, dtype in CELLS[:2]:
        found.append(
            Step(
                f"pytorch-compile-{batch}-{dtype}",
                "the same beside torch.compile",
                "pytorch-compile",
                120,
                200,
                _in_turn(python, batch, dtype, COMPILED, 1),
                needs,
                f"train-{dtype}",
            )
        )
    return found
