"""Kills, stops and interrupts ranks, and reads what the others say of it.

    watchdog_test.py RANK_PROGRAM MPIEXEC NUMPROC_FLAG [TEST...]
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, MPIEXEC, NUMPROC_FLAG = sys.argv[1:4]
RANKS = 3
LIMIT = 30.0  # seconds within which ranks must have ended that would otherwise wait for ever, on any machine
# Such a launcher may end with 0 whatever the ranks end with, so each one's code is written down.
RECORD = 'trap : USR1; "$@"; code=$?; echo $code > "$0/code.$$"; exit $code'
OPEN_MPI = "OpenRTE" in subprocess.run(
    [MPIEXEC, "--version"], capture_output=True, text=True, check=False).stdout


class Job:
    """Ranks under a launcher that is not told to clean up, or started as it is by default."""

    def __init__(self, work, link="automatic", patience=20.0, launcher_cleans=True):
        self.folder = tempfile.TemporaryDirectory()
        self.launcher_cleans = launcher_cleans
        options = [] if launcher_cleans else self.without_cleaning()
        recorder = [] if launcher_cleans else ["sh", "-c", RECORD, self.folder.name]
        self.output = Path(self.folder.name, "output")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [MPIEXEC, *options, NUMPROC_FLAG, str(RANKS), *recorder, PROGRAM, self.folder.name, work, link,
                 str(patience)], stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    @staticmethod
    def without_cleaning():
        if OPEN_MPI:
            return ["--mca", "orte_abort_on_non_zero_status", "0", "--enable-recovery"]
        return ["-disable-auto-cleanup"]

    def pids(self):
        """The process of each rank, once all of them work."""
        deadline = time.monotonic() + 60
        files = [Path(self.folder.name, str(rank)) for rank in range(RANKS)]
        while not all(file.exists() for file in files):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError("the ranks did not start: " + self.text())
            time.sleep(0.02)
        time.sleep(0.2)  # into the middle of the work
        return [int(file.read_text()) for file in files]

    def text(self):
        return self.output.read_text(errors="replace")

    def finish(self):
        """Exit code and output; fails if a rank is left after LIMIT seconds."""
        start = time.monotonic()
        code = self.process.wait(timeout=60)
        elapsed = time.monotonic() - start
        text = self.text()
        return code, text, elapsed

    def codes(self):
        """What the ranks ended with, if the launcher left them alone."""
        return sorted(int(file.read_text()) for file in Path(self.folder.name).glob("code.*"))

    def stop(self):
        Path(self.folder.name, "stop").touch()

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class WatchdogTest(unittest.TestCase):
    def start(self, *args, **kwargs):
        job = Job(*args, **kwargs)
        self.addCleanup(job.folder.cleanup)
        self.addCleanup(job.kill)
        return job

    def kill_rank(self, rank, **kwargs):
        """Kills one rank; the others must name it, once, and end."""
        job = self.start(**kwargs)
        pids = job.pids()
        os.kill(pids[rank], signal.SIGKILL)
        code, text, elapsed = job.finish()
        if job.launcher_cleans:
            self.assertNotEqual(code, 0, text)
        sentence = rf"rank {rank} \(process {pids[rank]} on node \S+\) died"
        self.assertEqual(len(re.findall(sentence, text)), 1, text)
        self.assertIn("results/test.jsonl", text)
        self.assertNotIn("interrupted", text)
        self.assertLess(elapsed, LIMIT, text)
        return job

    # MPICH's launcher kills the other ranks outright when one dies, unless told not to: whether
    # they still get a word out is luck. Open MPI's gives them a second.

    def test_names_the_rank_that_was_killed(self):
        for rank in (0, 2):
            self.kill_rank(rank, work="loop", launcher_cleans=OPEN_MPI)

    def test_ends_ranks_that_are_caught_in_a_collective(self):
        self.kill_rank(1, work="stuck", launcher_cleans=OPEN_MPI)

    def test_ends_ranks_that_the_launcher_leaves_alone(self):
        job = self.kill_rank(1, work="stuck", launcher_cleans=False)
        self.assertEqual(job.codes(), [4, 4, 137])

    def test_names_the_rank_that_was_killed_over_tcp(self):
        job = self.kill_rank(2, work="loop", link="tcp", launcher_cleans=False)
        self.assertEqual(job.codes(), [4, 4, 137])

    def test_counts_a_silent_rank_as_dead_over_tcp(self):
        job = self.start("loop", link="tcp", patience=1.0, launcher_cleans=False)
        pids = job.pids()
        os.kill(pids[1], signal.SIGSTOP)
        deadline = time.monotonic() + LIMIT
        while len(job.codes()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(job.codes(), [4, 4], job.text())
        self.assertRegex(job.text(), rf"rank 1 \(process {pids[1]} on .*has not been heard of")
        os.kill(pids[1], signal.SIGKILL)
        job.finish()

    def test_does_not_take_a_stopped_local_rank_for_dead(self):
        job = self.start("loop", patience=0.5)
        pids = job.pids()
        os.kill(pids[1], signal.SIGSTOP)
        time.sleep(1.5)  # longer than patience over TCP
        os.kill(pids[1], signal.SIGCONT)
        job.stop()
        code, text, _ = job.finish()
        self.assertEqual((code, text.count("dlscale:")), (0, 0), text)

    def test_leaves_ranks_that_finish_in_peace(self):
        for link in ("automatic", "tcp"):
            job = self.start("loop", link=link)
            job.stop()
            code, text, _ = job.finish()
            self.assertEqual((code, text.count("dlscale:")), (0, 0), text)

    def test_a_launcher_that_is_interrupted_is_no_death(self):
        for work in ("loop", "stuck"):
            job = self.start(work)
            job.pids()
            os.kill(job.process.pid, signal.SIGINT)
            code, text, elapsed = job.finish()
            self.assertNotIn(" on node ", text, work)
            if OPEN_MPI:  # MPICH's ends with what it likes
                self.assertNotEqual(code, 0, text)
            self.assertLess(elapsed, LIMIT, text)

    def test_one_interrupted_rank_is_named_and_takes_the_others_along(self):
        for work, rank, number in (("loop", 0, signal.SIGTERM), ("stuck", 0, signal.SIGINT),
                                   ("loop", 1, signal.SIGINT), ("stuck", 1, signal.SIGTERM),
                                   ("joint", 0, signal.SIGTERM), ("joint", 1, signal.SIGINT)):
            job = self.start(work, launcher_cleans=False)
            pids = job.pids()
            os.kill(pids[rank], number)
            _, text, elapsed = job.finish()
            self.assertNotIn("died", text)
            self.assertNotIn("because of the error", text)
            self.assertEqual(len(re.findall(" on node ", text)), 1, text)
            self.assertRegex(text, rf"rank {rank} \(process {pids[rank]} on node \S+\) was interrupted")
            self.assertLess(elapsed, LIMIT, text)
            self.assertEqual(job.codes(), [128 + number] * RANKS, (work, rank, text))

    def test_a_rank_that_fails_in_a_collective_takes_the_others_along(self):
        job = self.start("break", launcher_cleans=False)
        _, text, elapsed = job.finish()
        self.assertEqual(text.count("a call failed on the last rank"), 1, text)
        notice = r"rank 2 \(process \d+ on node \S+\) stopped because of the error it printed"
        self.assertEqual(len(re.findall(notice, text)), 1, text)
        self.assertLess(elapsed, LIMIT, text)
        self.assertEqual(job.codes(), [4] * RANKS, text)

    def test_a_rank_that_throws_takes_the_others_along(self):
        for cleans in (True, False):
            job = self.start("throw", launcher_cleans=cleans)
            job.stop()
            code, text, elapsed = job.finish()
            self.assertIn("thrown by the last rank", text)
            self.assertNotIn("died", text)
            self.assertLess(elapsed, LIMIT, text)
            if cleans:
                self.assertNotEqual(code, 0, text)
            else:
                self.assertEqual(job.codes(), [2, 4, 4], text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
