"""calibrate --cases and validate --cases of trainings beyond data parallelism, as a shell sees them."""

import json
import os
import pathlib
import re
import unittest

from program import ProgramTest, main, run

VALIDATION = pathlib.Path(os.environ.get("DLSCALE_SHARED_DATA", "none")) / "validation"
OPEN = VALIDATION / "open_llm.jsonl"
HYBRID = VALIDATION / "open_hybrid_h100.jsonl"
SHIPPED = pathlib.Path(__file__).parents[2] / "configs" / "models" / "parallel.yaml"
MADE = pathlib.Path(__file__).parents[1] / "data" / "parallel_times.jsonl"


class ParallelCases(ProgramTest):
    def made(self):
        """The trainings of the check values, measured by the program's own word with an error."""
        lines = [json.loads(line) for line in MADE.read_text(encoding="utf-8").splitlines()]
        # Pipelines are simulated: few micro-batches and stages, or a debug build takes minutes.
        lines = [line for line in lines if line["run"]["parallel"]["pp"] <= 8]
        for line in lines:
            if line["run"]["parallel"]["pp"] > 1 and line["global_batch"] > 8 * line["run"]["parallel"]["dp"]:
                line["global_batch"] /= 8
                line["batch_per_gpu"] /= 8
        path = self.folder / "asked.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        predicted = run("predict", "--cases", path)
        times = {line["id"]: line["iteration_s"] for line in map(json.loads, predicted.stdout.splitlines())}
        for at, line in enumerate(lines):
            line["measured"] = {"iteration_s": times[line["id"]] * (1.05 if at % 2 else 0.97)}
            line["quality"] = "A"
        path = self.folder / "made.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path, lines

    def test_a_fit_writes_the_kind_of_file_that_is_shipped(self):
        path, _ = self.made()
        written = self.folder / "parallel.yaml"
        written.write_text(SHIPPED.read_text())  # it replaces its own kind
        result = run("calibrate", "--cases", path, "-o", written)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(written.read_text(), SHIPPED.read_text())
        for part in ["have not seen the set", "have not seen the network", "priors of the constants alone", "mfu40", "least without a set"]:
            self.assertIn(part, result.stdout)

        def shape(text):
            """Comments and keys, without numbers and the sections that name sets."""
            kept = re.sub(r"^(cases|sets|without):.*\n(?:[ -].*\n)*", "", text, flags=re.MULTILINE)
            return re.sub(r"[-+]?\d[\d.e+-]*", "0", kept)

        self.assertEqual(shape(written.read_text()), shape(SHIPPED.read_text()))
        printed = run("calibrate", "--cases", path, "-o", "-")
        self.assertEqual(printed.stdout, written.read_text())

    def test_bad_files_are_one_sentence(self):
        path, lines = self.made()
        self.assert_refused(run("calibrate", "--cases", path, path, "-o", self.folder / "a.yaml"), 2, "Name each file once")
        self.assert_refused(run("calibrate", "--cases", path, "-o", path), 2, str(path))
        self.assert_refused(run("calibrate", "--cases", path, "--choose-terms", "-o", "-"), 2, "--choose-terms")
        lone = self.folder / "lone.jsonl"
        lone.write_text(json.dumps(lines[0]) + "\n", encoding="utf-8")
        self.assert_refused(run("calibrate", "--cases", lone, "-o", self.folder / "a.yaml"), 2, "at least 2 are needed")
        self.assertFalse((self.folder / "a.yaml").exists())

    def test_validate_says_which_fits_predict(self):
        path, _ = self.made()
        result = run("validate", "--cases", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ["parallel times", "without that set", "mfu40", "peak"]:
            self.assertIn(part, result.stdout)

    @unittest.skipUnless(OPEN.exists(), "the published cases are not there")
    def test_published_trainings_are_predicted_as_well_as_it_is_said(self):
        """docs/explanation/parallel-scores.md: each set by the fit without it."""
        for cases, limits in [(OPEN, (0.055, 0.04, 0.02, "0.88,0.98")), (HYBRID, (0.12, 0.065, 0.09, "0.8,0.95"))]:
            mean, median, bias, coverage = limits
            result = run("validate", "--cases", cases, "--data-quality", "A", "--limit-mean", mean, "--limit-median", median,
                         "--limit-bias", bias, "--limit-coverage", coverage, "--format", "json")
            self.assertEqual(result.returncode, 0, result.stdout[:600] + result.stderr)
            scored = json.loads(result.stdout)
            self.assertEqual(scored["missing"], [])
            for baseline in scored["baselines"]:
                self.assertGreater(baseline["overall"]["mean_abs"], 3 * scored["predictions"]["overall"]["mean_abs"])


if __name__ == "__main__":
    main()
