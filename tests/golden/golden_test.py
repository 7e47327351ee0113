#!/usr/bin/env python3
"""Runs the program on fixed inputs and compares what it writes, byte for byte, with the files below expected/.

    golden_test.py PROGRAM                    compare (the ctest test "golden")
    golden_test.py PROGRAM --renew            write the expected files anew; refuses where numbers changed
    golden_test.py PROGRAM --renew=numbers    write those as well: a decision that a prediction changes
    golden_test.py PROGRAM --only REGEX       the cases whose name matches, also with --renew

cases.txt has a case a line. Its names begin with the group: "numbers" are predictions, fits and verdicts, "words" help and prose.
A case of "numbers" whose text changed while every number in it is the same may be renewed like a case of "words".
"""

import argparse
import collections
import concurrent.futures
import difflib
import itertools
import json
import lzma
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
sys.path.append(str(HERE.parent / "app"))
from forks import Forks  # noqa: E402

EXPECTED = HERE / "expected"

# The same answer on every machine: no colour, no locale, and one version of exp() and log() on all x86-64 processors.
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "COLUMNS": "100",
    "DLSCALE_CONFIGS": str(TREE / "configs"),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
    "ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=6",
}
FORKS = os.environ.get("DLSCALE_FORKS")
OTHER_NAMES = [(FORKS, "PROGRAM")] if FORKS else []

# What differs between machines and builds, and what stands for it in the expected files, besides the paths of the folder in
# which a case runs (nothing), of the program (PROGRAM) and of the source (TREE).
SUBSTITUTIONS = [
    (r"(\d+ rounds)( · [^·\n\"]+)?( · canary)", r"\1 · MACHINE\3"),  # in the headline of a gate, where there is room for it
    (r"(\"machine\": )\"[^\"]+, \d+ cores?\"", r'\1"MACHINE"'),
    (r"(--backend TEXT [^\n]*\(default: )\w+\)", r"\1BACKEND)"),  # the best one of the build
    (r"build: \"[0-9a-f]{40}[^\"]*\"", 'build: "BUILD"'),
    (r"dlscale \d+\.\d+\.\d+[-+.\w]*", "dlscale VERSION"),
]

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
LARGE = 60_000  # bytes; larger files are kept compressed


class Case(collections.namedtuple("Case", "name kind exit steps file")):
    """`steps` are run one after the other; what the last one prints is compared ("-"), or the `file` that it wrote."""

    @property
    def is_numbers(self):
        return self.name.startswith("numbers/")

    @property
    def path(self):
        return EXPECTED / f"{self.name}.{self.kind}"


# How files with what a format prints end.
ENDINGS = {"-": "txt", "table": "txt", "markdown": "md", "csv": "csv", "json": "json", "comment": "comment.md", "junit": "xml"}


def read_cases(text):
    """The lines of cases.txt: name, formats, exit code, steps ("a ; b") and the file that is compared ("-> file")."""
    cases = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, formats, code, command = line.split(maxsplit=3)
        command, _, files = command.partition(" -> ")
        *before, last = command.split(" ; ")
        first, *others = formats.split(",")
        if first != "-":
            last += f" --format {first}"
        if others:
            last += words_for_files(last, others)
        steps = (*before, last)
        for file in (files or "-").split(","):
            cases.append(Case(name, ENDINGS[first] if file == "-" else pathlib.Path(file).suffix[1:], int(code), steps, file))
        cases.extend(Case(name, ENDINGS[other], int(code), steps, f"answer.{other}") for other in others)
    return cases


def words_for_files(step, formats):
    """Options by which the verb also writes its answer to files in these formats."""
    option = "--write" if step.startswith("gate ") else "-o"
    standard_output = " -o -" if option == "-o" else ""
    return standard_output + "".join(f" {option} {one}=answer.{one}" for one in formats)


