"""The rules of the source tree that no compiler checks: who may include whom, where vendor headers and hardware
conditions may stand, no include cycles, no folders that include each other, small folders, short files, headers that say
what they are for.

    layering_test.py ROOT          checks the tree and lists what breaks a rule
    layering_test.py ROOT --compiled compile_commands.json --absent cuda nccl
                                   checks that no file which a build compiles reaches a header of a library that the
                                   build lacks; a machine that has the header would compile the file and hide the fault
    layering_test.py --self-test   checks that each rule catches what it is for
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

MAY_INCLUDE = {
    "core": set(),
    "model": {"core"},
    "backend": {"core"},
    "train": {"core", "backend"},
    "bench": {"core", "backend", "train"},
    "suite": {"core"},
    "regression": {"core", "suite"},
    "report": {"core", "model", "regression"},
    "app": {"core", "model", "backend", "train", "bench", "suite", "regression", "report"},
    "tests": {"core", "model", "backend", "train", "bench", "suite", "regression", "report", "app"},
}
# Single headers that a folder may include beside those.
MAY_ALSO = {"suite": {"backend/comm/launch.hpp"}}

# Headers of libraries that tie code to hardware or to a launcher, and the only folders that may see them.
VENDOR_HEADERS = {
    "mpi": (re.compile(r"mpi\.h$|mpi-ext\.h$"), ["backend/comm/mpi/", "tests/scripts/faults/"]),
    "nccl": (re.compile(r"nccl.*\.h$"), ["backend/comm/nccl/"]),
    "cuda": (re.compile(r"(cuda|cudnn|cublas|cufft|curand|nvml|nvToolsExt)\w*\.h"), ["backend/compute/cuda/", "backend/comm/nccl/"]),
    "onednn": (re.compile(r"(oneapi/)?dnnl\S*\.hp*$"), ["backend/compute/onednn/"]),
    "openmp": (re.compile(r"omp\.h$"), ["backend/compute/"]),
    "fftw": (re.compile(r"fftw3\S*\.h$"), ["backend/compute/native/fft/"]),
    "mkl": (re.compile(r"mkl\w*\.h$"), ["backend/compute/native/fft/"]),
    "highway": (re.compile(r"hwy/\S*\.h$"), ["backend/compute/native/", "backend/host/simd/", "tests/backend/compute/native/"]),
    "hwloc": (re.compile(r"hwloc\S*\.h$"), ["backend/host/"]),
    "intrinsics": (re.compile(r"\w*intrin\.h$|arm_neon\.h$"), ["backend/compute/", "backend/host/simd/"]),
}
HARDWARE_CONDITION = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if\w*\b.*(?:CUDA|CUDNN|NCCL|MPI|DNNL|ONEDNN|HWLOC|OPENMP|__AVX|__SSE|__x86|__ARM|__aarch)",
    re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
MOST_LINES = 500
MOST_FILES = 25
# Folders over that limit, each with the number of files that it must not exceed. Lower a number when its folder shrinks.
CROWDED = {}
# Pairs of folders that still include each other. Remove a pair with its last include; add none.
TIES = set()


def sources(root):
    """The C++ files of the tree, path from the root to text."""
    files = {}
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*.?pp")):
            files[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    return files


def folder_of(path):
    return path.split("/")[0]


def check_include(path, quote, header, files):
    """What is wrong with one #include of a file, if anything."""
    for pattern, allowed in VENDOR_HEADERS.values():
        if pattern.match(header) and not any(path.startswith(folder) for folder in allowed):
            yield f"{path}: {header} may be included only below {' or '.join(allowed)}"
    if quote == "<":
        if header in files:
            yield f'{path}: write "{header}", not <{header}>'
        return
    if header not in files:
        if f"{path.rpartition('/')[0]}/{header}" in files and path.startswith("tests/"):
            return  # tests may name a helper beside them
        yield f'{path}: "{header}" is not a file, counted from the root'
        return
    used, user = folder_of(header), folder_of(path)
    if used != user and used not in MAY_INCLUDE[user] and header not in MAY_ALSO.get(user, ()):
        yield f"{path}: {user} may not include {used} ({header})"


def check_own_header_first(path, text, files):
    own = re.sub(r"\.cpp$", ".hpp", path)
    includes = INCLUDE.findall(text)
    if path.startswith("tests/") or own == path or own not in files:
        return
    if includes and includes[0][1] != own:
        yield f'{path}: its own header "{own}" must be included first'


