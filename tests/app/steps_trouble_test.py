"""Suites of steps of which one hangs or crashes: it is told, what does not build upon it goes on, and the next call mends it.

    steps_trouble_test.py PROGRAM MPIEXEC
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from program import PROGRAM, ProgramTest, environment, main, run, start
GEMM = "bench gemm --backend reference --warm-ups 1"
SHORT = "bench memory --operations copy --sizes 64KiB --threads 1 --samples 2 --warm-ups 1"
DATA = "data make --pictures 4 --classes 2 --width 64 --height 64 --picture-size 4kB --out {out}/data"
LONGEST = "256x256x256,256x256x264,256x256x272,256x256x280"


def long(seconds, sizes="256x256x256"):
    """A step of about `seconds` for each size, unless 1,000 samples, where sampling ends, take less: 13 s on a fast machine."""
    return GEMM + f" --sizes {sizes} --precision 1e-9 --max-time {seconds} -o {{out}}/long.jsonl"


class StepsTrouble(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def suite(self, first, timeout=None, more=()):
        first = {"name": "first", "command": first} | ({"timeout": timeout} if timeout else {})
        others = [{"name": name, "command": f"{SHORT} -o {{out}}/{name}.jsonl"} for name in ("second", "last")]
        data = [{"name": "data", "command": DATA},
                {"name": "io", "command": "bench io --data {out}/data --height 32 --width 32 --max-time 0.1 -o {out}/io.jsonl"}]
        report = {"name": "report", "always": True, "command": "report {out} -o {out}/report"}
        path = self.folder / "suite.yaml"
        path.write_text(json.dumps({"suite": "trouble", "steps": [first, others[0], *data, others[1], report, *more]}))
        return path

    def carry_out(self, suite, code, *more):
        """The steps that were begun, and what was said."""
        result = run("run", suite, "-o", self.out, *more)
        self.assertEqual(result.returncode, code, result.stderr)
        return re.findall(r"^\[ *\d+/\d+\] (\w+):", result.stderr, re.MULTILINE), result.stderr

    def at_work(self):
        """Processes that measure for this suite."""
        mark = f"{self.out}/long.jsonl".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:
                continue
            if mark in words and b"bench" in words:
                found.append(int(path.parent.name))
        return found

    def test_a_step_that_hangs_is_ended_and_the_others_follow(self):
        begun, said = self.carry_out(self.suite(long(5), timeout=1), 4)
        self.assertEqual(begun, ["first", "second", "last", "report"])
        self.assertIn('step "first" took longer than its timeout (1 s) and was ended. Its command was: dlscale bench gemm', said)
        self.assertIn('step "data" is left out: it builds upon "first"', said)
        self.assertIn('step "io" is left out: it builds upon ', said)
        self.assertIn("1 step of this suite failed: first; 2 steps were left out, which build upon what failed.", said)
        self.assertEqual(self.at_work(), [])
        before = {name: (self.out / f"{name}.jsonl").read_bytes() for name in ("second", "last")}

        begun, _ = self.carry_out(self.suite(long(5), timeout=200), 0)
        self.assertEqual(begun, ["first", "data", "io", "report"])
        self.assertEqual({name: (self.out / f"{name}.jsonl").read_bytes() for name in before}, before, "measured once")
        self.assertEqual(self.carry_out(self.suite(long(5), timeout=200), 0)[0], ["report"])

    def test_a_suite_that_carries_out_itself_is_refused(self):
        suite = self.folder / "again.yaml"
        suite.write_text(f"suite: again\nsteps:\n  - name: again\n    doc: itself\n    command: run {suite} -o {{out}}/x\n")
        result = run("run", suite, "-o", self.folder / "again", timeout=60)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("carries out that suite again", result.stderr)

    def test_a_rebuild_meanwhile_is_in_no_step_s_way(self):
        program = self.folder / "dlscale"
        shutil.copy(PROGRAM, program)
        rebuilt = shutil.copy(PROGRAM, self.folder / "rebuilt")
        process = subprocess.Popen([program, "run", self.suite(long(1)), "-o", self.out], env=environment(), text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not self.at_work():
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        os.replace(rebuilt, program)
        _, said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, said)
        self.assertTrue((self.out / "last.jsonl").exists())

    def test_a_step_that_fails_again_fails_alone_again(self):
        suite = self.suite(long(5), timeout=1)
        self.carry_out(suite, 4)
        begun, said = self.carry_out(suite, 4)
        self.assertEqual(begun, ["first", "report"])
        self.assertIn("2 steps were left out", said)
        self.assertEqual(self.carry_out(suite, 4, "--quiet")[0], [], "and quietly")

    def test_a_step_that_derives_does_not_hide_what_failed_before(self):
        derives = {"name": "derives", "always": True, "command": "validate {out} --machine {out}/none.json"}
        _, said = self.carry_out(self.suite(long(5), 1, [derives]), 4)
        self.assertIn("2 steps of this suite failed: first, derives", said)
        self.carry_out(self.suite(SHORT + " -o {out}/long.jsonl", 200, [derives]), 2, "--restart")

    def test_a_step_that_crashes_is_told_and_the_others_follow(self):
        process = start("run", self.suite(long(1000)), "-o", self.out)
        end = time.monotonic() + 60
        while not (found := self.at_work()) and time.monotonic() < end:
            time.sleep(0.02)
        for each in found:
            os.kill(each, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 4, err)
        self.assertIn('step "first" was ended by signal 9 (Killed)', err)
        self.assertTrue((self.out / "last.jsonl").exists())
        self.assertTrue((self.out / "report" / "index.html").exists())
        self.assertFalse((self.out / "data").exists())

    def test_a_signal_is_of_the_suite_and_not_of_the_step(self):
        process = start("run", self.suite(long(1000), timeout=500), "-o", self.out)
        end = time.monotonic() + 60
        while not self.at_work() and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertFalse((self.out / "second.jsonl").exists())

    def wait_for_step(self, but=()):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.at_work()
            if found and not set(found) & set(but):
                return found
            time.sleep(0.02)
        return self.fail("no step is at work")

    def test_a_step_that_a_killed_call_has_left_is_ended_first(self):
        words = ["run", self.suite(long(1000)), "-o", self.out]
        killed = start(*words)
        left = self.wait_for_step()
        killed.kill()
        killed.wait(timeout=60)
        self.assertEqual(self.at_work(), left)
        again = start(*words)
        self.wait_for_step(but=left)
        again.send_signal(signal.SIGINT)
        _, err = again.communicate(timeout=60)
        self.assertEqual(again.returncode, 130, err)
        self.assertIn("ending 1 process of a step of an earlier call, which was killed", err)
        killed.stderr.close()
        killed.stdout.close()

    def test_a_step_of_a_call_that_is_at_work_is_left_alone(self):
        words = ["run", self.suite(long(1000)), "-o", self.out]
        process = start(*words)
        found = self.wait_for_step()
        other = run(*words)
        self.assertEqual(other.returncode, 2, other.stderr)
        self.assertIn("is being written by another dlscale", other.stderr)
        self.assertNotIn("which was killed", other.stderr)
        self.assertEqual(self.at_work(), found)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)

    def test_bad_input_still_ends_the_suite(self):
        begun, said = self.carry_out(self.suite("bench conv --network nowhere -o {out}/long.jsonl"), 2)
        self.assertEqual(begun, ["first"])
        self.assertIn("Correct it and run the suite again", said)
        self.assert_refused(run("run", self.suite(SHORT, timeout=-1), "-o", self.out), 2, "timeout")
        self.assert_refused(run("run", self.suite(SHORT), "-o", self.out, "--wait-quiet", "1e12"), 2, "is more than 1e9 seconds")

    def keep_going(self, *steps):
        """A suite of (name, command or program, other keys)."""
        path = self.folder / "suite.yaml"
        made = [{"name": name, "program" if what.startswith(("sh ", "cat ")) else "command": what} | more for name, what, more in steps]
        path.write_text(json.dumps({"suite": "going", "keep_going": True, "steps": made}))
        return path

    def measures(self, name, **more):
        return (name, f"{SHORT} -o {{out}}/{name}.jsonl", more)

    def report(self):
        return ("report", "report {out} -o {out}/report", {"always": True, "seconds": 2})

    def test_a_suite_that_keeps_going_goes_past_whatever_fails(self):
        suite = self.keep_going(("bad", "bench conv --network nowhere -o {out}/bad.jsonl", {}),
                                ("builder", "cat {out}/bad.jsonl", {}),
                                ("lacks", "sh -c 'exit 6'", {}), ("finds", "sh -c 'exit 1'", {"accept_failed_validation": True}),
                                self.measures("second"), ("data", DATA, {}), self.report())
        begun, said = self.carry_out(suite, 4)
        self.assertEqual(begun, ["bad", "lacks", "finds", "second", "data", "report"])
        self.assertIn('step "bad" ended with exit code 2. Its command was: dlscale bench conv --network nowhere', said)
        self.assertIn('step "builder" is left out: it builds upon "bad"', said)
        self.assertIn('step "lacks" is left out: this machine or build lacks what it needs', said)
        self.assertIn("1 step of this suite failed: bad; 1 step was left out, which builds upon what failed.", said)
        (self.out / "second.jsonl").unlink()
        begun, _ = self.carry_out(suite, 4)
        self.assertEqual(begun, ["lacks", "second", "bad", "report"], "what failed before comes last")

    def test_what_a_failed_step_left_running_is_ended_before_the_next(self):
        left, seen = self.folder / "left", self.folder / "seen"
        suite = self.keep_going(("crash", f"sh -c 'setsid sleep 300 & echo $! > {left}; exit 9'", {}),
                                ("next", f"sh -c 'cat /proc/$(cat {left})/environ > {seen} || true'", {}))
        _, said = self.carry_out(suite, 4)
        self.assertIn("ending 1 process of a command that failed", said)
        self.assertEqual(seen.read_bytes(), b"", "gone, or not yet waited for")

    def test_a_step_writes_to_its_log_and_shows_the_last_lines_where_it_fails(self):
        suite = self.keep_going(("talks", "sh -c 'seq 100; echo aside >&2'", {}), ("fails", "sh -c 'seq 100; echo why >&2; exit 2'", {}),
                                ("answer", "sh -c 'echo the answer'", {"always": True}))
        for call in (1, 2):  # the second time what failed goes on with its log
            result = run("run", suite, "-o", self.out)
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertEqual(result.stdout, "the answer\n")
            lines = [line for line in result.stderr.splitlines() if not line.startswith(("[", "dlscale: "))]
            self.assertEqual(lines, [*map(str, range(92, 101)), "why"])
            self.assertIn(f"Its output is in {self.out}/logs/fails.log.", result.stderr)
            self.assertEqual((self.out / "logs/fails.log").read_text().count("why\n"), call)
        self.assertEqual((self.out / "logs/talks.log").read_text().splitlines()[-2:], ["100", "aside"])

    def test_a_suite_of_which_nothing_can_be_done_here_says_so(self):
        suite = self.keep_going(("absent", "bench gemm --backend reference", {"ranks": 1}), ("lacks", "sh -c 'exit 6'", {}), self.report())
        text = suite.read_text().replace('"command": "bench gemm --backend reference"', '"program": "no_such_program"')
        suite.write_text(text)
        begun, said = self.carry_out(suite, 6)
        self.assertEqual(begun, ["absent", "lacks"])
        self.assertIn('step "absent" is left out: no_such_program cannot be started', said)

    def test_what_the_time_budget_has_no_room_for_waits_for_another_call(self):
        suite = self.keep_going(self.measures("first", seconds=1), self.measures("large", seconds=500),
                                ("builder", "cat {out}/large.jsonl", {"seconds": 1}),
                                self.measures("last", seconds=1), self.report())
        shown = run("run", suite, "-o", self.out, "--dry-run", "--time-budget", "1min").stdout.splitlines()
        self.assertRegex(shown[0], r"^first \(about 1 s\): dlscale bench memory ")
        self.assertRegex(shown[1], r"^large \(about 8 min, in another call\): ")
        self.assertRegex(shown[2], r"^builder \(about 1 s, in another call\): cat ")
        self.assertEqual(shown[-1], "In all about 4 s, and 8 min in other calls.")
        self.assertFalse(self.out.exists())
        begun, said = self.carry_out(suite, 3, "--time-budget", "1min")
        self.assertEqual(begun, ["first", "last", "report"])
        self.assertIn("no room for 2 steps of this suite, about 8 min: large, builder. The same command goes on with them.", said)
        shown = run("run", suite, "-o", self.out, "--dry-run").stdout.splitlines()
        self.assertRegex(shown[0], r"^first \(about 1 s, done\): ")
        begun, _ = self.carry_out(suite, 0, "--time-budget", "20 min")
        self.assertEqual(begun, ["large", "builder", "report"])

    def test_a_step_is_ended_when_the_time_budget_is_spent_and_gone_on_with(self):
        suite = self.keep_going(self.measures("first"), ("long", long(1000, LONGEST), {"seconds": 1}), self.report())
        begun, said = self.carry_out(suite, 3, "--time-budget", "16s")
        self.assertEqual(begun, ["first", "long", "report"])
        self.assertIn('step "long" was ended, since the time budget is spent', said)
        self.assertEqual(self.at_work(), [])
        begun, _ = self.carry_out(self.keep_going(self.measures("first"), ("long", long(0.1), {"seconds": 1}), self.report()), 0)
        self.assertEqual(begun, ["long", "report"])

    def test_a_time_budget_is_for_suites_that_keep_going(self):
        self.assert_refused(run("run", self.suite(SHORT), "-o", self.out, "--time-budget", "60"), 2, "build upon each other")
        for text in ("9mi", "-3", "0", "soon"):
            self.assert_refused(run("run", self.suite(SHORT), "--time-budget", text), 2, "--time-budget: ", text)
        self.assert_refused(run("run", "--list", "--time-budget", "9min"), 2, "no suite is named")


if __name__ == "__main__":
    main()
