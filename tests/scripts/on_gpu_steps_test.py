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
from unittest import mock

from on_gpu_support import ROOT, FolderTest, commands_of, fake_programs

# isort: split
import driver
import gpu_plan
import machine
import needs
import peer_plan
import probe_plan
import runner
import tests_plan
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

    def test_what_is_worth_most_of_each_group_comes_first(self):
        made = runner.GROUPS.keys()
        options = types.SimpleNamespace(
            groups=list(made), python="", cpu_networks=[], cpu_iterations=1, cpu_pictures=1
        )
        steps = runner.plan(options, fake_programs(["conformance_test"]))
        names = [step.name for step in steps]
        for earlier, later in [
            ("data", "pytorch-256-bf16"),
            ("pytorch-256-tf32", "algorithms-convnet-f32"),
            ("algorithms-convnet-f32", "train-resnet50-64-bf16"),
            ("train-resnet50-64-bf16", "pytorch-64-bf16"),
            ("fit-64-bf16", "sanitizer-memcheck-conformance_test"),
        ]:
            self.assertLess(names.index(earlier), names.index(later))

    def test_a_step_with_nothing_to_do_did_not_run(self):
        _, session = self.run_steps([self.step("a", 1, "skipped"), self.step("b", 1)], 60)
        self.assertIn("1 of 2 steps ran", session.record.path("README.md").read_text())

    def test_what_a_step_needs_is_told(self):
        rows, _ = self.run_steps(
            [self.step("a", 1, step_needs=("gpu",))], 60, lambda need: f"no {need}"
        )
        self.assertEqual((rows["a"]["status"], rows["a"]["reason"]), ("skipped", "no gpu"))

    def test_a_step_that_breaks_does_not_end_the_run(self):
        broken = Step("a", "", "a", 1, 60, lambda *_: {}["missing"])
        rows, _ = self.run_steps([broken, self.step("b", 1)], 60)
        self.assertEqual([rows[name]["status"] for name in "ab"], ["failed", "ok"])


def value(words, option):
    return words[words.index(option) + 1]


class Probes(unittest.TestCase):
    def test_products_are_measured_on_the_gpu_by_lists_that_there_are(self):
        steps = [step for step in probe_plan.steps() if step.name.startswith("gemm")]
        commands = commands_of(steps)
        self.assertEqual(len(commands), 3)
        for step, words, output in commands:
            self.assertEqual((step.needs, output), (("cuda",), "parts.jsonl"))
            self.assertEqual(words[:4], ["bench", "gemm", "--backend", "cuda"])
            if "--list" in words:
                self.assert_list(value(words, "--list"))

    def assert_list(self, name):
        self.assertTrue((ROOT / "configs" / "shapes" / f"{name}.yaml").is_file(), name)

    def test_convolutions_are_compared_in_layers_that_there_are(self):
        steps = [step for step in probe_plan.steps() if step.name.startswith("algorithms")]
        compared = set()
        for _, words, output in commands_of(steps):
            self.assertEqual(output, "parts.jsonl")
            self.assertEqual(value(words, "--algorithms"), "all")
            if "--list" in words:
                self.assert_list(value(words, "--list"))
                compared.add((value(words, "--list"), value(words, "--dtype")))
                continue
            name = value(words, "--network")
            text = (ROOT / "configs" / "networks" / f"{name}.yaml").read_text(encoding="utf-8")
            for layer in value(words, "--layers").split(","):
                self.assertIn(f"{{name: {layer}, kind: convolution", text)
            compared.add((name, value(words, "--dtype")))
        wanted = {("convnet", "f32"), ("vgg16", "f32"), ("googlenet", "tf32"), ("alexnet", "tf32")}
        self.assertLessEqual(wanted, compared)


class Messages(unittest.TestCase):
    def test_are_of_gpus_memory_on_two_to_all_gpus(self):
        steps = gpu_plan.message_steps(7)
        self.assertEqual([step.name for step in steps], ["comm-2", "comm-4"])
        for _, words, output in commands_of(steps):
            self.assertEqual((value(words, "--memory"), value(words, "--backend")), ("device", "cuda"))
            self.assertEqual(output, "parts.jsonl")

    def test_of_one_gpu_are_left_out_with_the_reason(self):
        (step,) = gpu_plan.message_steps(1)
        self.assertIn("peers", step.needs)
        with mock.patch.object(driver, "gpu_count", lambda: 1):
            self.assertIn("1 GPU is here", needs.Needs(None, "").lacks("peers"))
        with mock.patch.object(driver, "gpu_count", lambda: 2):
            self.assertIsNone(needs.Needs(None, "").lacks("peers"))


