"""dlscale history bisect as a shell sees it: what it prints, what it refuses, and a bisection of commits whose programs are small
scripts that say how long they took, so that nothing here depends on how busy the machine is."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from history_test import History, google, moment
from program import PROGRAM, main, run
from result_text import result_text

# As CMake makes the program of a commit: here it copies a script.
CMAKE_LISTS = """cmake_minimum_required(VERSION 3.16)
project(made_up NONE)
add_custom_target(dlscale ALL COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/program ${CMAKE_BINARY_DIR}/dlscale)
"""
PRESETS = {"version": 3, "configurePresets": [{"name": "release", "binaryDir": "${sourceDir}/build/release"}]}
# Times of ten repetitions, as JSON of Google Benchmark, in the file that the last word names. A program that is told of two
# outputs, or of other words than those that were recorded, fails.
PROGRAM_TEXT = """#!/bin/sh
[ "$1 $2 $3 $4 $5 $#" = "bench gemm --sizes 16x16x16 -o 6" ] || exit 2
printf '{"context": {"host_name": "here"}, "benchmarks": [' > "$6"
for i in 1 2 3 4 5 6 7 8 9 10; do
  printf '{"name": "k", "run_name": "k", "run_type": "iteration", "repetition_index": %s, "real_time": SECONDS%s, "time_unit": "s"},' "$i" "$i" >> "$6"
