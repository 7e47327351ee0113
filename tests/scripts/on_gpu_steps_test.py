"""Steps of scripts/on_gpu: how they are carried out, in which order, and beside PyTorch."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
import unittest

from on_gpu_support import ROOT, FolderTest

# isort: split
import gpu_plan
import peer_plan
import runner
from session import Outcome, Session, Step

FAKE_PEER = """
import json, sys, time
for line in sys.stdin:
    mode, source, iterations, number = line.split()
    if mode == "slow": time.sleep(60)
    if mode == "end": sys.exit(3)
    row = {"batch": 64, "dtype": "bf16", "mode": mode, "input": source, "round": int(number)}
    row |= {"error": "cannot"} if mode == "graph" else {"median_s": 0.02}
    print(json.dumps(row), flush=True)
"""


class Execution(FolderTest):
    def test_output_and_errors_go_where_they_belong(self):
        session = self.session()
        outcome = session.execute(
            ["sh", "-c", "echo row; echo 'dlscale: no' >&2; exit 2"], 30, "parts.jsonl"
        )
        self.assertEqual((outcome.status, outcome.reason, outcome.code), ("failed", "no", 2))
        self.assertEqual(session.record.path("parts.jsonl").read_text(), "row\n")

    def test_what_is_not_in_a_build_is_refused(self):
        self.assertEqual(self.session().execute(["sh", "-c", "exit 6"], 30).status, "refused")
        missing = Session.execute(self.session_at("b"), ["/no/such/program"], 30)
        self.assertIn("cannot be started", missing.reason)

    def session_at(self, name):
        made = self.session.__func__
        self.folder = self.folder / name
        self.folder.mkdir()
        return made(self)

    def test_a_step_is_stopped_at_its_limit_and_its_rows_are_kept(self):
        session = self.session()
        command = ["sh", "-c", "echo one; printf half; exec sleep 600"]
        outcome = session.execute(command, 0.5, "parts.jsonl")
        self.assertEqual(outcome.status, "timed out")
        self.assertEqual(session.record.path("parts.jsonl").read_text(), "one\n")

    def test_several_at_once_end_as_the_worst(self):
        session = self.session()
        codes = [["sh", "-c", f"exit {code}"] for code in (0, 2, 0)]
        self.assertEqual(session.execute_together(codes, [None] * 3, 30).code, 2)

    def test_a_signal_ends_the_step_under_way(self):
        session = self.session()
        previous = signal.signal(signal.SIGUSR1, session.interrupt)
        try:
            timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGUSR1])
            timer.start()
            self.assertEqual(session.execute(["sleep", "600"], 300).status, "interrupted")
            timer.join()
        finally:
            signal.signal(signal.SIGUSR1, previous)


class Order(FolderTest):
    def run_steps(self, steps, seconds, lacks=lambda need: None):
        session = self.session(seconds)
        options = types.SimpleNamespace(minutes=seconds / 60)
        run = runner.Run(options, session, types.SimpleNamespace(lacks=lacks))
        run.carry_out(steps)
        return {row["step"]: row for row in session.record.lines("steps.jsonl")}, session

    def step(self, name, seconds, status="ok", feature="", kind="", step_needs=()):
        return Step(
            name,
            "",
            kind or name,
            seconds,
            60,
            lambda *_: Outcome(status, status),
            step_needs,
            feature,
        )

    def test_what_there_is_no_time_for_is_left_out_and_shorter_steps_are_done(self):
        steps = [self.step("long", 500), self.step("short", 1)]
        rows, session = self.run_steps(steps, 60)
        self.assertEqual([rows[name]["status"] for name in ("long", "short")], ["left out", "ok"])
        text = session.record.path("README.md").read_text()
        self.assertIn("1 of 2 steps ran", text)
        self.assertIn("left out: no time was left for it: long", text)

    def test_times_are_learned_from_steps_alike(self):
        rows, _ = self.run_steps(
            [self.step("first", 1, kind="a"), self.step("next", 500, kind="a")], 60
        )
        self.assertEqual(rows["next"]["status"], "ok")

    def test_what_was_refused_is_not_tried_again(self):
        steps = [
            self.step("a", 1, "refused", "tf32"),
            self.step("b", 1, "ok", "tf32"),
            self.step("c", 1, "ok", "f32"),
        ]
        rows, _ = self.run_steps(steps, 60)
        self.assertEqual([rows[name]["status"] for name in "abc"], ["refused", "skipped", "ok"])

    def test_what_a_step_needs_is_told(self):
        rows, _ = self.run_steps(
            [self.step("a", 1, step_needs=("gpu",))], 60, lambda need: f"no {need}"
        )
        self.assertEqual((rows["a"]["status"], rows["a"]["reason"]), ("skipped", "no gpu"))

    def test_a_step_that_breaks_does_not_end_the_run(self):
        broken = Step("a", "", "a", 1, 60, lambda *_: {}["missing"])
        rows, _ = self.run_steps([broken, self.step("b", 1)], 60)
        self.assertEqual([rows[name]["status"] for name in "ab"], ["failed", "ok"])


class Products(unittest.TestCase):
    def commands(self):
        """The command line of each step with matrix products."""
        said = []
        programs = types.SimpleNamespace(command=lambda words, ranks: words)
        record = types.SimpleNamespace(has_room=lambda output: True)
        session = types.SimpleNamespace(
            programs=programs, record=record, work=ROOT, execute=lambda *words: said.append(words)
        )
        for step in gpu_plan.probe_steps():
            if step.name.startswith("gemm"):
                self.assertEqual(step.needs, ("cuda",))
                step.action(session, 1)
        return [words for words, _, output in said if output == "parts.jsonl"]

    def test_are_measured_on_the_gpu_by_lists_that_there_are(self):
        commands = self.commands()
        self.assertEqual(len(commands), 3)
        for words in commands:
            self.assertEqual(words[:4], ["bench", "gemm", "--backend", "cuda"])
            if "--list" in words:
                name = words[words.index("--list") + 1]
                self.assertTrue((ROOT / "configs" / "shapes" / f"{name}.yaml").is_file(), name)


class Peer(FolderTest):
    def setUp(self):
        super().setUp()
        script = self.folder / "peer.py"
        script.write_text(FAKE_PEER)
        self._script, peer_plan.SCRIPT = peer_plan.SCRIPT, script

    def tearDown(self):
        peer_plan.SCRIPT = self._script
        super().tearDown()

    def peer(self, session):
        return peer_plan.Peer(session, sys.executable, 64, "bf16")

    def test_rows_are_recorded_as_they_come(self):
        session = self.session()
        with self.peer(session) as peer:
            end = time.monotonic() + 60
            failed = peer_plan._theirs(
                session, peer, [("eager", "device"), ("graph", "device")], 1, end
            )
        self.assertEqual(failed, ["graph: cannot"])
        self.assertEqual(
            [row["mode"] for row in session.record.lines("pytorch.jsonl")], ["eager", "graph"]
        )

    def test_silence_and_an_end_are_told(self):
        session = self.session()
        for mode, seconds, said in [("slow", 0.5, "in time"), ("end", 60, "ended")]:
            with self.peer(session) as peer, self.assertRaisesRegex(peer_plan.PeerError, said):
                peer.measure(mode, "device", 1, time.monotonic() + seconds)


class PyTorch(unittest.TestCase):
    def test_one_iteration_on_a_processor(self):
        """Where PyTorch is installed: the network has its parameters and learns."""
        if subprocess.run(
            [sys.executable, "-c", "import torch"], capture_output=True, check=False
        ).returncode:
            self.skipTest("this Python has no PyTorch")
        done = subprocess.run(
            [
                sys.executable,
                ROOT / "scripts/gpu/resnet50_pytorch.py",
                "--device",
                "cpu",
                "--batch",
                "2",
                "--dtype",
                "f32",
            ],
            input="eager host 2 1\n",
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        row = json.loads(done.stdout)
        self.assertEqual(len(row["samples_s"]), 2, row)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
