"""Namespaces of Linux, which are gone when the last process in them is.

The cluster lives in a process namespace: when its first process ends, or the one that waits for it
outside, the kernel ends all others and with them every network, host name and mount that they had.
"""

import ctypes
import os
import signal
import socket

NEWNS, NEWUTS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
FOLDER = "/dev/shm/dlscale-cluster"  # the cluster's own folder in memory; see enter_folder()

libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """This machine or user cannot have a cluster; the message says why and what to do."""


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def leave_this_machine():
    """Gives later forks their own process ids, network, host name and mounts."""
    flags = NEWNS | NEWUTS | NEWPID | NEWNET
    user, group = os.geteuid(), os.getegid()
    try:
        call("unshare", flags if user == 0 else flags | NEWUSER)
        if user != 0:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"0 {user} 1"),
                ("gid_map", f"0 {group} 1"),
            ):
                with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                    file.write(text)
    except OSError as error:
        raise Unavailable(
            f"namespaces are not permitted here ({error.strerror}), so there can be no hosts. "
            "Run it as root; in a container, give that the capability SYS_ADMIN."
        ) from error


def die_with_parent(parent_lives):
    """Makes this process die with its parent. `parent_lives`: a pipe that the parent writes."""
    call("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    os.set_blocking(parent_lives, False)
    try:
        gone = os.read(parent_lives, 1) == b""  # the parent ended before the line above
    except BlockingIOError:
        gone = False
    if gone:
        os._exit(1)


def mount(source, target, kind, flags, data=None):
    call("mount", source, target, kind, ctypes.c_ulong(flags), data)


def settle():
    """Sets up the first process: its own mounts, and FOLDER."""
    try:
        mount(b"none", b"/", None, MS_REC | MS_PRIVATE)
        mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        # Private shared memory, which ranks of other clusters cannot open by name.
        mount(b"tmpfs", b"/dev/shm", b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777")
        socket.sethostname("head")
    except OSError as error:
        raise Unavailable(
            f"a mount or host name of the cluster's own is not permitted here ({error.strerror}). "
            "Run it as root; in a container, give that the capability SYS_ADMIN and a /proc with "
            "nothing hidden."
        ) from error
    os.mkdir(FOLDER)


def bind(source, target):
    """Makes `target` show the file `source` in this cluster only."""
    try:
        mount(source.encode(), target.encode(), None, MS_BIND)
    except OSError as error:
        raise Unavailable(
            f"{target} cannot be replaced for the cluster ({error.strerror}), so hosts have no "
            "names. See that it is there."
        ) from error
