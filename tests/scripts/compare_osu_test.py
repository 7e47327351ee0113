"""scripts/compare_osu with programs that print what the OSU micro-benchmarks and dlscale would."""

import json
import pathlib
import sys
import unittest
import unittest.mock

from support import ROOT, FolderTest, load_script, output_of

SCRIPT = ROOT / "scripts" / "compare_osu"
compare_osu = load_script(SCRIPT)
ALL_REDUCE, _, LATENCY, BANDWIDTH = compare_osu.KINDS

LATENCY_TEXT = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   P50 Tail Lat(us)
4                     1.5000              1.2500
8                     1.6000              1.3000
"""

BANDWIDTH_TEXT = """# Size      Bandwidth (MB/s)  P50 Tail BW(MB/s)
4                       8.00               10.00
1048576              5000.00             4000.00
"""

# Takes the place of mpirun -n 2 --bind-to core.
MPIRUN = """#!/bin/sh
test "$*" != "${*#-n 2 --bind-to core }" || exit 9
shift 4
exec "$@"
"""

# Messages of n bytes take n microseconds, and with threads a quarter more; of bandwidth they give what makes them so.
OSU = """#!{python}
import os, sys
threads = 1.25 if os.environ.get("OMPI_MPI_THREAD_LEVEL") == "3" else 1.0
words = sys.argv[1:]
least, largest = map(int, words[words.index("-m") + 1].split(":"))
assert words[words.index("-x") + 1] == "3" and "-z50" in words and words[words.index("-T") + 1] == "mpi_float", words
print("# Size   something")
while least <= largest:
    print(least, {value}, {value}, sep="      ")
    least *= 2
"""

# Writes a time for every size, that times a factor; from cold buffers twice that.
DLSCALE = """#!{python}
import json, sys
words = sys.argv[1:]
after = lambda word: words[words.index(word) + 1]
assert words[:2] == ["bench", "comm"] and after("--warm-ups") == "3" and after("--cache") == "reused,cold", words
rows = [{{"schema": "dlscale.result", "environment": {{"cpu": "Sample CPU", "commit": "abc", "libraries": {{}}}}}}]
for size in after("--sizes").split(","):
    size = int(size.split()[0])
    for cache, times in (("reused", 1), ("cold", 2)):
        time = 1e-6 * size * times * {factor}
        samples = [[time] * int(after("--samples"))] * 2
        rows.append({{"axes": {{"bytes": str(size), "cache": cache}}, "series": {{"time": {{"samples": samples,
                     "summary": {{"median": time}}}}}}}})
