"""What the ranks of a training send each other: recorded and shown."""

import json
import os
import re
import unittest

from program import BACKEND, MPIEXEC, ProgramTest, main, run


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

    def test_is_recorded(self):
        for ranks in range(2, min(CORES, 3) + 1):
            self.record(ranks)
            recorded = calls_of(rows_of(self.profile))
            # Two layers have parameters; each sends its gradient in each of five iterations.
            self.assertEqual({place for place, *_ in recorded}, {"0", "1"})
            self.assertEqual(set(recorded.values()), {5})
            self.assertEqual({collective for _, collective, _ in recorded}, {"all_reduce"})

    def test_tells_which_parts_travel_at_once(self):
        self.assertEqual(self.train("--schedule", "priority", "--partition", "512 B", "--credit", 3).returncode, 0)
        under_way = {number for row in rows_of(self.profile) for number in row["series"]["under_way"]["samples"][0]}
        self.assertIn(0, under_way)
        self.assertLessEqual(under_way, {0, 1, 2})  # how many depends on how soon each is done

    def test_of_a_parameter_server_tells_its_roots(self):
        self.assertEqual(self.train("--synchronisation", "parameter_server").returncode, 0)
        self.assertEqual({row["axes"]["root"] for row in rows_of(self.profile)}, {"0", "1"})

    def test_is_shown_with_and_without_fusion(self):
        self.assertEqual(self.train("--schedule", "wait_free,bucketed").returncode, 0)
        out = self.folder / "report"
        result = run("report", self.profile, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in (result.stdout, (out / "README.md").read_text().replace("\\_", "_")):
            self.assertRegex(text, r"tiny\W+wait_free\W+2\b")  # messages
            self.assertRegex(text, r"tiny\W+bucketed\W+1\b")

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
        series = lines[1][lines[1].index('"time":'):]
        time = re.search(r'"samples":\[\[([^,\]]+)', series)[1]  # as written, 9.5e-05 or 0.000095
        for damage, fragment in (
                (whole[:100], "holds no results"),
                ("".join(lines[:1] + lines[2:]), "counts"),
                (whole.replace(time, "-1.0", 1), "has -1 s"),
                (whole.replace(time, "NaN", 1), "profile.jsonl:2"),
                (whole.replace(time, "1e7", 1), "not from 0 to 3600"),
                (whole.replace(time, "1e999", 1), "profile.jsonl:2"),
                (whole.replace('"bytes":"', '"bytes":"-', 1), "no whole number from 1"),
                (whole.replace('"bytes":"', '"bytes":"99999999999999999999', 1), "no whole number from 1")):
            with self.subTest(fragment):
                self.assertNotEqual(damage, whole)
                self.profile.write_text(damage)
                self.assert_refused(run("report", self.profile, "-o", self.folder / "report"), 2, fragment)

    def test_that_ends_early_is_shown_with_a_warning(self):
        self.record()
        whole = self.profile.read_text()
        lines = whole.splitlines(keepends=True)
        for text in ("".join(lines[:-2]) + lines[-2][:-20], "".join(lines[:-1])):
            self.profile.write_text(text)
            result = run("report", self.profile, "-o", self.folder / "report")
            self.assertIn("ends early", result.stdout + result.stderr)


if __name__ == "__main__":
    main()
