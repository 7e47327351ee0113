"""What others read of our results: the JSON schema of result files, Google Benchmark's own comparison, and our figures."""

import copy
import gzip
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

from program import BACKEND, FEW, MPIEXEC, SIX, ProgramTest, main, result_lines, run

try:
    import jsonschema
except ImportError:
    jsonschema = None

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((SOURCE / "docs/result.schema.json").read_text())
# Where Debian's libbenchmark-tools and an installation by hand put it.
COMPARE = [pathlib.Path(prefix) / place
           for prefix in ("/usr/share", "/usr/local/share")
           for place in ("benchmark/compare.py", "googlebenchmark/tools/compare.py", "benchmark/tools/compare.py")]


# Its import of scipy, which brings 200 MB of other packages along: one function of its significance test, which --no-utest
# leaves out, and a mean.
WITHOUT_SCIPY = """
import numpy

def gmean(rows):
    return numpy.exp(numpy.log(rows).mean(axis=0))

mannwhitneyu = None
"""


def can_import(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def lines_of(path, most=None):
    return [json.loads(line) for line in result_lines(path)[:most]]


@unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
class Schema(ProgramTest):
    def setUp(self):
        super().setUp()
        self.validator = jsonschema.Draft202012Validator(SCHEMA)

    def assert_valid(self, path, most=None):
        for number, line in enumerate(lines_of(path, most), 1):
            errors = [error.message for error in self.validator.iter_errors(line)]
            self.assertEqual(errors, [], f"{path}:{number}")

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_holds_for_what_is_measured_now(self):
        words = ["--backend", BACKEND, *FEW]
        for name, more in {"conv": ["--network", self.network, "--batch", 2, "--algorithms", "all"],
                           "gemm": ["--sizes", "8x8x8"], "update": ["--sizes", "16KiB"]}.items():
            out = self.folder / f"{name}.jsonl"
            result = run("bench", name, *words, *more, "-o", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(len(lines_of(out)), 2)
            self.assert_valid(out)

    @unittest.skipUnless(MPIEXEC, "without a launcher nothing is sent")
    def test_holds_for_what_a_training_sent(self):
        profile = self.folder / "profile.jsonl"
        result = run("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--iterations", 3,
                     "--data", self.make_data(), "--profile", profile, ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(lines_of(profile)), 4)
        self.assert_valid(profile)

    def test_holds_for_what_was_not_measured(self):
        oblong = self.folder / "oblong.yaml"
        oblong.write_text("shapes: odd\nconvolutions:\n  - {name: oblong, batch: 1, channels: 4, height: 9, width: 9, "
                          "out_channels: 4, kernel: 3, stride: [1, 2]}\n")
        out = self.folder / "conv.jsonl"
        result = run("bench", "conv", "--backend", BACKEND, "--list", oblong, "-o", out)
        self.assertEqual(result.returncode, 5, result.stderr)
        rows = [line for line in lines_of(out) if "axes" in line]
        self.assertEqual({row["status"] for row in rows}, {"unsupported"})
        self.assert_valid(out)

    def test_holds_for_the_results_kept_here(self):
        results = SOURCE / "results"
        paths = [path for path in sorted([*results.rglob("*.jsonl"), *results.rglob("*.jsonl.gz")])
                 if (results / "local") not in path.parents]
        kept = [path for path in paths if lines_of(path, 1)[0].get("schema") == "dlscale.result"]
        self.assertGreater(len(kept), 200)
        for path in kept:
            self.assert_valid(path, most=4)

    def test_results_kept_here_are_compressed_and_small(self):
        """49 MB of raw samples made every clone slow; 10 MB say the same."""
        kept = [path for path in (SOURCE / "results").rglob("*") if path.is_file() and "local" not in path.parts]
        self.assertEqual([str(path) for path in kept if path.suffix == ".jsonl"], [])
        self.assertLess(sum(path.stat().st_size for path in kept), 15e6)
        for path in kept:
            if path.suffix == ".gz":
                # No name (flag 8), no time: the same content gives the same bytes.
                self.assertEqual(path.read_bytes()[3:8], bytes(5), f"compress {path} with gzip -n -9")

    def test_does_not_hold_for_what_is_no_result(self):
        out = self.folder / "conv.jsonl"
        run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW, "-o", out)
        header, row, *_ = lines_of(out)
        for damage in (lambda: header.update(version=2), lambda: header["environment"].pop("commit"),
                       lambda: row.update(status="fast"), lambda: row.update(status="wrong", reason="off"),
                       lambda: row.update(series={}), lambda: row["series"]["time"].pop("unit"),
                       lambda: row["axes"].update(batch=2), lambda: row.update(max_relative_error=-1),
                       lambda: row.update(speed=1), lambda: row["series"]["time"].update(samples=[["1"]])):
            kept = copy.deepcopy((header, row))
            damage()
            self.assertFalse(self.validator.is_valid(header) and self.validator.is_valid(row), (header, row))
            header, row = kept
        self.assertTrue(self.validator.is_valid(header) and self.validator.is_valid(row))


class Compressed(ProgramTest):
    """Result files that gzip compressed, as the verbs read them."""

    def setUp(self):
        super().setUp()
        self.plain = self.folder / "plain.jsonl"
        self.words = ["bench", "update", "--backend", BACKEND, "--sizes", "16KiB,64KiB", *SIX]
        result = run(*self.words, "-o", self.plain)
        self.assertEqual(result.returncode, 0, result.stderr)

    def compress(self, name="packed/packed.jsonl.gz"):
        packed = self.folder / name
        packed.parent.mkdir(exist_ok=True)
        packed.write_bytes(gzip.compress(self.plain.read_bytes(), mtime=0))
        return packed

    def test_they_are_compared_with_others_by_file_and_folder(self):
        packed = self.compress()
        for path in (packed, packed.parent):
            result = run("compare", self.plain, path)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("unchanged", result.stdout)

    def test_a_history_knows_them_again(self):
        store = self.folder / "store"
        for path, said in ((self.plain, "1 runs were added"), (self.compress(), "1 of the files were there already")):
            result = run("history", "add", path, "--store", store, "--commit", "a" * 40, "--time", "2026-11-28T00:00:00Z")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(said, result.stdout)

    def test_a_page_is_made_of_a_folder_with_both_kinds(self):
        both = self.compress().parent
        (both / "other.jsonl").write_bytes(self.plain.read_bytes().replace(b'"bytes":"16384"', b'"bytes":"8192"'))
        result = run("calibrate", both, "-o", self.folder / "machine.json")
        machine = json.loads((self.folder / "machine.json").read_text()) if result.returncode == 0 else {}
        self.assertEqual([pathlib.Path(source).name for source in machine.get("sources", [])], ["other.jsonl", "packed.jsonl.gz"],
                         result.stderr)

    def test_they_are_not_written_to(self):
        packed = self.compress()
        before = packed.read_bytes()
        for more in ([], ["--resume"]):
            self.assert_refused(run(*self.words, "-o", packed, *more), 2, packed, "compressed with gzip", "gunzip")
        new = self.folder / "new.jsonl.gz"
        self.assert_refused(run(*self.words, "-o", new), 2, new, "Leave out .gz")
        self.assertEqual((packed.read_bytes(), new.exists()), (before, False))

    def test_damage_is_named(self):
        packed = self.compress()
        packed.write_bytes(packed.read_bytes()[:-30])
        for words in (["compare", self.plain, packed], ["report", packed.parent, "-o", self.folder / "page"],
                      ["history", "add", packed, "--store", self.folder / "store"],
                      ["calibrate", packed, "-o", self.folder / "machine.json"]):
            self.assert_refused(run(*words), 2, packed, "is compressed with gzip and cut short")


class GoogleBenchmark(ProgramTest):
    def bench(self, name, *more):
        out = self.folder / name
        result = run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW,
                     f"--benchmark_out={out}", *more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def test_json_has_what_its_comparison_reads(self):
        rows = json.loads(self.bench("a.json", "--benchmark_repetitions=2").read_text())["benchmarks"]
        names = {row["name"] for row in rows if row["run_type"] == "iteration"}
        self.assertGreater(len(names), 5)
        for row in rows:
            self.assertIn(row["run_type"], ("iteration", "aggregate"))
            self.assertIn(row["time_unit"], ("ns", "us", "ms", "s"))
            self.assertTrue(math.isfinite(row["real_time"]) and math.isfinite(row["cpu_time"]), row)
            self.assertEqual("aggregate_name" in row, row["run_type"] == "aggregate")
            if row["run_type"] == "iteration":
                self.assertGreater(row["real_time"], 0)
                self.assertLess(row["repetition_index"], row["repetitions"])

    def test_its_own_comparison_takes_our_json(self):
        compare = next((path for path in COMPARE if path.exists()), None)
        if compare is None:
            self.skipTest("Google Benchmark's compare.py (libbenchmark-tools) is not installed")
        python = next((each for each in (sys.executable, "/usr/bin/python3") if can_import(each, "numpy")), None)
        if python is None:
            self.skipTest("Google Benchmark's compare.py needs python3-numpy, which is not installed")
        words, variables = [], dict(os.environ)
        if not can_import(python, "scipy.stats"):
            words, variables["PYTHONPATH"] = ["--no-utest"], str(self.folder)
            (self.folder / "scipy").mkdir()
            (self.folder / "scipy/__init__.py").touch()
            (self.folder / "scipy/stats.py").write_text(WITHOUT_SCIPY)
        a, b = (self.bench(name, "--benchmark_repetitions=3") for name in ("a.json", "b.json"))
        command = [python, compare, "--no-color", *words, "benchmarks", a, b]
        compared = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        for name in ("conv1/forward", "conv1/backward_filter", "OVERALL_GEOMEAN"):
            self.assertIn(name, compared.stdout)


@unittest.skipIf(BACKEND != "onednn", "the backend native needs oneDNN")
class Figures(ProgramTest):
    def test_have_a_word_for_every_algorithm(self):
        sys.path.insert(0, str(SOURCE / "plots"))
        self.addCleanup(sys.path.remove, str(SOURCE / "plots"))
        import algorithms  # that of the figures, which needs no more than Python

        listed = run("bench", "conv", "--network", self.network, "--backend", "onednn,native", "--algorithms", "all",
                     "--benchmark_list_tests")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        offered = set(re.findall(r"/algorithm:(\w+)/backend:(\w+)", listed.stdout))
        names = {name for name, _ in offered} - {"chosen"}
        self.assertGreater(len(names), 10)
        for name in names:
            known = [word for word in algorithms.WORDS if name == word or name.startswith(word + "_")]
            self.assertTrue(known, f"WORDS of plots/algorithms.py lack {name}")
        for backend, name in algorithms.KNOWN:
            if backend == "native":
                self.assertIn((name, backend), offered, "KNOWN of plots/algorithms.py has what the program has not")


if __name__ == "__main__":
    main()
