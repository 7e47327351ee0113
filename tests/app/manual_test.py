"""The manual, which help2man writes from the help of the program, and dlscale help."""

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


@unittest.skipUnless(shutil.which("help2man") and shutil.which("cmake"), "help2man or cmake is not installed")
class Manual(ProgramTest):
    def pages(self):
        folder = self.folder / "man1"
        words = ["cmake", "-D", f"PROGRAM={PROGRAM}", "-D", f"HELP2MAN={shutil.which('help2man')}", "-D", f"FOLDER={folder}",
                 "-P", str(SOURCE / "cmake" / "write_manual.cmake")]
        done = subprocess.run(words, text=True, capture_output=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {path.name: path.read_text().replace("\\-", "-") for path in folder.iterdir()}

    def test_every_command_has_a_page_with_its_options(self):
        pages = self.pages()
        names = verbs()
        self.assertGreaterEqual(len(names), 17)
        self.assertLessEqual({"dlscale.1", "dlscale-bench-conv.1", *(f"dlscale-{verb}.1" for verb in names)}, set(pages))
        for verb in names:
            text = re.sub(r"\\f[BR]", "", pages[f"dlscale-{verb}.1"])
            shown = run(verb, "--help").stdout
            shown = run(verb, "--help-all").stdout if "--help-all" in shown else shown
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", shown, re.MULTILINE):
                self.assertIn(option, text, verb)
        self.assertIn("Exit codes: 0", pages["dlscale.1"])

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_finds_nothing_wrong(self):
        self.pages()
        for path in sorted((self.folder / "man1").iterdir()):
            result = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-rLL=100n", path], text=True, capture_output=True, timeout=60)
            if "preconv" in result.stderr:
                self.skipTest("this groff reads no UTF-8")
            self.assertEqual((result.returncode, result.stderr), (0, ""), path)


class Help(ProgramTest):
    def test_help_of_the_program_and_of_verbs(self):
        overview = run("help")
        self.assertEqual(overview.returncode, 0)
        self.assertEqual(overview.stdout, run("--help").stdout)
        codes = re.sub(r"\s+", " ", overview.stdout).partition("Exit codes: ")[2]
        self.assertEqual(re.findall(r"(?:^|; )(\d+(?:, \d+)*) ", codes), ["0", "1", "2", "3", "4", "5", "6", "130, 143"])
        self.assertEqual(run("help", "compare").stdout, run("compare", "--help").stdout)

    def test_a_page_has_lines_of_100_columns(self):
        for verb in verbs():
            for line in run(verb, "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_every_verb_fits_a_screen_and_shows_the_rest_on_demand(self):
        page, all_options = run("predict", "--help").stdout, run("predict", "--help-all").stdout
        self.assertNotIn("--fusion-threshold", page)
        self.assertIn("--fusion-threshold", all_options)
        for line in re.findall(r"^  .*?--[\w-]+", page, re.MULTILINE):
            self.assertIn(line, all_options)
        for verb in verbs():
            page = run(verb, "--help").stdout
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
