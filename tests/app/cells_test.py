"""Suites of cells: a row for each whatever becomes of it, none lost or measured twice whenever the program is killed.

    cells_test.py PROGRAM MPIEXEC            a short version of all
    cells_test.py PROGRAM MPIEXEC --full     200 cells, killed ten times at random moments
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import ProgramTest, main, run, start

CELLS, KILLS = (200, 10) if "--full" in sys.argv else (14, 3)

GEMM = "bench gemm --backend reference --samples 2 --warm-ups 1 -o {result}"


def cell(name, command, **more):
    """An entry of a suite; JSON is YAML."""
    return {"name": name, "command": command, "seconds": 0.3} | more


def many(count):
    return cell("gemm-{m}", GEMM + " --sizes {m}x8x8", **{"for": {"m": list(range(1, count + 1))}})


class CellsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def suite(self, *cells, **more):
        path = self.folder / "suite.yaml"
        path.write_text(json.dumps({"suite": "test", "cells": list(cells)} | more))
        return path

    def run_cells(self, *more, out=None, **options):
        return run("run", self.folder / "suite.yaml", "-o", out or self.out, *more, **options)

    def rows(self, out=None):
        paths = (out or self.out).glob("cells/*/cell.json")
        rows = [json.loads(path.read_text()) for path in paths]
        return {row["cell"]: row for row in rows}

    def results(self, out=None):
        """What was measured, without the times: cell → keys of its measurements, and whether its file is whole."""
        found = {}
        for path in (out or self.out).glob("cells/*/result.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            keys = [tuple(sorted(line["axes"].items())) for line in lines if "axes" in line]
            found[path.parent.name] = (tuple(keys), "end" in lines[-1])
        return found

    def times(self):
        """When each cell ended, as the file system says."""
        return {path.parent.name: path.stat().st_mtime_ns for path in self.out.glob("cells/*/cell.json")}

    def listed(self, out=None):
        lines = [json.loads(line) for line in ((out or self.out) / "cells.jsonl").read_text().splitlines()]
        return [line["cell"] for line in lines if line["schema"] == "dlscale.cell"]

    def planned(self):
        return [json.loads(line)["cell"] for line in (self.out / "plan.jsonl").read_text().splitlines()[1:]]

    def measuring(self, out=None):
        """The processes that work on a cell."""
        mark = f"_DLSCALE_CELL={out or self.out}/".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                pass
        return found

    def wait_for_cell(self, process):
        end = time.monotonic() + 60
        while not (found := self.measuring()):
            self.assertIsNone(process.poll(), "it ended before a cell began")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return found


class Matrix(CellsTest):
    def test_every_cell_is_measured_once_in_an_order_of_its_own(self):
        self.suite(many(5))
        first = self.run_cells()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("5 of 5 cells: ", first.stderr)
        rows = self.rows()
        self.assertEqual(sorted(rows), [f"gemm-{m}" for m in range(1, 6)])
        self.assertEqual(self.listed(), self.planned())
        self.assertEqual({row["measurements"] for row in rows.values()}, {1})
        self.assertTrue(all(whole for _, whole in self.results().values()))
        before = {path: path.stat().st_mtime_ns for path in self.out.glob("cells/**/*")}
        again = self.run_cells("--quiet")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stderr, "")
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.out.glob("cells/**/*")}, before)

        other = self.run_cells("--seed", 7)
        self.assert_refused(other, 2, "--seed 1", "--restart")
        seven = self.run_cells("--seed", 7, out=self.folder / "seven")
        self.assertEqual(seven.returncode, 0, seven.stderr)
        self.assertCountEqual(self.listed(self.folder / "seven"), self.listed())
        self.assertNotEqual(self.listed(self.folder / "seven"), self.listed())

    def test_the_plan_beside_the_results_is_in_nobody_s_way(self):
        self.suite(many(2))
        self.assertEqual(self.run_cells().returncode, 0)
        again = shutil.copytree(self.out, self.folder / "again")
        compared = run("compare", self.out, again)
        self.assertIn(compared.returncode, (0, 3), compared.stderr)

    def test_a_history_takes_what_was_measured(self):
        self.suite(many(2), cell("bad", "bench gemm --sizes 0x8x8 -o {result}"))
        self.assertEqual(self.run_cells().returncode, 4)
        added = run("history", "add", self.out, "--store", self.folder / "history", "--commit", "c0ffee1")
        self.assertEqual(added.returncode, 0, added.stderr)
        self.assertIn("of 2 runs were added", added.stdout)

    def test_choosing_listing_and_a_budget_of_time(self):
        self.suite(many(4))
        listed = self.run_cells("--list", "--name", "[12]$", "--exclude", "1$")
        command = GEMM.replace("{result}", "'{cell}/result.jsonl'")
        self.assertEqual(listed.stdout, f"gemm-2: dlscale {command} --sizes 2x8x8\n")
        self.assertFalse(self.out.exists())
        self.assert_refused(self.run_cells("--name", "conv"), 5, "none of the 4 cells")
        self.assert_refused(self.run_cells("--name", "("), 2, "not a regular expression")
        for option, code in (("--name", 0), ("--exclude", 5)):  # a thousand empty groups are in every name
            self.assertEqual(self.run_cells("--list", option, "(" * 1000 + ")" * 1000).returncode, code)
            self.assert_refused(self.run_cells("--list", option, "(" * 10000 + ")" * 10000), 2, "4096")
        late = self.run_cells("--time-budget", 0.001)
        self.assertEqual(late.returncode, 3, late.stderr)
        self.assertIn("since the time budget is spent", late.stderr)
        self.assertEqual(self.rows(), {})
        one = self.run_cells("--name", "2$")
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(list(self.rows()), ["gemm-2"])
        self.assertEqual(self.run_cells().returncode, 0)
        self.assertEqual(len(self.rows()), 4)

    def test_what_goes_wrong_with_one_is_a_row_and_not_the_end(self):
        endless = "bench gemm --backend reference --sizes 256x256x256 --precision 1e-9 --max-time 1000 -o {result}"
        self.suite(many(1), cell("option", "bench gemm --nope -o {result}"),
                   cell("hangs", endless, timeout=2), cell("nothing", GEMM + " --sizes 8x8x8 --benchmark_filter=none"))
        result = self.run_cells()
        self.assertEqual(result.returncode, 4, result.stderr)
        rows = self.rows()
        self.assertEqual({name: row["status"] for name, row in rows.items() if name != "gemm-1"},
                         {"option": "failed", "hangs": "timeout", "nothing": "nothing measured"})
        self.assertIn("--nope", rows["option"]["reason"])
        self.assertIn('cell "hangs": timeout', result.stderr)
        self.assertEqual(self.measuring(), [], "what was ended is gone")
        again = self.run_cells()
        self.assertEqual(again.returncode, 4, "it still is so")
        self.assertEqual(self.rows(), rows)
        retried = self.run_cells("--retry", "--name", "option")
        self.assertEqual(retried.returncode, 4)
        self.assertNotEqual(self.rows()["option"]["seconds"], rows["option"]["seconds"])

    def test_a_cell_that_crashes_is_a_row(self):
        endless = "bench gemm --backend reference --sizes 256x256x256 --precision 1e-9 --max-time 1000 -o {result}"
        self.suite(cell("endless", endless), many(1))
        process = start("run", self.folder / "suite.yaml", "-o", self.out, "--name", "endless")
        for each in self.wait_for_cell(process):
            os.kill(each, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, err)
        self.assertEqual(self.rows()["endless"]["status"], "crashed")
        self.assertIn("signal 9", self.rows()["endless"]["reason"])

    def test_ranks_are_started_and_counted(self):
        self.suite(cell("two", GEMM + " --sizes 8x8x8 --ranks {ranks} --cores-per-rank 1", shape={"ranks_per_node": 2}))
        result = self.run_cells()
        row = self.rows()["two"]
        self.assertEqual(result.returncode, 0, row)
        self.assertEqual(row["command"][1:3], ["-n", "2"])
        alone = run("bench", "gemm", "--backend", "reference", "--sizes", "8x8x8", variables={"_DLSCALE_RANKS": "2"})
        self.assert_refused(alone, 4, "2 ranks were asked for, but 1 runs here")


class Interrupted(CellsTest):
    def test_sigkill_at_any_moment_loses_nothing_and_doubles_nothing(self):
        self.suite(many(CELLS))
        whole = self.folder / "whole"
        undisturbed = self.run_cells(out=whole, timeout=1800)
        self.assertEqual(undisturbed.returncode, 0, undisturbed.stderr)
        seconds = sum(row["seconds"] for row in self.rows(whole).values())
        draw = random.Random(CELLS)
        killed = 0
        for _ in range(KILLS):
            process = start("run", self.folder / "suite.yaml", "-o", self.out, "--quiet")
            time.sleep(draw.uniform(0.1, 1.5 * seconds / KILLS))
            killed += process.poll() is None
            process.kill()
            process.communicate()
            for name, (keys, is_whole) in self.results().items():
                self.assertTrue(is_whole, name)
                self.assertEqual(len(set(keys)), len(keys), name)
        self.assertGreaterEqual(killed, 1)
        before = self.rows()
        end = self.run_cells(timeout=1800)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertEqual(self.results(), self.results(whole))
        self.assertEqual(self.listed(), self.listed(whole))
        self.assertEqual({name: self.rows()[name] for name in before}, before, "measured once")
        self.assertEqual(self.measuring(), [])
        self.assertEqual(list((self.out / ".cells" / "all").iterdir()), [])
        if CELLS >= 200:
            print(f"\n{CELLS} cells, killed {killed} times of {KILLS}: {len(self.results())} results", file=sys.stderr)

    def assert_keeps_what_is_done(self, number, code):
        """Where the signal comes among 30 cells."""
        self.suite(many(30))
        process = start("run", self.folder / "suite.yaml", "-o", self.out)
        self.wait_for_cell(process)
        while len(self.rows()) < 2:
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        self.assertIn("the results so far are kept", err)
        self.assertGreaterEqual(len(self.rows()), 2)
        self.assertLess(len(self.rows()), 30)

    def test_the_end_of_a_job_that_a_scheduler_tells_of_keeps_what_is_done(self):
        self.assert_keeps_what_is_done(signal.SIGUSR1, 143)
        self.assertEqual(self.measuring(), [])

    def test_ctrl_c_keeps_what_is_done_and_drops_what_is_not(self):
        self.assert_keeps_what_is_done(signal.SIGINT, 130)
        self.assertCountEqual(self.listed(), list(self.rows()))
        self.assertTrue(all(whole for _, whole in self.results().values()))

    def test_two_at_once_do_not_measure_beside_each_other(self):
        self.suite(many(30))
        process = start("run", self.folder / "suite.yaml", "-o", self.out)
        self.wait_for_cell(process)
        self.assert_refused(self.run_cells(), 2, "another dlscale carries out cells")
        process.kill()
        process.communicate()


class Places(CellsTest):
    def test_a_full_disk_ends_with_a_sentence_and_damages_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", disk], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        try:
            self.suite(many(12))
            full = self.run_cells(out=disk / "out")
            self.assertEqual(full.returncode, 2, full.stderr)
            self.assertIn("No space left on device", full.stderr)
            kept = self.rows(disk / "out")
            self.assertTrue(all(whole for _, whole in self.results(disk / "out").values()))
            self.assertTrue(all(row["status"] in ["ok", "unstable"] for row in kept.values()), kept)
            self.assertEqual(subprocess.run(["mount", "-o", "remount,size=4m", disk], check=False).returncode, 0)
            end = self.run_cells(out=disk / "out")
            self.assertEqual(end.returncode, 0, end.stderr)
            self.assertEqual(len(self.rows(disk / "out")), 12)
            self.assertEqual({name: self.rows(disk / "out")[name] for name in kept}, kept)
        finally:
            subprocess.run(["umount", "-l", disk], check=False)

    def test_a_folder_that_may_not_be_written(self):
        self.suite(many(2))
        place = self.folder / "read-only"
        place.mkdir()
        if os.geteuid() == 0:  # whom permissions do not hold back
            self.assert_refused(self.run_cells(out=pathlib.Path("/proc/dlscale")), 2, "cannot be written")
        else:
            place.chmod(0o500)
            self.assert_refused(self.run_cells(out=place / "out"), 2, "Permission denied")

    def test_what_lies_there_is_of_another_plan(self):
        self.suite(many(2))
        self.assertEqual(self.run_cells().returncode, 0)
        self.suite(many(3))
        self.assert_refused(self.run_cells(), 2, "of other cells", '"gemm-3"')
        plan = self.out / "plan.jsonl"
        plan.write_text(plan.read_text()[:-20])
        self.assert_refused(self.run_cells(), 2, "is damaged")
        plan.write_text("")
        self.assert_refused(self.run_cells(), 2, "no plan of them")
        plan.unlink()
        self.assert_refused(self.run_cells(), 2, "no plan of them")
        fresh = self.run_cells("--restart")
        self.assertEqual(fresh.returncode, 0, fresh.stderr)
        self.assertEqual(len(self.rows()), 3)
        before = self.times()
        self.assertEqual(self.run_cells("--restart", "--name", "gemm-2$").returncode, 0)
        self.assertEqual({cell for cell, time in self.times().items() if time != before[cell]}, {"gemm-2"})
        shutil.rmtree(self.out / "cells" / "gemm-2")
        mended = self.run_cells()
        self.assertEqual(mended.returncode, 0, mended.stderr)
        self.assertEqual(len(self.rows()), 3)


class Systems(CellsTest):
    def test_a_dry_run_shows_scripts_and_commands(self):
        self.suite(cell("two", GEMM, shape={"nodes": 2, "threads": 2}), many(1))
        shown = self.run_cells("--dry-run", "--system", "slurm", variables={"SLURM_JOB_ID": None})
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for text in ["# nodes-1.sh", "# nodes-2.sh", "#SBATCH --nodes=2", "#SBATCH --partition=batch",
                     "--ntasks-per-node=1 --cpus-per-task=2", "--mpi=pmix", "--nodes 2\n"]:
            self.assertIn(text, shown.stdout)
        self.assertFalse(self.out.exists())
        scripts = self.folder / "scripts"
        written = self.run_cells("--write-scripts", scripts, "--system", "slurm", variables={"SLURM_JOB_ID": None})
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(sorted(path.name for path in scripts.iterdir()), ["nodes-1.sh", "nodes-2.sh"])
        self.assertIn(f"sbatch --parsable {scripts}/nodes-2.sh", written.stdout)
        for path in scripts.iterdir():
            self.assertEqual(subprocess.run(["bash", "-n", path], check=False).returncode, 0)

    def test_suites_that_are_shipped_fit_systems_that_are(self):
        for system in ["slurm", "pbs", "flux"]:
            shown = run("run", "cluster_quick", "--dry-run", "--system", system, "-o", self.out,
                        variables={"SLURM_JOB_ID": None, "PBS_NODEFILE": None, "FLUX_URI": None})
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("# nodes-4.sh", shown.stdout)
            self.assertNotIn("physics", shown.stdout)

    def test_a_list_of_hosts_that_is_not_there_is_said_before_anything_starts(self):
        self.suite(cell("two", GEMM, shape={"nodes": 2}))
        for dry in ((), ("--dry-run",)):
            self.assert_refused(self.run_cells("--system", "hostfile", *dry), 2, "hosts.txt is not a file", "relative to the folder")
        self.assertFalse((self.out / "cells").exists())

    def test_the_command_of_a_cell_names_files_that_are_there(self):
        self.suite(many(1))
        shown = self.run_cells("--dry-run").stdout
        self.assertEqual(self.run_cells().returncode, 0)
        for row in self.rows().values():
            result = pathlib.Path(row["command"][row["command"].index("-o") + 1])
            self.assertTrue(result.is_absolute() and result.is_file(), result)
            self.assertIn(str(result), shown)

    def test_options_of_the_command_line_are_the_scheduler_s(self):
        self.suite(cell("two", GEMM, shape={"nodes": 2}))
        outside = {"SLURM_JOB_ID": None, "PBS_NODEFILE": None, "FLUX_URI": None}
        options = ["-J", "time=01:00:00", "--job-option", "exclusive", "-J", "--account=a b"]
        shown = self.run_cells("--dry-run", "--system", "slurm", *options, variables=outside)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        last = "#SBATCH --exclusive\n#SBATCH --time=01:00:00\n#SBATCH --exclusive\n#SBATCH --account=a b\nset -e\n"
        self.assertIn(last, shown.stdout, "behind those of the system file")
        kept = json.dumps(["time=01:00:00", "exclusive", "--account=a b"], separators=(",", ":"))
        self.assertIn(f"export _DLSCALE_JOB_OPTIONS='{kept}'\n", shown.stdout)
        scripts = self.folder / "scripts"
        written = self.run_cells("--write-scripts", scripts, "--system", "pbs", "-J", "walltime=1:00:00", variables=outside)
        self.assertEqual(written.returncode, 0, written.stderr)
        text = (scripts / "nodes-2.sh").read_text()
        self.assertIn("#PBS -l walltime=1:00:00\nset -e\n", text)
        self.assertEqual(text.count("walltime="), 2, "and not that of the system file")
        self.assert_refused(self.run_cells("-J", "time=1", variables=outside), 2, "local has none")
        self.assert_refused(self.run_cells("--dry-run", "-J", "time=1", variables=outside), 2, "local has none")
        inside = outside | {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}
        self.assert_refused(self.run_cells("--system", "slurm", "-J", "time=1", variables=inside), 2, "inside of job 7")
        for option, fragment in [("", "value is empty"), ("a\nb", "line break"), ("nodes=3", "--nodes"), ("partition=x", "--partition")]:
            refused = self.run_cells("--dry-run", "--system", "slurm", "-J", option, variables=outside)
            self.assert_refused(refused, 2, fragment)

    def test_a_row_says_with_what_its_job_was_submitted(self):
        self.suite(many(1))
        inside = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1", "_DLSCALE_JOB_OPTIONS": '["time=1:00:00"]'}
        self.assertEqual(self.run_cells(variables=inside).returncode, 0)
        self.assertEqual([row["job_options"] for row in self.rows().values()], [["time=1:00:00"]])
        self.assert_refused(self.run_cells("--restart", variables=inside | {"_DLSCALE_JOB_OPTIONS": "x"}), 2, "Unset it")

    def test_tags_choose_cells_and_suites(self):
        self.suite(many(2) | {"tags": ["own", "m-{m}"]}, cell("other", GEMM + " --sizes 4x4x4", tags="own"), tags=["whole"])
        listed = lambda *more: [line.split(":")[0] for line in self.run_cells("--list", *more).stdout.splitlines()]
        self.assertCountEqual(listed("--tag", "own"), ["gemm-1", "gemm-2", "other"])
        self.assertEqual(listed("--tag", "own", "--tag", "m-2", "--tag", "whole"), ["gemm-2"])
        self.assertEqual(listed("--tag", "own", "--name", "oth"), ["other"])
        self.assert_refused(self.run_cells("--tag", "ownn"), 5, 'the tag "ownn"', 'Did you mean "own"?', "m-2")
        self.assert_refused(self.run_cells("--tag", "m-1", "--tag", "m-2"), 5, "--tag")
        self.assertEqual(self.run_cells("--tag", "m-2").returncode, 0)
        self.assertEqual(list(self.rows()), ["gemm-2"])
        shown = self.run_cells("--dry-run", "--system", "slurm", "--tag", "m-2", variables={"SLURM_JOB_ID": None})
        self.assertIn(" --tag m-2 ", shown.stdout, "the job chooses the same cells")

        quick = run("run", "--list", "--tag", "quick", "--tag", "training")
        self.assertEqual(quick.returncode, 0, quick.stderr)
        self.assertEqual([line.split(":")[0] for line in quick.stdout.splitlines()], ["quickstart"])
        self.assertIn("cluster_quick", run("run", "--list").stdout)
        self.assert_refused(run("run", "--list", "--tag", "qick"), 5, 'Did you mean "quick"?')
        self.assert_refused(run("run"), 2, "dlscale run --list")
        self.assert_refused(run("run", "--list", "--name", "x"), 2, "no suite is named")
        self.assert_refused(run("run", "quickstart", "--tag", "quick", "-o", self.out), 2, "has no cells")

    def test_what_a_system_cannot_do_is_said(self):
        self.suite(cell("two", GEMM, shape={"nodes": 2}))
        self.assert_refused(self.run_cells(), 2, 'cell "two" needs 2 nodes', "has 1 node")
        outside = {"SLURM_JOB_ID": None}
        self.assert_refused(self.run_cells("--system", "slurm", variables=outside), 2, "--submit", "--write-scripts")
        self.assert_refused(self.run_cells("--system", "pbs", "--submit", variables={"PBS_NODEFILE": None}), 6, "Slurm only")
        self.assert_refused(self.run_cells("--submit"), 2, "has no scheduler")
        self.assert_refused(self.run_cells("--system", "slrum"), 2, "slurm")
        self.assert_refused(run("run", "quickstart", "--name", "x", "-o", self.out), 2, "has no cells")


if __name__ == "__main__":
    main()
