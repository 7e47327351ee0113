"""Going on where a sweep stopped: bench --resume, and bench conv --suite."""

import json
import os
import pathlib
import shutil
import signal
import time
import unittest

from program import BACKEND, FEW, LONG, MPIEXEC, PROGRAM, ProgramTest, as_text, main, run, start

# The head of the note with the build id: the lengths of its owner's name and of itself, its type, its owner.
BUILD_ID_NOTE = b"".join(number.to_bytes(4, "little") for number in (4, 20, 3)) + b"GNU\0"


def rows_of(path):
    """The whole lines of a file that may still be written."""
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0].splitlines()
    return [row for row in map(json.loads, whole) if "axes" in row]


def key(row):
    return tuple(sorted(row["axes"].items()))


def spoil(path, layer):
    """Makes the row of a layer a wrong one."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    [row] = [line for line in lines if line.get("axes", {}).get("layer") == layer]
    row.update(status="wrong", reason="made wrong by a test", series={})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


class Resume(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "conv.jsonl"
        self.words = ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 4]

    def conv(self, *more):
        return run(*self.words, *FEW, "-o", self.out, *more)

    def test_a_header_that_was_cut_short_is_in_nobody_s_way(self):
        self.assertEqual(self.conv("--benchmark_filter=forward").returncode, 0)
        whole = self.out.read_text()
        rows = len(rows_of(self.out))
        for length in [1, 20, 400]:
            for more in [[], ["--resume"]]:
                self.out.write_text(whole[:length])
                result = self.conv("--benchmark_filter=forward", *more)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(len(rows_of(self.out)), rows)
        self.out.write_text(whole[:400])
        report = run("report", self.out, "-o", self.folder / "report")
        self.assert_refused(report, 2, "holds no results. Remove it, or measure again")

    def test_nothing_is_measured_twice(self):
        first = self.conv("--benchmark_filter=forward")
        self.assertEqual(first.returncode, 0, first.stderr)
        before = rows_of(self.out)
        second = self.conv("--resume")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn(f"{len(before)} measurements are there already", second.stderr)
        after = rows_of(self.out)
        self.assertEqual(after[: len(before)], before)
        self.assertEqual(len({key(row) for row in after}), len(after))
        self.assertEqual({row["axes"]["pass"] for row in after}, {"forward", "backward_data", "backward_filter"})
        third = self.conv("--resume")
        self.assertEqual(third.returncode, 0, third.stderr)
        self.assertEqual(rows_of(self.out), after)
        self.assertEqual(json.loads(self.out.read_text().splitlines()[-1]), {"end": {"measurements": len(after)}})

    def test_an_interrupted_sweep_goes_on(self):
        more = [*LONG, "-o", self.out]
        process = start(*self.words, *more)
        end = time.monotonic() + 120
        while len(rows_of(self.out)) < 3 and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        before = [row for row in rows_of(self.out) if row["status"] != "interrupted"]
        self.assertGreaterEqual(len(before), 2)
        result = run(*self.words, *more, "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        after = rows_of(self.out)
        self.assertEqual(after[: len(before)], before)
        self.assertEqual(len({key(row) for row in after}), len(after))
        self.assertNotIn("interrupted", {row["status"] for row in after})

    def test_results_of_other_options_are_not_gone_on_with(self):
        self.assertEqual(self.conv("--benchmark_filter=forward").returncode, 0)
        before = self.out.read_text()
        refused = self.conv("--max-time", 3, "--resume")
        self.assert_refused(refused, 2, "max_time was 2 there and is 3 now", "without resuming")
        self.assert_refused(self.conv("--check", "no", "--resume"), 2, "option check was yes there")
        self.assertEqual(self.out.read_text(), before)

    def test_results_of_another_build_of_the_same_commit_are_not_gone_on_with(self):
        self.assertEqual(self.conv("--benchmark_filter=forward").returncode, 0)
        head, rest = self.out.read_text().split("\n", 1)
        header = json.loads(head)
        program = pathlib.Path(PROGRAM).read_bytes()
        start_of_id = program.index(BUILD_ID_NOTE) + len(BUILD_ID_NOTE)
        self.assertEqual(header["run"]["build"], program[start_of_id : start_of_id + 20].hex())
        header["run"]["build"] = "ab" * 20
        self.out.write_text(json.dumps(header) + "\n" + rest)
        self.assert_refused(self.conv("--resume"), 2, "build id was " + "ab" * 20, "Measure all anew")
        self.assertEqual(self.out.read_text().split("\n", 1)[1], rest)

    def test_a_second_process_is_refused_and_nothing_is_lost(self):
        more = [*LONG, "--resume", "-o", self.out]
        first = start(*self.words, *more)
        end = time.monotonic() + 120
        while len(rows_of(self.out)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        before = rows_of(self.out)
        self.assert_refused(run(*self.words, *more), 2, f"{self.out} is being written by another dlscale")
        self.assertIsNone(first.poll(), "it ended before the second came")
        first.send_signal(signal.SIGINT)
        _, err = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 130, err)
        after = rows_of(self.out)
        self.assertGreaterEqual(len(before), 2)
        self.assertEqual(after[: len(before)], before)

    def test_shares_of_other_ceilings_are_not_mixed(self):
        ceilings = [self.folder / f"{name}.jsonl" for name in ("memory", "gemm")]
        for path, more in zip(ceilings, (["--operations", "copy,triad"], ["--sizes", "64x64x64", "--backend", BACKEND]),
                              strict=True):
            measured = run("bench", path.stem, *more, *FEW, "-o", path)
            self.assertEqual(measured.returncode, 0, measured.stderr)
        more = ["--ceilings", *ceilings, "--benchmark_filter=forward"]
        self.assertEqual(self.conv(*more).returncode, 0)
        again = self.conv(*more, "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        lines = ceilings[0].read_text().splitlines()
        changed = [json.loads(line) for line in lines]
        for row in changed:
            for series in row.get("series", {}).values():
                series["samples"] = [[time / 2 for time in rank] for rank in series["samples"]]
        ceilings[0].write_text("".join(json.dumps(row) + "\n" for row in changed))
        self.assert_refused(self.conv(*more, "--resume"), 2, "the content of the ceilings and the cluster was")
        changed[0]["environment"]["cpu"] = "a computer of long ago"
        ceilings[0].write_text("".join(json.dumps(row) + "\n" for row in changed))
        self.assert_refused(self.conv(*more), 2, "measured on different hosts")

    @unittest.skipUnless(MPIEXEC, "this build has no MPI")
    def test_ranks_go_on_together(self):
        words = [*self.words, *FEW, "--ranks", 2, "-o", self.out]
        first = run(*words, "--benchmark_filter=forward", ranks=2)
        self.assertEqual(first.returncode, 0, first.stderr)
        before = rows_of(self.out)
        second = run(*words, "--resume", ranks=2)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn(f"{len(before)} measurements are there already", second.stderr)
        after = rows_of(self.out)
        self.assertEqual(after[: len(before)], before)
        self.assertGreater(len(after), len(before))
        self.assertEqual(len({key(row) for row in after}), len(after))
        self.assertEqual({len(row["series"]["time"]["samples"]) for row in after}, {2})
        third = run(*words, "--resume", ranks=2)
        self.assertEqual(third.returncode, 0, third.stderr)
        self.assertEqual(rows_of(self.out), after)

    def test_resuming_needs_a_file_and_one_launch_of_each_cell(self):
        self.assert_refused(run(*self.words, "--resume"), 2, "-o FILE")
        self.assert_refused(self.conv("--resume", "--benchmark_repetitions=2"), 2, "--benchmark_repetitions=2")


class Suite(ProgramTest):
    def setUp(self):
        super().setUp()
        self.suite = self.folder / "small.yaml"
        self.out = self.folder / "out"
        self.write_suite("update", "conv")

    def write_suite(self, *steps, of_conv=FEW):
        commands = {
            "update": f"bench update --backend {BACKEND} --sizes 16KiB {as_text(FEW)}",
            "conv": f"bench conv --backend {BACKEND} --network {self.network} --batch 4 {as_text(of_conv)}",
        }
        self.suite.write_text("suite: small\nsteps:\n" + "".join(
            f'  - {{name: {name}, command: "{commands[name]} --resume -o {{out}}/{name}.jsonl"}}\n' for name in steps))

    def test_goes_on_within_the_step_that_was_interrupted(self):
        self.write_suite("update", "conv", of_conv=LONG)
        process = start("bench", "conv", "--suite", self.suite, "-o", self.out)
        end = time.monotonic() + 120
        while len(rows_of(self.out / "conv.jsonl")) < 3 and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        before = [row for row in rows_of(self.out / "conv.jsonl") if row["status"] != "interrupted"]
        result = run("bench", "conv", "--suite", self.suite, "-o", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("are there already", (self.out / "logs/conv.log").read_text())
        self.assertEqual(rows_of(self.out / "conv.jsonl")[: len(before)], before)

    def test_a_step_that_was_not_begun_measures_anew(self):
        self.out.mkdir()
        (self.out / "update.jsonl").write_text("")
        self.write_suite("update")
        self.assertEqual(run("run", self.suite, "-o", self.out, "--workers", 1).returncode, 0)
        before = rows_of(self.out / "update.jsonl")
        again = run("run", self.suite, "-o", self.out, "--workers", 1, "--restart")
        self.assertEqual(again.returncode, 0, again.stderr)
        after = rows_of(self.out / "update.jsonl")
        self.assertEqual([key(row) for row in before], [key(row) for row in after])
        self.assertNotEqual([row["series"] for row in before], [row["series"] for row in after])

    def test_fresh_does_every_step_again(self):
        words = ["bench", "conv", "--suite", self.suite, "-o", self.out]
        self.write_suite("update")
        self.assertEqual(run(*words).returncode, 0)
        before = (self.out / "update.jsonl").read_text()
        self.assertEqual(run(*words).returncode, 0)
        self.assertEqual((self.out / "update.jsonl").read_text(), before)
        again = run(*words, "--restart")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotEqual((self.out / "update.jsonl").read_text(), before)
        self.assert_refused(run("bench", "conv", "--restart"), 2, "--restart has no effect without --suite")

    def test_a_wrong_answer_is_a_row_and_the_rest_is_measured(self):
        self.write_suite("conv", "update", of_conv=["--passes", "forward", *FEW])
        words = ["bench", "conv", "--suite", self.suite, "-o", self.out]
        self.assertEqual(run(*words).returncode, 0)
        # As if conv1 had been wrong, and the suite stopped before the step was marked as done.
        spoil(self.out / "conv.jsonl", "conv1")
        mark = self.out / ".done" / "conv"
        command, build, _ = mark.read_text().splitlines()
        mark.write_text(f"{command}\n{build}\nbegun\n")
        (self.out / "update.jsonl").unlink()
        for _ in range(2):  # the second time nothing is left to do
            result = run(*words)
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn("a result of this suite is wrong", result.stderr)
            self.assertIn("layer=conv1", result.stderr.splitlines()[-1])
            self.assertIn("made wrong by a test", result.stderr.splitlines()[-1])
            self.assertTrue(rows_of(self.out / "update.jsonl"))
        self.assertEqual(run(*words, "--restart").returncode, 0)

    def short_suite(self):
        """The words of a suite of one quick step, which was carried out; and its result file."""
        self.suite.write_text(self.suite.read_text().partition("  - {name: conv")[0])
        words = ["bench", "conv", "--suite", self.suite, "-o"]
        first = run(*words, self.out)
        self.assertEqual(first.returncode, 0, first.stderr)
        return words, self.out / "update.jsonl"

    def test_results_of_another_build_are_kept_until_told_otherwise(self):
        words, results = self.short_suite()
        head, rest = results.read_text().split("\n", 1)
        header = json.loads(head)
        mark = self.out / ".done" / "update"
        written = mark.read_text()
        self.assertIn(f"build {header['run']['build']}", written.splitlines()[1])
        header["environment"]["commit"] = "of somebody else"
        results.write_text(json.dumps(header) + "\n" + rest)
        for change, why in [(lambda: mark.write_text(written.replace("build ", "build x")), "another build"),
                            (lambda: mark.write_text(written.replace("16KiB", "32KiB")), "with other options"),
                            (lambda: shutil.rmtree(mark.parent), "nothing tells that")]:
            change()
            refused = run(*words, self.out)
            self.assert_refused(refused, 2, results, why, "--restart")
            self.assertIn("of somebody else", results.read_text())
        again = run(*words, self.out, "--restart")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("of somebody else", results.read_text())

    def test_the_folder_may_be_called_by_another_name(self):
        words, results = self.short_suite()
        before = results.read_text()
        copied = self.folder / "copied"
        shutil.copytree(self.out, copied)
        for name in [f"{self.out}/", f"{self.folder}/./out", copied, os.path.relpath(self.out)]:
            again = run(*words, name)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual((pathlib.Path(name) / "update.jsonl").read_text(), before)

    def test_what_is_no_result_of_the_suite_is_kept(self):
        _, results = self.short_suite()
        shutil.rmtree(self.out)
        words = ["run", self.suite, "--workers", 1, "-o", self.out]
        self.out.mkdir()
        for fresh in [[], ["--restart"]]:
            results.write_text("precious notes")
            self.assert_refused(run(*words, *fresh), 2, results, "is not a result file")
            self.assertEqual(results.read_text(), "precious notes")
            results.unlink()
            (results / "deep").mkdir(parents=True)
            (results / "deep" / "note").write_text("precious notes")
            self.assert_refused(run(*words, *fresh), 2, results, "is a folder")
            self.assertTrue((results / "deep" / "note").exists())
            shutil.rmtree(results)
        note = self.out / ".done" / "archive" / "note"
        note.parent.mkdir(parents=True)
        note.write_text("precious notes")
        (self.out / ".done" / "list").write_text("todo")
        for fresh in [[], ["--restart"]]:
            self.assertEqual(run(*words, *fresh).returncode, 0)
            self.assertTrue(note.exists() and (self.out / ".done" / "list").exists())

    def test_results_after_a_step_that_is_done_again_are_kept_until_told_otherwise(self):
        update = f"bench update --backend {BACKEND} --max-time 0.02"
        self.suite.write_text(f"""
