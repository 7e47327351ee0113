"""Signals and lost ranks: the program ends within seconds, says why, and keeps what it has."""

import json
import os
import pathlib
import re
import shutil
import signal
import time

from program import BACKEND, FEW, LONG, MPIEXEC, ProgramTest, as_text, main, run, start


def wait_until(condition, seconds=60):
    """Polls: the moment a measurement reaches the disk is not announced."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def measured(path):
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            pass
    return [row for row in rows if "axes" in row]


def handles(thread, number):
    """Whether a thread, a folder of /proc, may be interrupted by a signal."""
    status = (thread / "status").read_text()
    blocked = int(re.search(r"^SigBlk:\s*(\w+)$", status, re.MULTILINE).group(1), 16)
    return not blocked >> (number - 1) & 1


def ranks_of(launcher):
    """Processes of the program below a launcher."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == launcher:
                found.append(int(entry.name))
        except OSError:
            pass
    return sorted(found)


class Interruption(ProgramTest):
    def interrupt_conv(self, number):
        out = self.folder / "conv.jsonl"
        process = start("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 4, *LONG,
                        "-o", out)
        self.assertTrue(wait_until(lambda: len(measured(out)) >= 1), "nothing was measured")
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
        return process.returncode, err, measured(out)

    def test_ctrl_c_keeps_partial_results(self):
        code, err, rows = self.interrupt_conv(signal.SIGINT)
        self.assertEqual(code, 130, err)
        self.assertGreaterEqual(len(rows), 1)
        self.assertIn("interrupted", err)

    def test_termination_keeps_partial_results(self):
        code, err, rows = self.interrupt_conv(signal.SIGTERM)
        self.assertEqual(code, 143, err)
        self.assertGreaterEqual(len(rows), 1)

    def test_a_terminal_that_is_closed_keeps_partial_results(self):
        code, err, rows = self.interrupt_conv(signal.SIGHUP)
        self.assertEqual(code, 143, err)
        self.assertGreaterEqual(len(rows), 1)

    def test_verbs_that_only_compute_end_at_once(self):
        """A shell gives 128 + the signal; here it is the signal, negative."""
        for number in (signal.SIGINT, signal.SIGTERM):
            # It waits for ever: for room in the pipe that nobody reads.
            process = start("predict", "--network", "resnet50", "--cluster", "h200x8", "--layers", "--format", "json",
                            "--ranks", ",".join(map(str, range(1, 60))))
            self.assertTrue(wait_until(lambda: self.is_asleep(process.pid)), "it did not fill the pipe")
            process.send_signal(number)
            process.communicate(timeout=20)
            self.assertEqual(process.returncode, -number)

    @staticmethod
    def is_asleep(pid):
        """In a write to a pipe that is full."""
        return "pipe" in pathlib.Path(f"/proc/{pid}/wchan").read_text()

    def test_no_thread_that_computes_handles_signals(self):
        out = self.folder / "conv.jsonl"
        process = start("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--threads", 2,
                        *LONG, "-o", out)
        self.assertTrue(wait_until(lambda: len(measured(out)) >= 1), "nothing was measured")
        tasks = pathlib.Path(f"/proc/{process.pid}/task")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            open_to_it = [thread.name for thread in tasks.iterdir() if handles(thread, number)]
            self.assertEqual(len(open_to_it), 1, open_to_it)
            self.assertNotIn(str(process.pid), open_to_it)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 143, err)

    def test_an_interrupted_suite_goes_on_where_it_stopped(self):
        suite = self.folder / "suite.yaml"
        suite.write_text(f"""
suite: two
steps:
  - {{name: first, command: "data make --out {{data}} --pictures 4 --classes 2 --width 64 --height 64 --picture-size 4kB"}}
  - {{name: second, command: "bench conv --backend {BACKEND} --network {self.network} --batch 4 {as_text(LONG)} -o {{out}}/conv.jsonl"}}
""")
        out = self.folder / "out"
        process = start("run", suite, "-o", out)
        self.assertTrue(wait_until(lambda: measured(out / "conv.jsonl")))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        suite.write_text(suite.read_text().replace(as_text(LONG), as_text(FEW)))
        result = run("run", suite, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("first", result.stderr)

    def test_ctrl_c_in_a_terminal_keeps_what_the_ranks_of_a_suite_measured(self):
        """A terminal signals the suite, its launcher and all else in the foreground."""
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        conv = f"bench conv --backend {BACKEND} --network {self.network} --batch 4 {as_text(LONG)}"
        suite = self.write_suite(("a", f"ranks: 2, command: '{conv} --cores-per-rank 1 --ranks 2 -o {{out}}/a.jsonl'"))
        process = start("run", suite, "-o", self.folder / "out", start_new_session=True)
        self.assertTrue(wait_until(lambda: measured(self.folder / "out" / "a.jsonl")), "nothing was measured")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertGreaterEqual(len(measured(self.folder / "out" / "a.jsonl")), 1)
        self.assertEqual(self.steps_run(self.write_suite(("a", "command: info"))), ["a"])

    def test_a_killed_step_is_a_crash(self):
        conv = f"bench conv --backend {BACKEND} --network {self.network} --batch 4 {as_text(LONG)}"
        for ranks in [0, 2] if MPIEXEC else [0]:
            out = self.folder / str(ranks)
            command = conv + (f" --cores-per-rank 1 --ranks {ranks}" if ranks else "") + " -o {out}/a.jsonl"
            launched = f"ranks: {ranks}, " if ranks else ""
            suite = self.write_suite(("a", f"{launched}command: '{command}'"))
            process = start("run", suite, "-o", out)
            begun = wait_until(lambda: measured(out / "a.jsonl") or process.poll() is not None, 240)
            self.assertTrue(begun and process.poll() is None, "nothing was measured")
            victims = ranks_of(process.pid)
            os.kill(ranks_of(victims[0])[-1] if ranks else victims[0], signal.SIGKILL)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 4, err)
            self.assertIn('dlscale: step "a" ', err)

    def test_ctrl_c_twice_ends_a_suite_after_its_step(self):
        conv = f"bench conv --backend {BACKEND} --network {self.network} --batch 4 {as_text(LONG)}"
        suite = self.write_suite(("a", f"command: '{conv} -o {{out}}/a.jsonl'"))
        process = start("run", suite, "-o", self.folder / "out")
        self.assertTrue(wait_until(lambda: measured(self.folder / "out" / "a.jsonl")), "nothing was measured")
        (step,) = ranks_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertFalse(pathlib.Path(f"/proc/{step}").exists())

    def test_a_training_that_is_interrupted_says_so_in_its_row(self):
        process = start("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--data",
                        self.make_data(), "--iterations", 1000000, "--warmup", 0)
        self.assertTrue(wait_until(lambda: self.processor_time(process.pid) > 2), "training did not start")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertRegex(out, r"interrupted: stopped by signal 2 after \d+ of 1000000 iterations")

    def write_suite(self, *steps):
        """A step is a name, of one that makes a data set, or a name and what else the step says."""
        make = "command: 'data make --out {out}/%s --pictures 4 --classes 2 --width 64 --height 64 --picture-size 4kB'"
        pairs = [step if isinstance(step, tuple) else (step, make % step) for step in steps]
        path = self.folder / "steps.yaml"
        path.write_text("suite: steps\nsteps:\n" + "".join(
            "  - {name: %s, %s}\n" % pair for pair in pairs))
        return path

    def steps_run(self, suite, code=0, out="out"):
        result = run("run", suite, "-o", self.folder / out)
        self.assertEqual(result.returncode, code, result.stderr)
        return re.findall(r"^\[ *\d+/\d+\] (\w+):", result.stderr, re.MULTILINE)

    def test_steps_after_one_that_changed_are_done_again(self):
        self.assertEqual(self.steps_run(self.write_suite("a", "b", "c")), ["a", "b", "c"])
        self.assertEqual(self.steps_run(self.write_suite("a", "b", "c")), [])
        changed = self.write_suite("a", ("b", "command: info"), "c")
        self.assertEqual(self.steps_run(changed), ["b", "c"])

    def test_the_folder_may_have_spaces_in_its_name(self):
        suite = self.write_suite("a", ("b", "ranks: 2, command: 'data info {out}/a'") if MPIEXEC else "b")
        self.assertEqual(self.steps_run(suite, out="my  results"), ["a", "b"])
        self.assertTrue(any((self.folder / "my  results" / "a").iterdir()))
        self.assertEqual(self.steps_run(suite, out="my  results"), [])
        listed = run("run", suite, "-o", self.folder / "my  results", "--list")
        self.assertIn(f"--out '{self.folder}/my  results/a'", listed.stdout)

    def test_an_interruption_does_not_bring_stale_steps_back(self):
        self.steps_run(self.write_suite("a", "b", "c"))
        broken = self.write_suite(("a", "command: info"), ("b", "command: bench conv --network nowhere"), "c")
        self.assertEqual(self.steps_run(broken, 2), ["a", "b"])
        mended = self.write_suite(("a", "command: info"), "b", "c")
        self.assertEqual(self.steps_run(mended), ["b", "c"])

    def test_a_step_whose_output_is_gone_is_done_again_and_so_are_those_after_it(self):
        suite = self.write_suite("a", "b", "c")
        self.steps_run(suite)
        shutil.rmtree(self.folder / "out" / "b")
        self.assertEqual(self.steps_run(suite), ["b", "c"])

    def test_steps_that_only_derive_run_each_time(self):
        suite = self.write_suite("a", ("b", "command: info, always: true"), "c")
        self.assertEqual(self.steps_run(suite), ["a", "b", "c"])
        self.assertEqual(self.steps_run(suite), ["b"])

    def train_two_ranks(self, out):
        data = self.make_data()
        return start("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--data", data,
                     "--iterations", 1000000, "--ranks", 2, "-o", out, ranks=2)

    def processor_time(self, process):
        """Seconds."""
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def ready(self, process):
        """Two ranks that have been training for a moment: their processor time says so."""

        def busy():
            ranks = ranks_of(process.pid)
            if len(ranks) != 2:
                return False
            return min(map(self.processor_time, ranks)) > 2

        return wait_until(busy, 120)

    def test_a_rank_that_dies_is_named_and_the_others_end(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        process = self.train_two_ranks(self.folder / "e2e.jsonl")
        self.assertTrue(self.ready(process), "training did not start")
        os.kill(ranks_of(process.pid)[1], signal.SIGKILL)
        start_time = time.monotonic()
        _, err = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - start_time, 15)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(err, r"rank [01] .*died")

    def test_ctrl_c_ends_two_ranks(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        process = self.train_two_ranks(self.folder / "e2e.jsonl")
        self.assertTrue(self.ready(process), "training did not start")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.assertNotIn("died", err)


if __name__ == "__main__":
    main()
