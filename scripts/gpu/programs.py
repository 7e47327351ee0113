"""The packed programs, unpacked: how they are started, and why one cannot be."""

import json
import os
import pathlib
import re
import subprocess
import tarfile

import driver
import machine
import open_mpi
from libraries import is_older
from pack import ARCHIVE, MANIFEST

LOADER = "/lib64/ld-linux-x86-64.so.2"
# Of a fresh machine that has to read CUDA's libraries from its disk first: a gigabyte and more.
COLD_START = 240


class ProgramsError(Exception):
    """The packed programs cannot run on this machine; the message says why."""


def read_manifest(folder):
    """What is in a pack."""
    try:
        manifest = json.loads((pathlib.Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProgramsError(
            f"{folder} holds no pack ({error}). Make one where the program is built: "
            "scripts/on_gpu --pack FOLDER."
        ) from error
    if manifest.get("schema") != "dlscale.pack" or manifest.get("version") != 1:
        raise ProgramsError(f"{folder} holds another kind of pack. Make it with this script.")
    return manifest


def library_path(packed, cuda, told, fallback=()):
    """LD_LIBRARY_PATH of a program: a C++ runtime that must be used, what was packed, what holds
    CUDA's libraries and its driver, then whatever the caller was told: a driver may be found by
    that alone."""
    folders = [*fallback, *packed, *cuda, *told]
    return ":".join(dict.fromkeys(map(str, folders)))


class Programs:
    """Unpacks into `root`. `gpu_problem` is why no GPU work can be done, or None."""

    def __init__(self, folder, root):
        self.manifest = read_manifest(folder)
        self.root = pathlib.Path(root)
        if is_older(machine.glibc(), self.manifest["glibc"]):
            raise ProgramsError(
                f"glibc is {machine.glibc()} here and the programs need {self.manifest['glibc']} "
                "(built on a newer system). Build them on a system as old as this one."
            )
        try:
            with tarfile.open(pathlib.Path(folder) / ARCHIVE) as archive:
                archive.extractall(self.root)
        except (OSError, tarfile.TarError, EOFError) as error:
            raise ProgramsError(f"{folder} cannot be unpacked: {error}. Pack again.") from error
        self.gpu_problem = machine.gpu_problem(self.manifest["cuda_libraries"])
        self._folders, self._missing = machine.find_cuda_libraries(self.manifest["cuda_libraries"])
        if self.manifest["cuda_libraries"]:
            self._folders += driver.folders(machine.in_loader_cache())
        self._fallback = False
        self._check_start()

    @property
    def tests(self):
        return self.manifest["tests"]

    @property
    def mpi_problem(self):
        """Why no ranks can be started, or None."""
        told = self.manifest["mpi"]
        return None if told is True else f"no MPI was packed: {told}"

    def program(self):
        """The one that measures: without CUDA's libraries, if this machine lacks some."""
        host = self.manifest.get("host_program") is True
        return self.root / "bin" / ("dlscale-host" if self._missing and host else "dlscale")

    def test(self, name):
        return self.root / "bin" / name

    def configs(self):
        """The folder of networks and clusters."""
        return self.root / "share" / "dlscale" / "configs"

    def environment(self):
        """Of every program: its libraries, its configurations, Open MPI."""
        lib = self.root / "lib"
        path = library_path(
            [lib], self._folders, driver.told_folders(), [lib / "fallback"] if self._fallback else []
        )
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "OPAL_", "PRTE_"))
        }
        return (
            kept
            | open_mpi.variables(self.root)
            | {
                "LD_LIBRARY_PATH": path,
                "DLSCALE_CONFIGS": str(self.configs()),
            }
        )

    def launched(self, command, ranks):
        """The command line of any command, on `ranks` ranks if they are to be launched."""
        launcher = (
            [str(self.root / "openmpi" / "bin" / "mpirun"), "-n", str(ranks)] if ranks else []
        )
        return [*launcher, *map(str, command)]

    def command(self, words, ranks=0):
        """That of `dlscale WORDS`."""
        return self.launched([self.program(), *words], ranks)

    def _loading(self):
        try:
            done = subprocess.run(
                [LOADER, "--list", str(self.program())],
                env=self.environment(),
                capture_output=True,
                text=True,
                check=False,
                timeout=COLD_START,
            )
        except subprocess.TimeoutExpired as error:
            raise ProgramsError(
                f"the dynamic loader did not end within {error.timeout:.0f} s (a disk that hangs?). "
                "Run again: what it read is in memory then."
            ) from error
        text = done.stdout + done.stderr
        return [
            line.strip() for line in text.splitlines() if "not found" in line or "error" in line
        ]

    def _check_start(self):
        """Can the dynamic loader start the program? Its own C++ runtime is used if it must be."""
        problems = self._loading()
        if any(re.search(r"libstdc\+\+|libgcc_s|CXX", problem) for problem in problems):
            self._fallback = True
            problems = self._loading()
        if not problems:
            return
        if self._missing:
            raise ProgramsError(machine.name_missing(self._missing))
        raise ProgramsError(f"the program cannot be loaded here: {problems[0]}.")
