#!/usr/bin/env python3
"""Figures of published trainings and of latencies are drawn from sample files; bad input is refused.

Usage: test_plots.py [FOLDER]   (with FOLDER the figures stay there to be looked at)
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys

import plot_case

import figure_io  # isort: skip (plot_case says where it is)


def sample_results():
    lines = []
    for power in range(2, 28):
        size = 2**power
        time = 2e-6 + 4e-10 * size if size < 65536 else 1.5e-5 + 2.2e-10 * size
        samples = [[time * (0.95 + 0.02 * i) for i in range(7)] for _ in range(2)]
        axes = {
            "collective": "all_reduce",
            "bytes": str(size),
            "ranks": "2",
            "ranks_on_node": "2",
            "library": "mpi",
        }
        lines.append(
            {
                "benchmark": "comm",
                "axes": axes,
                "status": "ok",
                "series": {"time": {"unit": "s", "samples": samples}},
            }
        )
    # A replay has other rows, which are not drawn.
    for axes in ({"message": "all"}, {"message": "0", "collective": "all_reduce", "bytes": "4096"}):
        samples = [[1000.0] * 7] * 2
        lines.append(
            {
                "benchmark": "comm",
                "axes": {"ranks": "2", "ranks_on_node": "2", "library": "mpi", **axes},
                "status": "ok",
                "series": {"time": {"unit": "s", "samples": samples}},
            }
        )
    text = plot_case.lines_of("comm", lines)
    return text + '{"benchmark": "comm", "axes": {"coll'  # stopped in the middle of a line


def published_case(group, gpus, kinds=("nvlink2", "ethernet-tcp"), **changed):
    nodes = -(-gpus // 8)
    case = {
        "schema": "dlscale.case/1",
        "id": f"{group}/{gpus}",
        "set": group,
        "gpus": gpus,
        "nodes": nodes,
        "global_batch": 64 * gpus,
        "cluster": {"intra_node": {"kind": kinds[0]}, "inter_node": {"kind": kinds[1]}},
        "given": [{"gpus": 1, "samples_per_s": 320.0, "global_batch": 64}],
        "measured": {"samples_per_s": 300.0 * gpus},
    }
    return case | changed


def json_lines(objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


class PlotsTest(plot_case.PlotCase):
    def published(self, changed=None):
        """Paths of cases and of predictions of them."""
        cases = [published_case(group, gpus) for group in ("one", "$two$") for gpus in (1, 8, 16, 512)]
        cases.append(published_case("asked", 4, measured=None))
        predictions = [{"id": "one/1", "samples_per_s": 310.0}, {"id": "one/8", "iteration_s": 0.2}]
        predictions += [{"id": case["id"], "samples_per_s": 900.0} for case in cases[2:]]
        predictions[3] = {"id": cases[3]["id"], "status": "not_covered"}
        return (self.write("cases.jsonl", json_lines(cases)),
                self.write("predictions.jsonl", changed or json_lines(predictions)))

    def test_published_shows_sets_scales_and_links(self):
        text = self.draw("published", *self.published())
        for word in ["one (3)", "$two$ (4)", "1 GPU (2)", "5 to 8 GPUs (2)", "9 to 16 GPUs (2)",
                     "more than 64 GPUs (1)", "nvlink2 (4)", "ethernet-tcp (3)", "equal", "error %"]:
            self.assertIn(word, text)
        self.assertNotIn("asked", text)

    def test_published_refuses_what_it_cannot_draw(self):
        cases, predictions = self.published()
        self.assert_refused(self.run_plot("published", predictions, cases), "dlscale.case/1")
        other = self.write("other.jsonl", '{"id": "x", "samples_per_s": 1.0}\n')
        self.assert_refused(self.run_plot("published", cases, other), "nothing to draw")
        for text, word in [("{", "line 1"), ('{"id": "x", "samples_per_s": NaN}', "NaN"), ("[]", "none of")]:
            self.assert_refused(
                self.run_plot("published", cases, self.write("broken.jsonl", text)), word)

    def test_names_are_shown_as_they_are(self):
        hostile = "<script>alert('$x^$')</script> & $"
        cases = [published_case(hostile, gpus) for gpus in (1, 8)]
        predictions = [{"id": case["id"], "samples_per_s": 310.0} for case in cases]
        text = self.draw("published", self.write("cases.jsonl", json_lines(cases)),
                         self.write("predictions.jsonl", json_lines(predictions)))
        self.assertIn(hostile, text)

    def test_equal_input_gives_equal_files(self):
        paths = self.published()
        self.draw_by_itself("published", *paths)
        first = (self.where / "published.svg").read_bytes()
        self.draw("published", *paths)
        self.assertEqual(first, (self.where / "published.svg").read_bytes())

    def test_another_schema_is_refused(self):
        path = self.write("other.json", '{"schema": "dlscale.prediction", "version": 1}')
        self.assert_refused(self.run_plot("roofline", path, "--network", "any"), "dlscale.roofline", "other.json")

    def test_a_missing_file_is_refused(self):
        self.assert_refused(self.run_plot("roofline", "/nowhere/x.json", "--network", "any"), "/nowhere/x.json")

    def test_text_that_is_no_json_is_refused(self):
        path = self.write("broken.json", "{")
        self.assert_refused(self.run_plot("roofline", path, "--network", "any"), "broken.json")

    def test_results_that_are_none_are_refused(self):
        path = self.write("empty.jsonl", "")
        self.assert_refused(self.run_plot("latency", path), "is empty")
        path = self.write("newer.jsonl", sample_results().replace('"version": 1', '"version": 2', 1))
        self.assert_refused(self.run_plot("latency", path), "version 2", "reads 1")
        path = self.write("lines.json", sample_results())
        self.assert_refused(self.run_plot("roofline", path, "--network", "any"), 'not a "dlscale.roofline"')
        pipe = self.where / "pipe"
        os.mkfifo(pipe)
        self.assert_refused(self.run_plot("latency", pipe), "is not a file")

    def test_a_file_that_is_no_figure_is_not_overwritten(self):
        paths = self.published()
        for suffix in ["svg", "png"]:
            foreign = self.where / f"published.{suffix}"
            before = foreign.read_bytes() if foreign.exists() else b""
            foreign.write_text("precious notes")
            self.assert_refused(self.run_plot("published", *paths), str(foreign), "not overwritten")
            self.assertEqual(foreign.read_text(), "precious notes")
            foreign.write_bytes(before)
        self.draw("published", *paths)
        self.draw("published", *paths)

    def test_a_name_with_the_ending_of_a_figure_is_one_file(self):
        for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            name = f"{ending}/named.{ending}"
            for _ in range(2):  # its own kind is overwritten
                finished = self.run_plot("published", *self.published(), output=name)
                self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertTrue((self.where / name).read_bytes().startswith(start))
            self.assertEqual(len(list((self.where / ending).iterdir())), 1)

    def test_a_python_without_matplotlib_is_told_apart_from_bad_input(self):
        hidden = self.where / "hidden/matplotlib.py"
        hidden.parent.mkdir(exist_ok=True)
        hidden.write_text('raise ModuleNotFoundError("No module named \'matplotlib\'")\n')
        for script in sorted(plot_case.PLOTS.glob("*.py")):
            if "figure_io.run(main)" not in script.read_text():
                continue  # what the figures share
            finished = subprocess.run(
                [sys.executable, script, "any.json", "-o", "any"],
                env={**os.environ, "PYTHONPATH": str(hidden.parent)},
                capture_output=True, text=True, check=False,
            )
            self.assert_refused(finished, script.name, "No module named 'matplotlib'", "apt install")

    def write_bytes(self, name, content):
        path = self.where / name
        path.write_bytes(content)
        return str(path)

    def test_compressed_files_are_drawn_as_the_others(self):
        cases, predictions = self.published()
        plain = self.draw("published", cases, predictions)
        text = pathlib.Path(cases).read_bytes()
        half = len(text) // 2
        members = gzip.compress(text[:half]) + gzip.compress(text[half:])
        for name, packed in [("cases.jsonl.gz", gzip.compress(text)), ("two.jsonl", members)]:
            self.assertEqual(plain, self.draw("published", self.write_bytes(name, packed), predictions))

    def test_damaged_compression_is_refused(self):
        packed = gzip.compress(sample_results().encode(), mtime=0)
        flipped = bytearray(packed)
        flipped[len(packed) // 2] ^= 1
        for name, content in [("cut.jsonl.gz", packed[:-20]), ("flipped.jsonl.gz", bytes(flipped))]:
            path = self.write_bytes(name, content)
            self.assert_refused(self.run_plot("latency", path), name, "cannot be read")

    def test_compression_does_not_fill_the_memory(self):
        packed = gzip.compress(bytes(1 << 20))
        self.assertEqual(len(figure_io.inflated("zeros", packed, most=1 << 20)), 1 << 20)
        with self.assertRaisesRegex(figure_io.BadInputError, "zeros inflates to more than 1048575"):
            figure_io.inflated("zeros", packed, most=(1 << 20) - 1)

    def test_a_broken_line_inside_results_is_refused(self):
        text = sample_results().replace('"status": "ok"', '"status": ', 1)
        path = self.write("broken.jsonl", text)
        self.assert_refused(self.run_plot("latency", path), "line 2")


if __name__ == "__main__":
    plot_case.main()
