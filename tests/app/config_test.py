"""Options from a file (--config) and from the environment."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from program import MPIEXEC, PROGRAM, SIX, ProgramTest, as_text, environment, main, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]

GEMM = ["bench", "gemm", "--backend", "reference", "--sizes", "8x8x8"]


class Config(ProgramTest):
    def config(self, text):
        path = self.folder / "options.toml"
        path.write_text(text)
        return path

    def run_with(self, text, *words, **more):
        return run("--config", self.config(text), *words, **more)

    def header(self, path):
        return json.loads(path.read_text().splitlines()[0])


class Precedence(Config):
    def test_bench_takes_options_from_the_file_unless_they_are_typed(self):
        text = "[bench.gemm]\nsamples = 3\nwarm-ups = 2\nsizes = \"8x8x8,9x9x9\"\n[gate]\nrounds = 80\n"
        out = self.folder / "out.jsonl"
        words = ["bench", "gemm", "--backend", "reference", "--warm-ups", 1, "-o", out]
        done = self.run_with(text, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        header = self.header(out)
        self.assertEqual((header["run"]["samples"], header["run"]["warm_ups"]), ("3", "1"))
        self.assertEqual(header["run"]["sizes"], "8x8x8,9x9x9")
        self.assertIn("--config", header["command"])
        without = run(*words[:-1], "-", "--samples", 4, "--sizes", "8x8x8")
        self.assertEqual(json.loads(without.stdout.splitlines()[0])["run"]["samples"], "4")

    def test_predict_takes_options_from_the_file_unless_they_are_typed(self):
        text = "[predict]\nnetwork = alexnet\ncluster = \"p40x16\"\nranks = [1, 2]\nformat = \"json\"\n"
        done = self.run_with(text, "predict")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,2", "--format", "json").stdout)
        typed = self.run_with(text, "predict", "--ranks", 4)
        self.assertEqual([one["run"]["ranks"] for one in json.loads(typed.stdout)["predictions"]], [4])

    def test_run_takes_options_from_the_file_and_its_steps_do_not(self):
        command = as_text([*GEMM, *SIX, "-o"])
        suite = {"suite": "test", "steps": [{"name": "step", "doc": "a step", "seconds": 0.3, "command": command + " {out}/step.jsonl"}]}
        (self.folder / "suite.yaml").write_text(json.dumps(suite))
        out = self.folder / "out"
        done = self.run_with(f"[run]\nsuite = \"{self.folder}/suite.yaml\"\noutput = \"{out}\"\nquiet = true\n[bench.gemm]\nsamples = 3\n", "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("step: a step", done.stderr)
        self.assertEqual(self.header(out / "step.jsonl")["run"]["samples"], "6")
        shown = self.run_with("[run]\nquiet = true\n", "run", self.folder / "suite.yaml", "-o", out, "--quiet=false", "--restart")
        self.assertIn("step: a step", shown.stderr)

    def test_gate_takes_options_from_the_file_and_its_versions_do_not(self):
        one = f"{PROGRAM} {as_text([*GEMM, *SIX])} -o {{out}}"
        text = f"[gate]\nrounds = 5\nbase = '{one}'\nnew = '{one}'\nformat = json\n[bench.gemm]\nsamples = 3\n"
        done = self.run_with(text, "gate", "-o", self.folder / "gate")
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        runs = sorted((self.folder / "gate" / "runs").glob("*.out"))
        self.assertEqual(len(runs), 10)
        self.assertEqual({self.header(path)["run"]["samples"] for path in runs}, {"6"})
        self.assert_refused(self.run_with(text, "gate", "--rounds", 4), 2, "--rounds 4")

    def test_variables_come_after_the_file(self):
        history = {"DLSCALE_HISTORY": str(self.folder / "from_variable")}
        self.assert_refused(run("history", "list", variables=history), 2, "from_variable")
        text = f"[history.list]\nstore = \"{self.folder}/from_file\"\n"
        self.assert_refused(self.run_with(text, "history", "list", variables=history), 2, "from_file")
        self.assert_refused(self.run_with(text, "history", "list", "--store", self.folder / "typed", variables=history), 2, "typed")
        self.assert_refused(run("gate", "--base", "true", "--new", "true", variables={"DLSCALE_SEED": "x"}), 2, "--seed", "x is not a whole number")

    def test_a_file_in_the_working_folder_is_not_looked_for(self):
        for name in ["dlscale.yaml", "dlscale.toml", "config.ini", "config.toml"]:
            (self.folder / name).write_text("[predict]\nno_such = 1\n")
        words = [PROGRAM, "predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1"]
        done = subprocess.run(words, cwd=self.folder, env=environment(), text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


class NamesOfTheLastRelease(Config):
    def test_they_work_and_standard_error_says_those_of_today(self):
        words = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", 2, "--format", "json"]
        now = run(*words, "--straggler-spread", "5%")
        said = " is now {}straggler-spread; the next release does not know the old name.\n"
        for old in (["--stragglers", "5%"], ["--stragglers=5%"]):
            done = run(*words, *old)
            self.assertEqual((done.returncode, done.stdout), (0, now.stdout), done.stderr)
            self.assertEqual(done.stderr, "dlscale: --stragglers" + said.format("--"))
        done = self.run_with("[predict]\nstragglers = \"5%\"\n", *words)
        self.assertEqual((done.stdout, done.stderr), (now.stdout, "dlscale: stragglers" + said.format("")))

    def test_verbs_and_values_have_them_too(self):
        self.assertIn("choose is now select-algorithm", run("choose", "--kernels", "k").stderr)
        for said in (run("bench", "device", "--company", "solo,kernel"), run("bench", "device", "--company=solo,kernel"),
                     self.run_with("[bench.device]\ncompany = \"solo,kernel\"\n", "bench", "device")):
            self.assertIn("--concurrent-with solo is now --concurrent-with none", said.stderr)
        self.assertEqual(run("gate", "--base", "a", "--new", "b", "--", "--fresh").stderr.count("is now"), 0)

    def test_each_is_said_once_for_a_file(self):
        text = "[choose]\nkernels = k\nnetwork = alexnet\nbatch = 4\n[bench.gemm]\nfresh = true\n[bench.conv]\nfresh = true\n"
        said = self.run_with(text, "select-algorithm").stderr
        self.assertEqual((said.count("choose is now"), said.count("fresh is now")), (1, 1), said)

    def test_steps_of_suites_have_those_of_verbs_too(self):
        suite = self.folder / "old.yaml"
        suite.write_text("suite: old\nsteps:\n  - {name: a, command: choose --kernels k}\n")
        listed = run("run", suite, "--list", "--workers", 1)
        self.assertEqual((listed.returncode, listed.stdout), (0, "a: dlscale choose --kernels k\n"), listed.stderr)

    def test_help_and_completion_do_not_show_them(self):
        for shown in (run("--help"), run("predict", "--help-all"), run("__completion", "bash"), run("__completion", "fish")):
            self.assertEqual(shown.returncode, 0)
            self.assertNotRegex(shown.stdout, r"choose\b.*algorithm|--stragglers|--fresh|--normalise\b|l fresh")


class Refusals(Config):
    def test_what_is_wrong_with_a_file_is_one_sentence(self):
        for text, *said in [
            ("[gaet]\nrounds = 9\n", "[gaet] is not a command", 'Did you mean "gate"?'),
            ("[bench.gem]\n", "[bench.gem] is not a command", 'Did you mean "gemm"?'),
            ("[gate]\nrounds = 9\nmarign = 0.1\n", "gate.marign is not an option of gate", 'Did you mean "margin"?'),
            ("rounds = 9\n", "rounds is not an option of dlscale"),
            ("[gate]\nhelp = true\n", "gate.help is not an option of gate"),
            ("config = \"other.toml\"\n", "config is not an option of dlscale"),
            ("[gate]\n-- = 1\n", "gate.-- is not an option of gate"),
            ("[bench.gemm]\nsampels = 5\n", "bench.gemm.sampels is not an option of gemm", 'Did you mean "samples"?'),
            ("[gate]\nrounds = [9, 10]\n", "gate.rounds has 2 values, and --rounds takes one"),
            ("[gate]\nrounds = 9\nseed = 1\nrounds = 10\n", "gate.rounds stands there twice"),
            ("[gate]\nbase =\n", "--base (in ", "the value is empty"),
            ("[gate]\nrounds = many\n", "--rounds (in ", "options.toml)", "many"),
            ("[gate]\nmargin = nan\n", "--margin (in ", "nan is not a fraction"),
            ("[gate]\ncanary = maybe\n", "gate.canary is there or not. Write true or false"),
            ("[noise]\neffects = \"1,,2\"\n", "--effects", "with nothing between"),
            ("[select-algorithm]\ncache = \"warm\"\n", "--cache (in ", "warm"),
            ("gate: {rounds: 9}\n", "is not an option of dlscale"),
        ]:
            with self.subTest(text):
                done = self.run_with(text, "gate")
                self.assert_refused(done, 2, *said)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_file_that_cannot_be_read_is_refused(self):
        self.assert_refused(run("--config", "no/such.toml", "gate"), 2, "--config: no/such.toml cannot be read (No such file")
        self.assert_refused(run("--config", self.folder, "gate"), 2, "is a folder")
        self.assert_refused(run("--config", "", "gate"), 2, "--config: the value is empty")
        file = self.config("")
        self.assert_refused(run("--config", file, "--config", file, "gate"), 2, "--config is given 2 times")
        self.assert_refused(run("gate", "--config", file), 2, "--config is not an option of gate. Write it before the verb.")
        if os.geteuid():
            file.chmod(0)
            self.assert_refused(run("--config", file, "gate"), 2, "cannot be read (Permission denied)")

    @unittest.skipUnless(MPIEXEC, "this build has no MPI")
    def test_ranks_that_read_different_files_are_refused(self):
        words = ["bench", "comm", "--sizes", "8B", *map(str, SIX[2:])]
        files = [self.folder / f"{rank}.toml" for rank in range(2)]
        for rank, file in enumerate(files):
            file.write_text(f"[bench.comm]\nsamples = {6 + rank}\n")
        first, second = ([PROGRAM, "--config", str(file), *words] for file in files)
        command = [MPIEXEC, "-n", "1", *first, ":", "-n", "1", *second]
        done = subprocess.run(command, env=environment(), text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--samples is 6 on rank 0, but 7 on rank 1. ", done.stderr)

    @unittest.skipUnless(MPIEXEC, "this build has no MPI")
    def test_ranks_that_were_started_differently_end_together(self):
        e2e = ["bench", "e2e", "--network", "alexnet", "--data", "nowhere"]
        for own, said in [([["--rate", "0.01"], ["--rate", "0.1"]], "--rate is 0.01 on rank 0, but 0.1 on rank 1. "),
                          ([["--dtype", "f32"], ["--dtype", "bf16"]], "--dtype is f32 on rank 0, but bf16 on rank 1. "),
                          ([[], ["--seed", "2", "--batch", "4"]], "--batch is 8 on rank 0, but 4 on rank 1 (--seed differs too). "),
                          ([["-o", str(self.folder / "a.jsonl")], []], "--output is given on rank 0, but not given on rank 1. ")]:
            with self.subTest(said=said):
                first, second = ([PROGRAM, *e2e, *words] for words in own)
                command = [MPIEXEC, "-n", "1", *first, ":", "-n", "1", *second]
                done = subprocess.run(command, env=environment(), text=True, capture_output=True, timeout=120)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(said), 1, done.stderr)


class Clusters(ProgramTest):
    def test_every_one_states_its_input(self):
        files = sorted((SOURCE / "configs" / "clusters").glob("*.yaml"))
        self.assertGreater(len(files), 8)
        for file in files:
            with self.subTest(cluster=file.stem):
                text = file.read_text(encoding="utf-8")
                self.assertRegex(text, r"(?m)^  decode: \S")
                self.assertRegex(text, r"(?m)^storage:\n  read_bandwidth: \S")
                self.assertRegex(text, r"storage:\n(  [^ ].*\n)*  source: ")

    def test_a_disk_that_four_gpus_share_bounds_alexnet(self):
        done = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,4", "--batch", "1024", "--format", "json")
        four = json.loads(done.stdout)["predictions"][1]
        self.assertEqual(four["bound"], "input")
        self.assertLess(four["speedup"], 3.8)


class Assumptions(ProgramTest):
    def test_an_assumed_spread_of_stragglers_says_where_it_is_from(self):
        words = ["predict", "--network", "alexnet", "--cluster", "dgx1", "--ranks", "8", "--format", "json"]
        stated = json.loads(run(*words, "--straggler-spread", "1.5%").stdout)["predictions"][0]
        for assumed in (["--straggler-spread", "auto"], ["--straggler-spread"]):
            said = json.loads(run(*words, *assumed).stdout)["predictions"][0]
            self.assertEqual(said["time"], stated["time"])
            self.assertIn("stragglers: a spread of 1.5 % is assumed, not measured", json.dumps(said["notes"], ensure_ascii=False))
            self.assertNotIn("is assumed", json.dumps(stated["notes"]))

    def test_switches_that_add_and_are_slower_say_why(self):
        for words, slower in [(["dgx_h100", "--framework", "cntk"], False), (["dgx_a100", "--framework", "pytorch_ddp"], True),
                              (["dgx_a100"], False), (["p40x16", "--framework", "pytorch_ddp"], True)]:
            asked = ["predict", "--network", "resnet50", "--ranks", "16", "--format", "json", "--cluster", *words]
            without, with_switches = (json.loads(run(*asked, *more).stdout)["predictions"][0] for more in ([], ["--sharp"]))
            longer = with_switches["time"]["t_iter_s"] > 1.00001 * without["time"]["t_iter_s"]
            self.assertEqual(longer, slower, words)
            said = "make the iteration longer here" in json.dumps(with_switches["notes"])
            self.assertEqual(said, slower, words)


class Variables(ProgramTest):
    def test_those_that_the_sources_read_are_documented(self):
        read = set()
        for folder in ["core", "backend", "bench", "model", "report", "train", "app"]:
            for path in (SOURCE / folder).rglob("*.?pp"):
                read |= set(re.findall(r'"(DLSCALE_[A-Z_]+[A-Z])"', path.read_text()))
        section = (SOURCE / "docs" / "reference" / "configuration" / "README.md").read_text().partition("## Environment variables\n")[2].partition("\n## ")[0]
        documented = set(re.findall(r"`(DLSCALE_\w+)`", "".join(re.findall(r"^\| (.*?) \|", section, re.MULTILINE))))
        self.assertEqual(documented, read)


if __name__ == "__main__":
    main()
