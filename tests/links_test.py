"""Every relative link of a Markdown file leads to a file of the tree, and to a heading where it names one.

    links_test.py ROOT          checks the tree and lists the links that lead nowhere
    links_test.py --self-test   checks that dead links of each kind are caught, and others are not
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile
import urllib.parse

LEFT_OUT = {".git", "build", "results/local", "tests/golden"}  # golden: pages without the figures beside them
FENCE = re.compile(r"^(```+|~~~+).*?^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
INLINE = re.compile(r"\]\(\s*(?:<([^>]+)>|([^)\s<]+))(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]^]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE)
HTML = re.compile(r"<(?:a|img)\b[^>]*\b(?:href|src)=\"([^\"]+)\"")
NAMED = re.compile(r"<a\b[^>]*\b(?:id|name)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def markdown_files(root):
    for folder, below, names in os.walk(root):
        at = pathlib.Path(folder)
        below[:] = sorted(name for name in below if (at / name).relative_to(root).as_posix() not in LEFT_OUT)
        yield from (at / name for name in sorted(names) if name.endswith(".md"))


def anchors_of(text):
    """The anchors that GitHub gives to headings, and those that the text names itself."""
    text = FENCE.sub("", text)
    found = set(NAMED.findall(text))
    for heading in HEADING.findall(text):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
        count = 0
        while (name := f"{slug}-{count}" if count else slug) in found:
            count += 1
        found.add(name)
    return found


def links_of(text):
    text = CODE.sub("", FENCE.sub("", text))
    inline = [spaced or plain for spaced, plain in INLINE.findall(text)]
    return [*inline, *REFERENCE.findall(text), *HTML.findall(text)]


def check_tree(root):
    """What is wrong, a line each, and how many relative links there are."""
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in markdown_files(root)}
    problems, count = [], 0
    for path, text in texts.items():
        for link in links_of(text):
            if ELSEWHERE.match(link):
                continue
            count += 1
            place, _, anchor = link.partition("#")
            target = path if not place else (path.parent / urllib.parse.unquote(place)).resolve()
            where = path.relative_to(root.resolve())
            if not target.exists():
                problems.append(f"{where}: {link} leads to no file")
            elif anchor and target in texts and anchor not in anchors_of(texts[target]):
                problems.append(f"{where}: {link} leads to no heading of {place or where.name}")
    return problems, count


GOOD = """# The one & only `run` – [linked](b/other.md)
[a](b/other.md) [b](b/other.md#twice-1) ![c](b/pic.svg "A title") [d](#the-one--only-run--linked) [e](<b/a b.txt>)
[f](https://example.org/none.md) [g](mailto:a@b.c) [h](b) `[i](none.md)` <img src="b/pic.svg">

```
[j](none.md)
# None
```

[k]: b/other.md#named
"""
OTHER = "## Twice\n\n## Twice\n\n<a id=\"named\"></a> [up](../a.md)\n"
# A line of a file beside a.md, and the part of the complaint that must come.
DEAD = [
    ("[a](none.md)", "none.md leads to no file"),
    ("![a](b/none.svg)", "b/none.svg leads to no file"),
    ("[a](a.md#none)", "a.md#none leads to no heading of a.md"),
    ("[a](#none)", "#none leads to no heading of c.md"),
    ("[a](b/other.md#twice-2)", "leads to no heading"),
    ("[a]: none.md", "none.md leads to no file"),
    ("<img src=\"none.png\">", "none.png leads to no file"),
    ("text `code` [a `b`](none.md) `code`", "none.md leads to no file"),
]


def complaints_about(extra):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path in ("b", "build", "results/local", "tests/golden"):
            (root / path).mkdir(parents=True)
        files = {"a.md": GOOD, "b/other.md": OTHER, "b/pic.svg": "", "b/a b.txt": "", "build/x.md": "[a](none.md)",
                 "results/local/x.md": "[a](none.md)", "tests/golden/x.md": "[a](none.md)"} | extra
        for path, text in files.items():
            (root / path).write_text(text, encoding="utf-8")
        return check_tree(root)


def self_test():
    problems, count = complaints_about({})
    failures = [f"good links are refused: {line}" for line in problems]
    if count != 10:
        failures.append(f"of 10 relative links {count} were seen")
    for line, expected in DEAD:
        found, _ = complaints_about({"c.md": line + "\n"})
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{line!r} was not caught; expected {expected!r}, got {found}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        problems = self_test()
    elif options.root is None:
        parser.error("name the root of the tree, or give --self-test")
    else:
        problems, count = check_tree(options.root)
        if count == 0:
            problems.append(f"{options.root} has no Markdown with links")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
