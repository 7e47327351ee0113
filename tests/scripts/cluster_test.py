"""scripts/cluster with real hosts: their links, mpirun across them, and that nothing is left.

Usage: cluster_test.py BUILD [MPIEXEC]. Ends with 77, which is "skipped", where this machine or user
cannot have namespaces.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "app"))

from cluster_support import (  # noqa: E402 (tiny.py is found through the path above)
    arguments, cannot, cluster, links_of_processes, own_network, running, wait_until)  # fmt: skip
from tiny import SANITIZERS  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "dev"
MPIEXEC = sys.argv[2] if len(sys.argv) > 2 else ""
LINK_RATE = pathlib.Path(__file__).resolve().parent / "link_rate.py"
SKIPPED = 77
TWO = ("--hosts", "2", "--bandwidth", "1Gb/s")
THREE = ("--hosts", "3", "--bandwidth", "1Gb/s")
NAMESPACES = "readlink /proc/self/ns/net /proc/self/ns/uts /proc/self/ns/pid /proc/self/ns/mnt"


def has_open_mpi():
    try:
        shown = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return "Open MPI" in shown.stdout


needs_mpirun = unittest.skipUnless(has_open_mpi(), "mpirun of Open MPI is not installed")


class ClusterTest(unittest.TestCase):
    def output_of(self, *options, command, environment=None):
        result = cluster(*options, command=command, environment=environment)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result.stdout

    def assert_gone(self, namespaces):
        """No process is left in any of them, so the kernel has removed them."""
        self.assertGreaterEqual(len(namespaces), 4)
        kinds = ("net", "uts", "pid", "mnt")
        held = lambda: set().union(*(links_of_processes(f"ns/{kind}") for kind in kinds))  # noqa: E731
        self.assertTrue(wait_until(lambda: not namespaces & held()), namespaces)


class Hosts(ClusterTest):
    def test_each_has_its_name_address_and_network(self):
        script = "".join(
            f'dlscale-on-host host{i} "hostname; ip -brief address show eth0; {NAMESPACES}";'
            for i in (1, 2, 3)
        )
        lines = self.output_of(*THREE, command=["sh", "-c", script]).splitlines()
        hosts = [lines[i * 6 : i * 6 + 6] for i in range(3)]
        self.assertEqual([host[0] for host in hosts], ["host1", "host2", "host3"])
        for i, host in enumerate(hosts):
            self.assertIn(f"10.77.0.{i + 1}/24", host[1])
        self.assertEqual(len({host[2] for host in hosts}), 3)  # networks
        self.assertEqual(len({host[3] for host in hosts}), 3)  # names
        self.assertEqual(len({host[4] for host in hosts}), 1)  # processes
        self.assert_gone({word for host in hosts for word in host[2:]})

    def test_links_are_shaped_at_both_ends(self):
        script = "tc qdisc show dev to-host2; dlscale-on-host host2 tc qdisc show dev eth0"
        both = self.output_of(*THREE, "--bandwidth-of", "2=50MB/s", command=["sh", "-c", script]).splitlines()
        self.assertEqual(len(both), 2)
        for line in both:
            self.assertRegex(line, "qdisc tbf .* rate 400Mbit burst (19|20)[0-9]{3}b ")

    def test_cores_of_a_host_are_its_own(self):
        cores = len(os.sched_getaffinity(0))
        script = "for i in 1 2; do dlscale-on-host host$i nproc; done"
        numbers = self.output_of(*TWO, command=["sh", "-c", script]).split()
        share = cores // 2 if cores > 1 else cores
        self.assertEqual(numbers, [str(share)] * 2)

    def test_more_hosts_than_cores_share_them_and_that_is_said(self):
        cores = len(os.sched_getaffinity(0))
        hosts = ("--hosts", str(cores + 1), "--bandwidth", "1Gb/s")
        result = cluster(*hosts, command=["dlscale-on-host", "host1", "nproc"])
        self.assertEqual(result.stdout, f"{cores}\n", result.stderr)
        self.assertIn(f"{cores + 1} hosts share {cores} core", result.stderr)

    def test_a_host_is_cut_off(self):
        script = """
            look() {
              dlscale-on-host $1 ip -oneline link show eth0 | grep -o "NO-CARRIER\\|LOWER_UP"
            }
            look host1; look host2
            until [ "$(look host2)" = NO-CARRIER ]; do sleep 0.05; done
            look host1; look host2"""
        result = cluster(*TWO, "--down", "2", "--after", "1s", command=["sh", "-c", script])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), ["LOWER_UP"] * 3 + ["NO-CARRIER"], result.stderr)
        self.assertIn("cluster: host2 is cut off", result.stderr)

    def test_the_head_does_not_wait_long_for_a_host_that_is_cut_off(self):
        """Or mpirun would, for a quarter of an hour. Hosts among themselves keep what is usual."""
        file = "/proc/sys/net/ipv4/tcp_retries2"
        script = f"cat {file}; dlscale-on-host host1 cat {file}"
        head, host = self.output_of(*TWO, command=["sh", "-c", script]).split()
        self.assertEqual(head, "6")
        self.assertGreater(int(host), 6)

    def test_delay_is_added_to_each_way(self):
        command = ["dlscale-on-host", "host1", sys.executable, "-c", f"'{ROUND_TRIP}'"]
        result = cluster(*TWO, "--delay", "20ms", command=command)
        if result.returncode == 6:
            self.assertIn("--delay needs netem in the kernel", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.skipTest("this kernel has no netem")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(float(result.stdout), 0.040)

    def test_results_can_say_what_they_were_measured_on(self):
        text = self.output_of(*TWO, "--bandwidth-of", "2=100Mb/s", command=["sh", "-c", 'echo "$DLSCALE_CLUSTER"'])
        self.assertRegex(text, "2 hosts on one machine with cores .* 1Gb/s, 100Mb/s by tc tbf .* 50000, 12112 bytes")


# Of a connection that is refused: one way there, one way back.
ROUND_TRIP = """
import socket, time
for attempt in range(2):
    start = time.perf_counter()
    try: socket.create_connection((\"host2\", 9))
    except ConnectionRefusedError: pass
print(time.perf_counter() - start)
"""


class Commands(ClusterTest):
    def test_exit_code_is_the_commands(self):
        for script, code in (("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
            result = cluster(*TWO, command=["sh", "-c", script])
            self.assertEqual(result.returncode, code, result.stderr)

    def test_a_command_that_cannot_be_run(self):
        for name, code in (("no-such-program", 127), ("/etc", 126)):
            result = cluster(*TWO, command=[name])
            self.assertEqual(result.returncode, code)
            self.assertIn(f'"{name}" cannot be run', result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_arguments_and_settings_arrive_as_they_are(self):
        words = ["a b", "*", "$HOME", "'", "--", "--hosts"]
        script = "import sys; print(sys.argv[1:])"
        shown = self.output_of(*TWO, command=[sys.executable, "-c", script, *words])
        self.assertEqual(shown, f"{words}\n")
        settings = {"OMPI_MCA_btl": "self", "HOME": "/h"}
        result = cluster(*TWO, command=["sh", "-c", "echo $OMPI_MCA_btl $HOME"], environment=settings)
        self.assertEqual(result.stdout, "self /h\n")

    def test_ranks_that_wait_yield_cores_that_others_need(self):
        shown = ["sh", "-c", 'echo "${OMPI_MCA_mpi_yield_when_idle-none}"']
        cores = len(os.sched_getaffinity(0))
        alone = ("--hosts", "1", "--bandwidth", "1Gb/s")
        self.assertEqual(self.output_of(*alone, command=shown), "none\n")
        more_hosts = ("--hosts", str(cores + 1), "--bandwidth", "1Gb/s")
        self.assertEqual(self.output_of(*more_hosts, command=shown), "1\n")
        more_ranks = (*alone, "--ranks-per-host", str(cores + 1))
        self.assertEqual(self.output_of(*more_ranks, command=shown), "1\n")
        chosen = {"OMPI_MCA_mpi_yield_when_idle": "0"}
        self.assertEqual(self.output_of(*more_hosts, command=shown, environment=chosen), "0\n")

    def test_unknown_host(self):
        result = cluster(*TWO, command=["dlscale-on-host", "host3", "true"])
        self.assertEqual(result.returncode, 2)
        self.assertIn('host "host3" is not known', result.stderr)

    def test_files_of_this_machine_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            self.output_of(*TWO, command=["dlscale-on-host", "host2", "touch", f"{folder}/here"])
            self.assertEqual(os.listdir(folder), ["here"])


@needs_mpirun
class Mpirun(ClusterTest):
    def test_a_rank_on_each_host(self):
        for options, hosts in ((TWO, 2), (THREE, 3)):
            said = self.output_of(*options, command=["mpirun", "-n", hosts, "hostname"]).split()
            self.assertEqual(sorted(said), [f"host{i + 1}" for i in range(hosts)])

    def test_several_ranks_on_a_host(self):
        said = self.output_of(*TWO, "--ranks-per-host", "2", command=["mpirun", "-n", "4", "hostname"])
        self.assertEqual(sorted(said.split()), ["host1", "host1", "host2", "host2"])

    def test_more_ranks_than_slots_are_refused(self):
        result = cluster(*TWO, command=["mpirun", "-n", "3", "hostname"])
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")

    def test_exit_code_of_a_rank(self):
        result = cluster(*TWO, command=["mpirun", "-n", "2", "sh", "-c", "exit 5"])
        self.assertEqual(result.returncode, 5)

    def test_links_carry_their_rate_and_no_more(self):
        """Of Ethernet frames, of which TCP carries 1448 of 1514 bytes, 0.956. What else runs on
        this machine can make a transfer slower and none faster: all are judged from above, and from
        below the fastest of as many as it takes."""
        for options, rate in ((TWO, 1e9), ((*THREE, "--bandwidth-of", "2=100Mb/s"), 1e8)):
            command = ["mpirun", "-n", 2, sys.executable, LINK_RATE, "host1", int(rate / 8 * 0.1), 3]
            best = {"there": 0, "back": 0}
            for _ in range(30):
                found = json.loads(self.output_of(*options, command=command))
                best = {way: max(best[way], *found[way]) for way in best}
                if min(best.values()) > 0.85 * rate:
                    break
            self.assertGreater(min(best.values()), 0.85 * rate, best)
            self.assertLess(max(best.values()), 1.0 * rate, best)

    def test_ranks_of_different_hosts_share_no_memory(self):
        """1 MiB each way through 100 Mb/s takes 84 ms; through memory it would take one."""
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "comm.jsonl"
            self.output_of(
                "--hosts", "2", "--bandwidth", "100Mb/s",
                command=[MPIEXEC, "-n", "2", BUILD / "dlscale", "bench", "comm", "--sizes", "1MiB",
                         "--max-time", "0.2", "-o", file],
                environment=SANITIZERS,
            )  # fmt: skip
            head, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        self.assertIn("2 hosts on one machine", head["environment"]["variables"]["DLSCALE_CLUSTER"])
        rows = [line for line in lines if line.get("axes", {}).get("collective") == "all_reduce"]
        self.assertGreater(len(rows), 0)
        for row in rows:
            self.assertEqual(row["axes"]["ranks_on_node"], "1")
            self.assertGreater(row["series"]["time"]["summary"]["min"], 0.95 * 2**20 * 8 / 1e8)

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs two cores")
    def test_ranks_of_a_host_do_not_take_the_same_core(self):
        """Hosts have different cores, which does not mean that each rank was given its own."""
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        hosts = (*TWO, "--cores-per-host", "1", "--ranks-per-host", "2")
        program = [BUILD / "dlscale", "bench", "comm", "--sizes", "4B"]
        result = cluster(*hosts, command=[MPIEXEC, "-n", "4", *program], environment=SANITIZERS)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the ranks of this node need 2 cores or more, 1 each, and may use 1.", result.stderr)

    def test_two_clusters_at_once(self):
        words = arguments(*TWO, command=["mpirun", "-n", "2", "sh", "-c", "sleep 0.3; hostname"])
        both = [subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for process in both:
            out, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, sorted(out.split())), (0, ["host1", "host2"]))


class TearDown(ClusterTest):
    """Nothing of a cluster is left, however it ends."""

    def setUp(self):
        self.before = own_network()
        self.word = f"60.{time.time_ns()}"  # seconds to sleep, and a mark on the command line
        self.sleeps = f"{NAMESPACES}; exec sleep {self.word}"

    def tearDown(self):
        self.assertEqual(own_network(), self.before)

    @contextlib.contextmanager
    def started(self, *command):
        """A cluster whose hosts are there, with the namespaces of its command."""
        process = subprocess.Popen(
            arguments(*TWO, command=command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
        try:
            yield process, {process.stdout.readline().strip() for _ in range(4)}
        finally:
            process.kill()
            process.communicate()

    def assert_ends(self, process, namespaces, code):
        self.assertEqual(process.wait(timeout=20), code)
        self.assert_gone(namespaces)
        self.assertTrue(wait_until(lambda: not running(self.word)))

    def test_after_its_end(self):
        shown = self.output_of(*TWO, command=["sh", "-c", f"{NAMESPACES}; sleep {self.word} & exit 0"])
        self.assert_gone(set(shown.split()))
        self.assertFalse(running(self.word))

    def test_after_signals_that_the_command_dies_of(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.started("sh", "-c", self.sleeps) as (process, namespaces):
                process.send_signal(number)
                self.assert_ends(process, namespaces, 128 + number)

    def test_signals_that_are_ignored_stay_so(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        self.addCleanup(signal.signal, signal.SIGHUP, signal.SIG_DFL)
        with self.started("sh", "-c", self.sleeps) as (process, namespaces):
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
            self.assert_ends(process, namespaces, 128 + signal.SIGTERM)

    def test_the_command_gets_a_signal_once_and_may_end_in_its_own_way(self):
        script = f"""
            trap 'echo signal' INT
            trap 'echo signal; exit 9' TERM
            {NAMESPACES}; while :; do sleep 0.05; done"""
        with self.started("sh", "-c", script) as (process, namespaces):
            os.killpg(process.pid, signal.SIGINT)  # of which only the script is a member
            self.assertEqual(process.stdout.readline(), "signal\n")
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=20), 9)
            self.assertEqual(process.stdout.read(), "signal\n")
            self.assert_gone(namespaces)

    def test_after_it_was_killed(self):
        with self.started("sh", "-c", self.sleeps) as (process, namespaces):
            self.assertTrue(wait_until(lambda: running(self.word)))
            process.kill()
            self.assert_ends(process, namespaces, -signal.SIGKILL)

    @needs_mpirun
    def test_mpirun_and_its_daemons(self):
        for number in (signal.SIGINT, signal.SIGKILL):
            script = f"{NAMESPACES}; exec mpirun -n 2 sleep {self.word}"
            with self.started("sh", "-c", script) as (process, namespaces):
                self.assertTrue(wait_until(lambda: running(self.word)))
                process.send_signal(number)
                process.wait(timeout=20)
                self.assertNotEqual(process.returncode, 0)
                self.assert_gone(namespaces)
                self.assertFalse(running(self.word))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv, to be another user")
    def test_another_user_has_a_cluster_or_is_told_why_not(self):
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        script = f"{NAMESPACES}; dlscale-on-host host2 hostname"
        result = subprocess.run(
            [*words, *arguments(*TWO, command=["sh", "-c", script])], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, cwd="/")  # fmt: skip
        if result.returncode == 6:
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.skipTest(f"not for every user here: {result.stderr.strip()}")
        self.assertEqual(result.returncode, 0, result.stderr)
        *namespaces, name = result.stdout.split()
        self.assertEqual(name, "host2")
        self.assert_gone(set(namespaces))


if __name__ == "__main__":
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)  # started in the background, some may be ignored
    why_not = cannot()
    if why_not is not None:
        print(f"skipped: {why_not}")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