done
printf '{"name": "x_mean", "run_type": "aggregate", "real_time": 1, "time_unit": "s"}]}' >> "$6"
"""


def result(seconds, command, ranks=1):
    return result_text("gemm", {"size": "16x16x16"}, {"time": seconds}, command, ranks)


class Bisect(History):
    """24 commits, of which the last nine are slower. The history has those before number 12 and from 18 on."""

    SLOW = 15
    MEASURED = [*range(12), *range(18, 24)]
    BROKEN = []  # those that cannot be built
    made = []  # the repository of all tests
    stores = {}  # of all tests, by what was added
    COMMAND = ["./dlscale", "bench", "gemm", "--sizes", "16x16x16"]

    def setUp(self):
        super().setUp()
        if not self.made:
            self.made.append(tempfile.TemporaryDirectory())
            self.make_repository(pathlib.Path(self.made[0].name))
        self.repository = shutil.copytree(self.made[0].name, self.folder / "code")
        self.commits = self.git("log", "--reverse", "--format=%H").splitlines()

    def make_repository(self, folder):
        def git(*words):
            self.git(*words, folder=folder)

        git("init", "-q")
        for name, value in [("name", "T"), ("email", "t@example.org")]:
            git("config", f"user.{name}", value)
        (folder / "CMakePresets.json").write_text(json.dumps(PRESETS))
        program = folder / "program"
        for number in range(24):
            (folder / "CMakeLists.txt").write_text("message(FATAL_ERROR broken)\n" if number in self.BROKEN else CMAKE_LISTS)
            program.write_text(PROGRAM_TEXT.replace("SECONDS", self.seconds(number)) + f"# {number}\n")
            program.chmod(0o755)
            git("add", ".")
            git("commit", "-q", "-m", str(number))

    def seconds(self, number):
        return "1.30" if number >= self.SLOW else "1.00"

    def git(self, *words, folder=None):
        done = subprocess.run(["git", "-C", folder or self.repository, *words], check=True, text=True, capture_output=True)
        return done.stdout.strip()

    def add_each(self, text):
        """`text` of the seconds of a commit is what was measured of it."""
        runs = tuple((text(float(self.seconds(number)) + 1e-4 * number), self.commits[number], moment(number))
                     for number in self.MEASURED)
        if runs not in self.stores:
            for content, commit, time in runs:
                added = self.history("add", self.write("run.json", content), "--commit", commit, "--time", time)
                self.assertEqual(added.returncode, 0, added.stderr)
            self.stores[runs] = tempfile.TemporaryDirectory()
            shutil.copytree(self.store, self.stores[runs].name, dirs_exist_ok=True)
        shutil.copytree(self.stores[runs].name, self.store, dirs_exist_ok=True)

    def bisect(self, *words, **more):
        return self.history("bisect", self.commits[18][:10], "--repository", self.repository, *words, **more)

    def execute(self, *words, commit=None):
        return run("history", "bisect", commit or self.commits[18][:10], "--store", self.store, "--repository", self.repository,
                   "--execute", *words, variables={"XDG_CACHE_HOME": str(self.folder / "cache")})


class Printed(Bisect):
    def test_is_what_git_is_to_run(self):
        self.add_each(google)
        self.assert_refused(self.bisect(), 2, "does not say by which command", "-- bench")
        told = self.bisect("--", "bench", "conv", "--batch", "8")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn(f"git bisect start {self.commits[18]} {self.commits[11]}", told.stdout)
        self.assertIn(f"gate --base-commit {self.commits[11]}", told.stdout)
        self.assertIn("bench conv --batch 8", told.stdout)
        self.assertIn("125", told.stdout)
        elsewhere = self.history("bisect", self.commits[18], "--repository", self.folder, "--", "bench")
        self.assert_refused(elsewhere, 2, "is not in a git repository")

    def test_has_the_recorded_command_without_its_output_however_that_is_spelt(self):
        self.add_each(lambda seconds: result(seconds, [*self.COMMAND, "--output=r.jsonl"]))
        told = self.bisect()
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("-- bench gemm --sizes 16x16x16;", told.stdout)
        for output in [["-o", "r.jsonl"], ["-or.jsonl"], ["--output", "r.jsonl"], ["--output=r.jsonl"]]:
            told = self.bisect("--", "bench", "conv", *output, "--batch", "8")
            self.assertIn("-- bench conv --batch 8;", told.stdout)

    def test_takes_what_launches_ranks_from_its_caller(self):
        self.add_each(lambda seconds: result(seconds, [*self.COMMAND, "--ranks", "2"], ranks=2))
        self.assert_refused(self.bisect(), 2, "on 2 ranks", "-- run SUITE")
        told = self.bisect("--", "run", "mine")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("-- run mine;", told.stdout)

    def words_of(self, command, line):
        """What the shell hands to the command."""
        self.assertTrue(line.startswith(command), line)
        done = subprocess.run(["sh", "-c", "printf '%s\\0'" + line.removeprefix(command)], text=True, capture_output=True,
                              cwd=self.repository)
        return done.stdout.split("\0")[:-1]

    def rename_commits(self, names):
        """As a history of 0.2.0, which took every word for a commit's name."""
        for path in self.store.rglob("*.json*"):
            text = path.read_text()
            for number, name in names.items():
                text = text.replace(self.commits[number], name)
            path.write_text(text)

    def test_has_names_of_commits_as_words_that_no_shell_takes_apart(self):
        names = {11: "before;touch${IFS}gone", 18: "after`touch${IFS}gone`"}
        for number, name in names.items():
            self.git("branch", name, self.commits[number])
        self.add_each(google)
        self.rename_commits(names)
        told = self.history("bisect", names[18], "--repository", self.repository, "--", "bench")
        self.assertEqual(told.returncode, 0, told.stderr)
        lines = told.stdout.splitlines()
        self.assertEqual(self.words_of("git bisect start", lines[1]), [names[18], names[11]])
        [script] = self.words_of("git bisect run sh -c", lines[2])
        words = self.words_of(str(PROGRAM), script)
        self.assertEqual(words[words.index("--base-commit") + 1], names[11])
        self.assertFalse((self.repository / "gone").exists())


class Executed(Bisect):
    def test_finds_the_slow_commit_by_the_recorded_command(self):
        self.add_each(lambda seconds: result(seconds, [*self.COMMAND, "--output=r.jsonl"]))
        head = self.git("rev-parse", "HEAD")
        found = self.execute()
        self.assertEqual(found.returncode, 1, found.stderr)
        self.assertEqual(found.stdout, self.commits[self.SLOW] + "\n")
        # Nobody's files were moved, and no bisection is left.
        self.assertEqual(self.git("rev-parse", "HEAD"), head)
        self.assertNotIn("dlscale-bisect", self.git("worktree", "list"))
        self.assertEqual(self.git("for-each-ref", "refs/bisect"), "")

    def test_ends_as_the_gate_does_where_a_run_fails(self):
        self.add_each(google)
        failed = self.execute("--", "bench", "gemm", "--sizes", "17x17x17")
        self.assertEqual(failed.returncode, 2, failed.stdout + failed.stderr)
        self.assertEqual(failed.stdout, "")
        self.assertRegex(failed.stderr, r"the run of \w+ in round 1 ended with exit code 2(.|\n)*the gate of \w+ ended with exit code 2")


