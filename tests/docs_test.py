#!/usr/bin/env python3
"""The documentation site: mkdocs.yml lists every page once, and MkDocs builds it without a warning.

    docs_test.py ROOT           what needs no MkDocs: pages and navigation agree, and code in lists is indented as MkDocs reads it
    docs_test.py ROOT --site    builds the site in strict mode; exit code 77 and the reason where MkDocs is not installed
    docs_test.py --self-test    checks that each fault is caught
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
NAVIGATION = re.compile(r"^ +- (?:[^:\n]+: )?([\w/.-]+\.md)$", re.MULTILINE)
ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def faults_of_page(text):
    code, above = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        if words.startswith("```"):
            code = not code
            if indent % 4:
                yield f"{number}: code in a list needs an indent of 4 spaces, not {indent}"
        elif not code and ITEM.match(line) and line[0] in "-*" and above.strip() and not re.match(r"  |[-*] |\d+\. ", above):
            yield f"{number}: a list needs an empty line before it"
        above = line


def faults(root):
    pages = sorted(path.relative_to(root / "docs").as_posix() for path in (root / "docs").rglob("*.md"))
    listed = NAVIGATION.findall((root / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2])
    for page in sorted(set(pages) - set(listed)):
        yield f"docs/{page} is missing in the navigation of mkdocs.yml"
    for page in sorted(set(listed) - set(pages)):
        yield f"mkdocs.yml names docs/{page}, which does not exist"
    for page in sorted({page for page in listed if listed.count(page) > 1}):
        yield f"mkdocs.yml names docs/{page} twice"
    for page in pages:
        for fault in faults_of_page((root / "docs" / page).read_text(encoding="utf-8")):
            yield f"docs/{page}:{fault}"


def mkdocs(root):
    """The command that starts MkDocs with what docs/requirements.txt names, or none."""
    for python in (root / "build/docs-venv/bin/python", sys.executable):
        command = [str(python), "-m", "mkdocs"]
        needed = "import mkdocs, material, pymdownx"
        if shutil.which(str(python)) and subprocess.run([str(python), "-c", needed], capture_output=True, check=False).returncode == 0:
            return command
    return None


def build_site(root):
    command = mkdocs(root)
    if command is None:
        print("skipped: MkDocs Material is not installed. To install it, run scripts/docs build, or pip install -r docs/requirements.txt.")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NO_MKDOCS_2_WARNING="1", PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([*command, "build", "--strict", "--quiet", "--site-dir", folder], cwd=root, env=environment,
                              capture_output=True, text=True, check=False)
        pages = len(list(pathlib.Path(folder).rglob("*.html")))
    print(done.stdout + done.stderr + f"{pages} pages built")
    return done.returncode or int(pages == 0)


# Files beside a sound tree, and the part of the complaint that must come.
BAD = [
    ({"docs/b.md": "# B\n"}, "docs/b.md is missing in the navigation"),
    ({"mkdocs.yml": "a: b\nnav:\n  - A:\n      - a.md\n      - c.md\n"}, "names docs/c.md, which does not exist"),
    ({"mkdocs.yml": "a: b\nnav:\n  - a.md\n  - a.md\n"}, "names docs/a.md twice"),
    ({"docs/a.md": "1. A\n\n   ```sh\n   b\n   ```\n"}, "an indent of 4 spaces, not 3"),
    ({"docs/a.md": "Text:\n- a\n"}, "needs an empty line"),
]
SOUND = {"mkdocs.yml": "a: b\nnav:\n  - Title: a.md\n", "docs/a.md": "# A\n\n- a\n  b\n- c\n\n1. d\n\n    ```sh\n    - e\n    ```\n"}


def self_test():
    for extra, expected in [({}, ""), *BAD]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            for name, text in (SOUND | extra).items():
                (root / name).write_text(text, encoding="utf-8")
            found = list(faults(root))
            if bool(found) != bool(expected) or not all(expected in fault for fault in found):
                yield f"{extra}: expected {expected!r}, found {found}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("--site", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test == (arguments.root is not None):
        parser.error("give either ROOT or --self-test")
    if arguments.site:
        return build_site(arguments.root)
    found = list(self_test() if arguments.self_test else faults(arguments.root))
    print("\n".join(found) or "docs: pages and navigation agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
