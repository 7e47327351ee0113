"""What this machine has, and why GPU work cannot be done on it."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import driver

HINTS = {
    "libcudnn": "cuDNN 9",
    "libnccl": "NCCL 2",
    "libcublas": "cuBLAS, of the CUDA toolkit",
    "libcufft": "cuFFT, of the CUDA toolkit",
    "libcudart": "the CUDA runtime, of the CUDA toolkit",
    "libcuda": "the NVIDIA driver",
    "libnvidia-ml": "the NVIDIA driver",
}


TOO_SLOW = "did not end within"  # in what is said of a command that was stopped


def output_of(command, timeout=30, environment=None):
    """What a command prints, or why it does not (TOO_SLOW: it was stopped). The environment is this
    process's own if none is given."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} {TOO_SLOW} {timeout} s"
    except OSError as error:
        return f"{command[0]}: {error}"
    return (done.stdout + done.stderr).strip()


def usable_cores():
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def glibc():
    """Version of the C library, as "2.36"."""
    return os.confstr("CS_GNU_LIBC_VERSION").split()[-1]


def toolkit_tool(name):
    """A tool of the CUDA toolkit, on the PATH or where toolkits are put, or None."""
    homes = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", "/opt/cuda"]
    places = [pathlib.Path(home) for home in homes if home]
    for place in places:
        for folder in [place / "bin", place / "compute-sanitizer"]:
            if (folder / name).is_file():
                return str(folder / name)
    return shutil.which(name)


def _library_folders():
    """Where CUDA's libraries may be: as told, the toolkit's, the driver's, of Python's packages."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", "/opt/cuda"]
    if nvcc := shutil.which("nvcc"):
        homes.append(str(pathlib.Path(nvcc).resolve().parent.parent))
    folders = [*driver.told_folders(), *(f"{home}/lib64" for home in homes if home)]
    folders += driver.PLACES
    for entry in filter(None, sys.path):
        folders += sorted(map(str, pathlib.Path(entry).glob("nvidia/*/lib")))
        folders.append(f"{entry}/torch/lib")
    return [pathlib.Path(folder) for folder in folders if folder and pathlib.Path(folder).is_dir()]


@functools.cache
def in_loader_cache():
    """Name → path of the libraries that the dynamic loader knows by itself."""
    for ldconfig in ["ldconfig", "/sbin/ldconfig"]:
        text = output_of([ldconfig, "-p"])
        if found := re.findall(r"^\s*(\S+) \([^)]*x86-64[^)]*\) => (/\S+)", text, re.MULTILINE):
            return dict(found)
    return {}


def find_cuda_libraries(names):
    """(folders to search besides the loader's own, names that are nowhere)."""
    known, folders = in_loader_cache(), _library_folders()
    needed, missing = [], []
    for name in names:
        if name in known:
            continue
        holders = [folder for folder in folders if (folder / name).exists()]
        if not holders:
            missing.append(name)
        elif not any(folder in needed for folder in holders):
            needed.append(holders[0])
    # What CUDA's libraries load by themselves later (NVRTC) is beside the toolkit's others.
    toolkit = [folder for folder in folders if any(folder.glob("libnvrtc.so*"))]
    return needed + [folder for folder in toolkit[:1] if folder not in needed], missing


def name_missing(names):
    """A sentence about libraries that are nowhere."""

    def described(name):
        hint = HINTS.get(name.split(".")[0].removesuffix("Lt"), "the CUDA toolkit")
        return f"{name} ({hint})"

    return (
        f"not installed here: {', '.join(map(described, names))}. Looked where LD_LIBRARY_PATH, "
        "the loader's cache, CUDA_HOME, nvcc and Python's packages point."
    )


def gpu_problem(cuda_libraries):
    """Why no GPU work can be done by programs that load `cuda_libraries`, or None."""
    if not cuda_libraries:
        return "the packed programs were built without CUDA"
    library = driver.open_library()
    if library is None:
        return "no NVIDIA driver is here (there is no libcuda.so.1)"
    runtime = re.search(r"libcudart\.so\.(\d+)", " ".join(cuda_libraries))
    if problem := driver.problem(library, int(runtime.group(1)) if runtime else 0):
        return problem
    _, missing = find_cuda_libraries(cuda_libraries)
    return name_missing(missing) if missing else None


def describe():
    """What results need to be understood: processor, GPU, driver, versions."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text("utf-8"))
    system = (
        re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text("utf-8"))
        if pathlib.Path("/etc/os-release").exists()
        else None
    )
    return {
        "system": system.group(1) if system else "unknown",
        "kernel": os.uname().release,
        "glibc": glibc(),
        "cpu": cpu.group(1) if cpu else "unknown",
        "usable_cores": usable_cores(),
        "load": pathlib.Path("/proc/loadavg").read_text("utf-8").strip(),
        "python": sys.version.split()[0],
        "gpu_name": driver.gpu_name(),
        "others_on_gpu": driver.others(),
        "nvidia_smi": output_of(["nvidia-smi"]),
        "gpu": output_of(
            [
                "nvidia-smi",
                "--format=csv",
                "--query-gpu=name,driver_version,"
                "memory.total,power.limit,clocks.max.sm,clocks.sm,temperature.gpu",
            ]
        ),
        "nvcc": output_of([toolkit_tool("nvcc") or "nvcc", "--version"]).splitlines()[-1:],
    }
