"""For the tests of the recipes in docs/ci: a checkout with two commits whose builds are programs that write down how they are called."""

import os
import re
import shutil
import subprocess

from support import ROOT, FolderTest, output_of

RECIPES = ROOT / "docs" / "ci"

# In place of CMake: configures by leaving the cache, builds by copying the program that FAKE_PROGRAM names.
CMAKE = """#!/bin/sh
[ -z "${BREAK_BUILD:-}" ] || { echo "broken on purpose"; exit 1; }
case $1 in
  -S) mkdir -p "$2/build/$4" && echo "CMAKE_HOME_DIRECTORY:INTERNAL=$2" > "$2/build/$4/CMakeCache.txt" ;;
  --preset) mkdir -p "build/$2" ;;
  --build) ln -sf "$FAKE_PROGRAM" "$2/dlscale" ;;
  *) exit 9 ;;
esac
"""

# In place of dlscale: writes down its words, and ends with the code that the file of its verb in CODES has, or its next line.
DLSCALE = """#!/bin/sh
name=$1
[ "$1" != history ] || name="$1 $2"
{ printf '%s\\037' "$@"; echo; } >> "$CALLS"
code=0
if [ -f "$CODES/$name" ]; then
  read -r code < "$CODES/$name"
  [ "$(wc -l < "$CODES/$name")" -lt 2 ] || sed -i 1d "$CODES/$name"
fi
case $name in
  noise) echo "this machine can see changes of 3.0 % or more" ;;
  gate)
    echo "1 regressed of 2"
    while [ $# -gt 0 ]; do
      case $code:$1 in
        [0135]:-o) mkdir -p "$2" && echo > "$2/gate.json" ;;
        [013]:comment=*) { echo "<!-- dlscale -->"; echo "1 regressed of 2"; } > "${1#*=}" ;;
        [013]:*=*) echo "${1%%=*}" > "${1#*=}" ;;
      esac
      shift
    done
    ;;
esac
exit "$code"
"""


def git(folder, *words):
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


class CheckoutTest(FolderTest):
    """A folder with a checkout of two commits, and in its path programs in place of CMake and dlscale."""

    def setUp(self):
        super().setUp()
        self.checkout = self.folder / "checkout"
        (self.checkout / "docs").mkdir(parents=True)
        (self.checkout / "configs" / "suites").mkdir(parents=True)
        shutil.copytree(RECIPES, self.checkout / "docs" / "ci", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "configs" / "suites" / "gate.yaml", self.checkout / "configs" / "suites")
        git(self.checkout, "init", "-q")
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-qm", "first")
        git(self.checkout, "commit", "-qm", "second", "--allow-empty")
        self.calls = self.folder / "calls"
        self.write("bin/cmake", CMAKE)
        self.program = self.write("dlscale", DLSCALE)

    def run_recipe(self, name, *words, codes=None, **variables):
        return self.run_in_checkout(self.checkout / "docs" / "ci" / name, *words, codes=codes, **variables)

    def run_in_checkout(self, *words, codes=None, **variables):
        kept = ("PATH", "HOME", "LANG", "TMPDIR")
        environment = {key: os.environ[key] for key in kept if key in os.environ}
        environment |= {key: value for key, value in os.environ.items() if key.startswith(("ASAN_", "UBSAN_", "OMPI_"))}
        environment |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "FAKE_PROGRAM": str(self.program), "CALLS": str(self.calls),
                        "CODES": str(self.folder / "codes")}
        shutil.rmtree(self.folder / "codes", ignore_errors=True)
        for verb, ends in (codes or {}).items():
            self.write(f"codes/{verb}", "".join(f"{code}\n" for code in ends))
        return output_of(*words, cwd=self.checkout, timeout=600,
                         env=environment | {key: str(value) for key, value in variables.items()})

    def called(self):
        """The words of each call of the program in place of dlscale."""
        if not self.calls.exists():
            return []
        return [line.split("\x1f")[:-1] for line in self.calls.read_text().split("\n")[:-1]]


# Of a command line with one word that nobody knows; with more of them it names another, or several.
UNKNOWN = re.compile(r"The following argument was not expected: --no-such-option\.|\"--no-such-option\" is not an option of this benchmark|--no-such-option is not an option of \w+\.")


def complaint_of(program, words):
    """What the real program says against a command line; empty if it knows all of it. It is given an option that nobody has, so
    that it stops there, and names what it does not know."""
    variables = dict(os.environ) | {"DLSCALE_CONFIGS": str(ROOT / "configs")}
    done = output_of(program, *words, "--no-such-option", timeout=60, env=variables)
    if done.returncode == 2 and UNKNOWN.search(done.stderr):
        return ""
    return f"dlscale {' '.join(words)}: exit code {done.returncode}: {done.stderr.strip()}"
