"""NVIDIA's driver, asked by its own library: nvidia-smi may be missing where GPUs are lent."""

import ctypes
import functools
import os
import pathlib
import re
import subprocess

LIBRARY = "libcuda.so.1"
# NVML lies beside the driver's library and is opened by name as well.
OPENED_BY_NAME = [LIBRARY, "libnvidia-ml.so.1"]
# Where drivers are put that the loader's cache does not know: mounted into containers, WSL.
PLACES = [
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
]


def told_folders():
    """Those of LD_LIBRARY_PATH, in their order."""
    return [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]


def folders(known, places=None):
    """Folders to search for what the driver brings and the loader does not know by itself: names
    that no program is linked with, for which ldd does not ask. `known`: the loader's cache."""
    needed = []
    for name in OPENED_BY_NAME:
        if name in known:
            continue
        for place in places or [*told_folders(), *PLACES]:
            if (pathlib.Path(place) / name).exists():
                needed.append(pathlib.Path(place))
                break
    return list(dict.fromkeys(needed))


def open_library():
    """The driver's library, or None."""
    for place in ["", *(f"{folder}/" for folder in PLACES)]:
        try:
            return ctypes.CDLL(f"{place}{LIBRARY}")
        except OSError:
            continue
    return None


def _version(number):
    return f"{number // 1000}.{number % 1000 // 10}"


def problem(library, runtime):
    """Why no GPU can be used by programs of CUDA `runtime` (its major version; 0: any), or None."""
    code = library.cuInit(0)
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    if runtime and version.value // 1000 < runtime:
        return (
            f"the driver is for CUDA {_version(version.value)} and the programs are of CUDA "
            f"{runtime} (too old a driver). Update the driver, or build with an older toolkit."
        )
    count = ctypes.c_int()
    if code == 0:
        code = library.cuDeviceGetCount(ctypes.byref(count))
    if code not in (0, 100):
        return f"the NVIDIA driver cannot be used (cuInit: error {code})"
    return None if count.value > 0 else "the NVIDIA driver is here, but no GPU that it can use"


def name_by(library):
    """What the driver calls the first GPU, or ""."""
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    if library is None or library.cuInit(0) or library.cuDeviceGet(ctypes.byref(device), 0):
        return ""
    if library.cuDeviceGetName(name, len(name), device):
        return ""
    return name.value.decode("utf-8", "replace")


def _asked(words):
    """What nvidia-smi prints, or "" where there is none or it fails."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *words], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def count_by(library):
    """How many GPUs the driver shows."""
    count = ctypes.c_int()
    if library is None or library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


@functools.cache
def gpu_count():
    """How many GPUs programs can use here."""
    return count_by(open_library())


def two_and_all(gpus):
    """Numbers of ranks that tell whether several GPUs work together: two, and one for each GPU."""
    return sorted({2, max(2, gpus)})


@functools.cache
def gpu_name():
    """What the driver calls the first GPU, as "NVIDIA H100 80GB HBM3"; "" if there is none."""
    if name := name_by(open_library()):
        return name
    listed = re.search(r"^GPU 0: (.*?)(?: \(UUID.*)?$", _asked(["-L"]), re.MULTILINE)
    return listed.group(1) if listed else ""


# What a name says after that of the kind of GPU: its memory, its connector, the part of it lent.
_BOARD = re.compile(r"^(\d+gb|hbm\w*|sxm\d?|pcie|nvl|mig)$")
# Boards of one kind that have other clocks, power and memory. SXM is what is meant unless named.
_CONNECTORS = ("pcie", "nvl")


def folder_name(gpu):
    """Of its results below results/: "h100" of "NVIDIA H100 80GB HBM3", "h100_pcie" of "NVIDIA H100
    PCIe"."""
    words = [
        word
        for word in re.findall(r"[a-z0-9]+", gpu.lower())
        if word not in ("nvidia", "tesla", "geforce")
    ]
    end = next((i for i, word in enumerate(words) if i and _BOARD.match(word)), len(words))
    return "_".join(words[:end] + [w for w in words[end:] if w in _CONNECTORS]) or "gpu"


def others(own=()):
    """Processes that compute on the GPUs, other than `own` (process numbers), as (number, name);
    None if nobody can say. In a container the numbers may be those of the host."""
    text = _asked(["--query-compute-apps=pid,process_name", "--format=csv,noheader"])
    if not text and not _asked(["-L"]):
        return None
    rows = [line.split(",", 1) for line in text.splitlines() if "," in line]
    return [
        (int(number), name.strip())
        for number, name in rows
        if number.strip().isdigit() and int(number) not in own
    ]
