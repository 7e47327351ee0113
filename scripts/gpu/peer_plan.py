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
ITERATIONS = 60
# (batch, dtype) in the order of value.
CELLS = [(256, "bf16"), (256, "tf32"), (64, "bf16"), (64, "tf32"), (128, "bf16"), (128, "tf32")]
MODES = [("eager", "device"), ("graph", "device"), ("eager", "host")]
COMPILED = [("compile", "device"), ("graph", "device")]
BEST = ("graph", "relu")
# (launch, fuse) of ours in each round. A process of ours takes SET_UP before it trains, so there
# are two a round: what is fastest in every one, and beside it once each way to do without.
OURS = [[BEST, ("eager", "none")], [BEST, ("graph", "none")]]
BESIDE_COMPILED = [[BEST]]


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


def _ours(session, batch, dtype, ways, number, end):
    """Trains in the `ways` of a round. Returns what stops all, and why a way cannot be gone."""
    lacking = []
    for launch, fuse in ways:
        action = gpu_plan.train("resnet50", batch, dtype, ITERATIONS, number, launch, fuse)
        outcome = action(session, max(1, end - time.monotonic()))
        if outcome.status in ("timed out", "interrupted"):
            return outcome, lacking
        if outcome.status != "ok":
            lacking.append(f"ours, {launch}, fuse {fuse}: {outcome.reason}")
    # What is refused every time is refused for good, of which the run should hear.
    return (outcome, lacking) if len(lacking) == len(ways) else (None, lacking)


def _theirs(session, peer, modes, number, end):
    failed = []
    for mode, source in modes:
        if error := peer.measure(mode, source, number, end).get("error"):
            failed.append(f"{mode}: {error}")
    return failed


def _in_turn(python, batch, dtype, modes, rounds):
    """Theirs, ours, theirs, …: ours is between two of theirs. `rounds`: the ways of ours in each."""

    def action(session, limit):
        end = time.monotonic() + limit
        failed = []
        try:
            with Peer(session, python, batch, dtype) as peer:
                for number, ways in enumerate(rounds, 1):
                    failed += _theirs(session, peer, modes, number, end)
                    problem, lacking = _ours(session, batch, dtype, ways, number, end)
                    if problem:
                        return problem
                    failed += lacking
                failed += _theirs(session, peer, modes, len(rounds) + 1, end)
        except PeerError as error:
            return Outcome("interrupted" if session.signal else "failed", str(error))
        return Outcome("ok", "; ".join(dict.fromkeys(failed)))

    return action


def _step(name, doc, seconds, python, cell, modes, rounds, turn):
    """`seconds` beside the processes of ours, which set up one after the other."""
    batch, dtype = cell
    processes = sum(map(len, rounds))
    seconds += processes * (gpu_plan.SET_UP["resnet50"] + 15)
    return Step(f"{name}-{batch}-{dtype}", doc, name, seconds, 2 * seconds,
                _in_turn(python, batch, dtype, modes, rounds), ("cuda", "torch"), f"train-{dtype}",
                turn)  # fmt: skip


def _in_turn_step(python, cell, turn):
    doc = "ResNet-50 here and in PyTorch, in turn"
    return _step("pytorch", doc, 90, python, cell, MODES, OURS, turn)


def _compiled_step(python, cell):
    doc = "the same beside torch.compile"
    return _step("pytorch-compile", doc, 100, python, cell, COMPILED, BESIDE_COMPILED, 1)


def steps(python):
    """Eager and as graphs in turn with ours; compiled, which takes long to prepare, after those."""
    first = [_in_turn_step(python, cell, 0) for cell in CELLS[:2]]
    compiled = [_compiled_step(python, cell) for cell in CELLS[:2]]
    rest = [_in_turn_step(python, cell, 1) for cell in CELLS[2:]]
    return [gpu_plan.data_step(), *first, compiled[0], *rest[:2], compiled[1], *rest[2:]]
