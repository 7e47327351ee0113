"""Files that verbs write: what is there already, places that cannot be written, and pipes."""

import os

from program import BACKEND, FEW, BenchTest, main, run, start

FORMATS = ["table", "markdown", "csv", "json"]


class OutputFiles(BenchTest):
    def test_results_folder_not_writable(self):
        result = self.conv(self.network, "-o", "/dev/null/results/out.jsonl")
        self.assert_refused(result, 2, "/dev/null")

    def test_disk_full(self):
        self.assert_refused(self.conv(self.network, "-o", "/dev/full"), 2, "/dev/full")
        result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "-o", "/dev/full")
        self.assert_refused(result, 2, "/dev/full")

    def test_a_pipe_without_a_reader(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "-o", pipe]
        self.assert_refused(self.conv(self.network, "-o", pipe), 2, pipe, "no program reads")
        self.assert_refused(run(*predict), 2, pipe, "no program reads")
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(reader, True)
        result = self.conv(self.network, "--benchmark_filter=conv1", "--precision", 0.9, "-o", pipe)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(reader) as content:
            self.assertIn('"dlscale.result', content.read())

    def test_a_second_file_on_a_full_disk(self):
        out = self.folder / "gemm.jsonl"
        for form in ["json", "csv", "console"]:
            words = ["bench", "gemm", "--backend", BACKEND, "--sizes", "8x8x8", "--samples", 6, "-o", out]
            result = run(*words, "--benchmark_out=/dev/full", f"--benchmark_out_format={form}")
            self.assert_refused(result, 2, "--benchmark_out=/dev/full cannot be written to its end")
            self.assertIn('"time"', out.read_text())

    def test_a_second_file_that_is_none(self):
        pipe, out = self.folder / "pipe", self.folder / "table"
        os.mkfifo(pipe)
        conv = ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW]
        self.assert_refused(run(*conv, f"--benchmark_out={pipe}", timeout=60), 2, f"--benchmark_out={pipe} is a pipe")
        result = run(*conv, "--benchmark_out=/dev/stdout")  # a pipe, too, which the table goes to
        self.assert_refused(result, 2, "--benchmark_out=/dev/stdout is where standard output goes")
        self.assertEqual(result.stdout, "")
        for name in ["/dev/stdout", out]:
            with open(out, "w") as table:
                process = start(*conv, f"--benchmark_out={name}", stdout=table)
                _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 2, err)
            self.assertIn("where standard output goes", err)
            self.assertEqual(out.read_text(), "")
        self.assertEqual(run(*conv, "--benchmark_filter=conv1", "--benchmark_out=/dev/null").returncode, 0)
        data = self.make_data()
        for trace in ["/dev/stdout", "-", pipe]:
            result = self.train("--data", data, "--trace", trace)
            self.assert_refused(result, 2, f"--trace is {trace}", f"{trace}-rank0.json")
        os.mkfifo(self.folder / "trace-rank0.json")
        result = self.train("--data", data, "--trace", self.folder / "trace")
        self.assert_refused(result, 2, "trace-rank0.json is a pipe or a socket")

    def test_a_file_of_another_kind_is_not_overwritten(self):
        thesis = self.folder / "thesis.md"
        text = "# Thesis\n\n| ranks | io ms |\n\nJSON starts with {\"schema\": \"dlscale.prediction\"\n"
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1"]
        for words in (["calibrate", self.folder], *([*predict, "--format", name] for name in FORMATS)):
            thesis.write_text(text)
            self.assert_refused(run(*words, "-o", thesis), 2, "thesis.md is there and is not a", "not overwritten")
            self.assertEqual(thesis.read_text(), text)
        readme = self.folder / "README.md"
        readme.write_text(text)
        self.assert_refused(run("report", self.folder, "-o", self.folder), 2, "README.md is there and is not a")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["README.md", "thesis.md", "tiny.yaml"])

    def test_what_else_a_verb_writes_overwrites_nothing(self):
        mine = {name: self.folder / name for name in ["out.json", "trace-rank0.json", "report/phases.svg"]}
        (self.folder / "report").mkdir()
        for path in mine.values():
            path.write_text("mine")
        data = self.make_data()
        self.assert_refused(self.conv(self.network, f"--benchmark_out={mine['out.json']}"), 2, "out.json is there")
        self.assert_refused(self.train("--data", data, "--trace", self.folder / "trace"), 2, "trace-rank0.json is there")
        report = run("report", self.folder, "-o", self.folder / "report")
        self.assert_refused(report, 2, "phases.svg is there", "no page lies beside it")
        self.assertEqual([path.read_text() for path in mine.values()], ["mine"] * 3)

    def test_pages_by_layer_are_replaced_and_nothing_else_is(self):
        conv = self.folder / "conv.jsonl"
        self.assertEqual(self.conv(self.network, "--algorithms", "all", "-o", conv).returncode, 0)
        out = self.folder / "report"
        report = ["report", conv, "-o", out]
        self.assertEqual(run(*report).returncode, 0)
        (page,) = (out / "layers").iterdir()
        old, mine = out / "layers/old.md", out / "layers/notes.md"
        old.write_text("# dlscale: tables by layer of a network that was\n")
        mine.write_text("# Notes\n")
        page.write_text("")
        self.assertEqual(run(*report).returncode, 0)
        self.assertEqual(sorted(path.name for path in page.parent.iterdir()), sorted([page.name, "notes.md"]))
        self.assertIn("creation ms", page.read_text())
        page.write_text("# Notes\n")
        self.assert_refused(run(*report), 2, f"{page.name} is there and is not a page of dlscale report")
        self.assertEqual(page.read_text(), "# Notes\n")

    def test_what_else_a_verb_wrote_is_replaced(self):
        for form in ["json", "csv", "console"]:
            for _ in range(2):
                flags = [f"--benchmark_out={self.folder / form}", f"--benchmark_out_format={form}"]
                self.assertEqual(self.conv(self.network, *flags).returncode, 0, form)
        data = self.make_data()
        for _ in range(2):
            self.assertEqual(self.train("--data", data, "--trace", self.folder / "trace").returncode, 0)

    def test_a_file_of_its_own_kind_is_replaced(self):
        out = self.folder / "out"
        conv = self.folder / "conv.jsonl"
        self.assertEqual(self.conv(self.network, "-o", conv).returncode, 0)
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks"]
        compare = ["compare", conv, conv, "--margin", 0.9]
        each_after_each = [FORMATS[int(digit)] for digit in "00102031121322330"]
        for turn, name in enumerate(each_after_each):
            result = run(*predict, ["1", "2,4"][turn % 2], "--format", name, "-o", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("prediction" if name != "csv" else "t_iter_s", out.read_text())
            if name not in each_after_each[:turn]:
                self.assert_refused(run(*compare, "-o", out), 2, "is not a dlscale.comparison")
        out.write_text("")
        self.assertNotIn(run(*compare, "-o", out).returncode, [2, 4])
        machine = self.folder / "machine.json"
        for _ in range(2):
            result = run("calibrate", conv, "-o", machine)
            self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    main()
