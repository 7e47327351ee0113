"""scripts/cluster: what it refuses, in one sentence. Makes no namespace."""

import os
import shutil
import sys
import unittest

from cluster_support import CLUSTER, cluster
from support import FolderTest, output_of

WHOLE = ("--hosts", "2", "--bandwidth", "1Gb/s")


class Input(FolderTest):
    def refused(self, *options, command=("true",), saying):
        result = cluster(*options, command=command)
        self.assert_refused(result, saying)
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("cluster: "), result.stderr)

    def test_what_is_missing(self):
        self.refused("--bandwidth", "1Gb/s", saying="--hosts")
        self.refused("--hosts", "2", saying="--bandwidth")
        self.refused(*WHOLE, command=(), saying="the command is missing")
        self.refused(*WHOLE, "--down", "1", saying="--after 5s")
        self.refused(*WHOLE, "--after", "5s", saying="--down 2")

    def test_command_without_its_dashes(self):
        result = output_of(sys.executable, CLUSTER, *WHOLE, "true")
        self.assert_refused(result, '"true" is not an option. Write -- before')

    def test_numbers(self):
        for text in ("0", "-1", "251", "two", "1.5", "", "2 ", "٣", "99999999999999999999"):
            self.refused("--bandwidth", "1Gb/s", f"--hosts={text}", saying="from 1 to 250")
        self.refused(*WHOLE, "--ranks-per-host", "0", saying="--ranks-per-host")
        self.refused(*WHOLE, "--cores-per-host", "0", saying="--cores-per-host")
        self.refused(*WHOLE, "--cores-per-host", "100000", saying="--cores-per-host")
        self.refused(*WHOLE, "--down", "3", "--after", "1s", saying="from 1 to 2")

    def test_more_cores_than_there_are(self):
        cores = len(os.sched_getaffinity(0))
        self.refused(
            "--hosts", "3", "--bandwidth", "1Gb/s", "--cores-per-host", str(cores),
            saying=f"need {3 * cores}, but this process may use {cores}",
        )  # fmt: skip

    def test_rates(self):
        for text in ("1", "1000000", "1 Gb", "1Gbit", "-1Gb/s", "Gb/s", "1e9b/s", "", "nanGb/s", "1 GB/ s"):
            self.refused("--hosts", "2", f"--bandwidth={text}", saying="expected, for example, 1Gb/s")
        for text in ("0Gb/s", "0.0001 Mb/s", "100.1Gb/s", "1TB/s"):
            self.refused("--hosts", "2", "--bandwidth", text, saying="from 1Mb/s to 100Gb/s")

    def test_rates_of_one_host(self):
        self.refused(*WHOLE, "--bandwidth-of", "1Gb/s", saying="HOST=RATE")
        self.refused(*WHOLE, "--bandwidth-of", "3=1Gb/s", saying="from 1 to 2")
        self.refused(*WHOLE, "--bandwidth-of", "0=1Gb/s", saying="from 1 to 2")
        self.refused(*WHOLE, "--bandwidth-of", "2=1", saying="--bandwidth-of 2")
        self.refused(*WHOLE, "--bandwidth-of", "2=0Gb/s", saying="from 1Mb/s")

    def test_bursts(self):
        for text in ("25000", "25 k", "-1B", "25kb"):
            self.refused(*WHOLE, f"--burst={text}", saying="expected, for example, 25kB")
        for text in ("0B", "12kB", "17MB"):
            self.refused(*WHOLE, "--burst", text, saying="from 12112B")

    def test_times(self):
        for text in ("50", "us", "-5us", "1min"):
            self.refused(*WHOLE, f"--delay={text}", saying="expected, for example, 50us")
        for text in ("0us", "10ns", "2s"):
            self.refused(*WHOLE, "--delay", text, saying="from 1us to 1s")
        self.refused(*WHOLE, "--down", "1", "--after", "5", saying="expected, for example, 5s")

    def test_unknown_and_shortened_options(self):
        self.refused(*WHOLE, "--latency", "5us", saying="--latency")
        self.refused("--host", "2", "--bandwidth", "1Gb/s", saying="--host")

    def test_tools_that_are_missing_are_named_by_their_packages(self):
        result = cluster(*WHOLE, command=("true",), environment={"PATH": str(self.folder)})
        self.assert_refused(result, "hostname iproute2 util-linux", 6)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv, to do without rights")
    def test_a_user_without_the_right_is_told_so(self):
        result = output_of("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin",
                           sys.executable, CLUSTER, *WHOLE, "--", "echo", "ran")  # fmt: skip
        self.assert_refused(result, "namespaces are not permitted here", 6)
        self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main()
