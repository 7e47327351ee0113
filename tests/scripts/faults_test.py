"""Faults that are made on purpose: the program names the rank, ends in time, and keeps what it has.

    faults_test.py PROGRAM MPIEXEC FAULTY_CALLS

A rank is killed, a host is cut off, a result is falsified, a rank is slow. Hosts are those of
scripts/cluster; where this machine or user cannot have them, their tests are skipped by name.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "app"))

from cluster_support import arguments, cannot, wait_until  # noqa: E402 (program.py is found through the path above)
from program import BACKEND, MPIEXEC, PROGRAM, ProgramTest, environment, main, run, start  # noqa: E402

FAULTY_CALLS = sys.argv[3] if len(sys.argv) > 3 else ""
PATIENCE = 2  # seconds; 15 by default
LIMIT = 20  # seconds until all have ended: some ten times what it takes
WHY_NO_HOSTS = cannot()
needs_hosts = unittest.skipIf(WHY_NO_HOSTS, f"no hosts: {WHY_NO_HOSTS}")


def is_open_mpi():
    shown = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False)
    return "Open MPI" in shown.stdout or "OpenRTE" in shown.stdout


needs_open_mpi = unittest.skipUnless(
    is_open_mpi(), "the launcher is not Open MPI's: it may kill all ranks before one can say why"
)


def rows_of(file):
    """The measurements of a result file, which must be readable to its end."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if "axes" in row]


def has_rows(file):
    return file.exists() and '"axes"' in file.read_text(encoding="utf-8")


def ranks_below(launcher):
    """The processes of the program that a launcher started, by rank."""
    parents, ranks = {}, {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            variables = (entry / "environ").read_bytes().split(b"\0")
            program = os.readlink(entry / "exe")
        except OSError:
            continue  # it has ended meanwhile
        parents[int(entry.name)] = int(fields[1])
        if program != os.path.realpath(PROGRAM):
            continue
        for variable in variables:
            name, _, value = variable.partition(b"=")
            if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"):
                ranks[int(entry.name)] = int(value)

    def is_below(process):
        while process in parents and process != launcher:
            process = parents[process]
        return process == launcher

    return {rank: process for process, rank in ranks.items() if is_below(process)}


class FaultTest(ProgramTest):
    """Two kinds of work that last some seconds, cell after cell."""

    def setUp(self):
        super().setUp()
        self.out = self.folder / "results.jsonl"

    def bench_comm(self, *more):
        return ["bench", "comm", "--sizes", "256KiB,512KiB,1MiB,2MiB", "--max-time", 0.3,
                "--precision", 0.000001, "-o", self.out, *more]

    def bench_e2e(self, *more, batches="1,2,3,4,5,6", iterations=100):
        return ["bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", batches,
                "--data", self.make_data(), "--iterations", iterations, "-o", self.out, *more]

    def assert_goes_on(self, words, ranks):
        """--resume keeps the rows that are there and measures the rest."""
        before = rows_of(self.out)
        result = run(*words, "--resume", ranks=ranks)
        self.assertEqual(result.returncode, 0, result.stderr)
        told = "1 measurement is" if len(before) == 1 else f"{len(before)} measurements are"
        self.assertIn(f"{told} there already", result.stderr)
        after = rows_of(self.out)
        self.assertEqual(after[: len(before)], before)
        self.assertEqual(len(after), 4)


@needs_open_mpi
class KilledRank(FaultTest):
    def kill(self, rank, words):
        process = start(*words, ranks=2)
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: has_rows(self.out) or process.poll() is not None, seconds=60))
        victim = ranks_below(process.pid)[rank]
        os.kill(victim, signal.SIGKILL)
        begin = time.monotonic()
        _, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, LIMIT)
        # That of the ranks that are left, or what mpirun makes of the signal of the first.
        self.assertIn(process.returncode, (4, 128 + signal.SIGKILL), err)
        sentence = rf"rank {rank} \(process {victim} on node {socket.gethostname()}\) died"
        self.assertEqual(len(re.findall(sentence, err)), 1, err)
        self.assertIn(f"The results so far are kept in {self.out}", err)
        self.assertGreaterEqual(len(rows_of(self.out)), 1)

    def test_among_messages(self):
        self.kill(1, self.bench_comm())
        self.assert_goes_on(self.bench_comm(), ranks=2)

    def test_who_writes_the_results(self):
        self.kill(0, self.bench_comm())

    def test_in_training(self):
        self.kill(1, self.bench_e2e())


