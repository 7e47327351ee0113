"""Completion: the scripts that the program writes, as bash, zsh and fish use them."""

import os
import re
import shutil
import subprocess
import unittest

from program import ProgramTest, environment, help_of, main, run

# What bash has done before it calls: the line, its words and the number of the last. COMP_WORDBREAKS splits them at "=".
BASH = """
source "$SCRIPT"
COMP_WORDS=(WORDS) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_dlscale 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


def commands():
    """The words that call each command, from the program's help: [], ["bench"], ["bench", "conv"] …"""
    found = [[]]
    for words in found:
        below = help_of(*words).partition("Subcommands:\n")[2]
        found += [[*words, name] for name in re.findall(r"^  (\w[\w-]*)", below, re.MULTILINE)]
    return found


class Completion(ProgramTest):
    def script(self, shell):
        path = self.folder / f"dlscale.{shell}"
        if not path.exists():
            written = run("__completion", shell)
            self.assertEqual((written.returncode, written.stderr), (0, ""))
            path.write_text(written.stdout)
        return path

    def in_bash(self, *words):
        """What bash offers for the last word."""
        array = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ("dlscale", *words))
        done = subprocess.run(["bash", "--norc", "-c", BASH.replace("WORDS)", f"{array})", 1)], text=True, capture_output=True,
                              env=environment() | {"SCRIPT": str(self.script("bash"))}, timeout=60, cwd=self.folder)
        self.assertEqual(done.stderr, "", words)
        return done.stdout.split("\n")[:-1] if done.stdout.strip() else []

    def test_hidden_words_are_refused_without_theirs(self):
        self.assert_refused(run("__completion"), 2, "__completion SHELL")
        self.assert_refused(run("__completion", "bahs"), 2, '"bahs" is not a shell. Write bash, fish or zsh.')
        self.assert_refused(run("__hello", "two"), 2, "two", "not a number of ranks")
        self.assertNotIn("__", help_of())

    def test_bash_offers_every_command_and_option(self):
        found = commands()
        self.assertGreaterEqual(len(found), 40)
        for words in found:
            shown = help_of(*words)
            names = re.findall(r"^  (?:-\w,)?(--[\w-]+)", shown, re.MULTILINE)
            self.assertTrue(names, words)
            self.assertLessEqual(set(names), set(self.in_bash(*words, "-")), words)
            for name in re.findall(r"^  (\w[\w-]*)", shown.partition("Subcommands:\n")[2], re.MULTILINE):
                self.assertIn(name, self.in_bash(*words, name[:-1]))

    def test_bash_completes_a_dozen_lines(self):
        for line, expected in [
            ("pred", ["predict"]),
            ("bench co", ["conv", "comm"]),
            ("history anno", ["annotate"]),
            ("predict --netw", ["--network"]),
            ("predict --network alexnet --ra", ["--ranks"]),
            ("predict --network resnet5", ["resnet50", "resnet50_v1.5"]),
            ("bench conv --network alexnet,resnet5", ["alexnet,resnet50", "alexnet,resnet50_v1.5"]),
            ("predict --cluster = p40", ["p40x16"]),
            ("run quickst", ["quickstart"]),
            ("predict --color al", ["always"]),
            ("predict --color = al", ["always"]),
            ("predict --ranks ", []),
            ("bench conv --samples ", []),
            ("calibrate x --cache ho", ["hot"]),
            ("run quickstart --distribute id", ["idle"]),
            ("help ", ["--help", "-h"]),
            ("no_such --thing", []),
        ]:
            self.assertEqual(self.in_bash(*line.split(" ")), expected, line)

    def test_bash_completes_files(self):
        (self.folder / "results.jsonl").write_text("")
        (self.folder / "results").mkdir()
        for words in [["report"], ["predict", "--machine"], ["predict", "--machine", "="]]:
            self.assertEqual(sorted(self.in_bash(*words, "resu")), ["results", "results.jsonl"], words)

    def test_bash_registers_the_program(self):
        result = subprocess.run(["bash", "--norc", "-c", f"source '{self.script('bash')}'; complete -p dlscale"], text=True,
                                capture_output=True, timeout=60)
        self.assertEqual(result.stdout, "complete -F _dlscale dlscale\n")

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shellcheck_finds_nothing_wrong(self):
        checked = subprocess.run(["shellcheck", "--shell=bash", self.script("bash")], text=True, capture_output=True, timeout=120)
        self.assertEqual((checked.returncode, checked.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_with_descriptions(self):
        (self.folder / "tiny.jsonl").write_text("")
        for line, expected in [("pred", "predict\tPredict"), ("bench gem", "gemm\t"), ("predict --color al", "always\t"),
                               ("predict --netw", "--network\t"), ("report tiny.j", "tiny.jsonl"), ("predict --ranks ", "")]:
            command = f"source '{self.script('fish')}'; complete -C 'dlscale {line}'"
            result = subprocess.run(["fish", "--no-config", "-c", command], text=True, capture_output=True, timeout=60,
                                    env=os.environ | {"HOME": str(self.folder)}, cwd=self.folder)
            self.assertEqual(result.stderr, "", line)
            self.assertTrue(result.stdout.startswith(expected) if expected else not result.stdout, (line, result.stdout))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_hands_the_options_of_the_command_on(self):
        """With zsh's own _arguments replaced by one that prints what it is given."""
        script = f"""
compdef() {{ : }}
_arguments() {{ print -rl -- "$CURRENT $words" "$@" }}
source '{self.script('zsh')}'
words=(dlscale "$@") CURRENT=$#words
_dlscale
"""
        def given(*words):
            done = subprocess.run(["zsh", "-f", "-c", script, "zsh", *words], text=True, capture_output=True, timeout=60)
            self.assertEqual(done.stderr, "", words)
            return done.stdout.splitlines()

        self.assertEqual(given("")[0], "2 dlscale ")
        self.assertRegex(given("")[-1], r'^:command:\(\(.*predict\\:"')
        shown = given("predict", "--color", "auto", "")
        self.assertEqual(shown[0], "4 dlscale --color auto ")
        self.assertIn('*--color[Colours in tables]:value:{compset -P "*,"; compadd -- auto always never}',
                      shown)
        self.assertTrue(any(line.startswith("*--machine[Hardware by measurements") and line.endswith(":file:_files") for line in shown), shown)
        self.assertEqual(given("bench", "gemm", "")[0], "2 dlscale ")
        self.assertIn("*:file:_files", given("report", ""))


if __name__ == "__main__":
    main()
