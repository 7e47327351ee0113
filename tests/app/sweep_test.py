"""predict's sweeps: what they answer, and what they refuse."""

import csv
import io
import json

from program import ProgramTest, main, run


class Sweeps(ProgramTest):
    words = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--loader-threads", 6]

    def sweep(self, *more):
        result = run(*self.words, *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_ranks_by_steps_are_those_written_out(self):
        for sweep, numbers in [("1..16:x2", "1,2,4,8,16"), ("1..4", "1,2,3,4"), ("1..9:+4", "1,5,9")]:
            expected = run(*self.words, "--ranks", numbers)
            self.assertEqual(expected.returncode, 0, expected.stderr)
            self.assertEqual(run(*self.words, "--ranks", sweep).stdout, expected.stdout)

    def test_every_combination_is_a_row_as_predicted_by_itself(self):
        answer = self.sweep("--ranks", "1..4:x2", "--batch", "16,32", "--schedule", "wait_free,merged",
                            "--bandwidth", "10Gb/s,50Gb/s", "--latency", "20us")
        self.assertEqual(answer["schema"], "dlscale.sweep")
        rows = answer["rows"]
        self.assertEqual(len(rows), 3 * 2 * 2 * 2)
        self.assertEqual(answer["left_out"], [])
        for row in rows[::5]:
            alone = self.sweep("--ranks", row["run"]["ranks"], "--batch", row["run"]["batch"],
                               "--schedule", row["run"]["schedule"], "--inter-node-latency", "20us",
                               "--inter-node-bandwidth", f"{row['inter_node']['bandwidth_bytes_per_s']} B/s")
            self.assertEqual(alone["predictions"][0]["time"], row["time"])
        best = [row for row in rows if row["best"] == "all"]
        self.assertEqual(len(best), 1)
        self.assertAlmostEqual(best[0]["images_per_s"] / max(row["images_per_s"] for row in rows), 1, delta=1e-9)
        # For each number of ranks and each link there is one, of which one is the best of all.
        self.assertEqual(sum(row["best"] is not None for row in rows), 3 * 2)

    def test_sweeps_keep_the_rule_by_which_servers_own_parameters(self):
        served = ["--synchronisation", "parameter_server", "--servers", 2]
        words = ["--ranks", "2,4", "--batch", 16, "--schedule", "sequential,wait_free", *served]
        updates = {}
        for sharding in ["largest_first", "mxnet", "tensorflow", "tensorflow_greedy"]:
            rows = self.sweep(*words, "--sharding", sharding)["rows"]
            self.assertEqual({row["run"]["sharding"] for row in rows}, {sharding})
            updates[sharding] = rows[0]["time"]["t_u_s"]
        # Halves of the large tensors and few others; fc6 and little else; all weights.
        self.assertLess(updates["mxnet"], updates["largest_first"])
        self.assertLess(updates["largest_first"], updates["tensorflow"])
        refused = [(["--sharding", "mxnet", "--schedule", "bucketed", *served], "Take sequential or wait_free"),
                   (["--sharding", "mxnet"], "--sharding changes nothing here"),
                   (["--sharding", "hash", *served], "tensorflow_greedy")]
        for more, part in refused:
            self.assert_refused(run(*self.words, "--ranks", 4, *more), 2, part)

    def test_sweeps_say_who_calls_servers(self):
        served = ["--synchronisation", "parameter_server", "--transport", "grpc"]
        words = ["--ranks", "4,16", "--batch", 16, "--schedule", "sequential,wait_free", *served]
        exposed = {}
        for callers in ["ranks", "nodes"]:
            rows = self.sweep(*words, "--callers", callers)["rows"]
            self.assertEqual({(row["run"]["transport"], row["run"]["callers"]) for row in rows}, {("grpc", callers)})
            exposed[callers] = rows[-1]["time"]["t_comm_exposed_s"]
        self.assertLess(exposed["nodes"], exposed["ranks"])
        refused = [(["--callers", "nodes"], "--callers changes nothing here"),
                   (["--callers", "nodes", *served[:2]], "setting of --transport grpc"),
                   (["--callers", "node", *served], 'Did you mean "nodes"?'),
                   (["--callers", "nodes", "--servers", 9, *served], "servers is 9, and 16 ranks are on")]
        for more, part in refused:
            self.assert_refused(run(*self.words, "--ranks", 16, *more), 2, part)

    def test_a_sweep_in_every_format(self):
        words = [*self.words, "--ranks", "2,4", "--batch", "16,32"]
        for name in ["table", "markdown"]:
            result = run(*words, "--format", name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("of all", result.stdout)
        rows = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").stdout)))
        self.assertEqual([(row["ranks"], row["batch"]) for row in rows], [("2", "16"), ("4", "16"), ("2", "32"), ("4", "32")])
        self.assertEqual([row["best"] for row in rows].count("of all"), 1)

    def test_what_cannot_be_predicted_is_left_out_and_said(self):
        answer = self.sweep("--ranks", "1,2", "--batch", "32,65536")
        self.assertEqual(len(answer["rows"]), 2)
        self.assertEqual(len(answer["left_out"]), 2)
        self.assertIn("cannot run", answer["left_out"][0])
        none = run(*self.words, "--ranks", "1,2", "--batch", "65535,65536")
        self.assert_refused(none, 2, "no combination can be predicted", "cannot run")

    def test_sweeps_that_are_none(self):
        for option in ["--ranks", "--batch"]:
            words = [*self.words, *(["--ranks", "1"] if option == "--batch" else [])]
            for text, part in [("0..4", "no number above 0"), ("5..1", "ends before it begins"), ("1..8:x1", "never end"),
                               ("1..8:+0", "no number above 0"), ("1..1e12:+1", "no whole number"), ("1..", "is missing"),
                               ("nan..4", "no finite number"), ("1..8:2", "has the step 2"), (" ", "is missing"),
                               ("1..2147483647", "more than 1000000"), ("4,1..8", "names 4 twice")]:
                self.assert_refused(run(*words, option, text), 2, option, part)

    def test_links_and_schedules_that_are_none(self):
        words = [*self.words, "--ranks", "2"]
        self.assert_refused(run(*words, "--bandwidth", "10Gb/s,,5Gb/s"), 2, "--inter-node-bandwidth", "a value is missing")
        self.assert_refused(run(*words, "--bandwidth", "10Gb/s..1Gb/s"), 2, "--inter-node-bandwidth", "ends before")
        self.assert_refused(run(*words, "--bandwidth", "1Gb/s..8Gb/s:+1"), 2, "has no unit")
        self.assert_refused(run(*words, "--latency", "5us,50us"), 2, "needs --inter-node-bandwidth")
        self.assert_refused(run(*words, "--schedule", "merged,merged"), 2, "--schedule names merged twice")
        self.assert_refused(run(*words, "--schedule", "merged,mergd"), 2, "mergd", "Did you mean")

    def test_more_rows_than_are_worth_a_full_prediction(self):
        result = run(*self.words, "--ranks", "1..6000", "--batch", "16,32")
        self.assert_refused(result, 2, "12000 rows", "10000", "dlscale plan")

    def test_layers_are_of_one_combination(self):
        result = run(*self.words, "--ranks", "1", "--batch", "16,32", "--layers")
        self.assert_refused(result, 2, "--layers", "one batch")


if __name__ == "__main__":
    main()