class SeveralGpus(unittest.TestCase):
    def test_are_two_and_all(self):
        self.assertEqual([driver.two_and_all(gpus) for gpus in [0, 1, 2, 7]], [[2], [2], [2], [2, 7]])

    def test_of_the_communicator_are_ranks_that_are_launched(self):
        steps = [
            step
            for step in tests_plan.steps(fake_programs(["nccl_test", "program_test"]), 4)
            if "peers" in step.needs
        ]
        self.assertEqual([step.name for step in steps], ["test-nccl_test-2", "test-nccl_test-4"])
        for step in steps:
            self.assertLessEqual({"gpu", "mpi"}, set(step.needs))
        (alone,) = [step for step in tests_plan.steps(fake_programs(["program_test"]), 4)
                    if step.name.startswith("test-")]  # fmt: skip
        self.assertNotIn("peers", alone.needs)

    def test_train_by_every_way_of_gradients_as_one_gpu_does(self):
        for gpus, ranks in [(2, [2]), (8, [2, 8])]:
            steps = gpu_plan.training_steps(gpus=gpus)
            joint = [step for step in steps if step.name.startswith("together-")]
            launched = []
            keep = lambda _, words, output, number: launched.append(number)
            with mock.patch.object(gpu_plan, "bench", keep):
                for number in ranks:
                    gpu_plan.joint_steps(number)
            self.assertEqual(launched, [number for number in ranks for _ in gpu_plan.EXCHANGES])
            self.assertEqual(len(joint), len(launched))
            alone = next(step for step in steps if step.name == "train-resnet50-64-bf16")
            ((_, alone, _),) = commands_of([alone])
            for step, words, output in commands_of(joint):
                self.assertLessEqual({"mpi", "peers"}, set(step.needs))
                self.assertEqual(output, "training.jsonl")
                for option in ["--network", "--batch", "--dtype", "--fuse", "--backend"]:
                    self.assertEqual(value(words, option), value(alone, option))
                deferred = value(words, "--schedule") == "reduce_scatter_overlap"
                self.assertEqual(value(words, "--launch"), "eager" if deferred else "graph")
            ways = {tuple(words[words.index("--schedule") : words.index("-o")]) for _, words, _ in commands_of(joint)}
            self.assertEqual(
                ways,
                {
                    ("--schedule", "wait_free"),
                    ("--schedule", "reduce_scatter_overlap"),
                    ("--schedule", "wait_free", "--synchronisation", "parameter_server"),
                },
            )

    def test_are_predicted_after_their_messages_and_training(self):
        names = [step.name for step in gpu_plan.training_steps("dgx_h100", 4)]
        self.assertEqual(names.count("fit-gpus"), 1)
        for before in ["train-resnet50-64-bf16", "comm-2", "comm-4", "together-2-servers", "together-4-servers"]:
            self.assertLess(names.index(before), names.index("fit-gpus"))
        self.assertLess(names.index("comm-2"), names.index("together-2-wait-free"))
        self.assertEqual([step.turn for step in gpu_plan.training_steps(gpus=4) if step.name == "fit-gpus"], [0])

    def test_share_the_cores_between_their_loaders(self):
        with mock.patch.object(machine, "usable_cores", lambda: 32):
            self.assertIn("--loader-threads 30 ", gpu_plan.feeding())
            self.assertIn("--loader-threads 2 ", gpu_plan.feeding(8))
            self.assertIn("--loader-threads 1 ", gpu_plan.feeding(16))


class JointTests(FolderTest):
    """A test program that stands for one of several ranks."""

    FAKE = """#!/bin/sh
for word; do case $word in --gtest_output=json:*) report=${word#*json:} ;; esac; done
result=COMPLETED
[ "$OMPI_COMM_WORLD_RANK" = "$SKIPS" ] && result=SKIPPED
echo '{"testsuites": [{"name": "S", "testsuite": [{"name": "A", "status": "RUN", "result": "'$result'"}]}]}' > "$report"
[ "$OMPI_COMM_WORLD_RANK" != "$BREAKS" ]
"""

    def joint(self, **variables):
        """How a step ends of which that rank is skipped or fails."""
        program = self.folder / "nccl_test"
        program.write_text(self.FAKE)
        program.chmod(0o755)
        session = self.session()
        session.programs.test = lambda name: program
        each = "for rank in 0 1 2; do OMPI_COMM_WORLD_RANK=$rank \"$@\" || code=1; done; exit ${code:-0}"
        session.programs.launched = lambda command, ranks: ["sh", "-c", each, "mpirun", *command]
        with mock.patch.dict(os.environ, variables):
            return tests_plan._joint_test("nccl_test", 3)(session, 60)

    def test_are_counted_on_every_rank(self):
        outcome = self.joint(SKIPS="", BREAKS="")
        self.assertEqual((outcome.status, outcome.details["passed"]), ("ok", 3))

    def test_that_one_rank_skips_are_counted(self):
        outcome = self.joint(SKIPS="1", BREAKS="")
        self.assertEqual((outcome.details["passed"], outcome.details["skipped"]), (2, 1))

    def test_fail_where_one_rank_does(self):
        self.assertEqual(self.joint(SKIPS="", BREAKS="2").status, "failed")


