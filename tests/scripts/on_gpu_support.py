"""What the tests of scripts/on_gpu share."""

import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_GPU = ROOT / "scripts" / "on_gpu"
sys.path.insert(0, str(ROOT / "scripts" / "gpu"))

import record  # noqa: E402 (found through the path above)
from session import Outcome, Session  # noqa: E402


def fake_programs(tests):
    """Programs of which only the names and the configurations are asked for."""
    return types.SimpleNamespace(tests=tests, configs=lambda: ROOT / "configs")


def commands_of(steps, folder=ROOT, code="ok"):
    """(step, words, file) of the programs that these steps would start."""
    said = []

    def execute(words, limit, output="log.txt"):
        said.append((words, output))
        return Outcome(code)

    def launched(command, ranks):
        return [*(["mpirun", "-n", str(ranks)] if ranks else []), *map(str, command)]

    programs = types.SimpleNamespace(
        command=lambda words, ranks=0: list(map(str, words)),
        launched=launched,
        test=lambda name: f"bin/{name}",
    )
    record = types.SimpleNamespace(has_room=lambda output: True)
    session = types.SimpleNamespace(
        programs=programs, record=record, work=folder, execute=execute
    )
    found = []
    for step in steps:
        said.clear()
        step.action(session, 1)
        found += [(step, words, output) for words, output in said]
    return found


class FolderTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def session(self, seconds=60):
        fake = types.SimpleNamespace(environment=lambda: dict(os.environ))
        made = record.Record(self.folder / "out")
        return Session(fake, made, self.folder, time.monotonic() + seconds)