class Builds(Bisect):
    def gate(self, compiler):
        """Of one commit against itself, and the folders that its builds are in."""
        cache = self.folder / "cache"
        done = run("gate", "--base-commit", "HEAD", "--new-commit", "HEAD", "--repository", self.repository, "--cache", cache,
                   "--rounds", 5, "--", "bench", "gemm", "--sizes", "16x16x16", variables={"CXX": str(compiler)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(path for path in cache.iterdir() if path.is_dir())

    def test_by_another_compiler_are_others(self):
        compiler = self.folder / "compiler"
        for version, builds in [(1, 1), (1, 1), (2, 2)]:
            compiler.write_text(f"#!/bin/sh\necho version {version}\n")
            compiler.chmod(0o755)
            self.assertEqual(len(self.gate(compiler)), builds)

    def test_are_brought_up_to_date(self):
        """As where a library that they use has changed."""
        [build] = self.gate("c++")
        program = build / "build" / "release" / "dlscale"
        program.unlink()
        self.assertEqual(self.gate("c++"), [build])
        self.assertTrue(program.exists())


class BrokenBuilds(Bisect):
    made = []
    BROKEN = range(12, 18)

    def test_end_with_4_and_say_which(self):
        self.add_each(google)
        broken = self.execute("--", "bench", "gemm", "--sizes", "16x16x16")
        self.assertEqual(broken.returncode, 4, broken.stdout + broken.stderr)
        self.assertEqual(broken.stdout, "")
        [name] = re.findall(r"dlscale: the gate of (\w+) ended with exit code 4", broken.stderr)
        self.assertTrue(any(self.commits[number].startswith(name) for number in self.BROKEN), name)
        self.assertRegex(broken.stderr, f"the configuration of {name}.* failed: cmake ended with exit code 1")

    def test_are_not_asked_for_where_one_commit_is_left(self):
        self.MEASURED = range(24)
        self.add_each(google)
        found = self.execute(commit=self.commits[self.SLOW])
        self.assertEqual(found.returncode, 1, found.stderr)
        self.assertEqual(found.stdout, self.commits[self.SLOW] + "\n")
        self.assertEqual(found.stderr, "dlscale: the range has this commit alone, so nothing was measured\n")


class Generators(Bisect):
    """Commits are built by what is on the path, which is a folder of links."""

    def gate(self, *programs, **variables):
        path = self.folder / "path"
        path.mkdir()
        for name in ["cmake", "git", *programs]:
            (path / name).symlink_to(shutil.which(name))
        return run("gate", "--base-commit", self.commits[0], "--new-commit", self.commits[1], "--repository", self.repository,
                   "--cache", self.folder / "cache", "--", *self.COMMAND[1:],
                   variables={"PATH": str(path), "CMAKE_GENERATOR": None} | variables)

    def assert_built_by(self, generator, done):
        self.assertIn(done.returncode, (0, 3), done.stderr)
        caches = list((self.folder / "cache").glob("*/build/release/CMakeCache.txt"))
        self.assertEqual(len(caches), 2)
        for cache in caches:
            self.assertIn(f"CMAKE_GENERATOR:INTERNAL={generator}\n", cache.read_text())

    @unittest.skipUnless(shutil.which("ninja"), "ninja is not installed")
    def test_are_ninja_where_it_is_and_no_make(self):
        self.assert_built_by("Ninja", self.gate("ninja"))

    @unittest.skipUnless(shutil.which("make"), "make is not installed")
    def test_are_the_usual_one_of_cmake_without_ninja(self):
        self.assert_built_by("Unix Makefiles", self.gate("make"))

    @unittest.skipUnless(shutil.which("ninja"), "ninja is not installed")
    def test_are_those_that_the_environment_names(self):
        self.assert_built_by("Ninja Multi-Config", self.gate("ninja", CMAKE_GENERATOR="Ninja Multi-Config"))

    def test_that_are_missing_are_named(self):
        self.assert_refused(self.gate(), 2, "neither ninja nor make", "ninja-build")


if __name__ == "__main__":
    main()