def first_declaration(text):
    """The first line of a header that is neither preprocessor, blank, a namespace nor a forward declaration."""
    skipped = re.compile(r"\s*($|#|namespace\b.*\{|inline namespace|\}|(?:class|struct)\s+\w+;|using\s)")
    for line in text.splitlines():
        if not skipped.match(line):
            return line.strip()
    return ""


# Highway's way to compile a file again for each instruction set.
PER_INSTRUCTION_SET = "HWY_TARGET_TOGGLE"


def check_form(path, text):
    lines = text.count("\n")
    if lines >= MOST_LINES:
        yield f"{path}: {lines} lines; split it (fewer than {MOST_LINES})"
    if not path.startswith("backend/") and HARDWARE_CONDITION.search(text):
        yield f"{path}: a condition on hardware or a library belongs below backend/"
    if not path.endswith(".hpp"):
        return
    if path.endswith("_inl.hpp"):
        if f"== defined({PER_INSTRUCTION_SET})" not in text:
            yield f"{path}: an _inl.hpp is read once per instruction set and guarded by {PER_INSTRUCTION_SET}"
    elif not text.lstrip().startswith("#pragma once"):
        yield f"{path}: a header begins with #pragma once"
    declaration = first_declaration(text)
    if not path.startswith("tests/") and declaration and not declaration.startswith(("//", "/*")):
        yield f'{path}: say in a comment what "{declaration}" is for'


def find_cycles(files):
    """Each cycle of includes once, as a text."""
    uses = {path: [h for q, h in INCLUDE.findall(text) if q == '"' and h in files] for path, text in files.items()}
    done, cycles = set(), []

    def visit(path, above):
        if path in above:
            cycles.append("include cycle: " + " -> ".join(above[above.index(path):] + [path]))
        elif path not in done:
            for header in uses[path]:
                visit(header, above + [path])
            done.add(path)

    for path in files:
        visit(path, [])
    return cycles


def check_crowds(root):
    """The folders of the product with too many source files at their level."""
    for top in MAY_INCLUDE:
        if top == "tests":
            continue
        counts = {}
        for path in (root / top).rglob("*"):
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh", ".py"):
                folder = path.parent.relative_to(root).as_posix()
                counts[folder] = counts.get(folder, 0) + 1
        for folder, count in sorted(counts.items()):
            limit = CROWDED.get(folder, MOST_FILES)
            if count > limit:
                yield f"{folder}: {count} source files; at most {limit} may stand at one level"
            if folder in CROWDED and count < limit:
                yield f"{folder}: {count} source files; lower its number in CROWDED, or remove it"


def find_ties(files):
    """Pairs of folders that include each other."""
    uses = {}
    for path, text in files.items():
        folder = path.rpartition("/")[0]
        for quote, header in INCLUDE.findall(text):
            other = header.rpartition("/")[0]
            if quote == '"' and header in files and other != folder and not path.startswith("tests/"):
                uses.setdefault((folder, other), f"{path} -> {header}")
    pairs = {(a, b) for a, b in uses if a < b and (b, a) in uses}
    for a, b in sorted(pairs - TIES):
        yield f"{a} and {b} include each other: {uses[a, b]}, {uses[b, a]}"
    for a, b in sorted(TIES - pairs):
        if any(path.startswith((f"{a}/", f"{b}/")) for path in files):
            yield f"{a} and {b} include each other no longer; remove them from TIES"


def check_tree(root):
    files = sources(root)
    problems = [] if files else [f"{root} holds no sources"]
    for path, text in files.items():
        for quote, header in INCLUDE.findall(text):
            problems += check_include(path, quote, header, files)
        problems += check_own_header_first(path, text, files)
        problems += check_form(path, text)
    return problems + find_cycles(files) + list(find_ties(files)) + list(check_crowds(root))


def includes_of(path, root):
    """What a file includes: the header as written, and its file, beside the user or counted from the root, if there is one."""
    for _, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        found = (folder / header for folder in [path.parent, root] if (folder / header).is_file())
        yield header, next(found, None)


def reached_vendor_headers(source, root, absent, known):
    """Each header of an absent library that a file reaches through its includes: the library, and the chain that leads there."""
    left, seen = [(source, [])], {source}
    while left:
        path, above = left.pop()
        if path not in known:
            known[path] = list(includes_of(path, root))
        chain = above + [path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)]
        for header, used in known[path]:
            if used is None:
                for library in absent:
                    if VENDOR_HEADERS[library][0].match(header):
                        yield library, " -> ".join(chain + [header])
            elif used not in seen:
                seen.add(used)
                left.append((used, chain))


