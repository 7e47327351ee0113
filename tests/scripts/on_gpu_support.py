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
from session import Session  # noqa: E402


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