@needs_open_mpi
class InterruptedRank(FaultTest):
    """By a signal of its own, not by one that the launcher got."""

    def interrupt(self, rank, number, words):
        self.out.unlink(missing_ok=True)
        process = start(*words, ranks=2)
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: has_rows(self.out) or process.poll() is not None, seconds=60))
        victim = ranks_below(process.pid)[rank]
        os.kill(victim, number)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130 if number == signal.SIGINT else 143, err)
        self.assertEqual(err.count(" on node "), 1, err)
        self.assertIn(f"rank {rank} (process {victim} on node {socket.gethostname()}) was interrupted", err)
        self.assertNotIn("because of the error", err)
        self.assertGreaterEqual(len(rows_of(self.out)), 1)

    def test_among_messages(self):
        for rank, number in ((0, signal.SIGTERM), (1, signal.SIGINT), (1, signal.SIGHUP)):
            with self.subTest(rank=rank, number=number):
                self.interrupt(rank, number, self.bench_comm())

    def test_in_training(self):
        for rank, number in ((0, signal.SIGINT), (1, signal.SIGTERM)):
            with self.subTest(rank=rank, number=number):
                self.interrupt(rank, number, self.bench_e2e())


# Ends a job on hosts as soon as something is measured: cuts off a host, and says what became of it.
CUT_OFF = """
echo 3 > /proc/sys/net/ipv4/tcp_retries2  # mpirun waits 3 s for a host that does not answer, not 25
{job} &
until grep -q '"axes"' {out} 2>/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
ip link set to-{host} down
begin=$(date +%s)
wait $!
code=$?
echo "ended with $code after $(($(date +%s) - begin)) s"
"""


@needs_hosts
@needs_open_mpi
class HostCutOff(FaultTest):
    def cut_off(self, host, rank, words):
        """The rank that is lost is on the host that is cut off."""
        job = shlex.join(map(str, [MPIEXEC, "-n", 2, PROGRAM, *words, "--heartbeat-timeout", PATIENCE]))
        script = CUT_OFF.format(job=job, out=self.out, host=host)
        result = subprocess.run(
            arguments("--hosts", "2", "--bandwidth", "1Gb/s", command=["sh", "-c", script]),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
            env=environment())  # fmt: skip
        said = result.stdout + result.stderr
        ended = re.search(r"ended with (\d+) after (\d+) s", result.stdout)
        self.assertIsNotNone(ended, said)
        self.assertEqual(int(ended[1]), 4, said)
        self.assertLess(int(ended[2]), LIMIT, said)
        self.assertRegex(
            result.stderr,
            rf"rank {rank} \(process \d+ on node {host}\) has not been heard of for {PATIENCE} s")
        self.assertIn(f"The results so far are kept in {self.out}", result.stderr)
        self.assertGreaterEqual(len(rows_of(self.out)), 1)

    def test_among_messages(self):
        self.cut_off("host2", 1, self.bench_comm())

    def test_of_who_writes_the_results_in_training(self):
        self.cut_off("host1", 0, self.bench_e2e())


def launch(ranks, program, *options):
    """Ranks on this machine, or on a cluster with such options, a rank a host."""
    command = list(map(str, [MPIEXEC, "-n", ranks, *program]))
    if options:
        command = arguments("--hosts", str(ranks), *options, command=command)
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        env=environment())  # fmt: skip


def with_fault(fault, rank, words, *options, ranks=2, **settings):
    """Launches ranks of which one has a fault; `settings` as faulty_calls.cpp has them."""
    variables = {"LD_PRELOAD": FAULTY_CALLS, "FAULT": fault, "FAULT_RANK": rank}
    variables |= {f"FAULT_{name.upper()}": value for name, value in settings.items()}
    # The address sanitizer wants to be the first library that is loaded.
    variables["ASAN_OPTIONS"] = f'{environment()["ASAN_OPTIONS"]}:verify_asan_link_order=0'
    faulty = ["env", *(f"{name}={value}" for name, value in variables.items()), PROGRAM]
    return launch(ranks, [*faulty, *words], *options)


def status_by(rows, axis):
    return {row["axes"][axis]: row["status"] for row in rows}


