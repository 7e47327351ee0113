"""Runs the program for the tests beside this file, as a shell would."""

import fcntl
import functools
import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

from forks import Forks
from tiny import SANITIZERS, TINY_NETWORK

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
MPIEXEC = sys.argv[2] if len(sys.argv) > 2 else ""


# Of each cell enough to see that it was measured, where nothing is about how long it took; the usual ones take a tenth of a
# second each, however short the time allowed.
FEW = ["--samples", 2, "--warm-ups", 1]
# As many as an interval of the median takes.
SIX = ["--samples", 6, "--warm-ups", 1]
# A third of a second each, however narrow the interval: eleven cells of the tiny network last long enough to be interrupted.
LONG = ["--max-time", 0.3, "--precision", 0.000001]


def as_text(options):
    """As a suite or a shell reads them."""
    return " ".join(map(str, options))


def machine_with_a_small_cache():
    """This machine for hwloc, with a last-level cache that is quickly emptied: some have 480 MiB, which take 0.1 s a sample."""
    cores = os.cpu_count()
    return f"pack:1 l3:1(size={8 << 20}) core:{cores} pu:1(indexes={','.join(map(str, range(cores)))})"


def environment():
    variables = dict(os.environ) | SANITIZERS
    variables.update(
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_hwloc_base_binding_policy="none",
        OMPI_MCA_mpi_yield_when_idle="1",  # ranks that wait leave the cores to other tests
        HWLOC_SYNTHETIC=machine_with_a_small_cache(),
        HWLOC_THISSYSTEM="1",
    )
    return variables


def start(*words, ranks=0, variables=None, **more):
    """`variables` are set in the environment as well, or taken out of it (None)."""
    command = [PROGRAM, *map(str, words)]
    if ranks:
        command = [MPIEXEC, "-n", str(ranks), *command]
    changed = environment() | (variables or {})
    return subprocess.Popen(
        command, env={name: value for name, value in changed.items() if value is not None},
        text=True, **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more)
    )


def run(*words, ranks=0, timeout=300, variables=None):
    if not ranks and variables is None and "DLSCALE_FORKS" in os.environ:
        return forks().run(words, timeout=timeout)
    process = start(*words, ranks=ranks, variables=variables)
    out, err = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def on_terminal(*words, size=None, variables=None):
    """Everything that the program prints to a terminal; size: its (rows, columns)."""
    reader, writer = os.openpty()
    if size:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    process = start(*words, variables=variables, stdout=writer)
    os.close(writer)
    text = b""
    try:
        while part := os.read(reader, 65536):
            text += part
    except OSError:  # Linux: the other end is closed
        pass
    os.close(reader)
    process.communicate()
    return text.decode()


@functools.cache
def forks():
    """The program, started once for all runs without ranks and with the usual environment."""
    return Forks(os.environ["DLSCALE_FORKS"], environment())


@functools.cache
def help_of(*words):
    """What --help prints after them."""
    return run(*words, "--help").stdout


def result_lines(path):
    """The lines of a result file, compressed or not."""
    content = pathlib.Path(path).read_bytes()
    return (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode().splitlines()


def compute_backend():
    """The one a user has by default; plain loops where this build lacks oneDNN."""
    lines = run("info").stdout.splitlines() if PROGRAM else []
    absent = any(line.split()[0] == "onednn" and "not in this build" in line for line in lines if line.split())
    return "reference" if absent else "onednn"


BACKEND = compute_backend()


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own, a tiny network and a way to have a tiny data set."""

    data_sets = {}  # of all tests, by their number of pictures: each made once

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.network = self.folder / "tiny.yaml"
        self.network.write_text(TINY_NETWORK)

    def tearDown(self):
        self._folder.cleanup()

    def answered(self, *words, code=0):
        """What the program prints, which complains of nothing."""
        result = run(*words)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def plans(self, *words, code=0):
        """The parallel plans of an answer."""
        return json.loads(self.answered(*words, "--format", "json", code=code))["plans"]

    def make_data(self, pictures=24):
        """A data set of its own, to do with as it likes."""
        if pictures not in self.data_sets:
            folder = tempfile.TemporaryDirectory()
            made = run("data", "make", "--out", pathlib.Path(folder.name) / "data", "--pictures", pictures,
                       "--classes", 4, "--width", 96, "--height", 72, "--picture-size", "6 kB")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.data_sets[pictures] = folder
        return shutil.copytree(pathlib.Path(self.data_sets[pictures].name) / "data", self.folder / "data",
                               dirs_exist_ok=True)

    def write_network(self, name, old, new):
        text = TINY_NETWORK.replace(old, new)
        self.assertNotEqual(text, TINY_NETWORK)
        path = self.folder / name
        path.write_text(text)
        return path

    def assert_refused(self, result, code, *fragments):
        """One clear sentence on standard error, nothing on standard output, the right exit code."""
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        self.assertNotIn("what():", result.stderr)
        for fragment in fragments:
            self.assertIn(str(fragment), result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("dlscale: ")]
        self.assertEqual(len(lines), 1, result.stderr)


class BenchTest(ProgramTest):
    """A test of short benchmarks and trainings."""

    def conv(self, network, *more):
        backend = [] if "--backend" in more else ["--backend", BACKEND]
        return run("bench", "conv", "--network", network, "--batch", 2, *FEW, *backend, *more)

    def train(self, *more):
        return run("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--iterations", 3, *more)


def main():
    unittest.main(argv=[sys.argv[0], "-v"])