open(after("-o"), "w").write("\\n".join(map(json.dumps, rows[:{most}])))
"""


class Parts(unittest.TestCase):
    def test_what_osu_prints_is_read_in_seconds(self):
        figures = compare_osu.their_figures(ALL_REDUCE, LATENCY_TEXT)
        self.assertEqual(sorted(figures), [4, 8])
        self.assertAlmostEqual(figures[4].mean, 1.5e-6)
        self.assertAlmostEqual(figures[4].median, 1.25e-6)

    def test_rates_become_the_time_of_a_message(self):
        figures = compare_osu.their_figures(BANDWIDTH, BANDWIDTH_TEXT)
        self.assertAlmostEqual(figures[4].mean, 0.5e-6)
        self.assertAlmostEqual(figures[1048576].median, 1048576 / 4e9)

    def test_a_time_that_was_rounded_to_nothing_is_refused(self):
        with self.assertRaisesRegex(compare_osu.Refused, "FLOAT_PRECISION"):
            compare_osu.their_figures(ALL_REDUCE, "4     0.00     0.00\n")

    def row(self, cache, samples, median):
        return json.dumps({"axes": {"bytes": "4", "cache": cache},
                           "series": {"time": {"samples": samples, "summary": {"median": median}}}})

    def test_our_times_are_taken_as_osu_takes_its_own(self):
        lines = ["{}", self.row("reused", [[1, 2, 6], [3, 2, 2]], 3), self.row("cold", [[7, 7, 7], [9, 9, 9]], 9)]
        everybody = compare_osu.our_figures(ALL_REDUCE, lines)[4]
        self.assertAlmostEqual(everybody.mean, 8 / 3)  # of the means over ranks, 2, 2 and 4
        self.assertEqual(everybody.median, 2)
        self.assertEqual((everybody.reported, everybody.cold), (3, 9))
        first = compare_osu.our_figures(LATENCY, lines)[4]
        self.assertEqual((first.mean, first.median), (3, 2))

    def test_every_size_is_in_one_group_with_our_window(self):
        for kind in compare_osu.KINDS:
            groups = compare_osu.groups_of(kind, 4, 64 << 20)
            self.assertEqual([size for group in groups for size in group.sizes], [1 << power for power in range(2, 27)])
            for group in groups:
                wanted = [max(2, min(64, (64 << 20) // size)) if kind is BANDWIDTH else 1 for size in group.sizes]
                self.assertEqual([group.window] * len(group.sizes), wanted)
        self.assertEqual(compare_osu.groups_of(LATENCY, 100, 300), [compare_osu.Group((128, 256), 1000, 1)])

    def rows(self, *ratios):
        return [{"benchmark": "latency", "bytes": 4, "round": i, "osu_mean_s": 0.8e-6, "osu_median_s": 0.8e-6, "our_mean_s": 1e-6,
                 "osu_threads_mean_s": 1e-6, "osu_threads_median_s": 1e-6, "our_median_s": each * 1e-6, "reported_median_s": 1e-6, "cold_median_s": 2e-6}
                for i, each in enumerate(ratios)]

    def test_medians_further_apart_than_wanted_are_named(self):
        lines, apart = compare_osu.table_of(LATENCY, self.rows(1.05, 1.04, 1.06))
        self.assertEqual(len(apart), 1)
        self.assertIn("| 1 | 1.05 | **1.050** | 1.040 to 1.060 |", lines[-1])
        self.assertEqual(compare_osu.said_of(apart), "Medians more than 3 % apart: 4 B (+5.0 %).")
        _, apart = compare_osu.table_of(LATENCY, self.rows(0.95, 0.99, 0.94))
        self.assertIn("4 B (-5.0 %, not in all rounds)", compare_osu.said_of(apart))
        _, apart = compare_osu.table_of(LATENCY, self.rows(1.02, 1.2, 0.99))
        self.assertIn("No medians", compare_osu.said_of(apart))


class Quiet(unittest.TestCase):
    def measure(self, *works, patience="100"):
        """How many programs are run for one group while fixed work takes so long, after 1 s at best; and its row."""
        fixed = iter([1.0] * 20 + list(works))
        ran = []
        with (unittest.mock.patch.object(compare_osu, "fixed_work", lambda: next(fixed)),
              unittest.mock.patch.object(compare_osu, "processor_seconds", lambda: (0.0, 0.0)),
              unittest.mock.patch.object(compare_osu.time, "sleep", lambda _: None)):
            comparison = compare_osu.Comparison(compare_osu.parse(["--patience", patience]), {}, pathlib.Path())
            said = {4: compare_osu.Figures(1, 1)}, 0.0
            comparison.theirs = comparison.ours = lambda *_: ran.append(1) or said
            comparison.measure(LATENCY, compare_osu.Group((4,), 10, 1), 1)
        return len(ran), comparison.rows[0]["fixed_work_s"]

    def test_nothing_is_measured_again_where_fixed_work_is_fast(self):
        self.assertEqual(self.measure(1, 1, 1, 1.05, 1), (3, 1.05))

    def test_what_was_measured_while_fixed_work_was_slow_is_measured_again(self):
        self.assertEqual(self.measure(1.5, 1, 1, 1.5, 1, 1, 1, 1, 1), (4, 1))  # first it waits

    def test_without_patience_it_is_kept_and_said(self):
        self.assertEqual(self.measure(1, 1, 1.5, 1, patience="0"), (3, 1.5))


class CompareOsu(FolderTest):
    def setUp(self):
        super().setUp()
        self.write("mpirun", MPIRUN)
        for program in ("osu_allreduce", "osu_bcast", "osu_latency"):
            self.write(f"osu/libexec/{program}", OSU.format(python=sys.executable, value="f'{least * threads:.2f}'"))
        self.write("osu/libexec/osu_bw", OSU.format(python=sys.executable, value="f'{1 / threads:.2f}'"))

    def dlscale(self, factor, most=1000):
        return self.write("dlscale", DLSCALE.format(python=sys.executable, factor=factor, most=most))

    def compare(self, dlscale, *words, osu="osu"):
        return output_of(sys.executable, SCRIPT, "--osu", self.folder / osu, "--mpirun", self.folder / "mpirun", "--dlscale", dlscale,
                         "--rounds", 2, "--warm-ups", 3, "--patience", 0, *words)

    def test_both_are_put_side_by_side(self):
        result = self.compare(self.dlscale(1.25 * 1.01), "--sizes", "4:16384", "--out", self.folder / "kept")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("all_reduce", "broadcast", "latency", "bandwidth"):
            self.assertIn(f"### {name}: ", result.stdout)
        self.assertEqual(result.stdout.count("| 16384 | 20480 | 20685 | 1.010 | 1.010 to 1.010 |"), 4)
        self.assertEqual(result.stdout.count("No medians are more than 3 % apart."), 4)
        self.assertEqual(result.stdout.count("| 16384 | 1.262 | 1.262 to 1.262 | 20685 | 41370 |"), 4)  # without threads; ours
        self.assertIn("Sample CPU", result.stdout)
        self.assertEqual((self.folder / "kept" / "table.md").read_text(), result.stdout[:-1])
        rows = [json.loads(line) for line in (self.folder / "kept" / "rows.jsonl").read_text().splitlines()]
        self.assertEqual(len(rows), 4 * 13 * 2)
        self.assertEqual(rows[0]["benchmark"], "all_reduce")
        self.assertAlmostEqual(rows[0]["cold_median_s"] / rows[0]["our_median_s"], 2)

    def test_what_is_further_apart_is_said_and_ends_with_1(self):
        result = self.compare(self.dlscale(1.25 * 0.9), "--sizes", "4:8", "--benchmarks", "latency")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("Medians more than 3 % apart: 4 B (-10.0 %), 8 B (-10.0 %).", result.stdout)
        self.assertNotIn("all_reduce", result.stdout)

    def test_absent_programs_are_named_with_what_builds_them(self):
        result = self.compare(self.dlscale(1), osu="elsewhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("osu_allreduce is missing where they are installed below", result.stderr)
        self.assertIn("./configure CC=mpicc", result.stderr)
        self.assertIn("\nmake install", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_what_cannot_be_run_or_read_is_one_sentence_and_ends_with_2(self):
        fine = self.dlscale(1)
        other = self.write("other", "#!/bin/sh\necho sorry >&2\nexit 3\n")
        few = self.write("few", DLSCALE.format(python=sys.executable, factor=1, most=2))
        for dlscale, words, part in ((other, (), "ended with 3: sorry"), (self.folder / "none", (), "ended with"),
                                     (few, (), "says nothing of 8 bytes"),
                                     (fine, ("--mpirun", self.folder / "no"), "no cannot be run"),
                                     (fine, ("--ranks", 3), "run between 2 ranks")):
            self.assert_refused(self.compare(dlscale, "--sizes", "4:8", *words), part)

    def test_sizes_that_are_none_are_refused(self):
        for text in ("4", "8:4", "1:8", "4:1000000000", "a:b"):
            self.assert_option_refused(("--sizes", text), "is not LEAST:LARGEST")
        self.assert_option_refused(("--sizes", "5:7"), "no power of two")

    def assert_option_refused(self, words, part):
        result = self.compare(self.dlscale(1), *words)
        self.assert_refused(result, part)
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("compare_osu: "), result.stderr)

    def test_bad_options_are_one_sentence(self):
        (self.folder / "file").write_text("")
        for wrong, part in ((("--rounds", "0"), "--rounds: 0 is not a whole number from 1 up"), (("--ranks", "two"), "two is not"),
                            (("--patience", "-1"), "-1 is not a number from 0 up"), (("--quiet", "nan"), "nan is not a number"),
                            (("--mpirun-options", "'"), "not a list of options"), (("--benchmarks", "gather"), "--benchmarks"),
                            (("--frobnicate",), "--frobnicate"), (("--out", self.folder / "file" / "x"), "cannot be made")):
            self.assert_option_refused(wrong, part)

    def test_programs_are_looked_for_where_they_are_installed(self):
        for folder in ("libexec/osu-micro-benchmarks/mpi/pt2pt", "c/mpi/pt2pt/standard", "bin"):
            there = self.write(f"{folder}/prefix/{folder}/osu_latency", "")
            self.assertEqual(compare_osu.find_programs(self.folder / folder / "prefix", [LATENCY]), {"osu_latency": there})
        self.write("deep/somewhere/else/osu_latency", "")
        with self.assertRaisesRegex(compare_osu.Refused, "osu_latency is missing where they are installed below"):
            compare_osu.find_programs(self.folder / "deep", [LATENCY])


if __name__ == "__main__":
    unittest.main()
