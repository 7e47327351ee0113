"""The requested cluster: hosts, the rates of their links, and their cores."""

import dataclasses
import os
import pathlib
import re

MOST_HOSTS = 250  # addresses in one subnet
BITS_PER_SECOND = (
    1e6,
    1e11,
)  # below, mpirun gives up before its daemons answer; above, no core keeps up

# The units of docs/reference/configuration.
RATES = {"b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12}
RATES |= {"B/s": 8, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "TB/s": 8e12}
RATES |= {"KiB/s": 2**13, "MiB/s": 2**23, "GiB/s": 2**33}
SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 2**10, "MiB": 2**20}
TIMES = {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

# After a pause a link sends its burst at full speed and then keeps the rate, so a message arrives
# up to BURST_SECONDS early. A smaller burst loses rate whenever the kernel sends the next packet
# later than the burst, less that packet, lasts. Measured on two cores that also compiled: TCP got
# 0.3 to 0.4 of 1 Gb/s with 100 us, 0.4 to 0.75 with 200 us and 0.75 to 0.95 with 400 us.
BURST_SECONDS = 400e-6
FRAME = 1514  # bytes of an Ethernet frame
PACKETS_OF_BURST = 8
BURST_BYTES = (PACKETS_OF_BURST * FRAME, 2**24)
MOST_PACKET = 65536  # largest unit that Linux passes to a link


class UsageError(Exception):
    """The command line is wrong; the message says what to write."""


@dataclasses.dataclass(frozen=True)
class Link:
    """The link of a host to the switch, in each direction."""

    rate: int  # bits per second, of Ethernet frames
    text: str  # as given
    burst: int  # bytes that may be sent at full speed

    @property
    def packet(self):
        """Bytes that a host passes to its link at once: some Ethernet frames."""
        return min(self.burst // PACKETS_OF_BURST, MOST_PACKET)


@dataclasses.dataclass(frozen=True)
class Host:
    name: str
    address: str
    link: Link
    cores: tuple


@dataclasses.dataclass(frozen=True)
class Plan:
    hosts: tuple
    delay: float  # added one-way delay in seconds
    slots: int  # ranks per host
    down: str | None  # name of the host that is cut off
    after: float  # seconds
    command: list

    def shares_cores(self):
        """Whether there may be more ranks than cores."""
        used = [core for host in self.hosts for core in host.cores]
        return len(set(used)) < len(used) or any(self.slots > len(h.cores) for h in self.hosts)

    def describe(self):
        """Description of the cluster for result files."""
        cores = " | ".join(",".join(map(str, host.cores)) for host in self.hosts)
        rates = ", ".join(host.link.text for host in self.hosts)
        bursts = ", ".join(str(host.link.burst) for host in self.hosts)
        text = (
            f"{len(self.hosts)} hosts on one machine with cores {cores}, links of {rates} "
            f"by tc tbf with bursts of {bursts} bytes"
        )
        return text + (f", {self.delay * 1e6:g} us added by tc netem" if self.delay else "")


def whole(option, text, least, most):
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise UsageError(f'{option} is "{text}". Write a whole number from {least} to {most}.')
    return int(text)


def quantity(option, text, units, example):
    """Parses "1.5Gb/s" or "1.5 Gb/s", in the unit of factor 1."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(\D+)", text)
    if match is None or match[2] not in units:
        raise UsageError(
            f'{option} is "{text}" (a number and its unit are needed); expected, for example, {example}; '
            f"units: {' '.join(units)}."
        )
    return float(match[1]) * units[match[2]]


def burst_of(options, rate):
    """Burst in bytes for a link of `rate` bits per second."""
    least, most = BURST_BYTES
    if options.burst is None:
        return min(max(round(rate / 8 * BURST_SECONDS), least), most)
    burst = quantity("--burst", options.burst, SIZES, "25kB")
    if not least <= burst <= most:
        raise UsageError(
            f'--burst is "{options.burst}". Write a size from {least}B, which is '
            f"{PACKETS_OF_BURST} Ethernet frames, to {most}B."
        )
    return round(burst)


def link(option, text, options):
    rate = quantity(option, text, RATES, "1Gb/s")
    least, most = BITS_PER_SECOND
    if not least <= rate <= most:
        raise UsageError(
            f'{option} is "{text}". Links can be shaped from {least / 1e6:g}Mb/s to '
            f"{most / 1e9:g}Gb/s: write a rate between them."
        )
    return Link(round(rate), text, burst_of(options, rate))


def links(options, count):
    found = [link("--bandwidth", options.bandwidth, options)] * count
    for item in options.bandwidth_of:
        host, equals, rate = item.partition("=")
        if not equals:
            raise UsageError(f'--bandwidth-of is "{item}". Write HOST=RATE, such as 2=100Mb/s.')
        number = whole("HOST of --bandwidth-of", host, 1, count)
        found[number - 1] = link(f"--bandwidth-of {number}", rate, options)
    return found


def place_of(core):
    """Sort key of a hardware thread: processor and core; threads of a core stay together."""
    folder = pathlib.Path(f"/sys/devices/system/cpu/cpu{core}/topology")
    try:
        numbers = [int((folder / name).read_text()) for name in ("physical_package_id", "core_id")]
    except (OSError, ValueError):
        numbers = [0, 0]  # unknown: sorts by number only
    return (*numbers, core)


def cores(options, count):
    """Cores of each host: a part of this process's cores, or all if there are too few."""
    usable = sorted(os.sched_getaffinity(0), key=place_of)
    if options.cores_per_host is None:
        share = len(usable) // count
    else:
        share = whole("--cores-per-host", options.cores_per_host, 1, len(usable))
    if share * count > len(usable):
        raise UsageError(
            f"{count} hosts of {share} cores need {share * count}, but this process may use "
            f"{len(usable)}. Ask for fewer, or leave --cores-per-host out: then all share all."
        )
    if share == 0:
        return [tuple(usable)] * count
    return [tuple(usable[i * share : (i + 1) * share]) for i in range(count)]


def cut_off(options, count):
    """Name of the host that is cut off, and the time."""
    if (options.down is None) != (options.after is None):
        raise UsageError("--down and --after go together; expected, for example, --down 2 --after 5s.")
    if options.down is None:
        return None, 0.0
    seconds = quantity("--after", options.after, TIMES, "5s")
    return f"host{whole('--down', options.down, 1, count)}", seconds


def delay_of(options):
    if options.delay is None:
        return 0.0
    delay = quantity("--delay", options.delay, TIMES, "50us")
    if not 1e-6 <= delay <= 1:
        raise UsageError(f'--delay is "{options.delay}". Write a time from 1us to 1s.')
    return delay


def make(options, command):
    count = whole("--hosts", options.hosts, 1, MOST_HOSTS)
    of_links = links(options, count)
    of_cores = cores(options, count)
    hosts = tuple(
        Host(f"host{i + 1}", f"10.77.0.{i + 1}", of_links[i], of_cores[i]) for i in range(count)
    )
    slots = whole("--ranks-per-host", options.ranks_per_host, 1, 1024)
    down, after = cut_off(options, count)
    delay = delay_of(options)
    if not command:
        raise UsageError(
            "the command is missing. Write it behind --, such as -- mpirun -n 2 hostname."
        )
    return Plan(hosts, delay, slots, down, after, command)
