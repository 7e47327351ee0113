"""Inputs that are no regular files: pipes, folders with links to themselves, names that are too long."""

import json
import os
import shutil

from program import BACKEND, FEW, ProgramTest, main, run


class InputFiles(ProgramTest):
    def test_inputs_that_are_no_files(self):
        pipe, loop = self.folder / "pipe", self.folder / "loop"
        os.mkfifo(pipe)
        loop.symlink_to("loop")
        gemm = ["bench", "gemm", "--backend", BACKEND, "--sizes", "8x8x8", "--ceilings"]
        choose = ["select-algorithm", "--network", "alexnet", "--kernels"]
        predict = ["predict", "--network", "alexnet", "--ranks", "1", "--machine"]
        for words in [["roofline", "show"], ["roofline", "validate"], ["report"], choose, gemm, predict]:
            for path in [pipe, loop, self.folder / ("long" * 100)]:
                self.assert_refused(run(*words, path, timeout=60), 2, f"{path} cannot be read (")
        self.assert_refused(run("compare", pipe, pipe, timeout=60), 2, f"{pipe} cannot be read (it is a pipe")
        for words in [["compare", "-", "-"], ["history", "add", "-", "--commit", "a" * 40], ["roofline", "show", "-"]]:
            self.assert_refused(run(*words), 2, "- cannot be read (it is a pipe", "Write what it gives to a file")
        for name in ["loop.yaml", "long" * 100 + ".yaml"]:
            path = self.folder / name
            if "long" not in name:
                path.symlink_to(name)
            conv = run("bench", "conv", "--backend", BACKEND, "--network", path, "--batch", 2, *FEW)
            self.assert_refused(conv, 2, f"{path} is not a file")

    def test_a_folder_with_links_to_themselves(self):
        folder = self.folder / "results"
        folder.mkdir()
        (folder / "other.yaml").symlink_to("other.yaml")
        gemm = ["bench", "gemm", "--backend", BACKEND, "--sizes", "8x8x8", "--samples", 6, "-o", folder / "gemm.jsonl"]
        self.assertEqual(run(*gemm).returncode, 0)
        again = shutil.copytree(folder, self.folder / "again", symlinks=True)
        self.assertEqual(run("compare", folder, again, timeout=60).returncode, 0)
        (folder / "loop.jsonl").symlink_to("loop.jsonl")
        self.assert_refused(run("compare", folder, folder), 2, "loop.jsonl cannot be read (")

    def google(self, name, rows, cores=2):
        path = self.folder / name
        path.write_text('{"context": {"date": "2026-01-01", "num_cpus": %d}, "benchmarks": [\n' % cores + ",\n".join(rows) + "]}")
        return path

    def repetitions(self, name, level):
        return [f'{{"name": "{name}", "repetition_index": {i}, "real_time": {level + 0.001 * i}, "time_unit": "ms"}}' for i in range(10)]

    def test_files_of_google_benchmark_are_compared(self):
        nan = '{"name": "BM_A_cv", "run_name": "BM_A", "run_type": "aggregate", "aggregate_name": "cv", "real_time": NaN}'
        old = self.google("old.json", [*self.repetitions("BM_A", 1.0), nan])
        self.assertEqual(run("compare", old, old).returncode, 0)
        slower = run("compare", old, self.google("new.json", self.repetitions("BM_A", 1.2)), "--format", "json")
        self.assertEqual(slower.returncode, 1, slower.stderr)
        [row] = json.loads(slower.stdout)["rows"]
        self.assertEqual((row["key"], row["series"], row["verdict"]), ("BM_A", "real_time", "regressed"))
        self.assertAlmostEqual(row["a_s"], 1.0045e-3, 6)

    def test_folders_of_google_benchmark_are_compared(self):
        for name, level in (("old", 1.0), ("new", 1.2)):
            (self.folder / name / "below").mkdir(parents=True)
            self.google(f"{name}/below/a.json", self.repetitions("BM_A", level))
            (self.folder / name / "notes.json").write_text('{"benchmarks": "none"}')
        old, new = self.folder / "old", self.folder / "new"
        self.assert_refused(run("compare", old, new / ".." / "old"), 2, "A and B are the same folder (")
        slower = run("compare", old, new, "--format", "json")
        self.assertEqual(slower.returncode, 1, slower.stderr)
        self.assertEqual([row["key"] for row in json.loads(slower.stdout)["rows"]], ["BM_A"])
        empty = self.folder / "empty"
        empty.mkdir()
        (empty / "notes.json").write_text("{}")
        self.assert_refused(run("compare", old, empty), 2, f"the folder {empty} holds no results (*.jsonl, or *.json of Google Benchmark; each may end in .gz)")

    def test_versions_are_not_judged_across_machines_unless_that_is_asked_for(self):
        here = self.google("here.json", self.repetitions("BM_A", 1.0))
        there = self.google("there.json", self.repetitions("BM_A", 1.2), cores=64)
        told = run("compare", here, there)
        self.assertEqual(told.returncode, 3, told.stderr)
        self.assertIn("cores: 2 | 64", told.stdout)
        self.assertEqual(run("compare", here, there, "--across-machines").returncode, 1)

    def test_what_b_did_not_measure_fails_where_that_is_asked_for(self):
        both = self.google("both.json", self.repetitions("BM_A", 1.0) + self.repetitions("BM_gone", 1.0))
        one = self.google("one.json", self.repetitions("BM_A", 1.0))
        told = run("compare", both, one)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("1 not measured in B", told.stdout.splitlines()[0])
        self.assertEqual(run("compare", both, one, "--fail-on-missing").returncode, 1)
        self.assertEqual(run("compare", one, both, "--fail-on-missing").returncode, 0)

    def test_one_impossible_row_of_google_benchmark_leaves_the_others(self):
        good = self.google("good.json", self.repetitions("BM_A", 1.0) + self.repetitions("BM_B", 1.0))
        bad = self.google("bad.json", ['{"name": "BM_A", "real_time": -5}', *self.repetitions("BM_B", 1.0)])
        told = run("compare", good, bad)
        self.assertEqual(told.returncode, 3, told.stderr)
        self.assertIn("B is without times", told.stdout)
        bad.write_text(bad.read_text()[:-10])
        self.assert_refused(run("compare", bad, good), 2, f"{bad}: it ends within line 12")


if __name__ == "__main__":
    main()