class WrongResult(FaultTest):
    FLIPPED = r"fault: element (\d+) was (\S+) and is (\S+)"

    def flip_among_messages(self, *words, after):
        words = ["bench", "comm", "--sizes", "4KiB,64KiB", "--samples", 20, "-o", self.out, *words]
        result = with_fault("flip", 1, words, least=64 * 1024 // 4, after=after)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("dlscale: a result is wrong, so no time is given", result.stderr)
        return result

    def assert_wrong(self, result, reason):
        rows = rows_of(self.out)
        self.assertEqual(status_by(rows, "bytes")["65536"], "wrong")
        self.assertIn(status_by(rows, "bytes")["4096"], ("ok", "unstable"))
        wrong = next(row for row in rows if row["status"] == "wrong")
        self.assertEqual(wrong["series"], {})
        self.assertRegex(wrong["reason"], reason)
        self.assertRegex(result.stdout, reason)

    def test_of_the_first_call(self):
        result = self.flip_among_messages(after=0)
        place, before, after = re.search(self.FLIPPED, result.stderr).groups()
        self.assert_wrong(result, rf"wrong on 1 of 2 ranks; rank 1: 1 element, the first is \[{place}\], "
                                  rf"{re.escape(after)} instead of {re.escape(before)}")

    def test_that_comes_later(self):
        result = self.flip_among_messages("--mode", "nonblocking", after=5)
        self.assert_wrong(result, r"after the samples wrong on 1 of 2 ranks; rank 1: 1 element")

    def test_in_training(self):
        result = with_fault("flip", 1, self.bench_e2e(batches="2", iterations=4), least=2, after=3)
        self.assertEqual(result.returncode, 4, result.stderr)
        (row,) = rows_of(self.out)
        self.assertEqual((row["status"], row["series"]), ("wrong", {}))
        reason = r"after \d+ iterations the parameters of ranks 0, 1 differ from each other"
        self.assertRegex(row["reason"], reason)
        self.assertRegex(result.stdout, reason)


@needs_open_mpi
class FailedRank(FaultTest):
    """A call of a library fails on one rank, while the others are in what it should have joined."""

    IN_MESSAGE = r"dlscale: .*(MPI_Allreduce|all_reduce of f32 \(sum\)) failed on rank {} with code"
    IN_STEP = r"dlscale: .*(oneDNN|dnnl_primitive_execute)"

    def assert_ends(self, cause, fault, rank, words, *options, ranks=2, **settings):
        """All ranks do, soon; the one that failed says why, and nobody else but who names it."""
        self.out.unlink(missing_ok=True)
        begin = time.monotonic()
        result = with_fault(fault, rank, words, *options, ranks=ranks, **settings)
        self.assertLess(time.monotonic() - begin, LIMIT)
        self.assertEqual(result.returncode, 4, result.stderr)
        said = [line for line in result.stderr.splitlines() if line.startswith("dlscale: ")]
        notice = rf"dlscale: rank {rank} \(process \d+ on node \S+\) stopped because of the error it printed"
        for sentence in (cause, notice):
            self.assertEqual(sum(bool(re.match(sentence, line)) for line in said), 1, result.stderr)
        self.assertEqual(len(said), 2, result.stderr)

    def messages(self):
        return ["bench", "comm", "--sizes", "64KiB", "--samples", 20, "-o", self.out]

    def test_in_a_message(self):
        for rank in (1, 0):
            for after in (0, 7):  # in the check of the answer, and in a sample
                with self.subTest(rank=rank, after=after):
                    self.assert_ends(
                        self.IN_MESSAGE.format(rank), "fail", rank, self.messages(),
                        least=64 * 1024 // 4, after=after)  # fmt: skip

    @needs_hosts
    def test_in_a_message_of_three(self):
        self.assert_ends(
            self.IN_MESSAGE.format(1), "fail", 1, self.messages(), "--bandwidth", "1Gb/s", ranks=3,
            least=64 * 1024 // 4, after=7)  # fmt: skip

    def test_in_a_message_of_a_training(self):
        for schedule in ("wait_free", "sequential"):
            with self.subTest(schedule=schedule):
                words = self.bench_e2e("--schedule", schedule, batches="2", iterations=4)
                self.assert_ends(self.IN_MESSAGE.format(1), "fail", 1, words, least=2, after=5)

    @needs_hosts
    def test_in_a_message_of_a_training_of_three(self):
        words = self.bench_e2e(batches="2", iterations=4)
        self.assert_ends(
            self.IN_MESSAGE.format(2), "fail", 2, words, "--bandwidth", "1Gb/s", ranks=3, least=2, after=5)

    @unittest.skipIf(BACKEND != "onednn", "what fails is a call of oneDNN, which this build lacks")
    def test_in_a_step_that_it_computes(self):
        for schedule, after in (("wait_free", 60), ("wait_free", 63), ("wait_free", 66),
                                ("reduce_scatter_overlap", 63), ("priority", 66), ("horovod", 60)):
            with self.subTest(schedule=schedule, after=after):
                words = self.bench_e2e("--schedule", schedule, batches="2", iterations=40)
                self.assert_ends(self.IN_STEP, "fail_compute", 1, words, after=after)

    def kernel(self):
        """Its preparation runs the forward pass first, of which it is the backward."""
        return ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2,
                "--passes", "backward_data", "--check", "no", "--samples", 20, "-o", self.out]  # fmt: skip

    @unittest.skipIf(BACKEND != "onednn", "what fails is a call of oneDNN, which this build lacks")
    def test_in_the_preparation_of_a_kernel(self):
        """All ranks meet after it, so that each can say on which it was."""
        for rank, after in ((0, 0), (1, 0), (1, 4)):
            with self.subTest(rank=rank, after=after):
                begin = time.monotonic()
                result = with_fault("fail_compute", rank, self.kernel(), after=after)
                self.assertLess(time.monotonic() - begin, LIMIT)
                self.assertEqual(result.returncode, 4, result.stderr)
                self.assertRegex(result.stderr, rf"(?m)^{self.IN_STEP}")
                self.assertRegex(result.stderr, rf"(?m)^dlscale: on rank {rank}: .*dnnl_primitive_execute")

    @unittest.skipIf(BACKEND != "onednn", "what fails is a call of oneDNN, which this build lacks")
    def test_in_the_samples_of_a_kernel(self):
        self.assert_ends(self.IN_STEP, "fail_compute", 1, self.kernel(), after=12)


class SlowRank(FaultTest):
    def assert_named(self, result, sentence):
        self.assertEqual(result.returncode, 0, result.stderr)
        (row,) = rows_of(self.out)
        self.assertTrue(any(re.match(sentence, each) for each in row["warnings"]), row["warnings"])
        self.assertRegex(result.stdout, rf"\({sentence}\)")  # in the table
        return row

    def test_that_starts_its_messages_late(self):
        words = ["bench", "comm", "--sizes", "4KiB", "--samples", 20, "-o", self.out]
        for rank in (1, 0):
            self.out.unlink(missing_ok=True)
            result = with_fault("late", rank, words, ms=40)
            row = self.assert_named(result, f"rank {rank} starts last")
            self.assertGreater(row["series"]["start_skew"]["summary"]["median"], 0.03)

    def pairs(self, size):
        return ["bench", "comm", "--collectives", "pairs", "--sizes", size, "--samples", 12,
                "--warm-ups", 1, "-o", self.out]  # fmt: skip

    @needs_hosts
    @needs_open_mpi
    def test_that_is_slow_in_its_messages(self):
        """Where all wait for all, nobody can tell who it is; where every two meet, everybody."""
        result = with_fault(
            "slow_send", 1, self.pairs("4KiB"), "--bandwidth", "1Gb/s", ranks=3, ms=40, least=4096)
        self.assert_named(result, "rank 1 is last")

    @unittest.skipIf(BACKEND != "onednn", "computing is slowed down in oneDNN, which this build lacks")
    def test_that_computes_slowly_in_training(self):
        result = with_fault("slow_compute", 1, self.bench_e2e(batches="2", iterations=20), ms=2)
        row = self.assert_named(result, "rank 1 computes longest")
        self.assertTrue(any("most of it in forward" in each or "most of it in backward" in each
                            for each in row["warnings"]), row["warnings"])

    @needs_hosts
    @needs_open_mpi
    def test_whose_link_is_slow(self):
        result = launch(
            3, [PROGRAM, *self.pairs("128KiB")], "--bandwidth", "1Gb/s", "--bandwidth-of", "2=50Mb/s")
        self.assert_named(result, "rank 1 is last")


if __name__ == "__main__":
    main()
