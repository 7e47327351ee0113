"""scripts/on_gpu with a build and no GPU: packs, runs where nothing is installed, is interrupted.

Usage: on_gpu_test.py BUILD
"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "dev"
sys.path[:0] = [str(ROOT / "scripts" / "gpu"), str(ROOT / "tests" / "app")]

import gpu_plan  # noqa: E402 (found through the paths above)
import libraries  # noqa: E402
import models  # noqa: E402
import needs  # noqa: E402
import pack  # noqa: E402
import probe_plan  # noqa: E402
import programs  # noqa: E402
import record  # noqa: E402
from on_gpu_support import commands_of  # noqa: E402
from session import Session  # noqa: E402
from tiny import SANITIZERS, TINY_NETWORK  # noqa: E402

PACK = [sys.executable, ROOT / "scripts" / "on_gpu", "--pack"]


def nothing_installed(folder):
    """An environment that leads to no program and no library of this machine."""
    return {"PATH": "/nonexistent", "HOME": str(folder), "TMPDIR": str(folder)} | SANITIZERS


def rows_of(path):
    """The JSON lines of a file. Only the last may be half a line."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]


def wait_until(condition, seconds=240):
    """Polls: the moment a row reaches the disk is not announced."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def still_running(folder):
    """Whether a process was started with something below the folder on its command line."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in entry.read_bytes():
                return True
        except OSError:
            continue  # it has ended meanwhile
    return False


def as_gpu(row, trained):
    """A line of a result file, as the backend of a GPU would have written it."""
    if "environment" in row:
        row["environment"]["libraries"]["GPU"] = "NVIDIA H100 80GB HBM3"
    if "backend" in row.get("axes", {}):
        row["axes"]["backend"] = "cuda"
    if trained and "axes" in row:
        row["axes"] |= {"input_copy": "ahead", "normalise": "device"}
    return row


class OnGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls._folder.name)
        cls.pack = cls.folder / "pack"
        cls.made = subprocess.run(
            # One test program: with sanitizers each has tens of megabytes.
            [*PACK, cls.pack, "--build", BUILD, "--tests", "conformance_test", "--limit", "200"],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if cls.made.returncode != 0:
            raise AssertionError(cls.made.stderr + cls.made.stdout)
        cls.programs = programs.Programs(cls.pack, cls.folder / "unpacked")
        cls.network = cls.folder / "tiny.yaml"
        cls.network.write_text(TINY_NETWORK)

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def run_packed(self, *words, ranks=0):
        environment = self.programs.environment() | nothing_installed(self.folder)
        return subprocess.run(
            self.programs.command(words, ranks),
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=self.folder,
        )

    def start(self, out, *words):
        return subprocess.Popen(
            [
                sys.executable,
                self.pack / "on_gpu",
                "--minutes",
                "6",
                "--out",
                out,
                "--cpu-networks",
                f"{self.network}:4",
                "--cpu-iterations",
                "6",
                "--cpu-pictures",
                "24",
                *words,
            ],
            env=nothing_installed(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def backend_problem(self):
        return needs.Needs(self.programs, sys.executable).lacks("onednn")

    def test_the_pack_is_small_and_says_what_it_needs(self):
        manifest = programs.read_manifest(self.pack)
        size = sum(path.stat().st_size for path in self.pack.rglob("*"))
        self.assertLess(size, 200e6 if "-fsanitize" in manifest["program"] else pack.LIMIT)
        self.assertIn("conformance_test", manifest["tests"])
        self.assertRegex(manifest["program"], r"^dlscale .*commit")
        self.assertRegex(manifest["glibc"], r"^2\.\d+$")
        self.assertIn("MB", self.made.stdout)

    def test_a_pack_replaces_a_pack_and_nothing_else(self):
        other = self.folder / "other"
        other.mkdir()
        (other / "mine.txt").write_text("")
        refused = subprocess.run(
            [*PACK, other, "--build", BUILD],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(refused.returncode, 2)
        self.assertIn("holds other files", refused.stderr)

    def test_programs_load_what_was_packed(self):
        loader = pathlib.Path(programs.LOADER)
        for program in sorted((self.programs.root / "bin").iterdir()):
            listed = subprocess.run(
                [loader, "--list", program],
                env=self.programs.environment(),
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            for name, where in re.findall(r"^\s*(\S+) => (/\S+)", listed.stdout, re.MULTILINE):
                known = (libraries.GLIBC, libraries.CUDA, libraries.CXX_RUNTIME)
                if not any(pattern.match(name) for pattern in known):
                    self.assertTrue(where.startswith(str(self.programs.root)), f"{name}: {where}")

    def test_the_program_tells_what_it_holds_where_nothing_is_installed(self):
        told = self.run_packed("info")
        self.assertEqual(told.returncode, 0, told.stderr)
        for word in ["reference", "resnet50", "p40x16"]:
            self.assertIn(word, told.stdout)

    def test_two_ranks_train_by_the_packed_mpi(self):
        if self.programs.mpi_problem:
            self.skipTest(self.programs.mpi_problem)
        backend = "reference" if self.backend_problem() else "onednn"
        made = self.run_packed(
            "data",
            "make",
            "--out",
            self.folder / "data",
            "--pictures",
            16,
            "--classes",
            2,
            "--width",
            64,
            "--height",
            64,
            "--picture-size",
            "4 kB",
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        trained = self.run_packed(
            "bench",
            "e2e",
            "--network",
            self.network,
            "--batch",
            2,
            "--data",
            self.folder / "data",
            "--backend",
            backend,
            "--iterations",
            4,
            "-o",
            "-",
            "--ranks",
            2,
            "--cores-per-rank",
            1,
            ranks=2,
        )
        self.assertEqual(trained.returncode, 0, trained.stderr)
        (row,) = [row for row in map(json.loads, trained.stdout.splitlines()) if "axes" in row]
        self.assertEqual(row["axes"]["ranks"], "2")
        self.assertEqual(len(row["series"]["t_iter"]["samples"]), 2)

    def test_every_kind_of_command_for_a_gpu_is_understood(self):
        """Up to where the program finds that there is none: nothing is bad input."""
        if self.programs.gpu_problem is None:
            self.skipTest("the commands would run")
        planned = [*gpu_plan.quick_steps(), *gpu_plan.training_steps(), *probe_plan.steps()]
        steps = [step for step in planned if step.name.partition("-")[0] not in ("fit", "predict")]
        kinds = {}
        for _, words, _ in commands_of(steps, self.folder):
            if "--backend" in words:
                kinds.setdefault(tuple(word for word in words if word.startswith(("--", "b"))), words)
        self.assertGreaterEqual(len(kinds), 8)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for words, ended in zip(
                kinds.values(), pool.map(lambda words: self.run_packed(*words), kinds.values()), strict=True
            ):
                self.assertEqual(ended.returncode, 6, f"{words}: {ended.stderr}")

    def test_a_whole_run_without_a_gpu(self):
        out = self.folder / "whole"
        on_gpu = self.programs.gpu_problem is None
        process = self.start(out, *(["--steps", "cpu"] if on_gpu else []))
        _, err = process.communicate(timeout=500)
        steps = [row for row in rows_of(out / "steps.jsonl") if "step" in row]
        self.assertLessEqual(len(list(out.iterdir())), 8)
        for step in steps:
            if not step["step"].startswith("cpu-"):
                self.assertEqual(step["status"], "skipped", step)
                self.assertEqual(step["reason"], self.programs.gpu_problem)
        cpu = [step for step in steps if step["step"].startswith("cpu-")]
        page = (out / "README.md").read_text(encoding="utf-8")
        if problem := self.backend_problem():
            self.assertEqual(process.returncode, 5, err)
            self.assertEqual(
                {(step["status"], step["reason"]) for step in cpu}, {("skipped", problem)}
            )
            return
        self.assertEqual(process.returncode, 0, err)
        self.check_cpu(out, cpu, page)

    def check_cpu(self, out, cpu, page):
        lacking = self.programs.mpi_problem
        for step in cpu:
            self.assertIn(step["status"], ["ok"] + (["skipped"] if lacking else []), step)
        trained = [
            row
            for row in rows_of(out / "cpu.jsonl")
            if row.get("benchmark") == "e2e" and "axes" in row
        ]
        counts = {row["axes"]["ranks"] for row in trained}
        cores = len(os.sched_getaffinity(0))
        self.assertEqual(counts >= {"1", "2"}, cores >= 2 and not lacking, counts)
        models = {row["what"]: row["document"] for row in rows_of(out / "models.jsonl")}
        self.assertEqual(models["machine"]["schema"], "dlscale.machine")
        self.assertEqual(len(models["validation"]["runs"]), len(counts))
        self.assertIn("## Predicted against measured", page)
        self.assertIn("steps ran within 6 minutes", page)

        self.check_as_gpu(out)

    def check_as_gpu(self, out):
        """The same rows, as if a GPU had made them: they make a machine of it, by its name alone,
        and predict what only GPUs do."""
        made = record.Record(self.folder / "as-gpu")
        apart = record.take_apart(out / "cpu.jsonl", self.folder / "parts")
        for path in sorted(apart.iterdir()):
            rows = rows_of(path)
            if rows[0]["run"]["ranks"] != "1" or rows[0]["benchmark"] == "comm":
                continue
            trained = rows[0]["benchmark"] == "e2e"
            for row in rows:
                made.line("training.jsonl" if trained else "parts.jsonl", as_gpu(row, trained))
        session = Session(self.programs, made, self.folder, time.monotonic() + 200)
        files = ("gpu", "parts.jsonl", "training.jsonl", "cuda")
        judged = models.fit_and_judge(*files, "local", 1)(session, 100)
        self.assertEqual((judged.status, judged.reason), ("ok", ""))
        self.assertEqual(judged.details["runs"], 1)
        predicted = models.predict_scaling(*files, "dgx_h100")(session, 100)
        self.assertEqual((predicted.status, predicted.reason), ("ok", ""))
        found = {row["what"]: row["document"] for row in made.lines("models.jsonl")}
        device = found["machine"]["cluster"]["device"]
        self.assertEqual((device["kind"], device["name"]), ("gpu", "NVIDIA H100 SXM5 80 GB"))
        (run,) = found["validation"]["runs"]
        self.assertEqual(run["run"]["input_copy"], "ahead")
        (name,) = [what for what in found if what.startswith("prediction ")]
        self.assertEqual(max(each["run"]["ranks"] for each in found[name]["predictions"]), 64)

    def interrupted(self, out, number):
        """A run that gets a signal once it has measured something."""
        process = self.start(out, "--steps", "cpu")
        measured = wait_until(
            lambda: (
                any("axes" in row for row in rows_of(out / "cpu.jsonl"))
                or process.poll() is not None
            )
        )
        self.assertTrue(measured and process.poll() is None, "nothing was measured")
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertTrue((out / "README.md").read_text(encoding="utf-8").startswith("# dlscale"))
        self.assertTrue(any("machine" in row for row in rows_of(out / "steps.jsonl")))
        self.assertTrue(any("axes" in row for row in rows_of(out / "cpu.jsonl")))
        return process.returncode, err

    def test_interruption_at_any_time_keeps_what_was_measured(self):
        if problem := self.backend_problem():
            self.skipTest(problem)
        code, err = self.interrupted(self.folder / "ctrl-c", signal.SIGINT)
        self.assertEqual(code, 130, err)
        self.assertIn("Interrupted by signal 2", (self.folder / "ctrl-c" / "README.md").read_text())
        code, _ = self.interrupted(self.folder / "terminated", signal.SIGTERM)
        self.assertEqual(code, 143)
        code, _ = self.interrupted(self.folder / "killed", signal.SIGKILL)
        self.assertEqual(code, -9)
        self.assertTrue(wait_until(lambda: not still_running(self.folder)), "its programs go on")
        self.assertIn("Under way: cpu-", (self.folder / "killed" / "README.md").read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
