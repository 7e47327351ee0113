"""Options in the environment and in settings files, as a shell sees them: which value counts, what is refused, and that programs
which dlscale starts are told all on their command lines."""

import json
import os
import subprocess
import unittest

from program import MPIEXEC, PROGRAM, SIX, ProgramTest, as_text, environment, main, start

GEMM = ["bench", "gemm", "--backend", "reference", "--sizes", "8x8x8"]


class SettingsTest(ProgramTest):
    def run_here(self, *words, settings=None, **variables):
        """In the folder of the test, with this settings file there."""
        if settings is not None:
            (self.folder / "dlscale.yaml").write_text(settings)
        elsewhere = {"DLSCALE_SETTINGS": None, "XDG_CONFIG_HOME": str(self.folder / "own"), "DLSCALE_HISTORY": None,
                     "DLSCALE_SHARED_DATA": None}
        process = start(*words, variables=elsewhere | variables, cwd=self.folder)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def shown(self, *words, **more):
        result = self.run_here("config", "show", "--format", "json", *words, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def option(self, name, *words, **more):
        [found] = [one for one in self.shown(*words, **more)["options"] if one["name"] == name]
        return found["value"], found["from"], found["detail"]

    def program(self, name, **more):
        [found] = [one for one in self.shown(**more)["program"] if one["name"] == name]
        return found["value"], found["from"], found["detail"]

    def header(self, name):
        return json.loads((self.folder / name).read_text().splitlines()[0])


class Precedence(SettingsTest):
    def test_what_is_typed_comes_before_the_environment_that_before_the_file_and_that_before_defaults(self):
        here = {"settings": "gate:\n  margin: 0.02\n  rounds: 80\n", "DLSCALE_GATE_ROUNDS": "60"}
        self.assertEqual(self.option("--rounds", "gate", "--rounds", 50, **here), ("50", "command line", ""))
        self.assertEqual(self.option("--rounds", "gate", **here), ("60", "environment", "DLSCALE_GATE_ROUNDS"))
        self.assertEqual(self.option("--margin", "gate", **here), ("0.02", "file", "dlscale.yaml:2"))
        self.assertEqual(self.option("--seed", "gate", **here)[:2], ("1", "default"))
        self.assertEqual(self.option("--rounds", "gate", **here | {"DLSCALE_GATE_ROUNDS": ""}),
                         ("80", "file", "dlscale.yaml:3"))

    def test_flags_are_put_on_and_out(self):
        here = {"settings": "gate: {canary: true}\n"}
        self.assertEqual(self.option("--canary", "gate", **here)[:2], ("yes", "file"))
        self.assertEqual(self.option("--canary", "gate", DLSCALE_GATE_CANARY="0", **here)[:2], ("no", "environment"))
        self.assertEqual(self.option("--canary", "gate", "--canary=false", **here)[:2], ("no", "command line"))

    def test_an_option_that_cannot_stand_on_the_line_says_why(self):
        here = {"settings": "predict: {batch: 32}\n"}
        detail = self.option("--batch", "predict", "--global-batch", 64, **here)[2]
        self.assertEqual(detail, "dlscale.yaml:1 does not count: it does not go with --global-batch")

    def test_a_configuration_says_where_it_is_named_and_where_it_is(self):
        value, origin, detail = self.option("--network", "predict", DLSCALE_PREDICT_NETWORK="alexnet")
        self.assertEqual((value, origin), ("alexnet", "environment"))
        self.assertRegex(detail, r"^DLSCALE_PREDICT_NETWORK; .*/configs/networks/alexnet\.yaml$")

    def test_the_first_file_that_is_there_counts_alone(self):
        own = self.folder / "own" / "dlscale" / "settings.yaml"
        own.parent.mkdir(parents=True)
        own.write_text("gate: {rounds: 7, margin: 0.07}\n")
        self.assertEqual(self.option("--rounds", "gate")[0], "7")
        self.assertEqual(self.program("settings file"), (str(own), "default", "of the user"))
        here = {"settings": "gate: {rounds: 8}\n"}
        self.assertEqual(self.option("--rounds", "gate", **here)[0], "8")
        self.assertEqual(self.option("--margin", "gate")[1], "default")
        self.assertEqual(self.program("settings file"), ("dlscale.yaml", "default", "of the working folder"))
        other = self.folder / "other.yaml"
        other.write_text("gate: {rounds: 9}\n")
        named = {"DLSCALE_SETTINGS": str(other)}
        self.assertEqual(self.option("--rounds", "gate", **named), ("9", "file", f"{other}:1"))
        self.assertEqual(self.program("settings file", **named)[1:], ("environment", "DLSCALE_SETTINGS"))
        self.assertEqual(self.option("--rounds", "gate", DLSCALE_SETTINGS="off")[1], "default")
        (self.folder / "dlscale.yaml").unlink()
        own.unlink()
        self.assertEqual(self.program("settings file")[0], "none")

    def test_a_long_list_is_whole_in_records_and_does_not_widen_tables(self):
        words = [f"word{i}" for i in range(5000)]
        here = {"settings": json.dumps({"run": {"tag": words}})}
        self.assertEqual(self.option("--tag", "run", **here)[:2], (",".join(words), "file"))
        self.assertLess(max(map(len, self.run_here("config", "show", "run", **here).stdout.splitlines())), 400)

    def test_variables_that_do_nothing_are_told_of_and_those_of_options_are_not(self):
        def problems(**variables):
            return [one for one in self.shown(**variables)["problems"] if "GATE" in one]

        self.assertEqual(problems(DLSCALE_GATE_ROUNDS="5"), [])
        [slip] = problems(DLSCALE_GATE_ROUND="5")
        self.assertIn('Did you mean "DLSCALE_GATE_ROUNDS"?', slip)
        [off] = problems(DLSCALE_GATE_ROUNDS="5", DLSCALE_SETTINGS="off")
        self.assertIn("DLSCALE_SETTINGS is off", off)
        [typed] = problems(DLSCALE_GATE_HELP="yes")
        self.assertEqual(typed, "DLSCALE_GATE_HELP is set, but --help can only be typed, so that it changes nothing. Unset it.")

    def test_what_somebody_has_set_is_drawn_apart_from_defaults(self):
        shown = self.run_here("config", "show", "--color", "always", "gate", "--seed", 3, settings="gate: {margin: 0.02}\n",
                              DLSCALE_GATE_ROUNDS="60")
        rows = {line.split()[0]: line for line in shown.stdout.splitlines() if line.startswith("--")}
        for name, is_set in [("--seed", True), ("--rounds", True), ("--margin", True), ("--canary", False)]:
            self.assertEqual("\x1b[" in rows[name], is_set, rows[name])


class Refusals(SettingsTest):
    def test_a_file_that_is_wrong_is_refused_with_its_line(self):
        for text, *said in [
            ("x:\n- 1\n  y: [\n", "dlscale.yaml:3: this is not YAML"),
            ("- gate\n", "dlscale.yaml:1: the file is a list"),
            ("\ngaet: {rounds: 9}\n", "dlscale.yaml:2: /gaet is not a known key", 'Did you mean "gate"?'),
            ("gate:\n  rounds: 9\n  marign: 0.1\n", "dlscale.yaml:3: /gate/marign", 'Did you mean "margin"?'),
            ("gate:\n  rounds: [9, 10]\n", "dlscale.yaml:2: /gate/rounds is a list", "--rounds takes one"),
            ("gate:\n  base: ['', b]\n", "dlscale.yaml:2: /gate/base", "empty"),
            ("gate: {base: []}\n", "dlscale.yaml:1: /gate/base", "empty"),
            ("gate: {rounds: {most: 9}}\n", "dlscale.yaml:1: /gate/rounds is a mapping"),
            ("gate: {canary: maybe}\n", "dlscale.yaml:1: /gate/canary", "Write true or false"),
            ("gate: 9\n", "dlscale.yaml:1: /gate is a single value"),
            ("gate:\n  rounds: 9\n  rounds: 10\n", "dlscale.yaml:3: /gate/rounds occurs twice"),
            ("gate:\n  rounds:\n", "dlscale.yaml:2: /gate/rounds has no value"),
            ("gate: {rounds: 9}\n---\n]\n", "dlscale.yaml:2: here the file's first document has ended"),
        ]:
            with self.subTest(text):
                self.assert_refused(self.run_here("gate", settings=text), 2, *said)

    def test_all_of_a_file_is_looked_at_by_config_show(self):
        wrong = "bench: {gemm: {sampels: 5}}\n"
        self.assert_refused(self.run_here("config", "show", settings=wrong), 2, "/bench/gemm/sampels", "samples")
        self.assertEqual(self.option("--rounds", "gate", settings=wrong)[1], "default")

    def test_a_file_that_is_named_and_not_there_is_refused(self):
        self.assert_refused(self.run_here("gate", DLSCALE_SETTINGS="no/such.yaml"), 2, "no/such.yaml")

    def test_a_value_that_the_option_refuses_says_where_it_is_set(self):
        here = {"settings": "gate:\n  margin: nan\n"}
        self.assert_refused(self.run_here("gate", **here), 2, "--margin (set by dlscale.yaml:2)", "nan")
        self.assert_refused(self.run_here("gate", DLSCALE_GATE_MARGIN="-1", **here), 2,
                            "--margin (set by DLSCALE_GATE_MARGIN)")
        (self.folder / "dlscale.yaml").unlink()
        self.assert_refused(self.run_here("gate", DLSCALE_GATE_ROUNDS="4"), 2, "--rounds (set by DLSCALE_GATE_ROUNDS) 4")
        self.assert_refused(self.run_here("noise", DLSCALE_NOISE_EFFECTS="1,,2"), 2, "--effects (set by DLSCALE_NOISE_EFFECTS)")
        self.assert_refused(self.run_here("gate", DLSCALE_GATE_CANARY="maybe"), 2, "DLSCALE_GATE_CANARY", "Write yes or no")
        self.assert_refused(self.run_here("predict", "--cluster", "p40x16", "--ranks", 2, DLSCALE_PREDICT_NETWORK="alexnett"), 2,
                            "--network is set by DLSCALE_PREDICT_NETWORK")
        self.assert_refused(self.run_here("config", "show", "gate", DLSCALE_GATE_MARGIN="x"), 2,
                            "--margin (set by DLSCALE_GATE_MARGIN)")

    def test_a_value_stays_on_the_line_of_its_sentence(self):
        for text, said in [('gate: {rounds: "3\\n0"}\n', "3\\n0"), ('gate: {margin: "\\e[1m"}\n', "\\x1b[1m"),
                           ("noise:\n  kernels: |\n    a\n    b\n", "\\n")]:
            verb = text.split(":")[0]
            result = self.run_here(verb, settings=text)
            self.assert_refused(result, 2, said)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        result = self.run_here("gate", settings="", DLSCALE_GATE_ROUNDS="3\n0")
        self.assertIn("--rounds (set by DLSCALE_GATE_ROUNDS)", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_whatever_the_file_is_there_is_one_sentence(self):
        place = self.folder / "dlscale.yaml"
        place.mkdir()
        self.assert_refused(self.run_here("gate"), 2, "dlscale.yaml cannot be read (it is a folder)")
        place.rmdir()
        os.mkfifo(place)
        self.assert_refused(self.run_here("gate"), 2, "it is a pipe or a device")
        place.unlink()
        place.symlink_to("/dev/zero")
        self.assert_refused(self.run_here("gate"), 2, "it is a pipe or a device")
        place.unlink()
        if os.geteuid():
            place.write_text("")
            place.chmod(0)
            self.assert_refused(self.run_here("gate"), 2, "dlscale.yaml cannot be read")
            place.unlink()
        for text, *said in [
            ("#" * (1 << 16) + "\n", "has 65537 bytes, and a settings file at most 65536"),
            ("gate: " + "[" * 10000, "dlscale.yaml:1: this is nested"),
            ("gate: {rounds: 9 kB}\n", "--rounds (set by dlscale.yaml:1)"),
        ]:
            with self.subTest(text[:40]):
                result = self.run_here("gate", settings=text)
                self.assert_refused(result, 2, *said)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        place.write_bytes(b"gate: {base: \"\xff\xfe\"}\n")
        self.assertEqual(self.option("--base", "gate")[1], "file")
        place.write_text("gate: {rounds: 9}\n", encoding="utf-16")
        self.assertEqual(self.option("--rounds", "gate")[:2], ("9", "file"))

    def test_a_file_of_any_kind_is_one_document(self):
        cell = {"name": "cell", "command": "bench gemm -o {result}", "seconds": 1}
        (self.folder / "suite.yaml").write_text(json.dumps({"suite": "test", "cells": [cell]}) + "\n---\nsuite: other\n")
        self.assert_refused(self.run_here("run", "suite.yaml", "-o", "out"), 2, "suite.yaml:2: here the file's first document has ended")

    def test_completion_does_not_look_at_the_file(self):
        (self.folder / "dlscale.yaml").write_text("]")
        done = self.run_here("__complete", "bash", "dlscale gate --ro", DLSCALE_GATE_ROUNDS="what")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "--rounds\n", ""))

    def test_help_needs_no_file_that_is_right(self):
        (self.folder / "dlscale.yaml").write_text("]")
        for words in [["--version"], ["gate", "--help"], ["help", "settings"], ["--help"]]:
            self.assertEqual(self.run_here(*words).returncode, 0, words)


