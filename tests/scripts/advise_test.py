"""scripts/advise with a program in place of dlscale: what it compares, what it keeps, and that advice fails nothing."""

import os
import shutil
import subprocess
import sys
import unittest

from ci_support import ROOT, CheckoutTest, complaint_of, git

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""


class Advise(CheckoutTest):
    def setUp(self):
        super().setUp()
        (self.checkout / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "advise", self.checkout / "scripts")
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-qm", "third")
        self.write("bin/strip", '#!/bin/sh\n[ "$1" = -o ] && cp "$3" "$2"\n')
        self.kept = self.folder / "kept"
        self.build = self.folder / "build"
        self.build.mkdir()
        shutil.copy(self.program, self.build / "dlscale")
        self.configure("Release")

    def configure(self, kind):
        (self.build / "CMakeCache.txt").write_text(f"CMAKE_BUILD_TYPE:STRING={kind}\nCMAKE_CXX_COMPILER:FILEPATH=/bin/echo\n")

    def commit(self):
        git(self.checkout, "commit", "-qm", "next", "--allow-empty")
        return git(self.checkout, "rev-parse", "HEAD")

    def advise(self, *words, **settings):
        if self.calls.exists():
            self.calls.unlink()
        known = {"DLSCALE_ADVICE_BUILDS": self.kept} | settings
        return self.run_recipe("../../scripts/advise", *(words or [self.build]), **known)

    def assert_no_gate(self, done, why):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(why, done.stdout)
        self.assertEqual([words[0] for words in self.called()], ["noise"])
        self.assertIn("advise: this machine can see", done.stdout)

    def test_it_says_what_the_machine_shows_and_why_there_is_no_gate(self):
        self.assert_no_gate(self.advise(DLSCALE_ADVICE_BUILDS=""), "no program of an earlier commit is kept here")
        self.assert_no_gate(self.advise(), "no program of one of the 50 commits before this one")

    def test_the_next_commit_is_compared_with_the_one_before(self):
        first = git(self.checkout, "rev-parse", "HEAD")
        self.advise()
        second = self.commit()
        done = self.advise()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"against {first[:12]}: 1 regressed of 2", done.stdout)
        gate = self.called()[1]
        self.assertIn(f"{first}-", gate[gate.index("--base") + 1])
        self.assertIn(f"{second}-", gate[gate.index("--new") + 1])

    def test_the_base_may_be_some_commits_back_and_only_two_programs_stay(self):
        self.advise()
        self.commit()
        self.commit()
        self.assertIn("against", self.advise().stdout)
        self.commit()
        self.advise()
        self.assertEqual(len(list(self.kept.glob("*-*"))), 2)

    def test_a_program_that_was_built_in_another_way_is_no_base(self):
        self.advise()
        self.commit()
        self.configure("Debug")
        self.assert_no_gate(self.advise(), "no program of one of the 50 commits")

    def test_local_changes_are_of_no_commit_and_are_not_kept(self):
        (self.checkout / "configs" / "suites" / "gate.yaml").write_text("changed")
        self.assert_no_gate(self.advise(), "local changes")
        self.assertFalse(self.kept.exists())

    def test_a_regression_and_an_undecided_gate_pass_and_a_program_that_fails_does_not(self):
        self.advise()
        self.commit()
        for code, expected in [(0, 0), (1, 0), (3, 0), (2, 2), (4, 4), (5, 5)]:
            self.assertEqual(self.advise(codes={"gate": [code]}).returncode, expected)
        self.assertEqual(self.advise(codes={"noise": [4]}).returncode, 4)

    def test_it_can_be_left_out_and_bad_usage_is_refused(self):
        done = self.advise(DLSCALE_ADVICE="off")
        self.assertEqual((done.returncode, self.called()), (0, []))
        self.assertIn("off", done.stdout)
        done = self.advise(self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is no folder that the program was built in", done.stderr)

    @unittest.skipUnless(PROGRAM, "the program is not named")
    def test_the_program_knows_every_command_line(self):
        self.advise()
        self.commit()
        self.advise()
        noise, gate = self.called()
        self.assertEqual(complaint_of(PROGRAM, noise), "")
        self.assertEqual(complaint_of(PROGRAM, gate), "")
        benchmark = gate[gate.index("--new") + 1].split()[2:]
        self.assertEqual(benchmark[0], "bench")
        self.assertEqual(complaint_of(PROGRAM, benchmark), "")


class TestScript(unittest.TestCase):
    def test_scripts_test_says_what_its_options_are(self):
        done = subprocess.run([ROOT / "scripts" / "test", "--help"], capture_output=True, text=True, check=True, env=os.environ)
        self.assertIn("--advise", done.stdout)
        self.assertNotIn("set -euo", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
