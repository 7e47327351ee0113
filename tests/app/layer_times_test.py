"""predict --layer-times: predictions from layers that somebody timed, and what it refuses."""

import json

from program import ProgramTest, main, run

LAYERS = """# of a test
layer,forward_s,backward_s,gradient_bytes,io_s,h2d_s,update_s
a,0.002,0.004,4000000,0.001,0.0005,0.0001
b,0.001,0.002,8000000,0,0,0.0002
"""
TIMES = "ranks,bytes,time_s\n" + "".join(f"{n},{m},{1e-4 * n + 1e-9 * m}\n" for n in (2, 4) for m in (1000, 1000000))

NCCL = """# nccl-tests version 2.17.9 nccl-headers=22902 nccl-library=22902
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 4 minBytes 1048576 maxBytes 16777216 step: 16(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
""" + "".join(f"#  Rank  {n} Group  0 Pid    900 on n000 device  {n} [0000:0{n}:00] NVIDIA A100\n" for n in range(4)) + """#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144  float     sum      -1   530.00    1.98    2.97       0   520.00    2.02    3.02       0
    16777216       4194304  float     sum      -1  2090.00    8.03   12.04       0  2080.00    8.07   12.10       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 7.5
"""


def messages_of(predicted):
    time = json.loads(predicted.stdout)["predictions"][0]["time"]
    return time["t_comm_exposed_s"] + time["t_comm_hidden_s"]


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

    def test_logs_as_they_are(self):
        nccl, osu, table = self.folder / "nccl.log", self.folder / "osu.log", self.folder / "table.csv"
        nccl.write_text(NCCL)
        osu.write_text("# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n1048576   520.00\n16777216   2080.00\n")
        table.write_text("ranks,bytes,time_s\n4,1048576,0.00052\n4,16777216,0.00208\n")
        timed = [self.rows_of(4, "--message-times", log, *more).replace(log.name, "LOG") for log, more in
                 ((nccl, []), (osu, ["--log-ranks", 4]), (table, []))]
        self.assertEqual(timed[0], timed[1])
        self.assertEqual(timed[0], timed[2])
        predict = ["predict", "--network", "alexnet", "--cluster", "dgx1", "--ranks", 4, "--format", "json", "--schedule", "wait_free"]
        sheet, by_log, by_osu, by_table = (messages_of(run(*predict, *more)) for more in (
            [], ["--message-times", nccl], ["--message-times", osu, "--log-ranks", 4], ["--message-times", table]))
        self.assertNotEqual(sheet, by_log)
        self.assertEqual(by_log, by_osu)
        self.assertEqual(by_log, by_table)
        machine = self.folder / "machine.json"
        made = run("calibrate", nccl, "--cluster", "dgx1", "-o", machine)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("1 all_reduce fit", made.stdout)
        by_machine = run(*predict[:3], "--machine", machine, *predict[5:])
        self.assertEqual(messages_of(by_machine), by_log)
        self.assert_refused(run("calibrate", nccl, "-o", machine), 2, "Name it by --cluster.")
        self.assert_refused(run(*predict, "--message-times", osu), 2, "does not state its number of ranks", "--log-ranks")
        self.assert_refused(run(*predict, "--message-times", nccl, "--log-ranks", 4), 2, "names more numbers than there are logs")
        osu.write_text("# OSU MPI Broadcast Latency Test v5.9\n# Size       Avg Latency(us)\n8   3.50\n16   3.60\n")
        self.assert_refused(run(*predict, "--message-times", osu, "--log-ranks", 4), 2, "times no all-reduce")

    def test_all_to_all_of_nccl_tests_and_of_osu_are_one_collective(self):
        table = "# Size       Avg Latency(us)\n262144   530.00\n4194304   2090.00\n"  # blocks of one of 4 ranks
        fits = []
        for text, more in ((NCCL.replace("all_reduce_perf", "alltoall_perf"), []),
                           ("# OSU NCCL All-to-All Personalized Exchange Latency Test v7.5\n" + table, ["--log-ranks", 4])):
            log, machine = self.folder / "run.log", self.folder / "machine.json"
            log.write_text(text)
            made = run("calibrate", log, "--cluster", "dgx1", "-o", machine, *more)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn("1 all_to_all fit", made.stdout)
            fits.append(json.loads(machine.read_text())["collectives"])
        self.assertEqual(fits[0], fits[1])
        log.write_text("# OSU NCCL All-to-Allv Personalized Exchange Latency Test v7.5\n" + table)
        self.assert_refused(run("calibrate", log, "--cluster", "dgx1", "-o", machine, *more), 2, "times no collective that training runs")

    def rows_of(self, ranks, *more):
        result = run(*self.words, "--ranks", ranks, *more, "--format", "csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

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
                           (LAYERS.replace("a,", "a,a,"), "8 cells"), ("\0" * 100, "zero bytes")]:
            self.layers.write_text(text)
            self.assert_refused(run(*self.words, "--ranks", 2, "--message-times", self.times), 2, part)
        self.layers.write_text(LAYERS)
        self.assert_refused(run(*self.words, "--ranks", 2, "--message-times", self.folder), 2, "it is a folder")
        self.assert_refused(run(*self.words, "--ranks", 2, "--message-times", self.layers), 2, "lacks the column ranks")


if __name__ == "__main__":
    main()
