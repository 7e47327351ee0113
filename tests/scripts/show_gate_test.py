"""scripts/show_gate with a program that answers as a gate would, and one repeat with the program itself.

    show_gate_test.py PROGRAM
"""

import csv
import os
import signal
import subprocess
import sys
import time
import unittest

from support import ROOT, FolderTest, output_of

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
SCRIPT = ROOT / "scripts" / "show_gate"

# Finds what was planted, but for the seeds of which `answers` has another exit code.
DLSCALE = """#!{python}
import json, shlex, sys
words = sys.argv[1:]
assert words[0] == "gate", words
seed = int(words[words.index("--seed") + 1])
new = shlex.split(words[words.index("--new") + 1])
base = shlex.split(words[words.index("--base") + 1])
assert base[0] == sys.argv[0] and base[base.index("--extra-work") + 1] == "0%", base
planted = float(new[new.index("--extra-work") + 1].rstrip("%")) / 100
code = {answers}.get((seed, planted), 1 if planted else 0)
if code == 4:
    print("dlscale: it crashed", file=sys.stderr)
    sys.exit(4)
if code == "hang":
    open(sys.argv[0] + ".hangs", "w").close()
    import time
    time.sleep(100)
# A gate's options choose its exit codes, as (verdict, code).
verdict, code = code if isinstance(code, tuple) else ({{0: "not regressed", 1: "regressed", 3: "inconclusive"}}[code], code)
metric = {{"verdict": verdict, "base": 100e-6, "new": 100e-6 * (1 + planted), "ratio": 1 + planted,
          "ratio_low": None if verdict == "inconclusive" else 1 + planted - 0.01, "ratio_high": 1 + planted + 0.01, "p": 0.0009765625, "rounds": 10}}
print(json.dumps({{"metrics": [metric] * {metrics}}}))
sys.exit(code)
"""


