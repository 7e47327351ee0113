"""dlscale report of suites of cells, with histories and of histories alone, as a shell sees it."""

import importlib.util
import json
import pathlib
import re
import shlex
import tarfile
import unittest

from program import ProgramTest, main, run

QUICKSTART = pathlib.Path(__file__).parents[1] / "golden" / "input" / "quickstart.tar.xz"
GEMM = "bench gemm --backend reference --samples 6 --warm-ups 1 --sizes {m}x8x8 -o {result}"


class Report(ProgramTest):
    def setUp(self):
        super().setUp()
        self.page = self.folder / "page"

    def report(self, *words):
        return run("report", *words, "-o", self.page)

    def text(self, name="README.md"):
        return (self.page / name).read_text(encoding="utf-8")

    def run_suite(self, out, *more):
        suite = self.folder / "suite.yaml"
        cells = [{"name": "gemm-{m}", "for": {"m": [4, 8, 16]}, "command": GEMM, "seconds": 0.3},
                 {"name": "refused", "command": "bench gemm --nope -o {result}", "seconds": 0.3}]
        suite.write_text(json.dumps({"suite": "matrix", "cells": cells}))
        return run("run", suite, "-o", out, *more)


class Predictions(Report):
    def test_an_answer_of_predict_has_a_page(self):
        for more in ([], ["--batch", "16,32"]):
            answer = self.folder / f"answer{len(more)}.json"
            words = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,2,4", *more, "--format", "json", "-o", answer]
            self.assertEqual(run(*words).returncode, 0)
            made = self.report(answer)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertRegex(made.stdout, r"images/s on 4 ranks( with 32 images each)?: an iteration takes ")
            rows = json.loads(answer.read_text()).get("predictions") or json.loads(answer.read_text())["rows"]
            text = self.text()
            self.assertIn("\n# How fast does alexnet train on p40x16?\n", text[:200])
            self.assertRegex(text, r"\(90 % interval [\d.]+ m?s to [\d.]+ m?s\), bound by \w+")
            self.assertIn("dlscale predict --network alexnet --cluster p40x16 --ranks 4 --batch ", text)
            self.assertIn("](<speedup.svg>)", text)
            self.assertTrue((self.page / "iteration.svg").exists())
            self.assertIn(rows[1]["notes"][0]["text"], text)
            self.assertIn("<title>dlscale prediction: How fast does alexnet", self.text("index.html"))
        csv = run("report", answer, "-o", self.page, "--format", "csv").stdout
        self.assertEqual(len([line for line in csv.splitlines() if line.startswith("alexnet,")]), len(rows))
        answer.write_text(answer.read_text().replace('"images_per_s"', '"images"'))
        self.assert_refused(self.report(answer), 2, "holds no predictions that can be read")

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "this Python has no matplotlib")
    def test_a_picture_for_a_slide_shows_what_the_page_shows(self):
        answer = self.folder / "answer.json"
        run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,2,4", "--format", "json", "-o", answer)
        for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
            picture = self.folder / f"slide.{ending}"
            made = self.report(answer, "--picture", picture)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertTrue(picture.read_bytes().startswith(start))
        shown = picture.read_text()
        for text in ("How fast does alexnet train on p40x16?", "Speed-up over one rank", "speed-up (higher is better)"):
            self.assertIn(text, shown)
            self.assertIn(text, self.text("index.html"))

        foreign = self.folder / "notes.svg"
        foreign.write_text("precious")
        self.assert_refused(self.report(answer, "--picture", foreign), 2, "is not overwritten")
        self.assertEqual(foreign.read_text(), "precious")

    def test_a_picture_that_cannot_be_drawn_is_refused_before_a_page_is_written(self):
        answer = self.folder / "answer.json"
        run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "--format", "json", "-o", answer)
        self.assert_refused(self.report(answer, "--picture", "slide.gif"), 2, "slide.gif is not the name of a PNG, SVG or PDF")
        below_a_file = self.report(answer, "--picture", answer / "slide.png")
        self.assert_refused(below_a_file, 2, f"cannot be written, as {answer} is not a folder")
        hidden = self.folder / "matplotlib.py"
        hidden.write_text("raise ImportError('hidden')\n")
        alone = self.folder / "configs"
        alone.mkdir()
        for variables, sentence in (({"PYTHONPATH": str(self.folder)}, "apt install python3-matplotlib"),
                                    ({"PATH": "/nowhere"}, "needs python3, which cannot be started"),
                                    ({"DLSCALE_CONFIGS": str(alone)}, "plots/slide.py, which is not there")):
            made = run("report", answer, "-o", self.page, "--picture", "slide.png", variables=variables)
            self.assert_refused(made, 2, sentence)
        self.assertFalse(self.page.exists())

    def test_an_answer_of_plan_has_a_page(self):
        answer = self.folder / "plan.json"
        made = run("plan", "--network", "alexnet", "--cluster", "p40x16", "--epochs", "2", "--format", "json", "-o", answer)
        self.assertEqual(made.returncode, 0, made.stderr)
        made = self.report(answer)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("\n# How should alexnet be trained on p40x16?\n", self.text())
        self.assertIn("](<front.svg>)", self.text())
        self.assertIn("--explain", self.text())

    def test_answers_on_parallel_plans_have_pages_whose_commands_run(self):
        asked = ["--network", "llama2_7b", "--cluster", "dgx_a100", "--ranks", "8", "--global-batch", "16", "--framework", "megatron"]
        plan = ["--parallel", "tensor=4,sequence_parallel=true,micro_batch=1,zero=1"]
        for words, question, figure in (
                (["predict", *asked, *plan], "How fast does llama2_7b train on dgx_a100?", "iteration"),
                (["predict", *asked, *plan, "--memory"], "Does llama2_7b fit the memory of dgx_a100?", "memory"),
                (["plan", *asked, *plan], "How should llama2_7b be trained on dgx_a100?", "front")):
            answer = self.folder / f"{figure}.json"
            made = run(*words, "--format", "json", "-o", answer)
            self.assertEqual(made.returncode, 0, made.stderr)
            made = self.report(answer)
            self.assertEqual(made.returncode, 0, made.stderr)
            text = self.text()
            self.assertIn(f"\n# {question}\n", text)
            self.assertIn(f"](<{figure}.svg>)", text)
            self.assertIn("90 % interval", text[:text.index("## ")])
            answer.write_text(answer.read_text().replace('"network"', '"net"'))
            self.assert_refused(self.report(answer), 2, "that can be read")

    def test_every_answer_of_predict_on_plans_has_a_page_whose_commands_run(self):
        cnn = ["--network", "alexnet", "--cluster", "v100x16_ib100", "--ranks", "4", "--global-batch", "64"]
        stages = [*cnn, "--parallel", "stages=2"]
        llm = ["--network", "llama2_7b", "--cluster", "dgx_a100", "--ranks", "8", "--global-batch", "16", "--framework", "megatron",
               "--parallel", "tensor=4,micro_batch=1"]
        for words, question, figure in (
                (stages, "How fast does alexnet train on v100x16_ib100?", "iteration"),
                ([*stages, "--fits"], "How fast does alexnet train on v100x16_ib100?", "iteration"),
                ([*stages, "--memory"], "Does alexnet fit the memory of v100x16_ib100?", "memory"),
                ([*stages, "--explain"], "How fast does alexnet train on v100x16_ib100?", "iteration"),
                (["--network", "t5_large", "--sequence", "64", "--cluster", "lassen", "--ranks", "8", "--global-batch", "64",
                  "--parallel", "branches=4"], "How fast does t5_large train on lassen?", "iteration"),
                ([*llm, "--fits"], "Does llama2_7b fit the memory of dgx_a100?", "memory"),
                ([*llm, "--explain"], "What would train llama2_7b faster on dgx_a100?", "changes"),
                ([*cnn, "--explain"], "What would train alexnet faster on v100x16_ib100?", "changes")):
            answer = self.folder / "answer.json"
            answer.unlink(missing_ok=True)
            made = run("predict", *words, "--format", "json", "-o", answer)
            self.assertIn(made.returncode, (0, 2), made.stderr)  # 2: does not fit
            made = self.report(answer)
            self.assertEqual(made.returncode, 0, made.stderr)
            text = self.text()
            self.assertIn(f"\n# {question}\n", text)
            self.assertIn(f"](<{figure}.svg>)", text)
            self.assertTrue(self.commands(), words)
            for command in self.commands():
                self.assertEqual(run(*command).returncode, 0, shlex.join(command))
            answer.write_text(answer.read_text().replace('"network"', '"net"'))
            self.assert_refused(self.report(answer), 2, "that can be read")

    def test_an_answer_without_a_page_says_what_makes_one(self):
        answer = self.folder / "layers.json"
        self.assertEqual(run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "2", "--layers", "--format", "json", "-o", answer).returncode, 0)
        self.assert_refused(self.report(answer), 2, "(dlscale.layers) that has no page. A page on iterations is made of")

    def commands(self):
        return [shlex.split(line) for line in re.findall(r"^dlscale ((?:predict|plan) .*)$", self.text(), re.MULTILINE)]

    @staticmethod
    def times_of(answer):
        """The times of iterations of an answer in JSON, wherever they stand in its rows."""
        rows = answer.get("plans") or answer.get("predictions") or answer.get("rows") or answer.get("best", []) + answer.get("memory_front", [])
        return [row["time"]["t_iter_s"] if "time" in row else row["t_iter_s"] for row in rows]

    def test_next_commands_ask_about_the_same_training(self):
        gpt = ["--network", "llama2_7b", "--cluster", "dgx_a100", "--ranks", "8", "--global-batch", "16"]
        more = ["--framework", "torchtitan", "--sequence", "2048", "--device", "h200", "--bandwidth", "100Gb/s"]
        plans = ["--parallel", "zero=3,micro_batch=1", "--parallel", "zero=3,micro_batch=1,recompute=full"]
        cnn = ["--network", "resnet50", "--cluster", "p40x16", "--ranks", "2,8"]
        memory = ["--network", "resnet50", "--cluster", "p40x16", "--ranks", "1", "--batch", "32,64", "--dtype", "f16", "--memory"]
        for words in (["predict", *gpt, *more, *plans],
                      ["predict", *gpt, "--framework", "megatron", "--parallel", "tensor=4,micro_batch=1", "--measured", "8=3.2 s"],
                      ["predict", *gpt, *more[:6], *plans, "--memory"],
                      ["plan", *gpt[:2], "--cluster", "dgx_h100", *gpt[4:], *more[:4], "--dtype", "fp8"],
                      ["plan", *gpt],
                      ["predict", *cnn, "--device", "v100_sxm2_16gb", "--bandwidth", "10Gb/s", "--dtype", "f16"],
                      ["predict", *cnn, "--framework", "pytorch_ddp", "--measured", "1=150/s,8=900/s"],
                      ["predict", *cnn, "--batch", "16,32", "--schedule", "wait_free,merged"],
                      ["predict", *cnn[:4], "--ranks", "1,4", "--global-batch", "64", "--launch", "graph"],
                      ["predict", "--network", "bert_large", "--cluster", "dgx_a100", "--ranks", "8", "--sequence", "128", "--dtype", "bf16"],
                      ["plan", *cnn[:4], "--epochs", "2", "--dtype", "f16"],
                      ["predict", *memory]):
            answer = self.folder / "asked.json"
            answer.unlink(missing_ok=True)
            made = run(*words, "--format", "json", "-o", answer)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(self.report(answer).returncode, 0)
            first = json.loads(answer.read_text())
            if "--measured" in words:
                self.assertNotIn("nothing was measured here", self.text())
                self.assertIn("your measured points", self.text())
            commands = [command for command in self.commands() if not any(word in "".join(command) for word in ("IMAGES", "SEQUENCES", "SECONDS"))]
            self.assertTrue(commands, words)
            for command in commands:
                self.assertFalse("--schedule" in command and "--memory" in command, command)
                typed = [word for word in command if word != "--explain"]
                again = run(*typed, "--format", "json")
                self.assertEqual(again.returncode, 0, shlex.join(command) + again.stderr)
                self.assertEqual(run(*command).returncode, 0, shlex.join(command))
                if command[0] == "plan" or "--memory" in command or "--memory" in words:
                    continue
                for time in self.times_of(json.loads(again.stdout)):
                    self.assertTrue(any(abs(time / one - 1) < 1e-6 for one in self.times_of(first)), (command, time, self.times_of(first)))
            first.pop("options")
            answer.write_text(json.dumps(first))
            self.assertEqual(self.report(answer).returncode, 0)
            self.assertEqual(self.commands(), [])

    def test_answers_without_rows_are_refused(self):
        answer = self.folder / "empty.json"
        plan = {"network": "n", "cluster": "c", "plan": "", "stages": [], "device_memory_bytes": 1, "fits": "yes"}
        for schema, content in (("prediction", {"rows": []}), ("prediction", {"predictions": []}), ("prediction", {}),
                                ("plan", {"best": []}), ("parallel_plan", {"best": []}),
                                ("parallel_prediction", {"plans": []}), ("parallel_prediction", {"plans": 5}),
                                ("memory", {"trainings": []}), ("parallel_memory", {"plans": []}),
                                ("parallel_memory", {"plans": [plan]}), ("comparison", {})):
            answer.write_text(json.dumps({"schema": f"dlscale.{schema}", "version": 1} | content))
            made = self.report(answer)
            self.assert_refused(made, 2, "that can be read")
            self.assertNotIn("json.exception", made.stderr)
        words = ["--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "--batch", "32,64", "--memory", "--format", "json", "-o", self.folder / "memory.json"]
        self.assertEqual(run("predict", *words).returncode, 0)
        answer.write_text((self.folder / "memory.json").read_text().replace('"options": {', '"options": {"dtype": [5],'))
        self.assert_refused(self.report(answer), 2, "that can be read")

    def test_a_verdict_on_memory_is_of_the_fullest_stage(self):
        answer = self.folder / "stages.json"
        run("predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", "64", "--global-batch", "256", "--parallel",
            "tensor=8,stages=4,micro_batch=1,zero=1", "--memory", "--format", "json", "-o", answer)
        self.assertEqual(self.report(answer).returncode, 0)
        self.assertRegex(self.text(), r"stage 1 .* (no|yes|unsure) +\|")
        self.assertNotRegex(self.text(), r"stage 4 .* (no|yes|unsure) +\|")

    def test_memory_of_a_network_has_a_page(self):
        answer = self.folder / "memory.json"
        run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "--batch", "32,64", "--memory", "--format", "json", "-o", answer)
        made = self.report(answer)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("**2 of 2 batches fit; the largest of these is 64: ", self.text())

    def test_the_only_machine_below_a_folder_predicts_its_trainings(self):
        study = self.folder / "study"
        with tarfile.open(QUICKSTART) as results:
            results.extractall(study / "run")
            results.extractall(self.folder / "again")
        made = self.report(study)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("How well is training on", self.text())
        (self.folder / "again").rename(study / "again")
        self.assert_refused(self.report(study), 2, "No machine.json is beside the results. Name the file")

    def test_an_answer_of_compare_has_a_page(self):
        files = [self.folder / f"{name}.jsonl" for name in "ab"]
        for file in files:
            self.assertEqual(run(*GEMM.replace("{m}", "8").replace("{result}", str(file)).split()).returncode, 0)
        answer = self.folder / "comparison.json"
        run("compare", *files, "--format", "json", "-o", answer)
        made = self.report(answer)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("\n# Is B (b.jsonl) slower than A (a.jsonl)?\n", self.text())
        self.assertIn("](<forest.svg>)", self.text())
        answer.write_text(answer.read_text().replace('"margin"', '"edge"'))
        self.assert_refused(self.report(answer), 2, "holds no comparisons that can be read")


