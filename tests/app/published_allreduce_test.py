"""scripts/published_allreduce on curves of a ring that was made up."""

import json
import pathlib
import subprocess
import sys

from program import PROGRAM, ProgramTest, environment, main

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SIZES = [1 << k for k in range(6, 24)]
# Scores nothing: says how many points it was given, and which cases are missing.
SCORER = """
import json, sys
cases = [json.loads(line) for line in open(sys.argv[1])]
found = {line["id"]: line for line in map(json.loads, open(sys.argv[2]))}
errors = [abs(p / m - 1) for case in cases if case["id"] in found
          for p, m in zip(found[case["id"]]["time_s"], case["measured"]["time_s"])]
score = {"n": len(errors), "missing": 0, "bias": 0.0, "median_ape": sorted(errors)[len(errors) // 2], "p90": max(errors), "mape": 0.0}
missing = [case["id"] for case in cases if case["id"] not in found]
print(json.dumps({"groups": {"made_up": score}, "overall": score, "missing": missing}))
"""


def seconds(ranks, size):
    return 2 * (ranks - 1) * (10e-6 + size / ranks * 1e-9)


def curve(ranks, sizes):
    return {"ranks": ranks, "nodes": ranks, "bytes": sizes, "time_s": [seconds(ranks, size) for size in sizes]}


def case(name, task, ranks, given, asked):
    return {"schema": "dlscale.allreduce/1", "id": name, "set": "made_up", "task": task, "collective": "all_reduce",
            "library": "a library", "buffer": "host", "ranks": ranks, "nodes": ranks, "cluster": {"gpu": None},
            "given": given, "query": {"bytes": asked}, "measured": {"time_s": [seconds(ranks, size) for size in asked]}}


class PublishedAllReduce(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "score.py").write_text(SCORER)
        cases = [case("made_up/x-r2-interp", "interpolate", 2, [curve(2, SIZES[::2])], SIZES[1::2]),
                 case("made_up/x-r8-extrap", "extrapolate", 8, [curve(2, SIZES), curve(4, SIZES)], SIZES),
                 case("made_up/y-r9-extrap", "extrapolate", 9, [curve(2, SIZES[:1])], SIZES)]
        (self.folder / "open_allreduce.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases))

    def published(self, *words):
        command = [sys.executable, SOURCE / "scripts/published_allreduce", "--data", self.folder, "--program", PROGRAM, *words]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment(), timeout=300, check=False)

    def test_tables_stand_between_the_marks(self):
        page = self.folder / "README.md"
        self.assertEqual(self.published("-o", page).returncode, 0)
        page.write_text("# By hand\n\n" + page.read_text() + "\nMore by hand.\n")
        again = self.published("-o", page)
        self.assertEqual(again.returncode, 0, again.stderr)
        text = page.read_text()
        self.assertTrue(text.startswith("# By hand\n"), text)
        self.assertTrue(text.endswith("More by hand.\n"), text)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| made_up")]
        by_set = {row[1]: row for row in rows if row[0] == "made_up" and len(row) == 9}
        for predicted in ("other sizes", "more ranks"):
            self.assertLess(float(by_set[predicted][4].split()[0]), 1)
        curves = {row[1]: row for row in rows if row[0] == "made_up/x"}
        self.assertLess(float(curves["more ranks"][4].split()[0]), 1)  # of 4 ranks from 2
        self.assertIn("- made_up/y-r9-extrap", text)  # nothing to fit: one size
        scored = [row for row in rows if row[0] == "made_up" and len(row) == 7]
        self.assertEqual(scored[0][1], str(len(SIZES) // 2 + len(SIZES)))
        self.assertLess(float(scored[0][4].split()[0]), 1)

    def test_bad_input_is_one_sentence(self):
        page = self.folder / "mine.md"
        page.write_text("mine")
        for words in [["-o", page], ["--data", self.folder / "none"]]:
            result = self.published(*words)
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertEqual(page.read_text(), "mine")


if __name__ == "__main__":
    main()
