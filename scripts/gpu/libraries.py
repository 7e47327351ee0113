"""The shared libraries that programs load: which, from where, and what they ask of the system."""

import pathlib
import re
import subprocess

# Belong to the system: they must fit its kernel and its dynamic loader.
GLIBC = re.compile(
    r"(linux-vdso|ld-linux.*|lib(c|m|dl|pthread|rt|util|resolv|anl|nsl|BrokenLocale))\.so(\.|$)"
)
# Hundreds of megabytes, and a machine with a GPU has its own.
CUDA = re.compile(
    r"lib(cuda|cudart|cublas|cublasLt|cudnn\w*|cufft\w*|nccl|nvrtc[\w-]*|nvJitLink|nvidia-[\w-]+"
    r"|cupti|cusolver|cusparse|curand)\.so(\.|$)"
)
# Taken from the pack only where the system has none, or an older one.
CXX_RUNTIME = re.compile(r"lib(stdc\+\+|gcc_s)\.so\.")


class LibraryError(Exception):
    """A library is missing or cannot be read; the message says which and for what."""


def _sections(text, paths):
    """What ldd said, by program: for one program it leaves out the line with its name."""
    if len(paths) == 1:
        return {paths[0]: text.splitlines()}
    sections = {}
    for line in text.splitlines():
        if not line.startswith("\t"):
            current = sections.setdefault(pathlib.Path(line.rstrip(":")), [])
        else:
            current.append(line)
    return sections


def loaded_by(paths):
    """For each program or library of `paths`: the name and path (None: missing) of all it loads."""
    paths = [pathlib.Path(path) for path in paths]
    if not paths:
        return {}
    done = subprocess.run(
        ["ldd", *map(str, paths)], capture_output=True, text=True, check=False, timeout=300
    )
    loaded = {}
    for path, lines in _sections(done.stdout, paths).items():
        found = re.findall(r"^\s*(\S+) => (not found|/\S+)", "\n".join(lines), re.MULTILINE)
        loaded[path] = {
            name: None if where == "not found" else pathlib.Path(where) for name, where in found
        }
    missing = [path for path in paths if path not in loaded]
    if missing:
        raise LibraryError(f"ldd says nothing of {missing[0]} (is it a program?).")
    return loaded


def sort_libraries(loaded):
    """(to pack, the C++ runtime, names that CUDA brings) out of name → path."""
    own, runtime, cuda = {}, {}, set()
    for name, path in sorted(loaded.items()):
        if GLIBC.match(name):
            continue
        if CUDA.match(name):
            cuda.add(name)
        elif path is None:
            raise LibraryError(
                f"{name} is needed and not installed here. Install it and pack again."
            )
        elif CXX_RUNTIME.match(name):
            runtime[name] = path
        else:
            own[name] = path
    return own, runtime, cuda


def _version(text):
    return tuple(int(part) for part in text.split("."))


def newest_glibc(paths):
    """The newest version of glibc that any of the files asks for, as "2.36"."""
    newest = "2.2"
    for path in paths:
        read = subprocess.run(
            ["readelf", "-VW", str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        for version in re.findall(r"Name: GLIBC_([0-9.]+)", read.stdout):
            newest = max(newest, version, key=_version)
    return newest


def is_older(version, than):
    """Whether "2.31" is older than "2.36"."""
    return _version(version) < _version(than)
