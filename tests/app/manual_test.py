"""The manual that the program writes, and dlscale help."""

import pathlib
import re
import shutil
import subprocess
import unittest

from program import PROGRAM, ProgramTest, main, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def verbs():
    """As the program's help lists them."""
    lines = run("--help").stdout.split("Subcommands:\n")[1].splitlines()
    return [line.split()[0] for line in lines if re.match(r"  \S", line)]


class Manual(ProgramTest):
    def pages(self):
        folder = self.folder / "man1"
        result = run("__manual", folder, variables={"SOURCE_DATE_EPOCH": "1769860800"})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        return {path.name: path.read_text() for path in folder.iterdir()}

    def test_every_verb_has_a_page_with_its_options(self):
        pages = self.pages()
        names = verbs()
        self.assertGreaterEqual(len(names), 17)
        self.assertEqual(set(pages), {"dlscale.1"} | {f"dlscale-{verb}.1" for verb in names})
        for verb in names:
            text = pages[f"dlscale-{verb}.1"]
            self.assertTrue(text.startswith(f".TH DLSCALE-{verb.upper()} 1 2026-01-31 "), text[:80])
            plain = text.replace("\\-", "-")
            help_text = run(verb, "--help").stdout
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_text, re.MULTILINE):
                self.assertIn(f"\\fB{option}\\fR", plain, verb)
            self.assertIn(f".BR dlscale-{verb} (1)", pages["dlscale.1"])

    def test_commands_of_a_verb_are_in_its_page(self):
        text = self.pages()["dlscale-bench.1"].replace("\\-", "-")
        for word in ['.SS "dlscale bench conv"', '.SS "dlscale bench e2e"', "--schedule", "--cores-per-rank", "Default: resnet50."]:
            self.assertIn(word, text)
        self.assertIn("DLSCALE_HISTORY", self.pages()["dlscale-history.1"])

    def test_no_text_is_taken_for_a_macro(self):
        known = {"TH", "ad", "SH", "SS", "TP", "PP", "BR", "B", "nf", "fi"}
        for name, text in self.pages().items():
            used = set(re.findall(r"^[.'](\S*)", text, re.MULTILINE))
            self.assertLessEqual(used, known, name)
            self.assertNotRegex(text, r"(?m)[ \t]$", name)

    def test_a_page_is_the_same_again_and_dates_are_checked(self):
        self.assertEqual(self.pages(), self.pages())
        self.assert_refused(run("__manual", self.folder, variables={"SOURCE_DATE_EPOCH": "soon"}), 2, "SOURCE_DATE_EPOCH", "soon")

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_finds_nothing_wrong(self):
        self.pages()
        files = sorted((self.folder / "man1").iterdir())
        result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *files], text=True, capture_output=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_finds_nothing_wrong(self):
        self.pages()
        for path in sorted((self.folder / "man1").iterdir()):
            result = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=100n", path], text=True, capture_output=True,
                                    timeout=60)
            if "preconv" in result.stderr:
                self.skipTest("this groff reads no UTF-8")
            self.assertEqual((result.returncode, result.stderr), (0, ""), path)

    def test_variables_that_the_sources_read_are_those_of_the_manual(self):
        read = set()
        for folder in ["core", "backend", "bench", "model", "report", "train", "app"]:
            for path in (SOURCE / folder).rglob("*.?pp"):
                if path.name != "topics.cpp":
                    read |= set(re.findall(r'"(DLSCALE_[A-Z_]+[A-Z])"', path.read_text()))
        told = run("help", "environment").stdout
        self.assertEqual(set(re.findall(r"^(DLSCALE_\w+)$", told, re.MULTILINE)), read)
        for variable in read:
            self.assertIn(f"\\fB{variable}\\fR", self.pages()["dlscale.1"])


class Help(ProgramTest):
    def test_topics_are_explained_and_verbs_too(self):
        overview = run("help")
        self.assertEqual(overview.returncode, 0)
        for word in ["predict", "exit-codes", "statistics", "environment"]:
            self.assertIn(word, overview.stdout)
        codes = run("help", "exit-codes").stdout
        self.assertEqual([line.split()[0] for line in codes.splitlines()], ["0", "1", "2", "3", "4", "5", "6", "130", "143"])
        self.assertIn("median", run("help", "statistics").stdout)
        self.assertEqual(run("help", "compare").stdout, run("compare", "--help").stdout.replace(str(PROGRAM), "dlscale"))

    def test_an_unknown_topic_is_refused_with_the_nearest(self):
        self.assert_refused(run("help", "exit-code"), 2, "exit-codes")


if __name__ == "__main__":
    main()
