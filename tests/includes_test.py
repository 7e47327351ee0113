#!/usr/bin/env python3
"""Checks that every file reaches, by its own includes, the header that declares each type of ours it names.

Groups of files (cmake/DlscaleUnity.cmake) and precompiled headers hide a missing include; builds without them then fail.
usage: includes_test.py ROOT | --self-test
"""
import pathlib
import re
import sys

DECLARED = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class) (\w+)(?: final)?(?:\s*:[^:;]*)?\s*\{", re.M)
ALIAS = re.compile(r"^using (\w+) = ", re.M)
INNER = re.compile(r"^ +(?:struct|class|enum class) (\w+)", re.M)
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
# What a file declares or names for itself, at any depth, and what it looks up inside something else.
OWN = re.compile(r"\b(?:struct|class|enum class|enum|typename|namespace)\s+(\w+)|\busing\s+(?:(\w+)\s*=|(?:\w+::)+(\w+);)|\bTEST(?:_\w+)?\((\w+),")
# Headers with names in other namespaces than the one that every file is in.
NESTED = re.compile(r"^namespace (?!dlscale \{|dlscale::test)", re.M)
NAMED = re.compile(r"(?<![\w.>:])(\w+)\b|(?:\bdlscale::)(\w+)\b")


def declared_types(files):
    """Name of a type -> the header that declares it: of names that one alone declares, in the namespace of all files."""
    owners = {}
    for path, text in files.items():
        if path.endswith(".hpp"):
            for name in DECLARED.findall(text) + ALIAS.findall(text):
                owners.setdefault(name, set()).add(path)
            for name in INNER.findall(text):
                owners.setdefault(name, set()).add(f"a class of {path}")
    alone = {name: next(iter(paths)) for name, paths in owners.items() if len(paths) == 1}
    return {name: path for name, path in alone.items() if path in files and not NESTED.search(files[path])}


def beside(path, other, files):
    """What the compiler opens for #include "other" in `path`: a file of its folder before one of the root."""
    near = str(pathlib.PurePosixPath(path).parent / other)
    return near if near in files else other


def reached(path, files, includes, known):
    """All files of ours that `path` includes, itself or through others."""
    if path not in known:
        known[path] = {path}
        for other in includes.get(path, ()):
            if other in files:
                known[path] |= reached(other, files, includes, known)
    return known[path]


def missing_includes(files):
    """Sentences, one for each type that a file names and does not reach."""
    owner = declared_types(files)
    includes = {path: [beside(path, other, files) for other in INCLUDED.findall(text)] for path, text in files.items()}
    known = {}
    found = []
    for path, text in sorted(files.items()):
        code = NOT_CODE.sub(" ", "\n".join(line for line in text.split("\n") if not line.startswith("#")))
        own = {name for pair in OWN.findall(code) for name in pair if name}
        named = {name for pair in NAMED.findall(code) for name in pair if name}
        reach = reached(path, files, includes, known)
        for name in sorted(named & owner.keys() - own):
            if owner[name] not in reach:
                found.append(f'{path}: names {name} and does not include "{owner[name]}", which declares it.')
    return found


def self_test():
    files = {
        "core/a.hpp": "struct Shape {\n};\n",
        "core/b.hpp": '#include "core/a.hpp"\nclass Other final : public Base {\n};\n',
        "core/good.cpp": '#include "core/b.hpp"\nShape s; Other o;\n',
        "core/own.cpp": 'struct Shape;\nShape* s;  // Other\nconst char* t = "Other";\nint x = y.Other;\n',
        "core/bad.cpp": '#include "core/a.hpp"\nOther o;\n',
    }
    expected = ['core/bad.cpp: names Other and does not include "core/b.hpp", which declares it.']
    found = missing_includes(files)
    return [] if found == expected else [f"self-test: found {found}, expected {expected}."]


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
    else:
        root = pathlib.Path(sys.argv[1])
        folders = ("core", "backend", "train", "bench", "model", "suite", "regression", "report", "app", "tests")
        paths = [p for folder in folders for p in (root / folder).rglob("*.[ch]pp")]
        if not paths:
            sys.exit(f"includes_test: no sources under {root}.")
        problems = missing_includes({str(p.relative_to(root)): p.read_text() for p in paths})
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
