"""The packed programs, unpacked: how they are started, and why one cannot be."""

import json
import os
import pathlib
import re
import subprocess
import tarfile

import machine
import open_mpi
from libraries import is_older
from pack import ARCHIVE, MANIFEST

LOADER = "/lib64/ld-linux-x86-64.so.2"


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
        folders = [self.root / "lib", *self._folders]
        if self._fallback:
            folders.insert(0, self.root / "lib" / "fallback")
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "OPAL_", "PRTE_"))
        }
        return (
            kept
            | open_mpi.variables(self.root)
            | {
                "LD_LIBRARY_PATH": ":".join(map(str, folders)),
                "DLSCALE_CONFIGS": str(self.configs()),
            }
        )

    def command(self, words, ranks=0):
        """The command line of `dlscale WORDS`, on `ranks` ranks if they are to be launched."""
        launcher = (
            [str(self.root / "openmpi" / "bin" / "mpirun"), "-n", str(ranks)] if ranks else []
        )
        return [*launcher, str(self.program()), *map(str, words)]

    def _loading(self):
        done = subprocess.run(
            [LOADER, "--list", str(self.program())],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
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
