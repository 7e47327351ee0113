"""`dlscale run --submit` under a real Slurm: three nodes on this machine, started and stopped by this script.

    slurm_test.py PROGRAM [--mpi WORD]    needs root, slurm-wlm and munge; says why where it skips

No part of the tests that run everywhere: `ctest -L slurm` of a build that was configured with -DDLSCALE_TEST_SLURM=ON, or by
hand. WORD is what `srun --mpi` is given for cells of several ranks (`srun --mpi=list`).
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import local_slurm

SYSTEM = """
system: local-slurm
scheduler: slurm
launcher: srun
partitions:
  - name: debug
    nodes: 3
    max_jobs: 2
    launcher_options: [--mpi={mpi}]
"""

SUITE = """
suite: slurm
cells:
  - name: cell-{{nodes}}-{{number}}
    for: {{nodes: [1, 2, 3], number: [{numbers}]}}
    shape: {{nodes: "{{nodes}}"}}
    command: {command}
    seconds: 2
    timeout: 120
"""

OPTIONS = argparse.Namespace()  # of the command line: what it holds before stands in place of defaults


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = local_slurm.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.slurm = local_slurm.LocalSlurm(3)
        cls.slurm.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.slurm.__exit__(None, None, None)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dlscale-slurm-test-"))
        self.out = self.folder / "out"
        (self.folder / "system.yaml").write_text(SYSTEM.format(mpi=OPTIONS.mpi))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_suite(self, numbers):
        text = SUITE.format(numbers=", ".join(map(str, range(numbers))), command=OPTIONS.command)
        (self.folder / "suite.yaml").write_text(text)

    def start(self, *more):
        # A sanitizer's report of leaks in MPI is no finding here.
        variables = os.environ | self.slurm.variables | {"ASAN_OPTIONS": "detect_leaks=0"}
        return subprocess.Popen(
            [OPTIONS.program, "run", self.folder / "suite.yaml", "--system", self.folder / "system.yaml",
             "-o", self.out, "--submit", *more],
            env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_suite(self, *more):
        process = self.start(*more)
        out, err = process.communicate(timeout=900)
        return process.returncode, out, err

    def said(self, err):
        logs = [path.read_text() for path in self.out.glob("jobs/*.log")]
        cells = [path.read_text()[-400:] for path in sorted(self.out.glob("cells/*/log.txt"))[:2]]
        return "\n".join([err, *logs, *cells])

    def rows(self):
        found = [json.loads(path.read_text()) for path in self.out.glob("cells/*/cell.json")]
        return {row["cell"]: row for row in found}

    def job_number(self, nodes):
        return (self.out / "jobs" / f"nodes-{nodes}.job").read_text().strip()

    def test_submits_waits_and_collects(self):
        self.write_suite(3)
        before = self.slurm.jobs()
        options = ["time=00:07:00", "comment=first", "--comment=last"]
        code, _, err = self.run_suite(*[word for option in options for word in ("-J", option)])
        self.assertEqual(code, 0, self.said(err))
        rows = self.rows()
        self.assertEqual(len(rows), 9)
        told = self.slurm.ask("scontrol", "show", "job", "--oneliner", self.job_number(2))
        self.assertIn("TimeLimit=00:07:00 ", told, "not that of the system file")
        self.assertIn("Comment=last ", told)
        self.assertEqual(self.slurm.jobs(), before + 3, "one job for each number of nodes")
        for name, row in rows.items():
            self.assertIn(row["status"], ["ok", "unstable"], row)
            self.assertEqual(row["command"][0], "srun")
            self.assertEqual(row["job"], self.job_number(row["nodes"]), name)
            self.assertTrue(row["node_names"].startswith("node"), row)
            self.assertEqual(row["job_options"], options)
        lines = [json.loads(line) for line in (self.out / "cells.jsonl").read_text().splitlines()]
        self.assertEqual({line["cell"] for line in lines if line["schema"] == "dlscale.cell"}, set(rows))
        code, _, err = self.run_suite()
        self.assertEqual(code, 0, err)
        self.assertEqual(self.slurm.jobs(), before + 3, "all is done, so nothing is submitted")

    def test_what_was_measured_before_scancel_stays(self):
        self.write_suite(12)
        process = self.start("--nodes", "2")
        self.slurm.wait_until(lambda: len(self.rows()) >= 2 or process.poll() is not None, "two cells", 300)
        self.slurm.ask("scancel", self.job_number(2))
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 3, self.said(err))
        self.assertIn("ended early (CANCELLED", err)
        kept = self.rows()
        self.assertGreaterEqual(len(kept), 2)
        self.assertLess(len(kept), 12, "it was cancelled too late to tell")
        self.assertTrue(all(row["status"] in ["ok", "unstable"] for row in kept.values()), kept)
        code, _, err = self.run_suite("--nodes", "2")
        self.assertEqual(code, 0, self.said(err))
        self.assertEqual(len(self.rows()), 12)
        for name, row in kept.items():
            self.assertEqual(self.rows()[name], row, "measured once")

    def test_names_a_node_that_cannot_be_reached(self):
        self.write_suite(1)
        self.slurm.kill_node("node3")
        try:
            code, _, err = self.run_suite()
            self.assertEqual(code, 4, self.said(err))
            self.assertIn("node3 (down*: Not responding)", err)
            self.assertIn("1 cell of 3 nodes cannot start", err)
            self.assertEqual(set(self.rows()), {"cell-1-0", "cell-2-0"})
        finally:
            self.slurm.revive_node("node3")
        code, _, err = self.run_suite()
        self.assertEqual(code, 0, self.said(err))
        self.assertEqual(len(self.rows()), 3)

    def test_each_idle_node_is_tried_by_itself(self):
        self.write_suite(1)
        self.slurm.wait_until(lambda: self.slurm.ask("sinfo", "-h", "-o", "%D %t").split() == ["3", "idle"], "idle nodes", 60)
        code, _, err = self.run_suite("--distribute", "idle")
        self.assertEqual(code, 0, self.said(err))
        for node in ["node1", "node2", "node3"]:
            row = json.loads((self.out / node / "cells" / "cell-1-0" / "cell.json").read_text())
            self.assertEqual(row["node_names"], node)

    def test_waits_again_for_jobs_of_a_call_that_was_killed(self):
        self.write_suite(4)
        before = self.slurm.jobs()
        process = self.start("--nodes", "1")
        self.slurm.wait_until(lambda: self.rows() or process.poll() is not None, "a cell", 300)
        process.kill()
        process.communicate()
        code, _, err = self.run_suite("--nodes", "1")
        self.assertEqual(code, 0, self.said(err))
        self.assertEqual(len(self.rows()), 4)
        self.assertEqual(self.slurm.jobs(), before + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--mpi", default="pmix")
    parser.add_argument("--command", default="bench gemm --backend reference --sizes 8x8x8 --samples 6 --warm-ups 1 "
                                             "--ranks {ranks} --cores-per-rank 1 -o {result}",
                        help="of the cells, instead of a product of matrices on every rank")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.program = str(pathlib.Path(OPTIONS.program).resolve())
    start = time.monotonic()
    program = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    sys.exit(0 if program.result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
