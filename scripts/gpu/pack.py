"""Makes the folder to take to a machine with a GPU: programs, what they load, and this runner."""

import json
import lzma
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import open_mpi
from libraries import LibraryError, loaded_by, newest_glibc, sort_libraries

ARCHIVE = "programs.tar.xz"
MANIFEST = "manifest.json"
# Of the whole folder. Where machines are lent, a checkout and what is taken along may have 64 MiB.
LIMIT = 50 * 10**6
# The programs are linked with the same libraries: a dictionary that reaches back over several of
# them finds all that they share, whatever the effort (preset) that is made besides.
FILTERS = [
    {"id": lzma.FILTER_X86},
    {"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 * 2**20},
]


class PackError(Exception):
    """The pack cannot be made; the message says why and what to do."""


def _cache_value(build, name):
    """A value of CMake's cache, or ""."""
    text = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def device_tests(build):
    """The programs of the tests with the label "device", as the build's ctest lists them."""
    listed = subprocess.run(
        ["ctest", "--test-dir", str(build), "-L", "^device$", "--show-only=json-v1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if listed.returncode != 0:
        raise PackError(f"ctest cannot list the tests of {build}: {listed.stderr.strip()}.")
    programs = {}
    for test in json.loads(listed.stdout)["tests"]:
        # A launcher may stand before the program; of a test that is not built there is no command.
        inside = [word for word in test.get("command", []) if word.startswith(f"{build}/")]
        program = pathlib.Path(inside[0]) if inside else None
        if program is None or not program.is_file():
            raise PackError(f"the test {test['name']} is not built. Run: cmake --build {build}")
        programs[program.name] = program
    return programs


def _strip_into(source, target):
    """Copies a program without its symbols, which take more room than its code."""
    shutil.copy2(source, target)
    subprocess.run(["strip", str(target)], check=False, capture_output=True)
    target.chmod(0o755)


class _Pack:
    """The tree that will be unpacked, and what is known of it."""

    def __init__(self, root):
        self.root = root
        self.loaded = {}
        self.manifest = {"schema": "dlscale.pack", "version": 1, "mpi": True}

    def _place(self, name):
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def add_program(self, name, source):
        _strip_into(source, self._place(f"bin/{name}"))
        for libraries in loaded_by([source]).values():
            self.loaded |= libraries

    def add_open_mpi(self, mpiexec):
        try:
            files, loaded = open_mpi.find(mpiexec)
        except open_mpi.NoOpenMpiError as error:
            self.manifest["mpi"] = str(error)
            return
        for name, source in files.items():
            shutil.copy2(source, self._place(name))
        self.loaded |= loaded

    def add_libraries(self):
        own, runtime, cuda = sort_libraries(self.loaded)
        for name, source in own.items():
            shutil.copy2(source, self._place(f"lib/{name}"))
        for name, source in runtime.items():
            shutil.copy2(source, self._place(f"lib/fallback/{name}"))
        self.manifest["cuda_libraries"] = sorted(cuda)

    def add_plugins(self, build):
        """What NCCL loads to tell which algorithm it chose."""
        for plugin in sorted(build.rglob("libnccl-profiler-dlscale.so")):
            shutil.copy2(plugin, self._place(f"lib/dlscale/{plugin.name}"))

    def add_data(self, source):
        for folder in ["configs", "plots"]:
            shutil.copytree(
                source / folder,
                self._place(f"share/dlscale/{folder}"),
                ignore=shutil.ignore_patterns("__pycache__"),
            )

    def note_needs(self):
        # The fallback is for older systems; what it asks of glibc binds none that has its own.
        files = [path for path in self.root.rglob("*") if path.is_file()]
        binaries = [path for path in files if path.open("rb").read(4) == b"\x7fELF"]
        self.manifest["glibc"] = newest_glibc(binaries)


def _description(program):
    """What the program says of itself: version, commit, compiler."""
    try:
        said = subprocess.run(
            [str(program), "info"], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError as error:
        raise PackError(f"{program} cannot be run: {error}.") from error
    lines = said.stdout.splitlines()
    return lines[0] if said.returncode == 0 and lines else "unknown (it does not start here)"


def _commit(description):
    found = re.search(r"commit (\w+)", description)
    return found.group(1) if found else None


def _add_host_program(pack, host_build, description):
    """A program without CUDA's libraries, for the processor's part on a machine that lacks one."""
    program = host_build / "dlscale" if host_build else None
    if program is None or not program.is_file():
        pack.manifest["host_program"] = f"{program or 'it'} was not built when this was packed"
        return
    if _commit(_description(program)) != _commit(description):
        pack.manifest["host_program"] = f"{program} was built from another commit"
        return
    _, _, cuda = sort_libraries(loaded_by([program])[program])
    if cuda:
        pack.manifest["host_program"] = (
            f"{program} loads {sorted(cuda)[0]} itself, so it would start nowhere else. Build "
            "another by: cmake --preset host && cmake --build build/host --target dlscale"
        )
        return
    pack.add_program("dlscale-host", program)
    pack.manifest["host_program"] = True


def _chosen(tests, wanted):
    """The tests that are wanted, out of name → program."""
    unknown = [name for name in wanted or [] if name not in tests]
    if unknown:
        raise PackError(f"{unknown[0]} is no device test. There are: {', '.join(sorted(tests))}.")
    return {name: program for name, program in tests.items() if not wanted or name in wanted}


def _fill(pack, source, build, host_build, wanted):
    program = build / "dlscale"
    if not program.is_file():
        raise PackError(f"{program} is not there. Run: cmake --build {build}")
    pack.add_program("dlscale", program)
    pack.manifest["program"] = _description(program)
    tests = _chosen(device_tests(build), wanted)
    for name, test in tests.items():
        pack.add_program(name, test)
    pack.manifest["tests"] = sorted(tests)
    pack.add_open_mpi(_cache_value(build, "MPIEXEC_EXECUTABLE"))
    _, _, cuda = sort_libraries(pack.loaded)
    if cuda:
        _add_host_program(pack, host_build, pack.manifest["program"])
    pack.add_plugins(build)
    pack.add_libraries()
    pack.add_data(source)
    pack.note_needs()


def _largest_files(root):
    files = sorted(
        (path for path in root.rglob("*") if path.is_file()), key=lambda p: -p.stat().st_size
    )
    return ", ".join(f"{path.name} {path.stat().st_size / 1e6:.0f} MB" for path in files[:4])


def too_large(size, limit, root):
    """The sentence for a pack of `size` bytes, with its largest files."""
    return (
        f"the pack has {size / 1e6:.0f} MB, more than {limit / 1e6:.0f} MB (largest: "
        f"{_largest_files(root)}, before they are compressed). Pack fewer tests (--tests), build for "
        "one kind of GPU (-DCMAKE_CUDA_ARCHITECTURES=90-real), or raise --limit."
    )


def _own_folder(folder):
    """The folder, empty but for an earlier pack, of which nothing is left that could be taken for
    the one that is made."""
    known = {ARCHIVE, "programs.tar.gz", MANIFEST, "on_gpu", "gpu"}  # .gz: of earlier versions
    if folder.exists() and any(entry.name not in known for entry in folder.iterdir()):
        raise PackError(f"{folder} holds other files than a pack. Name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in [*folder.glob("programs.tar.*"), folder / MANIFEST]:
        earlier.unlink(missing_ok=True)


def compress(tree, archive):
    """Writes a folder as a compressed archive."""
    with lzma.open(archive, "wb", filters=FILTERS) as out, tarfile.open(mode="w", fileobj=out) as tar:
        tar.add(tree, arcname=".")


def _size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(folder, source, build, host_build=None, tests=None, limit=LIMIT):
    """Packs what `build` holds into `folder`; returns the manifest. Throws PackError.

    `tests`: which device tests; all if none are named. `limit`: bytes of the whole folder."""
    folder, build = pathlib.Path(folder), pathlib.Path(build).resolve()
    if not (build / "CMakeCache.txt").is_file():
        raise PackError(f"{build} is no build. Run: cmake --preset {build.name}")
    _own_folder(folder)
    with tempfile.TemporaryDirectory() as temporary:
        pack = _Pack(pathlib.Path(temporary) / "pack")
        try:
            _fill(pack, source, build, host_build, tests)
        except LibraryError as error:
            raise PackError(str(error)) from error
        compress(pack.root, folder / ARCHIVE)
        shutil.copy2(source / "scripts" / "on_gpu", folder / "on_gpu")
        shutil.rmtree(folder / "gpu", ignore_errors=True)
        shutil.copytree(
            source / "scripts" / "gpu", folder / "gpu", ignore=shutil.ignore_patterns("__pycache__")
        )
        size = _size(folder)
        if size > limit:
            (folder / ARCHIVE).unlink()
            raise PackError(too_large(size, limit, pack.root))
    pack.manifest["bytes"] = size
    (folder / MANIFEST).write_text(json.dumps(pack.manifest, indent=2) + "\n", encoding="utf-8")
    return pack.manifest
