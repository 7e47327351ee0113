"""What the tests of scripts/cluster share."""

import os
import pathlib
import subprocess
import sys
import time

from support import ROOT, output_of

CLUSTER = ROOT / "scripts" / "cluster"


def arguments(*options, command):
    return [sys.executable, str(CLUSTER), *options, "--", *map(str, command)]


def cluster(*options, command=(), environment=None):
    """Runs it to its end."""
    return output_of(*arguments(*options, command=command), timeout=60, stdin=subprocess.DEVNULL,
                     env=os.environ | (environment or {}))  # fmt: skip


def wait_until(condition, seconds=15):
    """Polls: what the kernel does on its own is not announced."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def links_of_processes(what):
    """What /proc/PID/`what` of all processes lead to."""
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found.add(os.readlink(entry / what))
        except OSError:
            continue  # it has ended meanwhile
    return found


def running(word):
    """Whether a process has this word on its command line."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in entry.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue  # it has ended meanwhile
    return False


def own_network():
    """Links, addresses, routes, queues and mounts of this machine."""
    asked = ("ip -brief link", "ip -brief address", "ip route", "ip netns", "tc qdisc")
    shown = [subprocess.run(words.split(), capture_output=True, text=True, check=True).stdout for words in asked]
    return [*shown, pathlib.Path("/proc/self/mounts").read_text()]


def cannot():
    """Why there can be no cluster here, if so."""
    if not sys.platform.startswith("linux"):
        return "namespaces are of Linux"
    tried = cluster("--hosts", "1", "--bandwidth", "1Gb/s", command=["true"])
    return tried.stderr.strip() if tried.returncode == 6 else None
