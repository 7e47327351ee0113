#!/usr/bin/env python3
"""Figures of training and communication are drawn from sample files; bad input is refused.

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

PHASES = ["t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed", "t_u", "t_other"]


def sample_run(network, ranks, schedule="wait_free", batch=8):
    return {
        "network": network,
        "cluster": "local",
        "ranks": ranks,
        "ranks_per_node": ranks,
        "batch": batch,
        "dtype": "f32",
        "schedule": schedule,
        "cores_per_rank": 1,
        "compute_threads": 1,
        "loader_threads": 1,
        "prefetch": 2,
    }


def sample_prediction(network, ranks, iteration_s=0.4, half_width=0.03):
    total = iteration_s * (1 + 0.06 * (ranks - 1) ** 0.5)
    times = {f"{phase}_s": 0.0 for phase in PHASES}
    times.update(t_iter_s=total, t_comm_hidden_s=0.0, t_load_s=0.1)
    return {
        "run": sample_run(network, ranks),
        "time": times,
        "t_iter_low_s": total * (1 - half_width),
        "t_iter_high_s": total * (1 + half_width),
        "closed_form": None,
        "closed_form_absent": "sample",
        "images_per_s": 8 * ranks / total,
        "speedup": ranks * iteration_s / total,
        "efficiency": iteration_s / total,
        "bound": "compute",
        "notes": [],
    }


def sample_phases(scale, exposed):
    measured = dict(zip(PHASES, [0.001, 0.004, 0.12, 0.25, exposed, 0.03, 0.002], strict=True))
    phases = [
        {
            "phase": name,
            "predicted_s": 0.0 if name == "t_other" else 0.97 * scale * value,
            "measured_s": scale * value,
            "error": -0.03,
            "share_of_error": -0.01,
        }
        for name, value in measured.items()
    ]
    total = {
        "phase": "t_iter",
        "predicted_s": sum(phase["predicted_s"] for phase in phases),
        "measured_s": sum(phase["measured_s"] for phase in phases),
        "error": -0.034,
        "share_of_error": -0.034,
    }
    return [total, *phases]


def sample_validation(networks):
    runs = []
    for scale, network in enumerate(networks, start=1):
        for schedule, exposed in [("sequential", 0.09), ("wait_free", 0.02), ("bucketed", 0.05)]:
            for ranks in (1, 2):
                runs.append(
                    {
                        "key": f"e2e {network} {schedule} {ranks}",
                        "run": sample_run(network, ranks, schedule),
                        "phases": sample_phases(scale, exposed if ranks > 1 else 0.0),
                        "naive_error": None if ranks == 1 else -exposed,
                    }
                )
    return {"schema": "dlscale.validation", "version": 1, "passed": True, "runs": runs}


def sample_predictions(networks):
    curve = [1, 2, 4, 8, 16, 32, 64]
    return {
        "schema": "dlscale.prediction",
        "version": 1,
        "predictions": [sample_prediction(name, ranks) for name in networks for ranks in curve],
    }


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

    def test_phases_show_every_run_with_its_error_and_unit(self):
        networks = ["alexnet", "googlenet", "resnet50"]
        text = self.draw("phases", self.write("validation.json", sample_validation(networks)))
        for word in [*networks, "ms", "exposed communication", "update", "2 ranks"]:
            self.assertIn(word, text)
        self.assertEqual(text.count("-3.4 %"), 18)

    def test_names_are_shown_as_they_are(self):
        hostile = "<script>alert('$x^$')</script> & $"
        text = self.draw("phases", self.write("hostile.json", sample_validation([hostile])))
        self.assertIn(hostile, text)

    def test_equal_input_gives_equal_files(self):
        path = self.write("validation.json", sample_validation(["alexnet"]))
        self.draw_by_itself("phases", path)
        first = (self.where / "phases.svg").read_bytes()
        self.draw("phases", path)
        self.assertEqual(first, (self.where / "phases.svg").read_bytes())

    def test_another_schema_is_refused(self):
        path = self.write("other.json", sample_predictions(["alexnet"]))
        self.assert_refused(self.run_plot("phases", path), "dlscale.validation", "other.json")

    def test_a_missing_file_is_refused(self):
        self.assert_refused(self.run_plot("phases", "/nowhere/x.json"), "/nowhere/x.json")

    def test_text_that_is_no_json_is_refused(self):
        path = self.write("broken.json", "{")
        self.assert_refused(self.run_plot("phases", path), "broken.json")

    def test_a_validation_without_runs_is_refused(self):
        path = self.write("empty.json", sample_validation([]))
        self.assert_refused(self.run_plot("phases", path), "no run")

    def test_results_that_are_none_are_refused(self):
        path = self.write("empty.jsonl", "")
        self.assert_refused(self.run_plot("latency", path), "is empty")
        path = self.write("newer.jsonl", sample_results().replace('"version": 1', '"version": 2', 1))
        self.assert_refused(self.run_plot("latency", path), "version 2", "reads 1")
        path = self.write("lines.json", sample_results())
        self.assert_refused(self.run_plot("phases", path), 'no "dlscale.validation"')
        pipe = self.where / "pipe"
        os.mkfifo(pipe)
        self.assert_refused(self.run_plot("latency", pipe), "is no file")

    def test_a_file_that_is_no_figure_is_not_overwritten(self):
        path = self.write("validation.json", sample_validation(["alexnet"]))
        for suffix in ["svg", "png"]:
            foreign = self.where / f"phases.{suffix}"
            before = foreign.read_bytes() if foreign.exists() else b""
            foreign.write_text("precious notes")
            self.assert_refused(self.run_plot("phases", path), str(foreign), "not overwritten")
            self.assertEqual(foreign.read_text(), "precious notes")
            foreign.write_bytes(before)
        self.draw("phases", path)
        self.draw("phases", path)

    def test_the_name_may_have_the_ending_of_a_figure(self):
        path = self.write("validation.json", sample_validation(["alexnet"]))
        finished = self.run_plot("phases", path, output="named.svg")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertTrue((self.where / "named.svg").exists() and (self.where / "named.png").exists())

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
