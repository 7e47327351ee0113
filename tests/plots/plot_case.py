"""What the tests of figures share: writing input, drawing, and looking at what was drawn."""

import importlib.util
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import traceback
import unittest
import xml.etree.ElementTree

PLOTS = pathlib.Path(__file__).resolve().parents[2] / "plots"
SVG = "{http://www.w3.org/2000/svg}"
sys.path.insert(0, str(PLOTS))

if importlib.util.find_spec("matplotlib") is None:  # before a test imports what needs it
    print("skipped: this Python has no matplotlib (apt install python3-matplotlib)")
    sys.exit(77)
import matplotlib.pyplot  # noqa: E402, F401 (for all that is drawn)


def run_copied(script, arguments):
    """Runs a script in a copy of this process, which has matplotlib already.

    Returns what subprocess.run() would.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.argv = [str(script), *arguments]
                runpy.run_path(str(script), run_name="__main__")
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)  # not by way of unittest
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess([script, *arguments], code, out.read(), err.read())


def lines_of(benchmark, measurements):
    """A result file."""
    header = {"schema": "dlscale.result", "version": 1, "benchmark": benchmark}
    return "".join(json.dumps(line) + "\n" for line in [header, *measurements])


class PlotCase(unittest.TestCase):
    """Draws into a folder that goes when the test ends, or into the one that main() was given."""

    folder = None

    def setUp(self):
        if self.folder is None:
            temporary = tempfile.TemporaryDirectory()
            self.addCleanup(temporary.cleanup)
            self.where = pathlib.Path(temporary.name)
        else:
            self.where = self.folder
            self.where.mkdir(parents=True, exist_ok=True)

    def write(self, name, document):
        path = self.where / name
        text = document if isinstance(document, str) else json.dumps(document)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run_plot(self, name, *arguments, output=None):
        return run_copied(PLOTS / f"{name}.py", [*map(str, arguments), "--output", str(self.where / (output or name))])

    def draw(self, name, *arguments):
        """Draws; returns all text in the SVG."""
        return self.look_at(name, self.run_plot(name, *arguments))

    def draw_by_itself(self, name, *arguments):
        """As a shell has it drawn."""
        command = [sys.executable, str(PLOTS / f"{name}.py"), *arguments]
        command += ["--output", str(self.where / name)]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        return self.look_at(name, finished)

    def look_at(self, name, finished):
        """All text in the SVG that was drawn."""
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertTrue((self.where / f"{name}.png").read_bytes().startswith(b"\x89PNG"))
        root = xml.etree.ElementTree.parse(self.where / f"{name}.svg").getroot()
        self.assertEqual(root.tag, SVG + "svg")
        self.assert_white(root)
        return " ".join("".join(text.itertext()) for text in root.iter(SVG + "text"))

    def assert_white(self, root):
        """The whole figure has a white ground, so that it can be read on a dark page."""
        ground = root.find(f".//{SVG}g[@id='patch_1']/{SVG}path")
        self.assertIn("fill: #ffffff", ground.get("style"))

    def assert_refused(self, finished, *words):
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertEqual(len(finished.stderr.strip().splitlines()), 1, finished.stderr)
        for word in words:
            self.assertIn(word, finished.stderr)


def main():
    """Runs the tests of the calling module; an argument is the folder where figures stay."""
    if len(sys.argv) > 1:
        PlotCase.folder = pathlib.Path(sys.argv.pop(1))
    unittest.main()