class ShowGate(FolderTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "gates.csv"

    def dlscale(self, answers=None, metrics=1):
        return self.write("a folder/dlscale", DLSCALE.format(python=sys.executable, answers=answers or {}, metrics=metrics))

    def show(self, dlscale, *words):
        return output_of(sys.executable, SCRIPT, "--dlscale", dlscale, "--out", self.out, *words)

    def rows(self):
        with self.out.open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_both_are_gated_in_turn_with_a_seed_each(self):
        shown = self.show(self.dlscale({(2, 0.0): 3}), "--repeats", 3)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        rows = self.rows()
        self.assertEqual([(row["repeat"], row["extra_work"], row["exit_code"]) for row in rows],
                         [("1", "0.05", "1"), ("1", "0.0", "0"), ("2", "0.05", "1"), ("2", "0.0", "3"), ("3", "0.05", "1"), ("3", "0.0", "0")])
        self.assertEqual((rows[0]["base_us"], rows[0]["changed_us"], rows[0]["change"], rows[0]["low"], rows[0]["p"]),
                         ("100.0", "105.0", "0.05", "0.04", "0.00098"))
        self.assertEqual(rows[3]["low"], "", "it has none")
        self.assertIn("| 5 % | 3 | 0 | 0 | +5.0 to +5.0 % | 10 |", shown.stdout)
        self.assertIn("| none | 0 | 2 | 1 | +0.0 to +0.0 % | 10 |", shown.stdout)
        self.assertIn("No verdict was wrong.", shown.stdout)

    def test_the_columns_are_those_of_the_results_that_are_kept(self):
        self.assertEqual(self.show(self.dlscale(), "--repeats", 1).returncode, 0)
        kept = ROOT / "results" / "xeon-2vcpu" / "2026-11-28-regression" / "gates.csv"
        self.assertEqual(self.out.read_text(encoding="utf-8").splitlines()[0], kept.read_text(encoding="utf-8").splitlines()[0])

    def test_a_wrong_verdict_is_named(self):
        shown = self.show(self.dlscale({(1, 0.0): 1, (2, 0.1): 0}), "--repeats", 2, "--planted", "10%")
        self.assertEqual(shown.returncode, 1, shown.stderr)
        self.assertIn("wrong: 1 (0 % planted), 2 (10 % planted)", shown.stdout)

    def test_verdicts_count_whatever_the_exit_codes(self):
        passes = self.show(self.dlscale({(1, 0.05): ("inconclusive", 0), (2, 0.0): ("improved", 1)}), "--repeats", 2,
                           "--gate", "--inconclusive pass --fail-on-improvement")
        self.assertEqual(passes.returncode, 0, passes.stdout + passes.stderr)
        self.assertIn("| 5 % | 1 | 0 | 1 |", passes.stdout)
        self.assertIn("| none | 0 | 2 | 0 |", passes.stdout)
        self.out.unlink()
        shown = self.show(self.dlscale({(1, 0.05): ("improved", 1), (1, 0.0): ("inconclusive", 1)}), "--repeats", 1)
        self.assertEqual(shown.returncode, 1, shown.stderr)
        self.assertIn("wrong: 1 (5 % planted)\n", shown.stdout)

    def test_an_interrupt_leaves_what_is_known(self):
        for answers, rows in (({(2, 0.05): "hang"}, 2), ({(1, 0.05): "hang"}, None)):
            dlscale = self.dlscale(answers)
            hangs = dlscale.with_name("dlscale.hangs")
            shown = subprocess.Popen([sys.executable, SCRIPT, "--dlscale", dlscale, "--out", self.out], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, start_new_session=True)
            deadline = time.monotonic() + 60
            while not hangs.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            os.killpg(shown.pid, signal.SIGINT)
            _, errors = shown.communicate(timeout=60)
            self.assertEqual(shown.returncode, 130, errors)
            self.assertNotIn("show_gate\", line", errors)
            self.assertTrue(errors.splitlines()[-1].startswith("show_gate: interrupted"), errors)
            self.assertEqual(len(self.rows()) if self.out.exists() else None, rows)
            for path in (hangs, self.out):
                path.unlink(missing_ok=True)

    def test_what_cannot_be_shown_is_said(self):
        not_it = self.write("not_it", "#!/bin/sh\n")
        for make, fragment in ((lambda: not_it, "does not answer as dlscale gate does"),
                               (lambda: self.folder / "none", "cannot be run"),
                               (lambda: self.dlscale({(1, 0.05): 4}), "it crashed"),
                               (lambda: self.dlscale(metrics=2), "has 2 metrics")):
            self.assert_refused(self.show(make(), "--repeats", 1), fragment)
            self.assertFalse(self.out.exists(), "the next try would be refused")
        words = self.show(self.dlscale(), "--gate", "'")
        self.assertEqual(words.returncode, 2)
        self.assertIn("no words of a shell", words.stderr)
        self.assertNotIn("Traceback", words.stderr)
        self.assert_refused(self.show(self.dlscale(), "--out", self.folder / "none" / "q.csv"),
                            "q.csv cannot be written: No such file or directory. Name another file with --out.")
        self.out.write_text("precious")
        self.assertEqual(self.show(self.dlscale(), "--repeats", 1).returncode, 2)
        self.assertEqual(self.out.read_text(), "precious")

    def test_one_repeat_with_the_program(self):
        """Its verdicts are this machine's; that there is one of both is what counts here."""
        measured = "bench gemm --backend reference --sizes 16x16x16 --cache hot --samples 10 --warm-ups 1"
        shown = self.show(PROGRAM, "--repeats", 1, "--measured", measured, "--gate", "--rounds 5")
        self.assertIn(shown.returncode, (0, 1), shown.stderr)
        self.assertEqual([row["extra_work"] for row in self.rows()], ["0.05", "0.0"])
        self.assertTrue(all(float(row["base_us"]) > 0 and row["rounds"] == "5" for row in self.rows()), self.rows())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
