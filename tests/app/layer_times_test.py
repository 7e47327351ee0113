"""predict --layer-times: predictions from layers that somebody timed, and what it refuses."""

import json

from program import ProgramTest, main, run

LAYERS = """# of a test
layer,forward_s,backward_s,gradient_bytes,io_s,h2d_s,update_s
a,0.002,0.004,4000000,0.001,0.0005,0.0001
b,0.001,0.002,8000000,0,0,0.0002
"""
TIMES = "ranks,bytes,time_s\n" + "".join(f"{n},{m},{1e-4 * n + 1e-9 * m}\n" for n in (2, 4) for m in (1000, 1000000))


class LayerTimes(ProgramTest):
    def setUp(self):
        super().setUp()
        self.layers, self.times = self.folder / "net.csv", self.folder / "times.csv"
        self.layers.write_text(LAYERS)
        self.times.write_text(TIMES)
        self.words = ["predict", "--layer-times", self.layers, "--batch", 8]

    def rows(self, *more):
        result = run(*self.words, "--ranks", "2,4", *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual((answer["schema"], answer["network"]), ("dlscale.timed_prediction", "net"))
        return answer["rows"]

    def test_messages_that_were_timed(self):
        rows = self.rows("--message-times", self.times, "--schedule", "sequential,bucketed", "--bucket", "1 GB")
        self.assertEqual([(row["ranks"], row["schedule"]) for row in rows],
                         [(n, schedule) for n in (2, 4) for schedule in ("sequential", "bucketed")])
        alone = 0.0005 + 0.003 + 0.006 + 0.0003
        for row in rows:
            messages = 2 if row["schedule"] == "sequential" else 1
            expected = alone + messages * 1e-4 * row["ranks"] + 1e-9 * 12e6
            self.assertAlmostEqual(row["time"]["t_iter_s"] / expected, 1, delta=1e-9)
            self.assertAlmostEqual(row["images_per_s"] * row["time"]["t_iter_s"], 8 * row["ranks"], delta=1e-9)
            self.assertAlmostEqual(row["speedup"], row["ranks"] * alone / expected, delta=1e-9)
            self.assertEqual(row["bucket_bytes"], 1e9 if messages == 1 else None)
        self.assertTrue(any(note["kind"] == "timed_line_extended" for note in rows[0]["notes"]))

    def test_messages_of_a_cluster(self):
        slow, fast = (self.rows("--cluster", "k80x16_10gbe", "--schedule", "merged,horovod",
                                "--inter-node-bandwidth", rate)[3] for rate in ("1 Gb/s", "100 Gb/s"))
        self.assertEqual(slow["time"]["t_b_s"], fast["time"]["t_b_s"])
        eight = [run(*self.words, "--ranks", 8, "--cluster", "k80x16_10gbe", "--inter-node-bandwidth", rate, "--format", "json")
                 for rate in ("1 Gb/s", "100 Gb/s")]
        self.assertGreater(*(json.loads(one.stdout)["rows"][0]["time"]["t_comm_exposed_s"] for one in eight))

    def test_an_answer_replaces_only_its_own_kind(self):
        words = [*self.words, "--ranks", "1,2", "--message-times", self.times]
        target = self.folder / "answer.json"
        for _ in range(2):  # its own answer may be replaced
            self.assertEqual(run(*words, "--format", "json", "-o", target).returncode, 0)
        self.assert_refused(run(*words, "--format", "json", "-o", self.layers), 2, "net.csv")

    def test_what_is_asked_wrongly(self):
        timed = ["--message-times", self.times]
        self.assert_refused(run(*self.words, "--ranks", 2), 2, "Give the hardware once")
        self.assert_refused(run(*self.words, "--ranks", 8, *timed), 2, "no all-reduce was timed on 8 ranks", "(2, 4)")
        self.assert_refused(run(*self.words, "--ranks", 2, *timed, "--schedule", "priority"), 2, "beside the next forward")
        self.assert_refused(run(*self.words, "--ranks", 2, *timed, "--bucket", "1 MB"), 2, "--schedule bucketed")
        self.assert_refused(run(*self.words, "--ranks", 2, *timed, "--schedule", "bucketed", "--bucket", "0 B"), 2, "no bytes")
        self.assert_refused(run("predict", "--layer-times", self.layers, *timed, "--ranks", 2, "--batch", "8,16"), 2, "one batch")
        self.assert_refused(run(*self.words, "--ranks", "1..20000", "--cluster", "p40x16"), 2, "20000 rows")
        for more in (["--network", "alexnet"], ["--layers"], ["--dtype", "f16"], ["--cases", "x"], ["--epochs", 2]):
            refused = run(*self.words, "--ranks", 2, *timed, *more)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), more)
            self.assertIn(more[0], refused.stderr)
        for more in (["--cluster", "p40x16"], ["--all-reduce", "ring"]):
            self.assertEqual(run(*self.words, "--ranks", 2, *timed, *more).returncode, 2)
        refused = run("predict", "--layer-times", self.layers, "--ranks", 2, *timed)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--batch", refused.stderr)

    def test_files_that_are_none(self):
        for text, part in [("", "holds no times of layers"), (LAYERS.replace("0.004", "4 ms"), "net.csv:3"),
                           (LAYERS.replace("a,", "a,a,"), "8 cells"), ("\0" * 100, "lacks the column")]:
            self.layers.write_text(text)
            self.assert_refused(run(*self.words, "--ranks", 2, "--message-times", self.times), 2, part)
        self.layers.write_text(LAYERS)
        self.assert_refused(run(*self.words, "--ranks", 2, "--message-times", self.folder), 2, "it is a folder")
        self.assert_refused(run(*self.words, "--ranks", 2, "--message-times", self.layers), 2, "lacks the column ranks")


if __name__ == "__main__":
    main()
