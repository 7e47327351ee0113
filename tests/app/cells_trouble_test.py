"""Suites of cells where something around them fails: Slurm's programs, folders of results, calls that are interrupted.

    cells_trouble_test.py PROGRAM MPIEXEC
"""

import json
import os
import pathlib
import signal
import time

from cells_test import CellsTest, cell, many
from program import main, run, start

ENDLESS = "bench gemm --backend reference --sizes 256x256x256 --precision 1e-9 --max-time 1000 -o {result}"

# The command of a job runs to its end while it is submitted.
SBATCH = """
export SLURM_JOB_ID=17 SLURM_JOB_NUM_NODES=1
bash "$2" >"$0.log" 2>&1
echo 17
"""


class SlurmPrograms(CellsTest):
    """Shell scripts stand for the programs of Slurm."""

    def setUp(self):
        super().setUp()
        self.programs = self.folder / "bin"
        self.programs.mkdir()

    def write_program(self, name, text):
        path = self.programs / name
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)

    def variables(self, **more):
        return {"PATH": f"{self.programs}:{os.environ['PATH']}", "SLURM_JOB_ID": None, "SLURM_JOB_NODELIST": None} | more

    def killed_in_a_job(self):
        """What the end of a cell that was killed gives in an allocation of two nodes."""
        self.suite(cell("endless", ENDLESS))
        inside = self.variables(SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="1", SLURM_JOB_NODELIST="node1")
        process = start("run", self.folder / "suite.yaml", "-o", self.out, variables=inside)
        for each in self.wait_for_cell(process):
            os.kill(each, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, err)
        return err

    def test_a_cell_that_crashes_is_a_row_where_slurm_does_not_answer(self):
        self.write_program("sinfo", "echo 'sinfo: error: no cluster here' >&2\nexit 1\n")
        err = self.killed_in_a_job()
        self.assertEqual(self.rows()["endless"]["status"], "crashed")
        self.assertIn('cell "endless": crashed', err)
        self.assertNotIn("sinfo", err)

    def test_a_cell_that_crashes_with_its_node_is_a_row_that_says_so(self):
        self.write_program("sinfo", "echo 'node1|down*|Not responding'\n")
        err = self.killed_in_a_job()
        self.assertIn("job 7 has lost node1 (down*: Not responding)", err)
        row = self.rows()["endless"]
        self.assertEqual(row["status"], "crashed")
        self.assertIn("its job has lost node1", row["reason"])
        self.assertEqual(self.listed(), ["endless"])

    def submit(self, scontrol):
        self.suite(many(2))
        (self.folder / "system.yaml").write_text(json.dumps(
            {"system": "fake", "scheduler": "slurm", "launcher": "mpirun", "partitions": [{"name": "debug"}]}))
        self.write_program("sinfo", "echo 'node1|idle|none'\n")
        self.write_program("sbatch", SBATCH)
        self.write_program("scontrol", scontrol)
        return start("run", self.folder / "suite.yaml", "-o", self.out, "--system", self.folder / "system.yaml", "--submit",
                     variables=self.variables())

    def test_a_controller_that_does_not_answer_for_a_moment_ends_nothing(self):
        asked = self.folder / "asked"
        process = self.submit(f"""
echo x >>{asked}
[ $(wc -l <{asked}) -le 2 ] && {{ echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1; }}
echo 'JobId=17 JobState=COMPLETED Reason=None'
""")
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(err.count("Socket timed out"), 1, err)
        self.assertIn("job 17 has carried out its cells", err)
        self.assertEqual(len(asked.read_text().split()), 3)
        self.assertEqual(len(self.rows()), 2)

    def test_ctrl_c_is_heard_while_the_controller_is_silent(self):
        process = self.submit("exit 1\n")
        end = time.monotonic() + 60
        while not (self.out / "jobs" / "nodes-1.job").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("asks again for up to 10 min", err)
        self.assertIn('"scancel 17" ends them', err)


    def distribute(self, *more, nodes="node1|idle|none\nnode2|mix|none\nnode3|down*|lost\nnode4|idle|none\n", **variables):
        self.suite(many(2), cell("two", "bench gemm -o {result}", shape={"nodes": 2}))
        (self.folder / "system.yaml").write_text(json.dumps(
            {"system": "fake", "scheduler": "slurm", "launcher": "mpirun", "partitions": [{"name": "debug", "nodes": 4}]}))
        self.write_program("sinfo", f"cat <<'END'\n{nodes}END\n")
        self.write_program("sbatch", SBATCH)
        self.write_program("scontrol", "echo 'JobId=17 JobState=COMPLETED Reason=None'\n")
        return self.run_cells("--system", self.folder / "system.yaml", *more, variables=self.variables(**variables))

    def test_cells_of_one_node_run_on_each_that_is_idle(self):
        done = self.distribute("--submit", "--distribute", "idle")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["node1", "node4"])
        for node in ["node1", "node4"]:
            self.assertEqual(sorted(self.rows(self.out / node)), ["gemm-1", "gemm-2"])
            self.assertIn(f"#SBATCH --nodelist={node}\n", (self.out / node / "jobs" / "nodes-1.sh").read_text())
            self.assertIn(f"job 17 submitted: 2 cells on {node}", done.stderr)
            self.assertIn(f"dlscale: of {node}, in {self.out}/{node}:\ndlscale: 2 of 2 cells: ", done.stderr)
        again = self.distribute("--submit", "--distribute", "idle", nodes="node1|alloc|none\nnode4|down*|lost\n")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("submitted", again.stderr, "all is done")

    def test_a_node_that_is_begun_and_not_to_be_used_is_named(self):
        self.assertEqual(self.distribute("--submit", "--distribute", "all").returncode, 0)
        self.assertTrue((self.out / "node2" / "cells.jsonl").exists())
        again = self.distribute("--submit", "--distribute", "idle", "--restart", "--name", "gemm-1$", nodes="node1|idle|none\nnode2|down*|lost\nnode4|idle|none\n")
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertIn("1 cell of node2 cannot start", again.stderr)
        self.assertEqual(len(self.rows(self.out / "node1")), 2)

    def test_scripts_are_written_for_each_node(self):
        scripts = self.folder / "scripts"
        written = self.distribute("--write-scripts", scripts, "--distribute", "idle")
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertTrue((scripts / "node4" / "nodes-1.sh").exists())
        self.assertIn("# node4/nodes-1.sh\n", self.distribute("--dry-run", "--distribute", "idle").stdout)

    def test_what_cannot_be_distributed_is_said(self):
        none = self.distribute("--submit", "--distribute", "idle", nodes="node1|alloc|none\nnode3|down*|lost\n")
        self.assert_refused(none, 5, "no node of the partition debug is idle", "node3 (down*: lost)", "--distribute all")
        self.assert_refused(self.distribute("--submit", "--distribute", "idle", "-J", "nodelist=node1"), 2, "names nodes")
        self.assert_refused(self.distribute("--submit", "--distribute", "idle", "--nodes", 2), 5, "--distribute")
        inside = self.distribute("--distribute", "idle", SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="1")
        self.assert_refused(inside, 2, "inside of job 7")
        self.assert_refused(self.run_cells("--distribute", "idle", variables=self.variables()), 2, "the system local has none")
        self.assertFalse(self.out.exists())


