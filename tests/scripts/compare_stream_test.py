"""scripts/compare_stream with programs that print what STREAM and dlscale would."""

import json
import sys
import unittest

from support import ROOT, FolderTest, output_of

STREAM = """#!/bin/sh
cat <<TEXT
This system uses 8 bytes per array element.
Array size = 1000 (elements), Offset = 0 (elements)
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           20000.0     0.1     0.1     0.1
Scale:          20000.0     0.1     0.1     0.1
Add:            20000.0     0.1     0.1     0.1
Triad:          $((10000 * OMP_NUM_THREADS)).0     0.1     0.1     0.1
TEXT
"""

# Writes rows of 24000 bytes moved in the times that are given, by three kinds of loops.
DLSCALE = """#!{python}
import json, sys
words = sys.argv[1:]
out = words[words.index("-o") + 1]
assert words[words.index("--sizes") + 1] == "8000 B", words
rows = [{{"schema": "dlscale.result"}}]
for operation in {operations}:
    for more, seconds in (({{}}, {compiled}), ({{"isa": "avx9"}}, {best}),
                          ({{"isa": "avx9", "stores": "streaming"}}, 0.5e-6)):
        rows.append({{"benchmark": "memory", "axes": {{"operation": operation}} | more, "work": {{"bytes": 24000}},
                     "series": {{"time": {{"summary": {{"min": seconds}}}}}}}})
open(out, "w").write("\\n".join(map(json.dumps, rows)))
"""


class CompareStream(FolderTest):
    def setUp(self):
        super().setUp()
        self.stream = self.write("stream", STREAM)

    def dlscale(self, compiled, best=1e-6, operations=("copy", "scale", "add", "triad")):
        return self.write("dlscale", DLSCALE.format(python=sys.executable, compiled=compiled, best=best,
                                                    operations=operations))

    def compare(self, *words):
        return output_of(sys.executable, ROOT / "scripts" / "compare_stream", *words)

    def test_our_loops_with_ordinary_stores_are_put_beside_the_best_pass_of_stream(self):
        # 24000 bytes in 1.25 us are 19.2 GB/s, in 1.2 us 20; beside 20 and, of triad with one thread, 10.
        result = self.compare("--stream", self.stream, "--dlscale", self.dlscale(1.25e-6, 1.2e-6), "--rounds", 2,
                              "--out", self.folder / "kept")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("copy   ours with ordinary stores over STREAM: 0.960 to 1.000", result.stdout)
        self.assertIn("triad  ours with ordinary stores over STREAM: 1.920 to 2.000", result.stdout)
        self.assertRegex(result.stdout, r"copy +compiled, ordinary stores +19\.20 +STREAM +20\.00 +ratio 0\.960")
        self.assertRegex(result.stdout, r"copy +avx9, streaming stores +48\.00 +STREAM +20\.00 +ratio 2\.400")
        kept = sorted(path.name for path in (self.folder / "kept").iterdir())
        self.assertEqual(kept, ["memory-1-1.jsonl", "memory-1-2.jsonl"])
        first = (self.folder / "kept" / kept[0]).read_text().splitlines()[0]
        self.assertEqual(json.loads(first)["schema"], "dlscale.result")

    def test_less_than_nine_tenths_is_said_and_ends_with_1(self):
        result = self.compare("--stream", self.stream, "--dlscale", self.dlscale(1.5e-6), "--threads", 1, 2)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("copy   ours with ordinary stores over STREAM: 0.800 to 1.200, below 0.9", result.stdout)
        self.assertIn("threads: 2", result.stdout)
        # 16 and 24 beside 2 x 10
        self.assertIn("triad  ours with ordinary stores over STREAM: 0.800 to 1.200, below 0.9", result.stdout)

    def test_what_cannot_be_run_or_read_is_one_sentence_and_ends_with_2(self):
        fine = self.dlscale(1e-6)
        other = self.write("other", "#!/bin/sh\necho hello\n")
        fails = self.write("fails", "#!/bin/sh\necho sorry >&2\nexit 3\n")
        for stream, part in ((self.folder / "none.c", "none.c is not a file"), (other, "does not print what STREAM"),
                             (fails, "ended with 3: sorry"), (self.write("broken.c", "no C\n"), "cannot be run")):
            self.assert_refused(self.compare("--stream", stream, "--dlscale", fine, "--cc", "no-such-compiler"), part)
        three = self.dlscale(1e-6, operations=("copy", "scale", "add"))
        self.assert_refused(self.compare("--stream", self.stream, "--dlscale", three), "measured no triad")


if __name__ == "__main__":
    unittest.main()
