"""Lets mpirun start ranks on the hosts: a host list, and an agent in place of ssh."""

import os
import pathlib

import namespaces
from network import SUBNET, SWITCH_ADDRESS

AGENT = "dlscale-on-host"

# mpirun calls it like ssh: the host, then words for a shell there.
AGENT_TEXT = """#!/bin/sh
# usage: {agent} HOST COMMAND…
host=$1
shift
case $host in
{cases}
  *) echo "{agent}: host \\"$host\\" is not known." >&2; exit 2 ;;
esac
exec nsenter --target "$process" --net --uts taskset --cpu-list "$cores" sh -c "$*"
"""


def write(path, text, mode=0o644):
    pathlib.Path(path).write_text(text, encoding="utf-8")
    os.chmod(path, mode)


def agent(plan, processes):
    cases = []
    for host in plan.hosts:
        cores = ",".join(map(str, host.cores))
        cases.append(f"  {host.name}) process={processes[host.name].pid} cores={cores} ;;")
    return AGENT_TEXT.format(agent=AGENT, cases="\n".join(cases))


def ways(plan):
    """Variables that lead mpirun to the hosts, for Open MPI 4 and for PRTE of Open MPI 5."""
    folder = namespaces.FOLDER
    return {
        "OMPI_MCA_orte_default_hostfile": f"{folder}/hostfile",
        "PRTE_MCA_prte_default_hostfile": f"{folder}/hostfile",
        "OMPI_MCA_plm_rsh_agent": AGENT,
        "PRTE_MCA_plm_ssh_agent": AGENT,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",  # a host's daemon does not start others
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "OMPI_MCA_oob_tcp_if_include": SUBNET,
        "PRTE_MCA_prte_if_include": SUBNET,
        "OMPI_MCA_btl_tcp_if_include": SUBNET,
        "OMPI_MCA_orte_tmpdir_base": folder,
        "PRTE_MCA_prte_tmpdir_base": folder,
        # The owner of the cluster's namespaces is root in them.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "DLSCALE_CLUSTER": plan.describe(),
    }


# Variables set by the user win over these.
CHOICES = {
    # Only sockets between hosts, shared memory within a host.
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader,tcp",
    # Keepalive: seconds before the first probe, seconds between probes, number of probes.
    "OMPI_MCA_oob_tcp_keepalive_time": "10",
    "OMPI_MCA_oob_tcp_keepalive_intvl": "5",
    "OMPI_MCA_oob_tcp_keepalive_probes": "3",
    # Each host is already bound to its cores.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


def waiting(plan):
    """Makes waiting ranks yield if ranks share cores. Each host seems to have its own cores, so
    Open MPI would let waiting ranks spin; the others would run only when the kernel preempts
    those, some milliseconds later."""
    return {"OMPI_MCA_mpi_yield_when_idle": "1"} if plan.shares_cores() else {}


def install(plan, processes):
    """Writes files for mpirun and returns the environment that leads it to them."""
    folder = namespaces.FOLDER
    os.mkdir(f"{folder}/bin")
    write(f"{folder}/bin/{AGENT}", agent(plan, processes), 0o755)
    write(f"{folder}/hostfile", "".join(f"{host.name} slots={plan.slots}\n" for host in plan.hosts))
    names = [("127.0.0.1", "localhost"), (SWITCH_ADDRESS, "head")]
    names += [(host.address, host.name) for host in plan.hosts]
    write(f"{folder}/hosts", "".join(f"{address} {name}\n" for address, name in names))
    namespaces.bind(f"{folder}/hosts", "/etc/hosts")
    os.environ["PATH"] = f"{folder}/bin:{os.environ.get('PATH', os.defpath)}"
    os.environ.update(ways(plan))
    for name, value in (CHOICES | waiting(plan)).items():
        os.environ.setdefault(name, value)
