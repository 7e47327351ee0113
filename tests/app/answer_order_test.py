"""Answers are read from the top: the verdict with its interval, tables, and what to do next, which runs as typed."""

import os
import pathlib
import re
import shlex

from program import FEW, ProgramTest, main, on_terminal, run

CNN = ["predict", "--network", "resnet50", "--cluster", "dgx_h100", "--batch", 256, "--dtype", "bf16"]
LLM = ["predict", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 16, "--parallel", "tensor=2,zero=1,micro_batch=1"]
STAGES = ["predict", "--network", "resnet101", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 1024, "--parallel",
          "stages=4,schedule=gpipe,micro_batches=8"]
# Questions, and a part of the verdict of each.
ANSWERS = [
    ([*CNN, "--ranks", "1,8"], r"images/s on 8 ranks: an iteration takes .* \(90 % interval .* to .*\), bound by"),
    ([*CNN, "--ranks", 8, "--explain"], r"^Most helps: .* \(90 % interval .* to .*\) on 8 ranks, bound by "),
    ([*CNN, "--ranks", 8, "--layers"], None),
    ([*CNN, "--ranks", 8, "--epochs", 90], r"^90 epochs take .* hours on 8 ranks \(90 % interval .* to .*\)\."),
    ([*CNN, "--ranks", "1,8", "--memory"], r"a rank needs .* \(least to most .* to .*\) of "),
    (["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--memory"], "^No, with any batch: "),
    ([*CNN, "--out-of-core"], r"^The quickest policy that fits is "),
    ([*CNN[:5], "--batch", "32,64", "--ranks", "1,8"], r"images/s on 8 ranks with 64 images each: .*\(90 % interval "),
    (LLM, r"^[0-9,]+ tokens/s on 16 ranks with tensor 2, data 8: an iteration takes .* \(90 % interval .* to .*\), bound by .*; "),
    ([*LLM, "--memory"], r"each rank needs .* \(90 % interval .* to .*\) of "),
    ([*LLM, "--explain"], "on 16 ranks with tensor 2, data 8"),
    (STAGES, r"^[0-9,]+ samples/s on 8 ranks with stages .*: an iteration takes .* \(90 % interval "),
    (["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--parallel", "micro_batch=1"], "^Does not fit the memory: .* tokens/s on 64 ranks with "),
    ([*STAGES, "--memory"], None),
    (["plan", "--network", "resnet50", "--cluster", "dgx_h100", "--epochs", 90, "--batch", "64,128"], r"^Fastest on \d+ ranks .* epochs take .* \(90 % interval .* to .*\)\. The cluster has no more ranks"),
    (["plan", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 8, "--parallel", "tensor=2,stages=1"], r"^Fastest on 8 GPUs with .*: tensor 2, data 4.*; an iteration takes .*\(90 % interval "),
    (["compare", "tests/golden/input/google-a.json", "tests/golden/input/google-b.json"], "^regressed"),
]


