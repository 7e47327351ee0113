#!/usr/bin/env python3
"""Counts what makes comments and documents hard to read, and fails where a count rises.

    words_test.py ROOT            compares the counts with LIMITS
    words_test.py ROOT --list     prints every place that is counted
    words_test.py --self-test     checks that each rule catches what it is for

Sources are the product's, with plots/ and scripts/. Pages are README, CONTRIBUTING, SECURITY and all of docs/; links count as their text.
The goal of every limit is 0. Lower a limit when its count has fallen; never raise one.
"""

import argparse
import pathlib
import re
import sys
import tempfile

# Every other count is 0. The program's own words in app/ and the axes of bench/ are no errors.
LIMITS = {"options in strings of bench": 5, "options in strings of regression": 13}

FRAGMENT = re.compile(r"^\s*///<? ?(Of|That|Those|Who|What|Which|With)\b")
IS_NO = re.compile(r"\bis no (?!longer\b|more\b)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])| · ")
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK_TARGET = re.compile(r"\]\([^)]*\)")
MOST_README_WORDS = 1200
MOST_PAGE_WORDS = 1000
MOST_SENTENCE_WORDS = 30
MOST_LINE = 100
MOST_CELL = 120
PRODUCT = ["core", "backend", "train", "bench", "model", "suite", "regression", "report", "app"]
HEADERS = (".hpp", ".cuh")
# Folders whose strings name no option and no verb: errors name settings, and app/ adds commands.
WITHOUT_OPTIONS = ["core", "backend", "train", "bench", "model", "regression", "report"]
OPTION = re.compile(r"(?<!var\()(?<![\w{;-])--[a-z][a-z-]+|dlscale (?:bench|calibrate|compare|data|doctor|gate|history|noise|plan|predict|report|run|train|validate)\b")
# Options of launchers, git and other tools.
FOREIGN_OPTIONS = {"--bind-to", "--cpunodebind", "--export-json", "--git-dir", "--map-by", "--mpi"}
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def sources(root):
    for folder in PRODUCT:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (*HEADERS, ".cpp", ".cu"):
                yield path
    for folder in ("plots", "scripts"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def pages(root):
    own = [root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*(path for path in own if path.exists()), *sorted((root / "docs").rglob("*.md"))]


def visible(line):
    """A line as readers see it: without pictures and the targets of links."""
    return LINK_TARGET.sub("]", PICTURE.sub("", line))


def prose(text):
    """A page without code blocks, tables, headings and pictures: paragraphs and items, one string each."""
    text = re.sub(r"```.*?```", "\n\n", text, flags=re.S)
    text = PICTURE.sub(" ", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        block = block.strip()
        if block and not block.startswith(("|", "#", "<")):
            yield visible(re.sub(r"\s+", " ", block))


def counted_in_sources(root):
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        above = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            opens = "///<" in line or not above.lstrip().startswith("///")
            trailing = line[line.find("///<"):] if "///<" in line else line
            if path.suffix in HEADERS and opens and FRAGMENT.match(trailing):
                yield "fragments in headers", f"{name}:{number}: {trailing.strip()}"
            if IS_NO.search(line):
                yield '"is no" in sources', f"{name}:{number}: {line.strip()}"
            above = line


def options_in_strings(root):
    for folder in WITHOUT_OPTIONS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (*HEADERS, ".cpp", ".cu"):
                continue
            text = re.sub(r"^[ \t]*//.*$", "", path.read_text(encoding="utf-8"), flags=re.M)
            for string in STRING.findall(re.sub(r'"[ \t]*\n[ \t]*"', "", text)):
                if any(found not in FOREIGN_OPTIONS for found in OPTION.findall(string)):
                    yield f"options in strings of {folder}", f"{path.relative_to(root).as_posix()}: {string}"


def counted_in_pages(root):
    for path in pages(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for block in prose(text):
            for sentence in SENTENCE_END.split(block):
                if len(sentence.split()) > MOST_SENTENCE_WORDS:
                    yield "long sentences in documents", f"{name}: {sentence}"
        code = False
        for number, line in enumerate(text.split("\n"), 1):
            code ^= line.lstrip().startswith("```")
            if IS_NO.search(line):
                yield '"is no" in documents', f"{name}:{number}: {line.strip()}"
            if code:
                continue
            if line.startswith("|"):
                for cell in line.strip("|").split("|"):
                    if len(visible(cell).strip()) > MOST_CELL:
                        yield "long table cells", f"{name}:{number}: {cell.strip()}"
            elif len(visible(line)) > MOST_LINE:
                yield "long lines of documents", f"{name}:{number}"
        words = len(text.split())
        if name == "README.md" and words > MOST_README_WORDS:
            yield "README too long", f"{words} words; at most {MOST_README_WORDS}"
        elif name.startswith("docs/") and words > MOST_PAGE_WORDS:
            yield "long pages", f"{name}: {words} words; at most {MOST_PAGE_WORDS}"


def counted(root):
    found = {}
    for rule, place in [*counted_in_sources(root), *options_in_strings(root), *counted_in_pages(root)]:
        found.setdefault(rule, []).append(place)
    return found


def problems(root, limits):
    found = counted(root)
    for rule in sorted(set(found) | set(limits)):
        places, limit = found.get(rule, []), limits.get(rule, 0)
        if len(places) > limit:
            shown = "\n  ".join(places[-5:])
            yield f"{rule}: {len(places)}, and at most {limit} are allowed; words_test.py ROOT --list has all. Some:\n  {shown}"


EXAMPLES = [
    ("core/a.hpp", "/// Of those a part.\nint a;\n", "fragments in headers"),
    ("core/b.hpp", "int b;  ///< with a unit\n", None),
    ("core/c.hpp", "int c;  ///< That is it.\n", "fragments in headers"),
    ("core/d.hpp", "/// The sum\n/// Of all.\nint d;\n", None),
    ("core/e.cpp", 'fail("x is no number");\n', '"is no" in sources'),
    ("core/f.cpp", "// There is no longer one.\n", None),
    ("docs/a.md", "word " * 31 + ".\n", "long sentences in documents"),
    ("docs/b.md", "word word. " * 40 + "\n", "long lines of documents"),
    ("docs/c.md", "| " + "x" * 121 + " | y |\n", "long table cells"),
    ("docs/d.md", "A. Word.\n" * 501, "long pages"),
    ("docs/e.md", "```\n" + "word " * 60 + "\n```\n", None),
    ("docs/f.md", "[" + "word " * 15 + "](" + "x" * 60 + ")\n", None),
    ("docs/g.md", "[word](x) " * 15 + "word word. " * 4 + "\n", "long lines of documents"),
    ("docs/h.md", "| [x](" + "y" * 121 + ") | ![" + "z" * 121 + "](z) |\n", None),
    ("docs/i.md", "1. a\n\n    ```\n    " + "word " * 60 + "\n    ```\n", None),
    ("SECURITY.md", "word " * 31 + ".\n", "long sentences in documents"),
    ("core/g.cuh", "/// With a part.\nint a;\n", "fragments in headers"),
    ("scripts/a", 'echo "$1 is no file"\n', '"is no" in sources'),
    ("README.md", "A. Word.\n" * 601, "README too long"),
    ("model/a.cpp", 'fail("choose another with --cache");\n', "options in strings of model"),
    ("train/a.cpp", 'fail("measure it: dlscale "\n     "bench conv");\n', "options in strings of train"),
    ("backend/a.cpp", 'fail("mpirun --bind-to none");\n', None),
    ("app/a.cpp", 'fail("choose another with --cache");\n', None),
]


def self_test():
    for path, text, rule in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "README.md").write_text("Short.\n")
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
            found = list(counted(root))
            if (rule is None and found) or (rule is not None and rule not in found):
                yield f"{path}: expected {rule}, found {found}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test == (arguments.root is not None):
        parser.error("give either ROOT or --self-test")
    if arguments.list:
        for rule, places in sorted(counted(arguments.root).items()):
            print(f"{rule}: {len(places)}", *places, sep="\n  ")
        return 0
    found = list(self_test() if arguments.self_test else problems(arguments.root, LIMITS))
    print("\n".join(found) or "words: no count has risen")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
