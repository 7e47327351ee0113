"""Inputs that are no regular files: pipes, folders with links to themselves, names that are too long."""

import os

from program import BACKEND, FEW, ProgramTest, main, run


class InputFiles(ProgramTest):
    def test_inputs_that_are_no_files(self):
        pipe, loop = self.folder / "pipe", self.folder / "loop"
        os.mkfifo(pipe)
        loop.symlink_to("loop")
        gemm = ["bench", "gemm", "--backend", BACKEND, "--sizes", "8x8x8", "--ceilings"]
        choose = ["choose", "--network", "alexnet", "--kernels"]
        predict = ["predict", "--network", "alexnet", "--ranks", "1", "--machine"]
        for words in [["roofline", "show"], ["roofline", "validate"], ["report"], choose, gemm, predict]:
            for path in [pipe, loop, self.folder / ("long" * 100)]:
                self.assert_refused(run(*words, path, timeout=60), 2, f"{path} cannot be read (")
        self.assert_refused(run("compare", pipe, pipe, timeout=60), 2, f"{pipe} cannot be read (it is a pipe")
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
        self.assertEqual(run("compare", folder, folder, timeout=60).returncode, 0)
        (folder / "loop.jsonl").symlink_to("loop.jsonl")
        self.assert_refused(run("compare", folder, folder), 2, "loop.jsonl cannot be read (")

    def test_files_of_google_benchmark_are_no_damaged_results(self):
        path = self.folder / "a.json"
        path.write_text('{"context": {"date": "2026-01-01"}, "benchmarks": []}')
        self.assert_refused(run("compare", path, path), 2, "is of Google Benchmark", "dlscale gate", "history add")


if __name__ == "__main__":
    main()