suite: small
steps:
  - {{name: first, command: "{update} --sizes 16KiB -o {{out}}/first.jsonl"}}
  - {{name: second, command: "{update} --sizes 32KiB -o {{out}}/second.jsonl"}}
""")
        words = ["bench", "conv", "--suite", self.suite, "-o", self.out]
        self.assertEqual(run(*words).returncode, 0)
        before = (self.out / "second.jsonl").read_text()
        (self.out / "first.jsonl").unlink()
        self.assert_refused(run(*words), 2, "second.jsonl", 'step "first" before it is to be done again', "--restart")
        self.assertEqual((self.out / "second.jsonl").read_text(), before)
        (self.out / "second.jsonl").unlink()
        self.assertEqual(run(*words).returncode, 0)

    def test_a_suite_needs_a_folder(self):
        for name, text in [("file", "notes"), ("long" * 100, None)]:
            if text:
                (self.folder / name).write_text(text)
            self.assert_refused(run("bench", "conv", "--suite", self.suite, "-o", self.folder / name), 2, "need a folder")
        (self.folder / "loop").symlink_to("loop")
        self.assert_refused(run("run", self.suite, "-o", self.folder / "loop", "--workers", 1), 2, "need a folder")

    def test_is_refused_under_a_launcher(self):
        world = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
        refused = run("run", self.suite, "-o", self.out, "--workers", 1, variables=world)
        self.assert_refused(refused, 2, "without a launcher")
        self.assertFalse(self.out.exists())

    def test_takes_no_other_options(self):
        words = ["bench", "conv", "--suite", "quick", "-o", self.out]
        self.assert_refused(run(*words, "--batch", 8, "--dtype", "bf16"), 2, "--batch, --dtype", "--suite quick")
        self.assert_refused(run(*words, "--benchmark_filter=x"), 2, "--benchmark_filter=x")
        self.assert_refused(run("bench", "conv", "--suite", "quik"), 2, "Did you mean \"quick\"?")
        self.assert_refused(run("bench", "conv", "--suite", ""), 2, "--suite: the value is empty")
        self.assertFalse(self.out.exists())

    def test_those_that_come_with_the_program_hold_convolutions_and_ceilings(self):
        for name in ("quick", "full"):
            listed = run("run", f"conv_{name}", "--workers", 1, "--list")
            self.assertEqual(listed.returncode, 0, listed.stderr)
            for part in ("bench memory", "bench peak", "bench gemm", "bench update", "--algorithms all", "roofline show"):
                self.assertIn(part, listed.stdout)


if __name__ == "__main__":
    main()
