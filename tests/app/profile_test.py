"""What the ranks of a training send each other: recorded, shown, and sent again."""

import json
import os
import unittest

from program import BACKEND, FEW, MPIEXEC, ProgramTest, main, run


# Each rank is bound to a core of its own.
CORES = len(os.sched_getaffinity(0))


def rows_of(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if "axes" in line]


def calls_of(rows):
    """How often each message has each place in the iteration, over all iterations."""
    return {(row["axes"]["message"], row["axes"]["collective"], row["axes"]["bytes"]): len(row["series"]["time"]["samples"][0])
            for row in rows if row["axes"]["message"] != "all"}


@unittest.skipUnless(MPIEXEC and CORES >= 2, "without a launcher and two cores nothing is sent")
class Profile(ProgramTest):
    recorded = {}  # without other options, by the number of ranks: most tests look at it, trained once

    def setUp(self):
        super().setUp()
        self.profile = self.folder / "profile.jsonl"

    def record(self, ranks=2):
        if ranks not in self.recorded:
            result = self.train(ranks=ranks)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.recorded[ranks] = self.profile.read_text()
        self.profile.write_text(self.recorded[ranks])

    def train(self, *more, ranks=2, profile=None):
        data = self.folder / "data"
        if not data.exists():
            self.make_data()
        return run("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--iterations", 5,
                   "--warmup", 1, "--data", data, "--profile", profile or self.profile, *more, ranks=ranks)

    def replay(self, *more, ranks=2):
        # What is wrong is said before any rank leaves, after which Open MPI would wait for two seconds.
        return run("bench", "comm", "--replay", self.profile, *FEW, *more, ranks=ranks,
                   variables={"OMPI_MCA_odls_base_sigkill_timeout": "0"})

    def assert_not_resumed(self, out, fragment):
        result = self.replay("-o", out, "--resume")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(fragment, result.stderr)

    def test_is_recorded_and_sent_again(self):
        for ranks in range(2, min(CORES, 3) + 1):
            self.record(ranks)
            recorded = calls_of(rows_of(self.profile))
            # Two layers have parameters; each sends its gradient in each of five iterations.
            self.assertEqual({place for place, *_ in recorded}, {"0", "1"})
            self.assertEqual(set(recorded.values()), {5})
            self.assertEqual({collective for _, collective, _ in recorded}, {"all_reduce"})
            out = self.folder / "replay.jsonl"
            again = self.replay("-o", out, ranks=ranks)
            self.assertEqual(again.returncode, 0, again.stderr)
            rows = rows_of(out)
            self.assertEqual(set(calls_of(rows)), set(recorded))
            for row in rows:
                self.assertEqual(len(row["series"]["time"]["samples"]), ranks)
                self.assertEqual(len(row["series"]["recorded"]["samples"]), ranks)
                self.assertEqual(row["axes"]["recorded_ranks"], str(ranks))
                self.assertEqual(row["max_relative_error"], 0)
            self.assertEqual(again.stdout.count("; recorded "), len(rows))

    def test_is_gone_on_with_only_as_it_was(self):
        self.record()
        out = self.folder / "replay.jsonl"
        self.assertEqual(self.replay("-o", out).returncode, 0)
        rows = rows_of(out)
        again = self.replay("-o", out, "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(rows_of(out), rows)
        self.assertEqual(self.train("--rate", 0.02).returncode, 0)
        self.assert_not_resumed(out, "cannot be resumed: the content of --replay was")
        self.assertEqual(rows_of(out), rows)
        self.profile.unlink()
        self.assert_not_resumed(out, f"{self.profile} cannot be read")
        self.assertEqual(rows_of(out), rows)

    def test_of_parts_that_travel_at_once_is_sent_again_as_such(self):
        self.assertEqual(self.train("--schedule", "priority", "--partition", "512 B", "--credit", 3).returncode, 0)
        under_way = {number for row in rows_of(self.profile) for number in row["series"]["under_way"]["samples"][0]}
        self.assertIn(0, under_way)
        self.assertLessEqual(under_way, {0, 1, 2})  # how many depends on how soon each is done
        out = self.folder / "replay.jsonl"
        result = self.replay("-o", out, "--gaps", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(set(calls_of(rows_of(out))), set(calls_of(rows_of(self.profile))))
        # One that was written before messages under way were told.
        lines = [json.loads(line) for line in self.profile.read_text().splitlines()]
        for line in lines:
            line.get("series", {}).pop("under_way", None)
        self.profile.write_text("".join(json.dumps(line) + "\n" for line in lines))
        result = self.replay("-o", out, "--gaps", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in rows_of(out):
            self.assertTrue(any("does not tell" in warning for warning in row["warnings"]), row["warnings"])

    def test_of_a_parameter_server_is_sent_again_with_its_roots(self):
        self.assertEqual(self.train("--synchronisation", "parameter_server").returncode, 0)
        out = self.folder / "replay.jsonl"
        result = self.replay("-o", out, "--gaps", "none")
        self.assertEqual(result.returncode, 0, result.stderr)

        def roots(path):
            return {tuple(row["axes"].get(name) for name in ("message", "collective", "root")) for row in rows_of(path)
                    if row["axes"]["message"] != "all"}
        self.assertEqual(roots(out), roots(self.profile))
        self.assertEqual({root for *_, root in roots(out)}, {"0", "1"})

    def test_is_not_sent_again_by_one_rank(self):
        self.record()
        alone = run("bench", "comm", "--replay", self.profile)
        self.assertEqual(alone.returncode, 5, alone.stderr)
        self.assertIn("replay among 1 rank moves nothing", alone.stdout)

    @unittest.skipUnless(CORES >= 3, "three ranks need three cores")
    def test_is_sent_again_by_other_ranks(self):
        self.record()
        out = self.folder / "replay.jsonl"
        result = self.replay("-o", out, "--gaps", "none", ranks=3)
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in rows_of(out):
            self.assertTrue(any("recorded on 2 ranks" in warning for warning in row["warnings"]), row["warnings"])

    def test_is_shown_with_and_without_fusion(self):
        self.assertEqual(self.train("--schedule", "wait_free,bucketed").returncode, 0)
        out = self.folder / "report"
        result = run("report", self.profile, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in (result.stdout, (out / "README.md").read_text().replace("\\_", "_")):
            self.assertIn("wait_free: calls", text)
            self.assertIn("bucketed: ms a call", text)

    def test_that_cannot_be_written_is_told_once_before_anything_is_measured(self):
        taken = self.folder / "taken"
        taken.write_text("no folder")
        for place in (taken / "profile.jsonl", self.folder, "/dev/full"):
            out = self.folder / "e2e.jsonl"
            result = self.train("-o", out, profile=place)
            self.assert_refused(result, 2, str(place), "with --profile.")
            self.assertNotIn("with -o", result.stderr)
            self.assertEqual(rows_of(out), [])

    def test_is_refused_where_nothing_is_sent(self):
        self.assert_refused(self.train(ranks=0), 2, "1 rank sends nothing")
        self.assertFalse(self.profile.exists())

    def test_that_is_damaged_is_refused(self):
        self.record()
        whole = self.profile.read_text()
        lines = whole.splitlines(keepends=True)
        time = json.loads(lines[1])["series"]["time"]["samples"][0][0]
        for damage, fragment in (
                (whole[:100], "holds no results"), ("".join(lines[:-2]) + lines[-2][:-20], "ends early"),
                ("".join(lines[:-1]), "ends early"),
                ("".join(lines[:1] + lines[2:]), "counts"),
                (whole.replace(json.dumps(time), "-1.0", 1), "has -1 s"),
                (whole.replace(json.dumps(time), "NaN", 1), "profile.jsonl:2"),
                (whole.replace(json.dumps(time), "1e999", 1), "profile.jsonl:2"),
                (whole.replace(json.dumps(time), "1e7", 1), "not from 0 to 3600"),
                (whole.replace('"bytes":"', '"bytes":"-', 1), "no whole number from 1"),
                (whole.replace('"bytes":"', '"bytes":"99999999999999999999', 1), "no whole number from 1"),
                (whole.replace('"collective":"all_reduce"', '"collective":"all"'), "does not know")):
            self.assertNotEqual(damage, whole)
            self.profile.write_text(damage)
            self.assert_refused(self.replay(), 2, fragment)
        self.profile.write_text(whole)
        self.assert_refused(self.replay("--sizes", "4B"), 2, "--sizes has no effect on --replay")
        self.assert_refused(run("bench", "comm", "--gaps", "none"), 2, "--gaps has no effect without --replay")
        self.assert_refused(run("bench", "comm", "--replay", self.network), 2, str(self.network))


if __name__ == "__main__":
    main()