class Records(SettingsTest):
    def test_what_is_set_elsewhere_is_recorded_as_if_it_were_typed(self):
        done = self.run_here(*GEMM, "-o", "a.jsonl", settings="bench: {gemm: {samples: 3, warm-ups: 2}}\n",
                             DLSCALE_BENCH_GEMM_WARM_UPS="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        first = self.header("a.jsonl")
        self.assertEqual((first["run"]["samples"], first["run"]["warm_ups"]), ("3", "1"))
        again = [word.replace("a.jsonl", "b.jsonl") for word in first["command"][1:]]
        self.assertEqual(self.run_here(*again, DLSCALE_SETTINGS="off").returncode, 0)
        self.assertEqual(self.header("b.jsonl")["run"], first["run"])

    @unittest.skipUnless(MPIEXEC, "this build has no MPI")
    def test_ranks_that_are_set_apart_are_refused(self):
        words = [PROGRAM, "bench", "comm", "--sizes", "8B", *map(str, SIX[2:])]
        command = [MPIEXEC, "-n", "1", *words, ":", "-n", "1", "env", "DLSCALE_BENCH_COMM_SAMPLES=3", *words]
        done = subprocess.run(command, env=environment() | {"DLSCALE_SETTINGS": ""}, cwd=self.folder, text=True, capture_output=True,
                              timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("rank 1 (process", done.stderr)
        self.assertIn("mpirun -x NAME", done.stderr)


class Children(SettingsTest):
    # What would change what is measured, were it to reach the programs that do.
    SET = {"settings": "bench: {gemm: {samples: 4}}\nrun: {quiet: true}\n", "DLSCALE_BENCH_GEMM_WARM_UPS": "3"}

    def test_steps_and_cells_of_suites_are_as_their_suite_says(self):
        command = as_text([*GEMM, *SIX, "-o"])
        suite = {"suite": "test", "steps": [{"name": "step", "doc": "a step", "seconds": 0.3, "command": command + " {out}/step.jsonl"}],
                 "cells": [{"name": "cell", "command": command + " {result}", "seconds": 0.3}]}
        (self.folder / "suite.yaml").write_text(json.dumps(suite))
        done = self.run_here("run", "suite.yaml", "-o", "out", **self.SET)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("left)", done.stderr)  # of a suite that says how long the rest takes
        for name in ["out/step.jsonl", "out/cells/cell/result.jsonl"]:
            measured = self.header(name)["run"]
            self.assertEqual((measured["samples"], measured["warm_ups"]), ("6", "1"))

    def test_jobs_are_told_so_in_their_scripts(self):
        suite = {"suite": "test", "cells": [{"name": "cell", "command": "bench gemm -o {result}", "seconds": 1}]}
        (self.folder / "suite.yaml").write_text(json.dumps(suite))
        shown = self.run_here("run", "suite.yaml", "--dry-run", "--system", "slurm", DLSCALE_RUN_WAIT_QUIET="5", SLURM_JOB_ID=None)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("export DLSCALE_SETTINGS=off\n", shown.stdout.replace("'", ""))
        self.assertIn("--wait-quiet 5", shown.stdout)

    def test_the_versions_of_a_gate_are_as_its_command_says(self):
        one = f"{PROGRAM} {as_text([*GEMM, *SIX])} -o {{out}}"
        done = self.run_here("gate", "--base", one, "--new", one, "-o", "gate", DLSCALE_GATE_ROUNDS="5", **self.SET)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        runs = sorted((self.folder / "gate" / "runs").glob("*.out"))
        self.assertEqual(len(runs), 10)
        for run in runs:
            measured = self.header(run)["run"]
            self.assertEqual((measured["samples"], measured["warm_ups"]), ("6", "1"))


if __name__ == "__main__":
    main()