def unpack_inputs(folder):
    """Plain files as they are, archives as folders of their name."""
    for path in sorted((HERE / "input").iterdir()):
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder / path.name.removesuffix(".tar.xz"))
        elif path.suffix == ".xz":
            (folder / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        elif path.is_dir():
            shutil.copytree(path, folder / path.name)
        else:
            shutil.copy(path, folder)


class Runner:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.environment = ENVIRONMENT | {"HOME": str(folder)}
        self.forks = threading.local()  # of each thread its own
        self.input = folder / "input"
        self.input.mkdir()
        unpack_inputs(self.input)

    def run(self, cases):
        """What cases of the same steps write, without what differs between machines; or why there is nothing."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for path in self.input.iterdir():
            (place / path.name).symlink_to(path)
        try:
            output = self.run_steps(cases[0], place)
            texts = [output if case.file == "-" else (place / case.file).read_text(encoding="utf-8") for case in cases]
        except (RuntimeError, OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
            return [error] * len(cases)
        return [self.without_place(text, place) for text in texts]

    def run_steps(self, case, place):
        """What the last one prints."""
        for step in case.steps:
            words = shlex.split(step)
            if words[0] == "copy":
                shutil.copytree(place / words[1], place / words[2])
                continue
            done = self.run_program(words, place)
            wanted = case.exit if step == case.steps[-1] else 0
            if done.returncode != wanted:
                raise RuntimeError(f"dlscale {step}\nended with exit code {done.returncode}, not {wanted}:\n{done.stderr}{done.stdout[-2000:]}")
        return done.stdout

    def run_program(self, words, place):
        if not FORKS:
            return subprocess.run([self.program, *words], cwd=place, env=self.environment, text=True, capture_output=True, timeout=500,
                                  check=False, stdin=subprocess.DEVNULL)
        if not hasattr(self.forks, "one"):
            self.forks.one = Forks(FORKS, self.environment)
        return self.forks.one.run(words, place, timeout=500)

    def without_place(self, text, place):
        for path, word in [(f"{place}/", ""), (str(place), "."), (self.program, "PROGRAM"), *OTHER_NAMES, (str(TREE), "TREE")]:
            text = text.replace(path, word)
        for pattern, word in SUBSTITUTIONS:
            text = re.sub(pattern, word, text)
        return text


def numbers_of(kind, text):
    """All numbers of an answer, without the words around them."""
    if kind != "json":
        return NUMBER.findall(text)
    found = []

    def visit(value):
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, list):
            found.extend([value.text] if isinstance(value, Digits) else [])
            return
        for one in value:
            visit(one)

    for line in json_documents(text):
        visit(json.loads(line, parse_float=Digits, parse_int=Digits))
    return found


class Digits:
    """A number of JSON as it is written."""

    def __init__(self, text):
        self.text = text


def json_documents(text):
    """A document, or one a line."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return text.splitlines()
    return [text]


def read_expected(case):
    packed = case.path.with_name(case.path.name + ".xz")
    if packed.exists():
        return lzma.decompress(packed.read_bytes()).decode()
    return case.path.read_text(encoding="utf-8") if case.path.exists() else None


def write_expected(case, text):
    packed = case.path.with_name(case.path.name + ".xz")
    case.path.parent.mkdir(parents=True, exist_ok=True)
    large = len(text.encode()) > LARGE
    (case.path if large else packed).unlink(missing_ok=True)
    if large:
        packed.write_bytes(lzma.compress(text.encode(), preset=9))
    else:
        case.path.write_text(text, encoding="utf-8")


def numbers_changed(case, old, new):
    return case.is_numbers and numbers_of(case.kind, old) != numbers_of(case.kind, new)


def tell_difference(case, old, new):
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), f"expected {case.path.relative_to(HERE)}",
                                      "this program", lineterm="", n=1))
    print(f"\n--- {case.name} ({case.kind}): dlscale {case.steps[-1]}")
    for line in lines[:40]:
        print(line[:300])
    if len(lines) > 40:
        print(f"... {len(lines) - 40} more lines of difference")


def explain(changed, worded, missing):
    """What failed, the gravest last."""
    program = "tests/golden/golden_test.py PROGRAM"
    if missing:
        print(f"\n{len(missing)} cases have no expected file: {', '.join(missing)}\n"
              f"Write them with: {program} --renew --only REGEX")
    if worded:
        print(f"\n{len(worded)} answers differ in words alone; every number in them is as before. If that is what the change is about, renew them\n"
              f"with: {program} --renew\nand commit the expected files with it.")
    if changed:
        print(f"\n{'!' * 110}\n!!! {len(changed)} ANSWERS DIFFER IN NUMBERS: A PREDICTION, A FIT OR A VERDICT HAS CHANGED.\n"
              f"!!! {', '.join(changed)}\n"
              "!!! Find out why: no clean-up may change one. If the change is a decision, say so in the commit and renew\n"
              f"!!! with: {program} --renew=numbers --only REGEX\n{'!' * 110}")


def check_all(cases, answers, renew):
    changed, worded, missing, failed = [], [], [], []
    for case, answer in zip(cases, answers):
        title = f"{case.name} ({case.kind})"
        if isinstance(answer, Exception):
            print(f"\n--- {title}: {answer}")
            failed.append(title)
            continue
        old = read_expected(case)
        if old == answer:
            continue
        serious = old is not None and numbers_changed(case, old, answer)
        if renew == "numbers" or (renew == "words" and not serious):
            write_expected(case, answer)
            print(f"renewed {title}")
            continue
        (missing if old is None else changed if serious else worded).append(title)
        if old is not None:
            tell_difference(case, old, answer)
    explain(changed, worded, missing)
    if failed:
        print(f"\n{len(failed)} cases failed to run: {', '.join(failed)}")
    return not (changed or worded or missing or failed)


def unknown_files(cases):
    """Expected files that no case has any more."""
    known = {path for case in cases for path in (case.path, case.path.with_name(case.path.name + ".xz"))}
    return sorted(path for path in EXPECTED.rglob("*") if path.is_file() and path not in known)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--renew", nargs="?", const="words", choices=["words", "numbers"])
    parser.add_argument("--only", default="", metavar="REGEX")
    options = parser.parse_args()
    everything = read_cases((HERE / "cases.txt").read_text(encoding="utf-8"))
    cases = [case for case in everything if re.search(options.only, case.name)]
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        runner = Runner(os.path.abspath(options.program), pathlib.Path(folder).resolve())
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            groups = [list(group) for _, group in itertools.groupby(cases, lambda case: case.steps)]
            answers = [answer for group in pool.map(runner.run, groups) for answer in group]
    good = check_all(cases, answers, options.renew)
    for path in unknown_files(everything):
        if options.renew:
            path.unlink()
            print(f"removed {path.relative_to(HERE)}")
        else:
            print(f"\n{path.relative_to(HERE)} belongs to no case. Remove it, or renew.")
            good = False
    print(f"\n{len(cases)} answers {'are as expected' if good else 'were compared'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
