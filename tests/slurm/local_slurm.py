"""A Slurm of its own on this machine: one slurmctld and several slurmd, each a node, all below one folder.

Needs root, and Debian's slurm-wlm and munge. What stops it ends only what it has started.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "sinfo", "squeue", "scontrol"]

CONFIGURATION = """
ClusterName=dlscale
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=5
ReturnToService=2
MinJobAge=600
NodeName=node[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs=2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why this machine cannot run it; empty if it can."""
    if os.geteuid() != 0:
        return "a Slurm of its own needs root"
    missing = [name for name in PROGRAMS if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    return f"{', '.join(missing)} not found; Debian's slurm-wlm and munge have them" if missing else ""


def free_ports(count):
    """The first of so many ports in a row that nobody listens at."""
    for first in range(17000, 40000, count + 1):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


class LocalSlurm:
    """The cluster of a `with` statement. `variables` lead Slurm's programs to it."""

    def __init__(self, nodes=3):
        self.nodes = nodes
        self.processes = {}

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dlscale-slurm-"))
        os.chmod(self.folder, 0o755)
        (self.folder / "state").mkdir()
        first = free_ports(self.nodes + 1)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, control_port=first, first_port=first + 1, last_port=first + self.nodes,
            nodes=self.nodes))
        self.variables = {"SLURM_CONF": str(self.folder / "slurm.conf"),
                          "PATH": os.environ["PATH"] + ":/usr/sbin"}
        try:
            self.start_all()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, name, *command):
        log = open(self.folder / f"{name}.out", "ab")
        self.processes[name] = subprocess.Popen(
            command, env=os.environ | self.variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)
        log.close()

    def start_all(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        # A folder that others may look into, on which munged insists unless it is forced.
        self.start("munged", "munged", "--foreground", "--force", f"--key-file={key}",
                   f"--socket={self.folder}/munge.socket", f"--log-file={self.folder}/munged.log",
                   f"--pid-file={self.folder}/munged.pid", f"--seed-file={self.folder}/munged.seed")
        self.wait_until(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.start("slurmctld", "slurmctld", "-D")
        for node in range(1, self.nodes + 1):
            self.start_node(f"node{node}")
        self.wait_until(lambda: self.states() == ["idle"] * self.nodes, "nodes that are idle")

    def start_node(self, node):
        # PMIx makes folders of one name on every node, which here have one file system.
        for kind in ["spool", "tmp"]:
            (self.folder / f"{kind}.{node}").mkdir(exist_ok=True)
        self.start(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node):
        """As if its machine had lost power. Returns when Slurm has seen it."""
        process = self.processes.pop(node)
        process.kill()
        process.wait()
        self.wait_until(lambda: "down*" in self.states(), f"{node} to be missed", 60)

    def revive_node(self, node):
        self.start_node(node)
        self.wait_until(lambda: self.states() == ["idle"] * self.nodes, f"{node} to be back", 60)

    def ask(self, *command):
        """What one of Slurm's programs prints; empty where it fails."""
        result = subprocess.run(command, env=os.environ | self.variables, capture_output=True, text=True,
                                check=False, timeout=60)
        return result.stdout if result.returncode == 0 else ""

    def states(self):
        return self.ask("sinfo", "--noheader", "--Node", "--format=%t").split()

    def jobs(self):
        """How many jobs there were."""
        return self.ask("scontrol", "show", "job", "--oneliner").count("JobId=")

    def wait_until(self, holds, what, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                logs = [path.read_text(errors="replace")[-1500:] for path in sorted(self.folder.glob("*.log"))]
                raise RuntimeError(f"waited {seconds} s for {what} in vain\n" + "\n".join(logs))
            time.sleep(0.2)

    def stop(self):
        self.ask("scancel", "--user=root")
        for process in reversed(list(self.processes.values())):
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
