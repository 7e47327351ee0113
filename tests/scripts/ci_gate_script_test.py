"""docs/ci/gate.sh and nightly.sbatch as CI calls them: exit codes, what they leave, and that the real program knows how they call it.

    ci_gate_script_test.py PROGRAM
"""

import shutil
import sys
import unittest

from ci_support import CheckoutTest, complaint_of, git

try:
    import yaml
except ImportError:
    yaml = None

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""

# What is measured for a second here is of no account.
TINY = """suite: tiny
doc: One update
steps:
  - name: update
    doc: of few parameters
    command: bench update --sizes 16KiB --cache hot --backend reference --samples 2 --warm-ups 1 -o {out}/update.jsonl
    seconds: 1
"""


class Gate(CheckoutTest):
    def gate(self, *words, **settings):
        return self.run_recipe("gate.sh", *(words or ("HEAD^1", "HEAD", "results")), **settings)

    def result(self, name):
        return (self.checkout / "results" / name).read_text()

    def test_the_base_judges_both_commits_and_everything_that_ci_shows_is_there(self):
        done = self.gate()
        self.assertEqual(done.returncode, 0, done.stderr)
        noise, gate, report = self.called()
        self.assertEqual((noise[0], gate[0], report[0]), ("noise", "gate", "report"))
        builds = [gate[gate.index(option) + 1] for option in ("--base-build", "--new-build")]
        commits = [git(self.checkout, "rev-parse", name) for name in ("HEAD^1", "HEAD")]
        for build, commit in zip(builds, commits):
            self.assertIn(commit, build)
        self.assertEqual(self.result("comment.md"),
                         "<!-- dlscale -->\n1 regressed of 2\n\nthis machine can see changes of 3.0 % or more\n")
        self.assertEqual((self.result("headline.txt"), self.result("junit.xml"), self.result("metrics.txt")),
                         ("1 regressed of 2\n", "junit\n", "openmetrics\n"))

    def test_every_exit_code_of_a_gate_is_that_of_the_script(self):
        for code in (0, 1, 2, 3, 4, 5, 130, 143):
            done = self.gate(codes={"gate": [code]}, NOISE_MINUTES=0)
            self.calls.unlink()
            self.assertEqual(done.returncode, code, done.stderr)

    def test_advice_lets_pass_a_regression_and_an_undecided_gate_and_nothing_else(self):
        for code, expected in ((0, 0), (1, 0), (2, 2), (3, 0), (4, 4), (5, 5), (143, 143)):
            done = self.gate(codes={"gate": [code]}, NOISE_MINUTES=0, ADVICE="yes")
            self.calls.unlink()
            self.assertEqual(done.returncode, expected, done.stderr)
            self.assertEqual("advice only" in done.stdout, code in (1, 3))
            self.assertIn("Advice only", self.result("comment.md"))

    def test_a_gate_that_failed_leaves_no_verdict_of_an_earlier_one(self):
        self.gate(codes={"gate": [1]})
        self.calls.unlink()
        done = self.gate(codes={"gate": [4]}, ADVICE="yes")
        self.assertEqual(done.returncode, 4)
        self.assertIn("ended with exit code 4", self.result("headline.txt"))
        self.assertTrue(self.result("comment.md").startswith("<!-- dlscale -->\nthe gate ended with exit code 4"))

    def test_rounds_are_kept_for_the_same_commits_and_discarded_for_others(self):
        rounds = [self.checkout / "results" / name / "rounds.jsonl" for name in ("noise", "gate")]

        def kept_by_another_call(**settings):
            for each in rounds:
                each.write_text("rounds")
            self.gate(**settings)
            return [each.exists() for each in rounds]

        self.gate()
        self.assertEqual(kept_by_another_call(), [True, True])
        self.assertEqual(kept_by_another_call(SUITE="quickstart"), [True, False])
        git(self.checkout, "commit", "-qm", "third", "--allow-empty")
        self.assertEqual(kept_by_another_call(SUITE="quickstart"), [False, False])
        git(self.checkout, "commit", "-q", "--amend", "-m", "another third", "--allow-empty")
        self.assertEqual(kept_by_another_call(SUITE="quickstart"), [True, False], "the base is the same")

    def test_a_place_without_locks_is_told_and_no_verdict(self):
        self.write("bin/flock", "#!/bin/sh\nexit 71\n")
        done = self.gate(NOISE_MINUTES=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("without locks", done.stderr)

    def test_a_commit_is_built_once(self):
        self.gate(NOISE_MINUTES=0)
        done = self.gate(NOISE_MINUTES=0, BREAK_BUILD="yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("building", done.stderr)

    def test_a_build_that_fails_is_exit_code_4_with_what_it_said(self):
        done = self.gate(BREAK_BUILD="yes", ADVICE="yes")
        self.assertEqual(done.returncode, 4)
        self.assertIn("broken on purpose", done.stderr)
        self.assertEqual(self.called(), [])

    def test_noise_that_cannot_be_measured_ends_it(self):
        self.assertEqual(self.gate(codes={"noise": [4]}, ADVICE="yes").returncode, 4)

    def test_bad_usage_is_refused_with_what_to_write(self):
        for words, settings, sentence in [
            (["HEAD"], {}, "Write docs/ci/gate.sh BASE NEW FOLDER"),
            (["HEAD~7", "HEAD", "results"], {}, "fetch more"),
            (["--exec=x", "HEAD", "results"], {}, "is not a commit"),
            (["HEAD^1", "HEAD", "results"], {"ADVICE": "maybe"}, "Write yes or no"),
        ]:
            done = self.gate(*words, **settings)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(sentence, done.stderr)
            self.assertEqual(self.called(), [])


class Nightly(CheckoutTest):
    def nightly(self, **settings):
        return self.run_recipe("nightly.sbatch", **settings)

    def verbs(self):
        return [" ".join(words[:2]) if words[0] == "history" else words[0] for words in self.called()]

    def test_it_measures_adds_and_checks(self):
        done = self.nightly()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.verbs(), ["run", "history add", "history check"])
        run, add, check = self.called()
        self.assertEqual(run[run.index("-o") + 1], add[2])
        self.assertEqual(add[add.index("--store") + 1], check[check.index("--store") + 1])

    def test_the_last_check_is_left_in_two_forms(self):
        self.assertEqual(self.nightly(RESULTS="out").returncode, 0)
        check = self.called()[2]
        self.assertEqual([word for word in check if "=" in word], ["comment=out/check.md", "junit=out/check.xml"])
        # Those of an earlier night are none of this one.
        for name in ("check.md", "check.xml"):
            self.write("out/" + name, "of an earlier night")
        self.assertEqual(self.nightly(codes={"history check": [2]}, RESULTS="out").returncode, 2)
        for name in ("check.md", "check.xml"):
            self.assertFalse((self.checkout / "out" / name).exists(), name)

    def test_a_suspect_is_measured_twice_more_and_no_more(self):
        self.assertEqual(self.nightly(codes={"history check": [3, 3, 0]}).returncode, 0)
        self.assertEqual(self.verbs(), ["run", "history add", "history check"] * 3)
        self.assertEqual(len({words[2] for words in self.called() if words[:2] == ["history", "add"]}), 3)
        self.calls.unlink()
        self.assertEqual(self.nightly(codes={"history check": [3]}).returncode, 3)
        self.assertEqual(len(self.called()), 9)

    def test_a_regression_fails_the_job_and_so_does_what_cannot_be_measured(self):
        self.assertEqual(self.nightly(codes={"history check": [1]}).returncode, 1)
        self.assertEqual(self.nightly(codes={"run": [4]}).returncode, 4)
        self.assertEqual(self.nightly(codes={"history add": [2]}).returncode, 2)

    def test_a_crashed_cell_does_not_lose_the_night_of_the_others(self):
        for codes, expected in (({"run": [4]}, 4), ({"run": [4], "history check": [1]}, 4), ({"run": [4], "history add": [2]}, 2)):
            self.assertEqual(self.nightly(codes=codes).returncode, expected, codes)
            self.assertEqual(self.verbs(), ["run", "history add", "history check"][:2 if expected == 2 else 3], codes)
            self.calls.unlink()
        # What failed when the suspect was first measured is not forgotten when it is measured again.
        self.assertEqual(self.nightly(codes={"run": [4, 0], "history check": [3, 0]}).returncode, 4)
        self.calls.unlink()
        self.assertEqual(self.nightly(codes={"run": [4], "history add": [5]}).returncode, 4)
        self.assertEqual(self.verbs(), ["run", "history add"])

    def test_what_is_refused_or_interrupted_ends_the_night(self):
        for code in (2, 5, 6, 143):
            self.assertEqual(self.nightly(codes={"run": [code]}).returncode, code)
            self.assertEqual(self.verbs(), ["run"])
            self.calls.unlink()

    def test_a_container_has_the_program_and_is_part_of_the_series(self):
        image = self.write("image.sif", "an image")
        self.write("bin/apptainer", '#!/bin/sh\n[ "$1 $3" = "exec dlscale" ] || exit 9\nshift 3\nexec "$FAKE_PROGRAM" "$@"\n')
        done = self.nightly(IMAGE=image)
        self.assertEqual(done.returncode, 0, done.stderr)
        add = self.called()[1]
        self.assertRegex(add[add.index("--environment") + 1], "^container=sha256:[0-9a-f]{64}$")
        self.assertEqual(self.nightly(IMAGE=image, DLSCALE=self.program).returncode, 2)


@unittest.skipUnless(PROGRAM, "the program is not named")
class RealProgram(CheckoutTest):
    def test_it_knows_every_command_line_of_the_scripts(self):
        self.run_recipe("gate.sh", "HEAD^1", "HEAD", "results")
        self.write("bin/apptainer", '#!/bin/sh\nshift 3\nexec "$FAKE_PROGRAM" "$@"\n')
        self.run_recipe("nightly.sbatch", IMAGE=self.write("image.sif", "an image"))
        self.assertEqual([words[0] for words in self.called()], ["noise", "gate", "report", "run", "history", "history"])
        for words in self.called():
            self.assertEqual(complaint_of(PROGRAM, words), "")
        for words in (["gate", "--marjin", "1"], ["history", "chek"], ["bench", "update", "--size", "1KiB"]):
            self.assertIn(words[1], complaint_of(PROGRAM, words))

    def tiny_suite(self):
        (self.checkout / "configs" / "suites" / "tiny.yaml").write_text(TINY)
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-qm", "third")
        git(self.checkout, "commit", "-qm", "fourth", "--allow-empty")

    def test_a_gate_of_it_from_end_to_end(self):
        self.tiny_suite()
        # Not itself: a gate reads the whole of a program, and one with sanitizers is large.
        self.program = self.write("dlscale", f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
        done = self.run_recipe("gate.sh", "HEAD^1", "HEAD", "results", SUITE="tiny", TIME_BUDGET=1, NOISE_MINUTES=0, ADVICE="yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("advice only: exit code 3", done.stdout)
        results = self.checkout / "results"
        self.assertTrue((results / "comment.md").read_text().startswith("<!-- dlscale -->\n"))
        self.assertIn("<testcase", (results / "junit.xml").read_text())
        self.assertIn("# EOF", (results / "metrics.txt").read_text())
        self.assertTrue((results / "page" / "index.html").exists())

    def test_it_is_called_again_by_hand_after_the_next_commit(self):
        self.tiny_suite()
        self.program = self.write("dlscale", f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
        settings = {"SUITE": "tiny", "TIME_BUDGET": 0.1, "NOISE_MINUTES": 0.001, "ADVICE": "yes"}
        for name in ("fourth", "fifth"):
            done = self.run_recipe("gate.sh", "HEAD^1", "HEAD", "results", **settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            git(self.checkout, "commit", "-qm", "after " + name, "--allow-empty")

    def test_a_night_of_it_from_end_to_end(self):
        self.tiny_suite()
        suite = self.checkout / "configs" / "suites" / "tiny.yaml"
        done = self.run_recipe("nightly.sbatch", DLSCALE=PROGRAM, SUITE=suite)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 points of 1 runs were added to", done.stdout)
        self.assertTrue((self.checkout / "results" / "local" / "perf-history" / "series").is_dir())
        results = self.checkout / "results" / "local" / "nightly"
        self.assertTrue((results / "check.md").read_text().startswith("<!-- dlscale -->\nNot judged: "))
        self.assertIn('tests="1" failures="0" errors="0" skipped="1"', (results / "check.xml").read_text())

    def test_a_night_is_committed_to_the_branch_that_the_history_is_a_work_tree_of(self):
        self.tiny_suite()
        suite = self.checkout / "configs" / "suites" / "tiny.yaml"
        store = self.folder / "history"
        git(self.checkout, "worktree", "add", "-q", "--detach", store)
        git(store, "switch", "-q", "--orphan", "perf-history")
        nobody = {"HOME": self.folder, "GIT_CONFIG_NOSYSTEM": 1, "GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": "user.useConfigOnly",
                  "GIT_CONFIG_VALUE_0": "true"}
        for night in (1, 2):
            done = self.run_recipe("nightly.sbatch", DLSCALE=PROGRAM, SUITE=suite, STORE=store, **nobody)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertEqual(git(store, "status", "--porcelain"), "")
            log = git(self.checkout, "log", "--format=%an %s", "perf-history").splitlines()
            self.assertGreaterEqual(len(log), night)
            self.assertTrue(all(line.startswith("dlscale Add 20") for line in log), log)
        names = git(self.checkout, "ls-tree", "--name-only", "perf-history").splitlines()
        self.assertEqual(names, [".gitattributes", ".gitignore", "files", "format.json", "runs.jsonl", "series"])

    @unittest.skipUnless(yaml, "PyYAML is not installed: apt install python3-yaml")
    def test_nights_of_gitlab_go_on_with_the_branch_that_the_last_one_pushed(self):
        self.tiny_suite()
        suite = self.checkout / "configs" / "suites" / "tiny.yaml"
        origin = self.folder / "origin.git"
        git(self.folder, "init", "-q", "--bare", origin)
        job = yaml.safe_load((self.checkout / "docs" / "ci" / "gitlab-ci.yml").read_text())["dlscale-nightly"]
        server = {"CI_SERVER_PROTOCOL": "https", "CI_SERVER_HOST": "lab.example.org", "CI_SERVER_PORT": 443, "CI_PROJECT_PATH": "a/b",
                  "DLSCALE_HISTORY_TOKEN": "secret"}
        there = {"GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": f"url.{origin}.insteadOf",
                 "GIT_CONFIG_VALUE_0": "https://oauth2:secret@lab.example.org:443/a/b.git"}
        for night in (1, 2):
            shutil.rmtree(self.checkout / job["variables"]["STORE"], ignore_errors=True)  # as a runner cleans its checkout
            done = self.run_in_checkout("bash", "-ec", "\n".join(job["script"]), DLSCALE=PROGRAM, SUITE=suite, **job["variables"],
                                        **server, **there)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertEqual("no history was fetched" in done.stdout, night == 1)
            self.assertGreaterEqual(len(git(origin, "log", "--format=%s", "perf-history").splitlines()), night)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