class Training(unittest.TestCase):
    def test_kernels_are_measured_as_they_are_trained(self):
        steps = [
            step for step in gpu_plan.training_steps() if step.name.startswith(("conv-", "train-"))
        ]
        seen = set()
        for (_, kernels, _), (_, trained, _) in zip(*[iter(commands_of(steps))] * 2, strict=True):
            for option in ["--network", "--batch", "--dtype", "--fuse"]:
                self.assertEqual(value(kernels, option), value(trained, option))
            self.assertNotIn("--normalise", trained)  # on GPUs: on the device
            seen.add((value(trained, "--network"), value(trained, "--launch")))
        for network in gpu_plan.NETWORKS:
            self.assertLessEqual({(network, "graph"), (network, "eager")}, seen)

    def test_copies_are_measured_of_as_many_bytes_as_travel(self):
        for batch in gpu_plan.BATCHES:
            self.assertIn(batch // 4, gpu_plan.COPIED)

    def test_phases_are_timed_in_one_of_two_runs_alike_that_take_turns(self):
        steps = [step for step in gpu_plan.training_steps() if step.name.startswith("phases-")]
        for launch in ["graph", "eager"]:
            ways = commands_of([step for step in steps if step.name.startswith(f"phases-{launch}")])
            order = [value(words, "--phases") for _, words, _ in ways]
            self.assertEqual(order, ["yes", "no", "no", "yes"] * (len(order) // 4))
            self.assertGreaterEqual(len(order), 2 * 3)
            rounds = [int(value(words, "--repeat")) for _, words, _ in ways]
            self.assertEqual(rounds, sorted([*gpu_plan.TIMED] * 2))
            options = [dict(zip(words[2::2], words[3::2], strict=True)) for _, words, _ in ways]
            alike = {tuple(sorted((each | {"--phases": "", "--repeat": ""}).items())) for each in options}
            self.assertEqual(len(alike), 1)
        names = [step.name for step in steps]
        self.assertEqual(names[:3], ["phases-graph-1", "phases-eager-1", "phases-graph-2"])

    def test_a_round_ends_with_a_training_that_fails(self):
        step = next(step for step in gpu_plan.training_steps() if step.name == "phases-graph-1")
        self.assertEqual(len(commands_of([step])), 2)
        self.assertEqual(len(commands_of([step], code="timed out")), 1)

    def test_there_is_time_to_compile_plans(self):
        for step in gpu_plan.training_steps():
            if step.name.startswith("train-"):
                ready = gpu_plan.SET_UP[step.name.split("-")[1]]
                self.assertGreater(step.limit, 3 * ready)
                self.assertGreater(step.seconds, ready)


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

    def test_ours_trains_between_two_of_theirs(self):
        session = self.session()
        said = []
        session.programs.command = lambda words, ranks=0: words
        session.execute = lambda words, limit, output: said.append(words) or Outcome("ok")
        action = peer_plan._in_turn(sys.executable, 64, "bf16", [("eager", "device")], peer_plan.OURS)
        self.assertEqual(action(session, 60).status, "ok")
        rounds = [row["round"] for row in session.record.lines("pytorch.jsonl")]
        self.assertEqual(rounds, [1, 2, 3])
        ways = [tuple(value(words, name) for name in ("--launch", "--fuse")) for words in said]
        self.assertEqual(
            ways, [("graph", "relu"), ("eager", "none"), ("graph", "relu"), ("graph", "none")]
        )

    def test_one_way_that_cannot_be_gone_ends_nothing_and_all_do(self):
        session = self.session()
        session.programs.command = lambda words, ranks=0: words
        for refused, status in [({"graph"}, "ok"), ({"graph", "eager"}, "refused")]:
            session.execute = lambda words, limit, output, refused=refused: Outcome(
                "refused" if value(words, "--launch") in refused else "ok", "no"
            )
            rounds = [[("graph", "none"), ("eager", "none")]]
            action = peer_plan._in_turn(sys.executable, 64, "bf16", [("eager", "device")], rounds)
            outcome = action(session, 60)
            self.assertEqual((outcome.status, "no" in outcome.reason), (status, True))

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