class Suites(Report):
    def test_cells_that_failed_and_that_are_left_are_rows_of_the_page(self):
        out = self.folder / "out"
        self.assertEqual(self.run_suite(out, "--exclude", "gemm-4").returncode, 4)
        made = self.report(out)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("refused", made.stdout)
        text = self.text()
        self.assertLess(text.index("## What became of each cell"), text.index("## Quality of the measurements"))
        self.assertIn("dlscale run matrix -o ", text)
        self.assertRegex(text, r"matrix, 4 cells: 1 failed, 1 left, (2 ok|1 ok, 1 unstable|2 unstable)\.")
        self.assertRegex(text, r"\| gemm-8/result.jsonl +\| gemm ")
        self.assertRegex(text, r"\| refused +\| failed +\| .*--nope")
        self.assertRegex(text, r"\| gemm-4 +\| left ")
        self.assertRegex(text, r"\| A/A test +\| (pass|fail) +\| identical kernels compared at 1 call")
        self.assertIn("1 cell failed, 1 cell not run yet", text)
        self.assertIn("gemm m16 n8 k8", self.text("index.html"))

        # Nothing measured at all is a page, too; a damaged row is named.
        (out / "cells" / "refused" / "cell.json").write_text("{}")
        self.assert_refused(self.report(out), 2, "cell.json is damaged")
        only = self.folder / "only"
        self.assertEqual(self.run_suite(only, "--name", "refused").returncode, 4)
        made = self.report(only)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("**Doubtful data**: 1 cell failed", self.text())

    def test_a_study_of_noise_tells_the_smallest_change_that_shows(self):
        out = self.folder / "out"
        self.run_suite(out, "--name", "gemm-4")
        study = {"schema": "dlscale.noise", "version": 1, "margin": 0.01, "sees": 0.03, "by_rule": "10 rounds",
                 "machine": "this one", "date": "2026-01-01"}
        (out / "noise.json").write_text(json.dumps(study))
        self.assertEqual(self.report(out).returncode, 0)
        self.assertIn("Smallest detectable change: 3.0 % or more (10 rounds, margin 1.0 %, power 0.8) (this one, 2026-01-01)", self.text())
        alone = self.report(out / "noise.json")
        self.assertTrue(alone.stdout.startswith("Smallest detectable change: 3.0 % or more (10 rounds"), alone.stdout + alone.stderr)
        self.assertIn("# How small a change does a gate see on this one?", self.text())
        (out / "noise.json").write_text('{"schema": "dlscale.noise", "version": 1}')
        self.assert_refused(self.report(out), 2, "noise.json is not a study of noise")


