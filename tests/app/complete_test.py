"""Completion as shells do it: the scripts of scripts/completion, loaded by bash, zsh and fish where these are installed."""

import os
import pathlib
import shutil
import subprocess
import unittest

from program import PROGRAM, ProgramTest, environment, main, run

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "completion"

# What bash has done before it calls: the line, its words and the number of the last. COMP_WORDBREAKS parts them at "=".
BASH = """
source "$SCRIPT"
COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_WORDS=($WORDS) COMP_CWORD=$CWORD
_dlscale "$PROGRAM" "" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


def in_bash(line, words=None, folder=None):
    """The words that bash offers at the end of `line`; `words`, if it parts them otherwise than at blanks."""
    words = line.split(" ") if words is None else words
    variables = environment() | {"SCRIPT": str(SCRIPTS / "dlscale.bash"), "LINE": line, "PROGRAM": PROGRAM,
                                 "CWORD": str(len(words) - 1)}
    array = " ".join("''" if word == "" else "'" + word.replace("'", "'\\''") + "'" for word in words)
    result = subprocess.run(["bash", "--norc", "-c", BASH.replace("($WORDS)", f"({array})")], env=variables, text=True,
                            capture_output=True, timeout=60, cwd=folder)
    return result.stdout.split("\n")[:-1] if result.stdout.strip() else []


class Completion(ProgramTest):
    def test_the_program_prints_a_candidate_a_line_with_its_meaning(self):
        result = run("__complete", "fish", "dlscale comp")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        word, doc = result.stdout.rstrip("\n").split("\t")
        self.assertEqual(word, "compare")
        self.assertGreater(len(doc), 10)

    def test_whatever_is_typed_is_no_error(self):
        for line in ["", "dlscale", "dlscale '", 'dlscale predict --network "alex', "dlscale predict --network alexnet\\",
                     "dlscale no_such --thing ", "dlscale -- -- --", "dlscale gate -- gate -- gate -- ben", "dlscale \t\n bench",
                     "dlscale predict --no-such-option=", "dlscale bench conv --layers " + "x," * 300]:
            result = run("__complete", "zsh", line)
            self.assertEqual((result.returncode, result.stderr), (0, ""), line)

    def test_hidden_words_are_refused_without_theirs(self):
        self.assert_refused(run("__complete"), 2, "__complete SHELL LINE")
        self.assert_refused(run("__complete", "foo", "dlscale comp"), 2, "bash, zsh or fish")
        self.assert_refused(run("__manual"), 2, "__manual FOLDER")
        self.assert_refused(run("__hello", "two"), 2, "two", "no number of ranks")
        self.assertNotIn("__", run("--help").stdout)

    def test_configurations_that_cannot_be_read_are_not_offered(self):
        result = run("__complete", "bash", "dlscale predict --network ", variables={"DLSCALE_CONFIGS": "/no/such"})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, ":files\n", ""))

    def test_bash_completes_a_dozen_half_typed_lines(self):
        for line, expected in [
            ("dlscale pred", ["predict"]),
            ("dlscale bench co", ["conv", "comm"]),
            ("dlscale history anno", ["annotate"]),
            ("dlscale predict --netw", ["--network"]),
            ("dlscale predict --network resnet5", ["resnet50", "resnet50_v1.5"]),
            ("dlscale predict --cluster p40", ["p40x16"]),
            ("dlscale predict --schedule wait_free,horo", ["wait_free,horovod"]),
            ("dlscale plan --objective c", ["cost"]),
            ("dlscale plan --transport grpc,coll", ["grpc,collectives"]),
            ("dlscale predict --callers sev", ["several_nodes"]),
            ("dlscale bench conv --backend refer", ["reference"]),
            ("dlscale bench comm --mode non", ["nonblocking"]),
            ("dlscale run quickst", ["quickstart"]),
            ("dlscale gate --canary -- bench gem", ["gemm"]),
            ("dlscale config show predict --networ", ["--network"]),
            ("dlscale help exit", ["exit-codes"]),
        ]:
            self.assertEqual(in_bash(line), expected, line)

    def test_bash_gets_what_follows_an_equals_sign(self):
        words = ["dlscale", "predict", "--network", "=", "alex"]
        self.assertEqual(in_bash("dlscale predict --network=alex", words), ["alexnet", "alexnet_owt"])

    def test_bash_completes_files_and_folders_itself(self):
        (self.folder / "results.jsonl").write_text("")
        (self.folder / "results").mkdir()
        self.assertEqual(sorted(in_bash("dlscale report resu", folder=self.folder)), ["results", "results.jsonl"])
        self.assertEqual(in_bash("dlscale data info resu", folder=self.folder), ["results"])

    def test_bash_registers_the_program(self):
        script = SCRIPTS / "dlscale.bash"
        result = subprocess.run(["bash", "--norc", "-c", f"source '{script}'; complete -p dlscale"], text=True,
                                capture_output=True, timeout=60)
        self.assertEqual(result.stdout, "complete -F _dlscale dlscale\n")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_with_meanings(self):
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "dlscale").symlink_to(PROGRAM)
        variables = environment() | {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(self.folder)}
        for line, expected in [("dlscale pred", "predict\t"), ("dlscale predict --network alexn", "alexnet"),
                               ("dlscale predict --network=alexn", "--network=alexnet"), ("dlscale report tiny", "tiny.yaml")]:
            command = f"source '{SCRIPTS / 'dlscale.fish'}'; complete -C '{line}'"
            result = subprocess.run(["fish", "--no-config", "-c", command], env=variables, text=True, capture_output=True,
                                    timeout=60, cwd=self.folder)
            self.assertTrue(result.stdout.startswith(expected), (line, result.stdout, result.stderr))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_with_meanings(self):
        """With zsh's own functions replaced by ones that print what they are given."""
        script = f"""
compdef() {{ : }}
_describe() {{ print -rl -- ${{(P)2}} }}
_files() {{ print -r -- "files $*" }}
source '{SCRIPTS / 'dlscale.zsh'}'
complete_line() {{ words=("$@"); CURRENT=$#words; PREFIX=$words[-1]; _dlscale; print -- -- }}
complete_line '{PROGRAM}' pred
complete_line '{PROGRAM}' predict --network alexn
complete_line '{PROGRAM}' data info ''
"""
        result = subprocess.run(["zsh", "-f", "-c", script], env=environment(), text=True, capture_output=True, timeout=60)
        verb, network, folder = result.stdout.split("--\n")[:3]
        self.assertTrue(verb.startswith("predict:"), result.stdout + result.stderr)
        self.assertEqual(network, "alexnet\nalexnet_owt\nfiles \n")
        self.assertEqual(folder, "files -/\n")


if __name__ == "__main__":
    main()