class AnswerOrder(ProgramTest):
    def setUp(self):
        super().setUp()
        self.root = os.path.join(os.path.dirname(__file__), "..", "..")

    def ask(self, words):
        words = [os.path.join(self.root, word) if str(word).startswith("tests/") else word for word in words]
        result = run(*words)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return result.stdout

    def commands(self, text):
        """The commands below "Next:", as a shell reads them."""
        _, _, below = text.partition("\nNext:\n")
        joined = below.replace(" \\\n", " ")
        return [shlex.split(line)[1:] for line in joined.splitlines() if line.strip().startswith("dlscale ")]

    def test_the_verdict_comes_first_and_what_to_do_next_last(self):
        for words, verdict in ANSWERS:
            with self.subTest(words=words):
                text = self.ask(words)
                if verdict:
                    self.assertRegex(" ".join(text.partition("\n\n")[0].split()), verdict)
                self.assertIn("\nNext:\n", text)
                self.assertIn(len(self.commands(text)), (1, 2, 3), text)
                above, _, below = text.partition("\nNext:\n")
                self.assertNotIn("──", below)
                self.assertNotIn("Next:", above)

    def test_what_to_do_next_runs_as_typed(self):
        for words, _ in ANSWERS:
            for command in self.commands(self.ask(words)):
                if command[0] in ("plan", "history", "gate"):
                    continue  # takes seconds, or writes
                with self.subTest(words=words, command=command):
                    result = run(*command)
                    self.assertIn(result.returncode, (0, 1), result.stderr)

    def test_a_machine_is_fitted_to_one_backend_of_several(self):
        measured = pathlib.Path(self.root).resolve() / "results/epyc-2vcpu/2026-11-22-conv"
        files = [measured / f"{name}.jsonl.gz" for name in ("crossover", "memory")]
        asked = run("report", *files, "-o", self.folder / "page")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        [fit] = [command for command in self.commands(asked.stdout) if command[0] == "calibrate"]
        self.assertEqual(fit[3:5], ["--backend", "onednn"])
        fitted = run(*fit[:-1], self.folder / "machine.json")
        self.assertEqual(fitted.returncode, 0, fitted.stderr)

    def test_options_of_the_training_are_kept_and_those_of_the_question_are_not(self):
        asked = [*CNN, "--ranks", "1,8", "--loader-threads", 3, "--set", "inter_node.bandwidth=200Gb/s", "--limits", "--schedule", "sequential"]
        explain, memory = self.commands(self.ask(asked))
        self.assertEqual(explain[-1], "--explain")
        self.assertEqual(memory[-1], "--memory")
        for words in (["--loader-threads", "3"], ["--schedule", "sequential"]):
            self.assertIn(" ".join(words), " ".join(explain))
            self.assertNotIn(" ".join(words), " ".join(memory))  # which it refuses
        for command in (explain, memory):
            self.assertIn("--set", command)
            self.assertNotIn("--limits", command)
            self.assertEqual(run(*command).returncode, 0, command)

    def test_a_plan_that_its_ranks_bound_offers_all_of_the_cluster_first(self):
        asked = ["plan", "--network", "alexnet", "--cluster", "p40x16", "--epochs", 9, "--batch", "64", "--schedules", "sequential"]
        more, explain = self.commands(self.ask([*asked, "--max-ranks", 4]))
        self.assertEqual(sorted(more), sorted(str(word) for word in asked))
        self.assertIn("--explain", explain)
        self.assertNotIn("--max-ranks", self.ask(more))
        [explain] = self.commands(self.ask(asked))
        self.assertIn("--explain", explain)

    def test_what_does_not_fit_offers_its_cure_first(self):
        large = ["predict", "--network", "resnet50", "--cluster", "p40x16", "--ranks", 8, "--batch", 4096, "--memory"]
        [cure] = self.commands(self.ask(large))
        self.assertLess(int(cure[cure.index("--batch") + 1]), 4096)
        self.assertRegex(self.ask([*cure, "--memory"]), "^Yes: ")
        plan = "tensor=8,sequence_parallel=true,stages=4,micro_batch=2,zero=1"
        asked = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--global-batch", 1024, "--framework", "megatron",
                 "--parallel", plan]
        cure, search = self.commands(self.ask([*asked, "--memory"]))
        self.assertIn("micro_batch=1", cure[cure.index("--parallel") + 1])
        self.assertIn("it fits the memory", " ".join(self.ask(cure).split()))
        self.assertEqual(search[0], "plan")
        speed, search = self.commands(self.ask([*cure, "--memory"]))  # with room
        self.assertEqual((speed[0], search[0]), ("predict", "plan"))

    def test_an_explanation_offers_ranks_that_show_how_it_scales(self):
        for ranks, offered in ((8, "1..8:x2"), (12, "1,12"), ("2,8", "2,8"), (1, None)):
            with self.subTest(ranks=ranks):
                text = self.ask([*CNN, "--ranks", ranks, "--explain"])
                self.assertEqual("See how it scales" in text, offered is not None)
                if offered:
                    command = self.commands(text)[0]
                    self.assertEqual(command[command.index("--ranks") + 1], offered)
                    self.assertEqual(run(*command).returncode, 0, command)

    def test_verbs_that_measure_say_what_to_do_next(self):
        conv = pathlib.Path(self.root).resolve() / "results/epyc-2vcpu/2026-11-22-conv/vgg16.jsonl.gz"
        data, kernels = self.folder / "data", self.folder / "kernels.json"
        for words in (
            ["info"],
            ["doctor", "--quick"],
            ["data", "make", "--out", data, "--pictures", 4, "--classes", 2, "--width", 64, "--height", 64, "--picture-size", "4 kB"],
            ["data", "info", data],
            ["bench", "update", "--sizes", "16KiB", "--backend", "reference", *FEW, "-o", self.folder / "update.jsonl"],
            ["bench", "memory", "--operations", "triad", "--sizes", "64KiB", *FEW, "-o", self.folder / "memory.jsonl"],
            ["roofline", "fit", conv, "-o", kernels],
            ["select-algorithm", "--network", "vgg16", "--batch", 4, "--kernels", kernels],
        ):
            with self.subTest(words=words):
                result = run(*words)
                self.assertEqual(result.returncode, 0, result.stderr)
                commands = self.commands(result.stdout)
                is_sound = words[0] != "doctor" or "missing" not in result.stdout
                self.assertIn(len(commands), (1, 2, 3) if is_sound else (0,))
                self.assertNotIn("Next:", run(*words, "--quiet").stdout)
                for command in commands:
                    if command[0] in ("report", "history", "predict", "select-algorithm"):
                        command = [str(self.folder / word) if word in ("page", "perf-history") else word for word in command]
                        done = run(*command)
                        self.assertIn(done.returncode, (0, 3), (command, done.stderr))

    def test_results_on_standard_output_stay_alone(self):
        words = ["bench", "update", "--sizes", "16KiB", "--backend", "reference", *FEW]
        for more in (["-o", "-"], ["--benchmark_format=json"], ["--benchmark_list_tests"]):
            result = run(*words, *more)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("Next:", result.stdout + result.stderr)

    def test_quiet_keeps_the_answer_alone(self):
        for words in (ANSWERS[0][0], LLM, ANSWERS[-1][0]):
            with self.subTest(words=words):
                whole = self.ask(words)
                quiet = self.ask([*words, "--quiet"])
                self.assertEqual(quiet, whole.partition("\nNext:\n")[0])

    def test_every_verb_that_shows_progress_or_next_commands_takes_quiet(self):
        verbs = ["predict", "plan", "compare", "validate", "validate-comm", "report", "gate", "noise", "run", "calibrate", "doctor",
                 "select-algorithm", "history list", "history check", "roofline show", "roofline fit", "info", "data make", "data info",
                 "bench gemm", "bench e2e"]
        for verb in verbs:
            with self.subTest(verb=verb):
                line = re.sub(r"\s+", " ", run(*verb.split(), "--help-all").stdout or run(*verb.split(), "--help").stdout)
                self.assertIn("--quiet Print the answer and what is wrong: no progress, no next commands", line)

    def test_the_curve_is_drawn_on_a_terminal_alone(self):
        words = [*CNN, "--ranks", "1,2,4,8"]
        self.assertNotIn("│", self.ask(words))
        for variables, drawn in (({"LC_ALL": "C.UTF-8"}, True), ({"LC_ALL": "C"}, False)):
            text = on_terminal(*words, variables={"COLUMNS": "100", **variables})
            self.assertEqual("speed-up over GPUs (dotted: ideal)" in text, drawn, text)


if __name__ == "__main__":
    main()