def check_compiled(root, commands, absent):
    """What a build compiles though it reaches a header of a library which that build lacks."""
    root = root.resolve()
    sources = {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in json.loads(commands.read_text())}
    there = sorted(source for source in sources if source.is_file())  # others the build has yet to write
    problems = [] if there else [f"{commands} holds no sources"]
    known = {}  # what each file includes
    for source in there:
        for library, chain in reached_vendor_headers(source, root, absent, known):
            problems.append(f"{chain}: this build lacks {library}, so that no file of it may reach this header")
    return problems


GOOD_HEADER = "#pragma once\n\nnamespace dlscale {\n\n/// Something.\nstruct S {};\n\n}  // namespace dlscale\n"

# File, its text, and a part of the complaint that must come.
VIOLATIONS = [
    ("core/a.cpp", '#include "model/good.hpp"\n', "core may not include model"),
    ("model/a.cpp", '#include "backend/good.hpp"\n', "model may not include backend"),
    ("report/a.cpp", '#include "train/good.hpp"\n', "report may not include train"),
    ("train/a.cpp", '#include "bench/good.hpp"\n', "train may not include bench"),
    ("bench/a.cpp", '#include "model/good.hpp"\n', "bench may not include model"),
    ("suite/a.cpp", '#include "backend/good.hpp"\n', "suite may not include backend"),
    ("train/b.cpp", "#include <mpi.h>\n", "mpi.h may be included only below backend/comm/mpi/"),
    ("backend/comm/local/a.cpp", "#include <mpi.h>\n", "mpi.h may be included only"),
    ("backend/comm/mpi/a.cpp", "#include <dnnl.hpp>\n", "dnnl.hpp may be included only"),
    ("bench/b.cpp", "#include <oneapi/dnnl/dnnl.hpp>\n", "dnnl.hpp may be included only"),
    ("backend/compute/onednn/a.cpp", "#include <cuda_runtime.h>\n", "cuda_runtime.h may be included only"),
    ("train/c.cpp", "#include <hwloc.h>\n", "hwloc.h may be included only below backend/host/"),
    ("app/a.cpp", "#if defined(DLSCALE_HAVE_MPI)\n#endif\n", "a condition on hardware"),
    ("model/b.cpp", "#ifdef __AVX2__\n#endif\n", "a condition on hardware"),
    ("core/b.cpp", '#include "good.hpp"\n', "is not a file, counted from the root"),
    ("core/c.cpp", "#include <core/good.hpp>\n", 'write "core/good.hpp"'),
    ("core/good.cpp", '#include <string>\n#include "core/good.hpp"\n', "must be included first"),
    ("core/long.cpp", "\n" * MOST_LINES, "lines; split it"),
    ("core/bare.hpp", "#pragma once\nnamespace dlscale {\nint f();\n}\n", "say in a comment"),
    ("core/twice.hpp", "/// A thing.\nstruct S {};\n", "begins with #pragma once"),
    ("backend/compute/native/a_inl.hpp", "/// A thing.\nstruct S {};\n", "is read once per instruction set"),
    ("core/self.hpp", '#pragma once\n#include "core/self.hpp"\n', "include cycle: core/self.hpp -> core/self.hpp"),
]
ALLOWED = [
    ("backend/comm/mpi/ok.cpp", "#include <mpi.h>\n"),
    ("backend/compute/onednn/ok.cpp", "#include <dnnl.hpp>\n#if DNNL_VERSION_MAJOR >= 3\n#endif\n"),
    ("backend/host/ok.cpp", "#include <hwloc.h>\n"),
    ("backend/compute/native/ok_inl.hpp", "// Why.\n#if defined(OK) == defined(HWY_TARGET_TOGGLE)\n#endif\n"),
    ("backend/comm/launch.hpp", GOOD_HEADER),
    ("suite/ok.cpp", '#include "backend/comm/launch.hpp"\n'),
    ("app/ok.cpp", '#include "model/good.hpp"\n#include "bench/good.hpp"\n'),
    ("tests/core/ok.cpp", '#include "core/good.hpp"\n'),
]


