"""The manual, which help2man writes from the help of the program, and dlscale help."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import PROGRAM, ProgramTest, help_of, main, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def verbs():
    """As the program's help lists them."""
    lines = help_of().split("Subcommands:\n")[1].splitlines()
    return [line.split()[0] for line in lines if re.match(r"  \S", line)]


@unittest.skipUnless(shutil.which("help2man") and shutil.which("cmake"), "help2man or cmake is not installed")
class Manual(ProgramTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        words = ["cmake", "-D", f"PROGRAM={PROGRAM}", "-D", f"HELP2MAN={shutil.which('help2man')}", "-D", f"FOLDER={folder.name}/man1",
                 "-P", str(SOURCE / "cmake" / "write_manual.cmake")]
        done = subprocess.run(words, text=True, capture_output=True, timeout=300)
        if (done.returncode, done.stderr) != (0, ""):
            raise AssertionError(done.stderr or done.stdout)
        cls.paths = sorted(pathlib.Path(folder.name, "man1").iterdir())

    def test_every_command_has_a_page_with_its_options(self):
        pages = {path.name: path.read_text().replace("\\-", "-") for path in self.paths}
        names = verbs()
        self.assertGreaterEqual(len(names), 17)
        self.assertLessEqual({"dlscale.1", "dlscale-bench-conv.1", *(f"dlscale-{verb}.1" for verb in names)}, set(pages))
        for verb in names:
            text = re.sub(r"\\f[BR]", "", pages[f"dlscale-{verb}.1"])
            shown = help_of(verb)
            shown = run(verb, "--help-all").stdout if "--help-all" in shown else shown
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", shown, re.MULTILINE):
                self.assertIn(option, text, verb)
        self.assertIn("Exit codes: 0", pages["dlscale.1"])

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_finds_nothing_wrong(self):
        for path in self.paths:
            result = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-rLL=100n", path], text=True, capture_output=True, timeout=60)
            if "preconv" in result.stderr:
                self.skipTest("this groff reads no UTF-8")
            self.assertEqual((result.returncode, result.stderr), (0, ""), path)


class Help(ProgramTest):
    def test_help_of_the_program_and_of_verbs(self):
        overview = run("help")
        self.assertEqual(overview.returncode, 0)
        self.assertEqual(overview.stdout, help_of())
        codes = re.sub(r"\s+", " ", overview.stdout).partition("Exit codes: ")[2]
        self.assertEqual(re.findall(r"(?:^|; )(\d+(?:, \d+)*) ", codes), ["0", "1", "2", "3", "4", "5", "6", "130, 143"])
        self.assertEqual(run("help", "compare").stdout, help_of("compare"))

    def test_a_page_has_lines_of_100_columns(self):
        for verb in verbs():
            for line in help_of(verb).splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_every_verb_fits_a_screen_and_shows_the_rest_on_demand(self):
        page, all_options = help_of("predict"), run("predict", "--help-all").stdout
        self.assertNotIn("--fusion-threshold", page)
        self.assertIn("--fusion-threshold", all_options)
        for line in re.findall(r"^  .*?--[\w-]+", page, re.MULTILINE):
            self.assertIn(line, all_options)
        for verb in verbs():
            page = help_of(verb)
            self.assertLessEqual(len(page.splitlines()), 50, verb)
            self.assertNotRegex(page, "Excludes|Needs:")

    def test_benchmarks_fit_a_screen_and_show_the_rest_on_demand(self):
        for name in ("comm", "conv", "e2e", "gemm", "io", "latency", "memory", "overhead", "peak", "update"):
            page = run("bench", name, "--help").stdout
            self.assertLessEqual(len(page.splitlines()), 50, name)
            self.assertNotIn("--order-seed", page)
            self.assertIn("--order-seed", run("bench", name, "--help-all").stdout)

    def test_an_unknown_verb_is_refused_with_the_nearest(self):
        self.assert_refused(run("help", "comapre"), 2, "comapre", 'Did you mean "compare"?')


if __name__ == "__main__":
    main()