class Histories(Report):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.results = self.folder / "gemm.jsonl"
        measured = run(*GEMM.replace("{m}", "8").replace("{result}", str(self.results)).split())
        self.assertEqual(measured.returncode, 0, measured.stderr)
        added = run("history", "add", self.results, "--store", self.store, "--commit", f"{99:040x}",
                    "--time", "2026-01-01T00:00:00Z")
        self.assertEqual(added.returncode, 0, added.stderr)
        # Eleven more commits, by the lines that `history add` writes, which is quicker than the program.
        runs = self.store / "runs.jsonl"
        for number in range(1, 12):
            commit = {"commit": f"{number:040x}", "time": f"2026-01-01T{number:02}:00:00Z"}
            for file in (self.store / "series").glob("*.jsonl"):
                self.append(file, commit | {"run": f"{number:016x}"})
            self.append(runs, commit | {"run": f"{number:016x}" + 48 * "0"})

    @staticmethod
    def append(file, changes):
        line = json.loads(file.read_text().splitlines()[-1]) | changes
        with file.open("a") as stream:
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")

    def test_a_page_of_results_shows_what_was_measured_before(self):
        made = self.report(self.results, "--history", self.store)
        self.assertEqual(made.returncode, 0, made.stderr)
        text = self.text()
        self.assertLess(text.index("## History"), text.index("## Quality of the measurements"))
        self.assertIn("No new regression in ", text)
        self.assertIn("What is reported here, beside the level of its history", text)
        self.assertIn("](<history.svg>)", text)
        self.assertIn("<circle", (self.page / "history.svg").read_text())

        other = self.report(self.results, "--history", self.store, "--name", "no such series")
        self.assert_refused(other, 5, "no series of")
        self.assert_refused(self.report(self.results, "--name", "gemm"), 2, "--name")
        self.assert_refused(self.report(self.results, "--history", self.folder / "nowhere"), 2, "is empty")

    def test_a_history_without_its_option_is_refused_with_what_to_type(self):
        self.assert_refused(self.report(self.store), 2, f"For its page write dlscale report --history {self.store}")

    def test_a_history_alone_has_a_page(self):
        made = self.report("--history", self.store, "--format", "json")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(json.loads(made.stdout)["schema"], "dlscale.history_check")
        self.assertIn("<title>dlscale history: Has anything become slower?</title>", self.text("index.html"))
        self.assertIn("**No new regression in ", self.text())
        self.assertEqual(self.report("--history", self.store).returncode, 0, "a page of ours may be replaced")
        both = self.report(self.results, "--history", self.store, "--side-by-side")
        self.assert_refused(both, 2, "a page of medians side by side has no place for it")
        self.assert_refused(self.report(), 2, "nothing to report on was named")


if __name__ == "__main__":
    main()
