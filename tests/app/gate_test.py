"""The gate as a shell sees it: exit codes, what is kept, what is refused. The versions that it judges are small scripts that say
how long they took, so that nothing here depends on how busy the machine is."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import time

from program import PROGRAM, ProgramTest, environment, main, run

# Times of ten repetitions around what it is given, as JSON of Google Benchmark; the same for each round and version.
FAKE = """#!/bin/sh
# fake OUT SECONDS [NAME]
printf '{"context": {"host_name": "%s"}, "benchmarks": [' "${HOST_OF_FAKE:-here}" > "$1"
for i in 1 2 3 4 5 6 7 8 9 10; do
  printf '{"name": "%s", "run_name": "%s", "run_type": "iteration", "repetition_index": %s, "real_time": %s%s, "time_unit": "ms"},' \
    "${3:-kernel}" "${3:-kernel}" "$i" "$2" "$i" >> "$1"
done
printf '{"name": "x_mean", "run_type": "aggregate", "real_time": 1, "time_unit": "ms"}]}' >> "$1"
"""


class GateTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.fake = self.folder / "fake"
        self.fake.write_text(FAKE)
        self.fake.chmod(0o755)

    def command(self, seconds, name="kernel"):
        return f"{self.fake} {{out}} {seconds} {name}"

    def gate(self, base, new, *more, **settings):
        return run("gate", "--base", base, "--new", new, *more, **settings)

    def rounds(self, folder):
        lines = (folder / "rounds.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines[1:]]


class Verdicts(GateTest):
    def test_a_slower_version_is_regressed(self):
        done = self.gate(self.command("1.00"), self.command("1.05"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("1 regressed of 1", done.stdout.splitlines()[0])
        self.assertLessEqual(len(done.stdout.splitlines()[0]), 140)

    def test_the_same_version_is_not_regressed(self):
        done = self.gate(self.command("1.00"), self.command("1.00"), "--canary")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("none of 1 regressed", done.stdout)
        self.assertIn("A/A test passed", " ".join(done.stdout.split()))

    def test_a_faster_version_passes_unless_a_stale_baseline_is_a_failure(self):
        self.assertEqual(self.gate(self.command("1.10"), self.command("1.00")).returncode, 0)
        failed = self.gate(self.command("1.10"), self.command("1.00"), "--fail-on-improvement")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("1 improved", failed.stdout)

    def test_rounds_that_disagree_are_inconclusive_unless_that_may_pass(self):
        wavering = f"case {{out}} in *[13579]-*) {self.command('1.05')};; *) {self.command('0.95')};; esac"
        few = [self.command("1.00"), wavering, "--rounds", 5]
        self.assertEqual(self.gate(*few).returncode, 3)
        self.assertEqual(self.gate(*few, "--inconclusive", "pass").returncode, 0)

    def test_five_rounds_are_the_fewest_that_can_decide(self):
        self.assertEqual(self.gate(self.command("1.00"), self.command("1.05"), "--rounds", 5).returncode, 1)
        done = self.gate(self.command("1.00"), self.command("1.05"), "--rounds", 4)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--rounds 4 can decide nothing", done.stderr)
        self.assertIn("Allow 5 or more", done.stderr)

    def test_numbers_with_zeros_in_front_are_in_base_10(self):
        folder = self.folder / "kept"
        words = [self.command("1.00"), self.command("1.00"), "--seed", "010", "-o", folder]
        self.assertEqual(self.gate(*words, "--rounds", "010").returncode, 0)
        self.assertEqual(len(self.rounds(folder)), 10)
        self.assertIn('"seed":10', (folder / "rounds.jsonl").read_text().splitlines()[0])
        done = self.gate(*words, "--rounds", "0x20")
        self.assertEqual(done.returncode, 2)
        self.assertIn("0x20 is not a whole number in base 10", done.stderr)

    def test_a_margin_of_the_noise_is_said_up_front_and_decides_what_one_percent_cannot(self):
        wavering = f"case {{out}} in *[13579]-*) {self.command('1.017')};; *) {self.command('0.99')};; esac"
        done = self.gate(self.command("1.00"), wavering, "--margin", "auto", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("by the noise of 10 rounds, this machine can decide changes of ", done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report["margin_of_noise"])
        self.assertGreater(report["metrics"][0]["margin"], 0.01)
        self.assertTrue(any("this machine can decide" in note for note in report["notes"]), report["notes"])
        self.assertEqual(self.gate(self.command("1.00"), self.command("1.05"), "--margin", "auto").returncode, 1)

    def test_folders_with_blanks_or_of_no_temporary_place_are_no_trouble_or_named(self):
        folder = self.folder / "my gate"
        self.assertEqual(self.gate(self.command("1.00"), self.command("1.00"), "--rounds", 5, "-o", folder).returncode, 0)
        self.assertEqual(len(self.rounds(folder)), 5)
        spaced = self.folder / "my temporary folder"
        spaced.mkdir()
        done = self.gate(self.command("1.00"), self.command("1.00"), "--rounds", 5, variables={"TMPDIR": str(spaced)})
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.gate("true", "true", "--rounds", 5, variables={"TMPDIR": "/nowhere"})
        self.assert_refused(done, 2, 'TMPDIR is "/nowhere"')

    def test_what_the_new_version_does_not_measure_is_in_the_headline_and_fails_where_asked(self):
        both = f"printf '{{\"benchmarks\": [{{\"name\": \"kernel\", \"real_time\": 1000000}}, {{\"name\": \"gone\", \"real_time\": 1000000}}]}}' > {{out}}"
        one = "printf '{\"benchmarks\": [{\"name\": \"kernel\", \"real_time\": 1000000}]}' > {out}"
        done = self.gate(both, one, "--rounds", 5)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("none of 1 regressed, 1 not measured", done.stdout.splitlines()[0])
        junit = self.folder / "gate.xml"
        self.assertEqual(self.gate(both, one, "--rounds", 5, "--write", f"junit={junit}").returncode, 0)
        self.assertIn('tests="2" failures="0" errors="0" skipped="1"', junit.read_text())
        strict = self.gate(both, one, "--rounds", 5, "--fail-on-missing", "--write", f"junit={junit}")
        self.assertEqual(strict.returncode, 1)
        self.assertIn('tests="2" failures="1" errors="0" skipped="0"', junit.read_text())
        # Nothing is left to compare: that is told, too.
        none = "echo '{\"benchmarks\": []}' > {out}"
        self.assertEqual(self.gate(one, none, "--rounds", 5, "--fail-on-missing", "--write", f"junit={junit}").returncode, 1)
        self.assertEqual(self.gate(one, both, "--rounds", 5, "--fail-on-missing").returncode, 0)

    def test_what_dlscale_itself_wrote_is_known_by_its_header(self):
        bench = f"{PROGRAM} bench gemm --backend reference --sizes 8x8x8 --samples 2 --warm-ups 1 -o {{out}}"
        done = self.gate(bench, bench, "--rounds", 5, "--margin", 0.9, "--format", "json")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report["metrics"][0]["key"].startswith("gemm "), report)
        self.assertEqual(report["metrics"][0]["unit"], "s")

    def test_forms_that_cannot_be_written_are_refused_before_anything_runs(self):
        ran, foreign, file = (self.folder / name for name in ("ran", "notes.csv", "file"))
        foreign.write_text("of somebody else")
        file.write_text("no folder")
        for form, fragment in [(f"csv={foreign}", "is there and is not"), (f"csv={file}/there", "cannot be written there"),
                               (f"junit={self.folder}", "cannot be written there")]:
            self.assert_refused(self.gate(f"touch {ran}", f"touch {ran}", "--write", form), 2, fragment)
        self.assertFalse(ran.exists())
        self.assert_refused(run("noise", "--write", f"junit={self.folder}/n.xml"), 2, "no verdicts and no status")

    def test_rounds_are_kept_where_a_form_cannot_be_written(self):
        place = self.folder / "none" / "there"
        # In the way only when the gate has begun.
        base, new = (f"echo a file > {place.parent}; " + self.command("1.00") for _ in range(2))
        done = self.gate(base, new, "--rounds", 5, "--write", f"csv={place}")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("none of 1 regressed", done.stdout)
        kept = re.search(r"-o (\S+gate\S+)", done.stderr)
        self.assertTrue(kept, done.stderr)
        shutil.rmtree(kept.group(1).rstrip(".,"))

    def test_ranks_are_asked_for_where_something_tells_them(self):
        done = self.gate(self.command("1.00"), self.command("1.00"), "--rounds", 5, "--ranks", 4)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("has no number of ranks, and 4 are required", done.stdout)
        self.assertIn("1 round ", done.stdout.splitlines()[0], "no further round could mend that")

    def test_another_number_of_ranks_ends_it_after_a_round(self):
        bench = f"{PROGRAM} bench gemm --backend reference --sizes 8x8x8 --samples 2 --warm-ups 1 --comm local -o {{out}}"
        folder = self.folder / "kept"
        done = self.gate(bench, bench, "--ranks", 4, "--inconclusive", "pass", "-o", folder)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("ran on 1 ranks, not 4. Start it by its launcher", done.stdout)
        self.assertEqual(len(self.rounds(folder)), 1)
        self.assertTrue(json.loads((folder / "gate.json").read_text())["invalid"])

    def test_numbers_that_are_none_are_read_and_left_out_by_name(self):
        rows = ('{"name": "NaN kernel", "real_time": 1000000, "my_counter": NaN}, {"name": "odd", "real_time": Infinity},'
                '{"name": "NaN kernel_cv", "run_type": "aggregate", "aggregate_name": "cv", "real_time": -NaN}')
        command = f"printf '{{\"benchmarks\": [{rows}]}}' > {{out}}"
        done = self.gate(command, command, "--rounds", 5, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([metric["key"] for metric in report["metrics"]], ["NaN kernel"])
        self.assertTrue(any("odd: its real_time is not a number" in note for note in report["notes"]), report["notes"])

    def test_json_says_the_same_and_holds_every_pair(self):
        done = self.gate(self.command("1.00"), self.command("1.05"), "--format", "json")
        report = json.loads(done.stdout)
        self.assertEqual(report["schema"], "dlscale.gate")
        self.assertEqual(report["verdict"], "regressed")
        metric = report["metrics"][0]
        self.assertEqual((metric["key"], metric["series"], metric["unit"]), ("kernel", "real_time", "s"))
        self.assertEqual(len(metric["pairs"]), 10)
        self.assertEqual({pair["first"] for pair in metric["pairs"]}, {"base", "new"})
        self.assertAlmostEqual(metric["ratio"], 1.05, 3)
        self.assertAlmostEqual(metric["base"], 1.001e-3, 6)  # the minimum

    def test_every_form_is_written_of_one_verdict(self):
        forms = {name: self.folder / f"gate.{name}" for name in ("comment", "junit", "openmetrics", "csv")}
        options = [word for name, path in forms.items() for word in ("--write", f"{name}={path}")]
        done = self.gate(self.command("1.00"), self.command("1.05"), *options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("1 regressed of 1", done.stdout)
        self.assertTrue(forms["comment"].read_text().startswith("<!-- dlscale -->\n"))
        self.assertIn('failures="1"', forms["junit"].read_text())
        self.assertIn('dlscale_gate_verdict="regressed"} 1', forms["openmetrics"].read_text())
        self.assertIn("regressed", forms["csv"].read_text())
        for options, fragment in [(["gate.xml"], "FORMAT=FILE"), (["junit=-"], "printed already"),
                                  (["json=a", "--write", "csv=./a"], "twice"), (["jnit=a"], "Write junit=a")]:
            self.assert_refused(self.gate("true", "true", "--write", *options), 2, fragment)
        other = self.gate("true", "true", "--write", "csv=a", "--write", "junit=b", "--marjin", 1)
        self.assert_refused(other, 2, "--marjin is not an option of gate")

    def test_a_report_of_its_folder_shows_the_verdict(self):
        folder, page = self.folder / "kept", self.folder / "page"
        self.assertEqual(self.gate(self.command("1.00"), self.command("1.05"), "-o", folder).returncode, 1)
        for place in (folder, folder / "gate.json"):
            done = run("report", place, "-o", page)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("1 regressed of 1", done.stdout.splitlines()[0])

    def test_versions_that_measure_nothing_in_common_have_nothing_to_compare(self):
        done = self.gate(self.command("1.00"), self.command("1.00", "other"), "--rounds", 5)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("other real_time was not compared", done.stdout)
        # A version without a file has no machine, either, which does not change the exit code.
        for base, new in [(self.command("1.00"), "true"), ("true", self.command("1.00"))]:
            self.assertEqual(self.gate(base, new, "--rounds", 5).returncode, 5, (base, new))

    def test_builds_that_hold_the_same_program_are_told_from_others(self):
        for name, more in [("old", ""), ("copied", ""), ("renamed", "# by another commit\n")]:
            (self.folder / name).mkdir()
            program = self.folder / name / "dlscale"
            program.write_text(FAKE + more)
            program.chmod(0o755)
        for changed, told in [("copied", True), ("renamed", False)]:
            done = run("gate", "--base-build", self.folder / "old", "--new-build", self.folder / changed, "--", "{out}", "1.00")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("both builds hold the same program" in done.stdout, told, changed)

    def test_versions_on_two_machines_are_not_compared(self):
        done = self.gate(self.command("1.00"), "HOST_OF_FAKE=there " + self.command("1.05"), "--rounds", 10)
        self.assertEqual(done.returncode, 4)
        self.assertIn("ran in different places", done.stdout)
        self.assertIn("1 round ", done.stdout.splitlines()[0])

    def test_a_base_that_differs_from_itself_leaves_nothing_regressed(self):
        wavering = f"case {{out}} in *-canary*) {self.command('1.20')};; *) {self.command('1.00')};; esac"
        junit = self.folder / "gate.xml"
        done = self.gate(wavering, self.command("1.10"), "--canary", "--write", f"junit={junit}", "--fail-on-missing")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("1 inconclusive of 1", done.stdout)
        self.assertIn("A/A test failed", done.stdout.partition("\n\n")[0].replace("\n", " "))
        self.assertIn('failures="0"', junit.read_text())
        self.assertIn("10 rounds", done.stdout.splitlines()[0], "an alarm is not taken back by later rounds")

    def test_a_command_that_writes_nothing_is_timed_by_the_clock(self):
        done = self.gate("sleep 0.01", "sleep 0.06", "--format", "json")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(json.loads(done.stdout)["metrics"][0]["series"], "wall")


class Failures(GateTest):
    def test_a_run_that_fails_ends_the_gate_and_is_named(self):
        done = self.gate(self.command("1.00"), "echo no such kernel >&2; exit 9", "-o", self.folder / "kept")
        self.assertEqual(done.returncode, 4)
        self.assertIn("the run of new in round 1 ended with exit code 9 (\"no such kernel\")", done.stderr)

    def test_a_run_that_hangs_is_ended_after_its_time(self):
        before = time.monotonic()
        done = self.gate(self.command("1.00"), "echo waiting; sleep 1000", "--timeout", 0.5, "-o", self.folder / "kept",
                         "--measure", "wall")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("was not done after its timeout of 0.5 s and was ended (\"waiting\")", done.stderr)
        self.assertLess(time.monotonic() - before, 60)

    def test_what_is_no_result_is_refused(self):
        done = self.gate("echo hello > {out}", "echo hello > {out}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is neither results of dlscale nor JSON of Google Benchmark", done.stderr)
        done = self.gate("echo hello > {out}", "echo hello > {out}", "--measure", "google")
        self.assertIn("is not JSON of Google Benchmark", done.stderr)
        done = self.gate("true {out}", "true {out}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrote nothing to", done.stderr)
        self.assertIn("Let it write there", done.stderr)
        error = '{"benchmarks": [{"name": "BM_a/0", "error_occurred": true, "error_message": "oh", "real_time": 1}]}'
        done = self.gate(self.command("1.00"), f"echo '{error}' > {{out}}", "-o", self.folder / "kept")
        self.assert_refused(done, 4, "the run of new in round 1 cannot be compared (its file is ", "round-001-new.out, its log ",
                            "round-001-new.log): BM_a/0 ended with an error (oh). Mend it first.")
        huge = '{"benchmarks": [{"name": "BM_a/0", "real_time": 1e308, "time_unit": "s"}]}'
        done = self.gate(f"echo '{huge}' > {{out}}", f"echo '{huge}' > {{out}}", "--rounds", 5)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("its real_time is 1e+308, which nothing measured can be", done.stdout + done.stderr)
        late = f"case {{out}} in *3-*) echo '{{\"context\"' > {{out}};; *) {self.command('1.00')};; esac"
        done = self.gate(self.command("1.00"), late, "--rounds", 5, "-o", self.folder / "late")
        self.assert_refused(done, 4, "the run of new in round 3 cannot be compared", "is JSON that breaks off or is damaged",
                            "See the log")
        for seconds in ("1e10", "1e12", "1e300"):
            done = self.gate(self.command("1.00"), self.command("1.00"), "--timeout", seconds)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("is more than 1e9 seconds, which are thirty years", done.stderr)
        self.assertEqual(self.gate(self.command("1.00"), self.command("1.00"), "--timeout", "1e9").returncode, 0)
        for margin in ("nan", "-1", "inf", "x"):
            done = self.gate("true", "true", f"--margin={margin}")
            self.assertEqual(done.returncode, 2, margin)
            self.assertIn(f"{margin} is not a fraction from 0 to 1;", done.stderr)

    def test_usage_errors_say_what_to_write(self):
        for words, sentence in [
            (["--base", "true"], "--base stands alone"),
            ([], "a gate needs two versions of one kind"),
            (["--base", "a", "--new", "b", "--base-build", "x", "--new-build", "y"], "two versions of one kind"),
            (["--base", "a", "--new", "b", "--measure", "google"], "has no placeholder"),
            (["--base", "a", "--new", "b", "--measure", "guess"], "--measure is \"guess\""),
            (["--base", "a", "--new", "b", "--inconclusive", "maybe"], "Write pass or fail"),
            (["--base", "a", "--new", "b", "--suite", "quickstart"], "say what two builds"),
            (["--base", "a", "--new", "b", "--restart"], "--restart has no effect without -o"),
            (["--base-build", self.folder, "--new-build", self.folder, "--", "bench", "gemm"], "is not a program"),
        ]:
            done = run("gate", *words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(sentence, done.stderr)

    def test_a_command_that_names_its_output_itself_is_refused_in_every_spelling(self):
        for words in (["-o", "x"], ["-ox"], ["--output", "x"], ["--output=x"]):
            done = run("gate", "--base-commit", "HEAD", "--new-commit", "HEAD", "--", "bench", "gemm", *words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn("names its output itself", done.stderr)

    def test_a_commit_that_is_none_is_refused_before_the_other_is_built(self):
        repository, cache = self.folder / "repository", self.folder / "cache"
        subprocess.run(["git", "init", "-q", repository], check=True)
        subprocess.run(["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty",
                        "-m", "1"], check=True)
        for base, new in [("no-such", "HEAD"), ("HEAD", "no-such")]:
            done = run("gate", "--base-commit", base, "--new-commit", new, "--repository", repository, "--cache", cache, "--",
                       "bench", "gemm")
            self.assert_refused(done, 2, "\"no-such\" is not a commit")
            self.assertNotIn("building", done.stderr)
            self.assertFalse(cache.exists())

    def test_a_wrong_command_or_folder_is_refused_before_anything_runs(self):
        ran = self.folder / "ran"
        base = f"touch {ran}; " + self.command("1.00")
        self.assert_refused(self.gate(base, "no-such-program {out}"), 2, "command of --new begins with \"no-such-program\"")
        self.assert_refused(self.gate(base, base, "-o", "/dev/null/rounds"), 2, "can be written in /dev/null/rounds")
        self.assertFalse(ran.exists())


class Progress(GateTest):
    """Standard error while it measures."""

    def undecided(self, *more, name="kernel"):
        odd, even, base = (self.command(seconds, f"'{name}'") for seconds in ("1.05", "0.95", "1.00"))
        wavering = f"case {{out}} in *[13579]-*) {odd};; *) {even};; esac"
        return ["gate", "--base", base, "--new", wavering, "--rounds", 12, *more]

    def test_a_log_gets_a_line_each_half_minute_and_no_more(self):
        lines = [line for line in run(*self.undecided()).stderr.splitlines() if " rounds" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^\[1/12 rounds\] 1 of 1 metric open, kernel [+-]\d\.\d % .*\(at most .* left\)$")

    def test_quiet_says_nothing(self):
        self.assertEqual(run(*self.undecided("--quiet")).stderr, "")
        study = ["noise", "--minutes", 0.001, "--kernels", "update", "--effects", "50"]
        self.assertEqual(run(*study, "--quiet").stderr, "")
        self.assertRegex(run(*study).stderr, r"^\[1 round, 0\.\d of 0\.0 min\] \(about 0 s left\)\n$")

    def on_terminal(self, columns=None, name="kernel"):
        """What a terminal of so many columns is sent."""
        ours, theirs = pty.openpty()
        if columns:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *map(str, self.undecided(name=name))], env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=theirs)
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), 3)
        return said

    def test_a_line_is_no_longer_than_the_terminal_is_wide(self):
        for columns in (20, 60, 80):
            lines = [line.decode() for line in self.on_terminal(columns, "kérnel " * 20).split(b"\r\x1b[K")]
            self.assertLess(max(map(len, lines)), columns)
            self.assertIn(columns - 1, map(len, lines), "as much as there is room for")
            self.assertTrue(any(line.startswith("[11/12 rounds] 1 o") for line in lines), lines)

    def test_a_terminal_has_one_line_that_is_written_over(self):
        said = self.on_terminal()
        self.assertNotIn(b"\n", said)
        self.assertIn(b"\r\x1b[K[11/12 rounds] 1 of 1 metric open", said)
        self.assertTrue(said.endswith(b"\r\x1b[K"), said)


class ExtraWork(GateTest):
    """Real runs: what 0 % and 50 % more work take, and that no such row passes for a real one."""

    def bench(self, percent):
        out = self.folder / f"work{percent}.jsonl"
        done = run("bench", "update", "--sizes", "16 KiB", "--cache", "hot", "--backend", "reference", "--samples", 6,
                   "--warm-ups", 1, "--comm", "local", "--extra-work", f"{percent}%", "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_rows_say_so_and_only_the_gate_compares_them(self):
        base, more = self.bench(0), self.bench(50)
        row = json.loads(more.read_text().splitlines()[1])
        self.assertEqual(row["axes"]["extra_work"], "50%")
        compared = run("compare", base, base)
        self.assertEqual(compared.returncode, 5)
        self.assertIn("measured with extra work", compared.stdout)

    def test_no_other_amount_is_taken(self):
        for text in ["5", "101%", "-1%", "2.5%", "x"]:
            done = run("bench", "update", "--extra-work", text)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--extra-work is", done.stderr)
        self.assertEqual(run("bench", "e2e", "--extra-work", "5%").returncode, 2)


class Noise(GateTest):
    def test_a_short_study_goes_on_where_it_was_and_refuses_what_it_does_not_know(self):
        words = ["noise", "--minutes", 0.001, "--kernels", "update", "--effects", "50", "-o", self.folder / "study"]
        first = run(*words, "--format", "json")
        self.assertEqual(first.returncode, 0, first.stderr)
        study = json.loads(first.stdout)
        self.assertEqual(study["schema"], "dlscale.noise")
        self.assertEqual(study["kernels"][0]["rounds"], 1)
        self.assertIsNone(study["sees"])
        self.assertEqual(run(*words, "--format", "json").stdout, first.stdout)
        self.assertEqual(run("noise", "--kernels", "gem").returncode, 2)
        self.assertEqual(run("noise", "--effects", "0").returncode, 2)


if __name__ == "__main__":
    main()