class Folders(CellsTest):
    def test_a_folder_without_a_row_does_not_swallow_results(self):
        self.suite(many(2))
        self.assertEqual(self.run_cells().returncode, 0)
        (self.out / "cells" / "gemm-1" / "cell.json").unlink()
        (self.out / "cells" / "gemm-1" / "notes").write_text("mine")
        for number in ["", "-2"]:
            again = self.run_cells()
            self.assertEqual(again.returncode, 0, again.stderr)
            aside = self.out / ".cells" / "without-row" / f"gemm-1{number}"
            self.assertIn(f"{self.out}/cells/gemm-1 had no cell.json, so it counted as nothing; it is now {aside}", again.stderr)
            self.assertEqual((aside / "notes").read_text(), "mine")
            self.assertEqual(sorted(self.rows()), ["gemm-1", "gemm-2"])
            self.assertNotIn("had no cell.json", self.run_cells().stderr, "told once")
            (self.out / "cells" / "gemm-1" / "cell.json").unlink()
            (self.out / "cells" / "gemm-1" / "notes").write_text("mine")


class Canaries(CellsTest):
    def canaries(self):
        return sorted(path.name for path in self.out.glob("canary/*.json"))

    def listed_canaries(self):
        lines = [json.loads(line) for line in (self.out / "cells.jsonl").read_text().splitlines()]
        return [line for line in lines if line["schema"] == "dlscale.canary"]

    def test_fresh_forgets_those_of_what_is_discarded(self):
        self.suite(many(2))
        self.assertEqual(self.run_cells().returncode, 0)
        (before,) = self.canaries()
        self.assertEqual(self.run_cells("--restart", "--name", "gemm-1$").returncode, 0)
        self.assertEqual(len(self.canaries()), 2, "the other cell is still of the first call")
        self.assertEqual(self.run_cells("--restart").returncode, 0)
        self.assertEqual(len(self.canaries()), 1)
        self.assertNotIn(before, self.canaries())
        self.assertEqual(len(self.listed_canaries()), 1)

    def test_a_call_that_is_interrupted_keeps_its_own(self):
        self.suite(many(30))
        process = start("run", self.folder / "suite.yaml", "-o", self.out)
        self.wait_for_cell(process)
        while len(self.rows()) < 2:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        (kept,) = self.listed_canaries()
        self.assertEqual((len(kept["first_s"]), len(kept["last_s"])), (10, 10))


if __name__ == "__main__":
    main()
