"""What the tests of figures share: writing input, drawing, and looking at what was drawn."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PLOTS = pathlib.Path(__file__).resolve().parents[2] / "plots"
SVG = "{http://www.w3.org/2000/svg}"
sys.path.insert(0, str(PLOTS))

if importlib.util.find_spec("matplotlib") is None:  # before a test imports what needs it
    print("skipped: this Python has no matplotlib (apt install python3-matplotlib)")
    sys.exit(77)


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
        command = [sys.executable, str(PLOTS / f"{name}.py"), *arguments]
        command += ["--output", str(self.where / (output or name))]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def draw(self, name, *arguments):
        """Draws; returns all text in the SVG."""
        finished = self.run_plot(name, *arguments)
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
