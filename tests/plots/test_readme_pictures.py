#!/usr/bin/env python3
"""scripts/pictures draws the figures of the README from committed results.

Usage: test_readme_pictures.py [FOLDER]   (with FOLDER the figures stay there to be looked at)
"""

import gzip
import os
import subprocess

import plot_case  # isort: skip (says where the scripts are)
from test_kernel_plots import conv_rows, levels_row, roofline_document


class PicturesTest(plot_case.PlotCase):
    """scripts/pictures, which draws those of the README."""

    def pictures(self, *words, draw=True):
        """Without `draw`, a Python that only leaves a file stands in, as figures take seconds."""
        path = os.environ["PATH"]
        if not draw:
            self.program('[ "$1" = -c ] && exit\nfor last; do :; done\necho drawn > "$last.svg"\n', "bin/python3")
            path = f"{self.where}/bin:{path}"
        command = [plot_case.PLOTS.parent / "scripts/pictures", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path})

    def results(self):
        rows = [*conv_rows(1), *conv_rows(4)]
        self.write("conv.jsonl", plot_case.lines_of("conv", rows))
        self.write("latency.jsonl", plot_case.lines_of("latency", [levels_row("small")]))
        (self.where / "report").mkdir(exist_ok=True)
        self.write("report/roofline.json", roofline_document())
        return self.where

    def test_all_are_drawn_from_a_folder(self):
        out = self.where / "img"
        finished = self.pictures(self.results(), "--network", "net", "--to", out)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        names = sorted(path.name for path in out.iterdir())
        wanted = ["batch_speed.svg", "crossover.svg", "latency.svg", "roofline.svg"]
        self.assertEqual(names, wanted)

    def test_a_map_of_its_own_is_taken_where_there_is_one(self):
        alone = [row for row in conv_rows(2) if row["axes"]["layer"] == "conv3"]
        text = plot_case.lines_of("conv", alone)
        (self.where / "crossover.jsonl.gz").write_bytes(gzip.compress(text.encode()))
        self.pictures(self.results(), "--network", "net", "--to", self.where / "img")
        text = (self.where / "img/crossover.svg").read_text()
        self.assertIn("batch 2", text)
        self.assertIn("5 × 5, stride 2", text)
        self.assertNotIn("3 × 3", text)

    def program(self, text, name="dlscale"):
        """What stands in for it."""
        path = self.where / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def test_committed_results_without_the_roofline_are_enough(self):
        folder = self.results()
        shown = (folder / "report/roofline.json").rename(folder / "shown.json")
        asked = f"roofline show {folder} --format json"
        program = self.program(f'[ "$*" = "{asked}" ] && cat "{shown}"\n')
        words = ["--network", "net", "--to", self.where / "img", "--dlscale", program]
        finished = self.pictures(folder, *words, draw=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(len(list((self.where / "img").iterdir())), 4)

    def test_what_is_missing_is_said_and_the_rest_drawn(self):
        folder = self.results()
        (folder / "report/roofline.json").unlink()
        fails = self.program("echo no ceilings >&2; exit 2\n")
        for number, program in enumerate([fails, self.where / "nowhere"]):
            out = self.where / f"img{number}"
            finished = self.pictures(folder, "--to", out, "--dlscale", program, draw=False)
            self.assertEqual(finished.returncode, 1)
            self.assertIn("no roofline", finished.stderr)
            self.assertIn(str(program), finished.stderr)
            self.assertEqual(len(list(out.iterdir())), 3)

    def test_no_results_are_refused(self):
        empty = self.where / "empty"
        empty.mkdir(exist_ok=True)
        self.assert_refused(self.pictures(empty), "no result file")
        self.assert_refused(self.pictures(self.where / "nowhere"), "name a folder")
        self.assert_refused(self.pictures("--too"), "unknown option")


if __name__ == "__main__":
    plot_case.main()
