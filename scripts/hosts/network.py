"""The network of a cluster: hosts, their switch, and traffic shaping on the links."""

import pathlib
import shutil
import subprocess

from namespaces import Unavailable

TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "taskset": "util-linux",
    "hostname": "hostname",
}
SWITCH_ADDRESS = "10.77.0.254"
SUBNET = "10.77.0.0/24"

# Queue limit of a link: more than all sockets of a host offer at once, so that no packet is lost
# when several hosts send to one. (A switch with small buffers that cannot pause a sender loses
# packets.)
QUEUE_BYTES = 2**26

# Number of TCP retransmissions on the head, where mpirun runs: for 25 s instead of the usual
# quarter of an hour, so that mpirun ends when a host is cut off. Hosts keep the default.
RETRIES = pathlib.Path("/proc/sys/net/ipv4/tcp_retries2")

# Creates one namespace of network and host name and prints "ready". Congestion control is Reno:
# every kernel permits it in a namespace, and without loss it just fills the link. The machine's
# default may probe (BBR slows down every ten seconds to do so).
HOST = """
set -e
hostname "$1"
cd /proc/sys/net
echo reno > ipv4/tcp_congestion_control
if [ -e ipv6/conf/all/disable_ipv6 ]; then echo 1 > ipv6/conf/all/disable_ipv6; fi
ip link set lo up
echo ready
exec sleep infinity
"""


def check_tools():
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if missing:
        raise Unavailable(
            f"programs that make hosts are missing. Install the packages: {' '.join(missing)}."
        )


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Unavailable(
            f'the network of the hosts cannot be made: "{" ".join(words)}" says "{said[0]}".'
        )


def start_host(name):
    """Starts and returns the process that holds the host's namespaces."""
    process = subprocess.Popen(
        ["unshare", "--net", "--uts", "sh", "-c", HOST, "sh", name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if process.stdout.readline() != "ready\n":
        said = process.communicate()[1].strip().splitlines() or ["no message"]
        raise Unavailable(f'{name} cannot be made: it says "{said[-1]}".')
    return process


def inside(pid):
    return ("nsenter", "--target", str(pid), "--net")


def limit(link):
    return ("tbf", "rate", f"{link.rate}bit", "burst", str(link.burst), "limit", str(QUEUE_BYTES))


def shape(device, link, delay, where=()):
    """Limits the outgoing rate of `device`."""
    run(*where, "ip", "link", "set", device, "gso_max_size", str(link.packet))
    add = (*where, "tc", "qdisc", "add", "dev", device)
    if delay == 0:
        run(*add, "root", *limit(link))
        return
    try:
        run(
            *add,
            "root",
            "handle",
            "1:",
            "netem",
            "delay",
            f"{delay * 1e6:.3f}us",
            "limit",
            "100000",
        )
    except Unavailable as error:
        raise Unavailable(f"--delay needs netem in the kernel; {error}") from error
    run(*add, "parent", "1:1", "handle", "10:", *limit(link))


def port(host):
    """The switch's end of the link of a host."""
    return f"to-{host}"


def make(plan):
    """Creates hosts, switch and links. Returns the process of each host by name."""
    run("ip", "link", "set", "lo", "up")
    RETRIES.write_text("6", encoding="ascii")
    run("ip", "link", "add", "switch", "type", "bridge", "mcast_snooping", "0")
    run("ip", "address", "add", f"{SWITCH_ADDRESS}/24", "dev", "switch")
    run("ip", "link", "set", "switch", "up")
    processes = {}
    for host in plan.hosts:
        process = start_host(host.name)
        there = inside(process.pid)
        end = port(host.name)
        run(
            "ip",
            "link",
            "add",
            end,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            str(process.pid),
        )
        shape(end, host.link, 0)
        shape("eth0", host.link, plan.delay, there)
        run("ip", "link", "set", end, "master", "switch", "up")
        run(*there, "ip", "address", "add", f"{host.address}/24", "dev", "eth0")
        run(*there, "ip", "link", "set", "eth0", "up")
        processes[host.name] = process
    return processes


def cut_off(host):
    """Cuts a host off, like a cable pulled out of the switch."""
    run("ip", "link", "set", port(host), "down")