def complaints_about(extra):
    """What check_tree says of a small good tree with one more file in it."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        good = [(f"{name}/good.hpp", GOOD_HEADER) for name in MAY_INCLUDE]
        for path, text in good + extra:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return check_tree(root)


# Files of a build without CUDA and NCCL: a group of sources, as the build writes it; a header beside its user; and files
# that this build does not compile.
COMPILED = {
    "build/group.cpp": '#include "{root}/backend/compute/cuda/shape.cpp"\n',
    "backend/compute/cuda/shape.cpp": '#include "backend/compute/cuda/shape.hpp"\n',
    "backend/compute/cuda/shape.hpp": '#pragma once\n#include "backend/compute/cuda/cuda_names.hpp"\n',
    "backend/compute/cuda/cuda_names.hpp": "#pragma once\n#include <string>\n",
    "backend/compute/cuda/runtime/context.hpp": "#pragma once\n#include <cublasLt.h>\n",
    "backend/comm/mpi/ok.cpp": "#include <mpi.h>\n",
    "tests/backend/shape_test.cpp": '#include "helper.hpp"\n',
    "tests/backend/helper.hpp": "#pragma once\n",
}
# A change of one of these files, and the chain that must be complained of.
REACHED = [
    ({"backend/compute/cuda/shape.cpp": "#include <cuda_runtime.h>\n"}, "cuda/shape.cpp -> cuda_runtime.h: "),
    ({"backend/compute/cuda/shape.hpp": '#include "backend/compute/cuda/runtime/context.hpp"\n'},
     "cuda/shape.cpp -> backend/compute/cuda/shape.hpp -> backend/compute/cuda/runtime/context.hpp -> cublasLt.h: "),
    ({"tests/backend/helper.hpp": "#include <nccl.h>\n"}, "tests/backend/shape_test.cpp -> tests/backend/helper.hpp -> nccl.h: "),
]


def complaints_about_compiled(changed):
    """What check_compiled says of the files above, some of them changed."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for path, text in (COMPILED | changed).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text.replace("{root}", str(root)), encoding="utf-8")
        commands = root / "build" / "compile_commands.json"
        compiled = ["group.cpp", "../backend/comm/mpi/ok.cpp", str(root / "tests/backend/shape_test.cpp")]
        commands.write_text(json.dumps([{"directory": str(root / "build"), "file": file} for file in compiled]))
        return check_compiled(root, commands, ["cuda", "nccl"])


def self_test_of_compiled():
    failures = [f"a good build is refused: {line}" for line in complaints_about_compiled({})]
    for changed, expected in REACHED:
        found = complaints_about_compiled(changed)
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{changed}: expected {expected!r}, got {found}")
    return failures


def self_test():
    failures = [f"a good tree is refused: {line}" for line in complaints_about(ALLOWED)]
    for path, text, expected in VIOLATIONS:
        found = complaints_about([(path, text)])
        if not any(expected in line for line in found):
            failures.append(f"{path}: {text!r} was not caught; expected {expected!r}, got {found}")
    long_cycle = [(f"core/{a}.hpp", f'#pragma once\n#include "core/{b}.hpp"\n') for a, b in ("xy", "yz", "zx")]
    if sum("include cycle" in line for line in complaints_about(long_cycle)) != 1:
        failures.append("a cycle of three headers was not reported once")
    tie = [("core/a/x.hpp", GOOD_HEADER + '#include "core/b/y.hpp"\n'), ("core/b/y.hpp", GOOD_HEADER),
           ("core/b/z.cpp", '#include "core/a/x.hpp"\n')]
    if sum("core/a and core/b include each other" in line for line in complaints_about(tie)) != 1:
        failures.append("two folders that include each other were not reported once")
    crowd = [(f"core/crowd/f{i}.cpp", "") for i in range(MOST_FILES + 1)]
    if sum(f"core/crowd: {MOST_FILES + 1} source files" in line for line in complaints_about(crowd)) != 1:
        failures.append("a crowded folder was not reported")
    return failures + self_test_of_compiled()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("--compiled", type=pathlib.Path, metavar="FILE", help="compile_commands.json of a build")
    parser.add_argument("--absent", nargs="*", default=[], choices=VENDOR_HEADERS, help="libraries that this build lacks")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test == (arguments.root is not None):
        parser.error("give either ROOT or --self-test")
    if arguments.self_test:
        problems = self_test()
    elif arguments.compiled:
        problems = check_compiled(arguments.root, arguments.compiled, arguments.absent)
    else:
        problems = check_tree(arguments.root)
    print("\n".join(problems) or "layering: no rule is broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
