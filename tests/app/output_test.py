"""What the file of -o holds after a run: results, or what it held before."""

import json
import os
import pathlib
import stat
import tempfile
import threading
import unittest

from program import ProgramTest, main, run


def make_device(path, minor):
    """A node of its own: nobody misses it if it is replaced. None where none can be made."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return None
    return path


class MachineFile(ProgramTest):
    """calibrate writes a machine where -o says, whatever that is."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.results = pathlib.Path(cls.kept.name) / "memory.jsonl"
        measured = run("bench", "memory", "--sizes", "1 MiB,2 MiB", "--max-time", 0.01, "-o", cls.results)
        assert measured.returncode == 0, measured.stderr

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def calibrate(self, output, *more):
        return run("calibrate", self.results, "-o", output, *more, timeout=60)

    def assert_is_machine(self, text):
        self.assertEqual(json.loads(text)["schema"], "dlscale.machine")

    def test_a_file_is_made_and_replaced(self):
        for _ in range(2):
            result = self.calibrate(self.folder / "machine.json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assert_is_machine((self.folder / "machine.json").read_text())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["machine.json", "tiny.yaml"])

    def test_a_link_leads_to_the_file(self):
        target, link = self.folder / "target.json", self.folder / "machine.json"
        link.symlink_to("target.json")
        for _ in range(2):
            self.assertEqual(self.calibrate(link).returncode, 0)
            self.assertTrue(link.is_symlink())
            self.assert_is_machine(target.read_text())
            self.assertFalse(target.is_symlink())

    def test_a_pipe_is_written_to(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assert_refused(self.calibrate(pipe), 2, pipe, "no program reads")
        got = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
        reader.start()
        result = self.calibrate(pipe)
        while result.returncode == 2 and "no program reads" in result.stderr:  # the reader was slow
            result = self.calibrate(pipe)
        reader.join(60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_is_machine(got[0])
        self.assertTrue(pipe.is_fifo())

    def test_a_device_is_written_to(self):
        null, full = make_device(self.folder / "null", 3), make_device(self.folder / "full", 7)
        if null is None or full is None:
            self.skipTest("device nodes cannot be made or used here")
        self.assertEqual(self.calibrate(null).returncode, 0)
        self.assert_refused(self.calibrate(full), 2, full, "No space left on device")
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "-o"]
        self.assertEqual(run(*predict, null).returncode, 0)
        self.assert_refused(run(*predict, full), 2, full)
        for device in (null, full):
            self.assertTrue(device.is_char_device())


if __name__ == "__main__":
    main()
