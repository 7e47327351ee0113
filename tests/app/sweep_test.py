"""predict's sweeps: what they answer, and what they refuse."""

import json
import os
import tempfile

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

    def test_numbers_of_ranks_that_cannot_be_are_left_out_with_the_reason(self):
        asked = ["--all-reduce", "hierarchical_leaders"]
        answer = self.sweep("--ranks", "4,6,8", *asked)
        self.assertEqual([one["run"]["ranks"] for one in answer["predictions"]], [4, 8])
        notes = json.dumps(answer["predictions"][0]["notes"])
        self.assertIn("left out: ranks 6: all-reduce by hierarchical_leaders cannot be predicted here", notes)
        self.assertIn("as many ranks on each node", notes)
        # None can be: the first reason.
        refused = run(*self.words, "--ranks", "5,6", *asked)
        self.assert_refused(refused, 2, "on 5 ranks it needs as many ranks on each node")
        self.assertEqual(refused.stdout, "")
        self.assert_refused(run(*self.words, "--ranks", 6, *asked), 2, "as many ranks on each node")
        # More than a cluster may have.
        answer = self.sweep("--ranks", "1000000..2000000:x2")
        self.assertEqual([one["run"]["ranks"] for one in answer["predictions"]], [1000000])
        self.assertIn("left out: ranks 2000000", json.dumps(answer["predictions"][0]["notes"]))

    def test_what_a_library_takes_is_asked_for_the_sizes_that_are_sent(self):
        answer = self.sweep("--ranks", "1..4096:x2", "--all-reduce", "open_mpi")
        self.assertEqual(len(answer["predictions"]), 13)

    def test_advice_keeps_to_the_global_batch_that_was_asked_for(self):
        words = ["predict", "--network", "vgg16", "--cluster", "k80x16_10gbe"]
        answer = run(*words, "--ranks", "1,2,8", "--global-batch", 512, "--format", "json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        left_out = json.loads(answer.stdout)["left_out"]
        self.assertIn("a smaller global batch", left_out[0])
        self.assertNotIn("a smaller batch", " ".join(left_out))
        explained = run(*words, "--ranks", 8, "--global-batch", 64, "--explain")
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("global batch 128", explained.stdout)
        self.assertIn("global batch 32", explained.stdout)
        self.assertNotRegex(explained.stdout, r"(?m)^batch \d")
        refused = run(*words, "--ranks", 1, "--global-batch", 512, "--explain")
        self.assert_refused(refused, 2, "ranks or more, or for a smaller global batch")

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
                   (["--sharding", "mxnet"], "sharding changes nothing here"),
                   (["--sharding", "hash", *served], "tensorflow_greedy")]
        for more, part in refused:
            self.assert_refused(run(*self.words, "--ranks", 4, *more), 2, part)

    def test_sweeps_say_who_calls_servers(self):
        served = ["--synchronisation", "parameter_server", "--transport", "grpc"]
        words = ["--ranks", "4,16", "--batch", 16, "--schedule", "sequential,wait_free", *served]
        exposed = {}
        for callers in ["ranks", "nodes"]:
            rows = self.sweep(*words, "--server-clients", callers)["rows"]
            self.assertEqual({(row["run"]["transport"], row["run"]["callers"]) for row in rows}, {("grpc", callers)})
            exposed[callers] = rows[-1]["time"]["t_comm_exposed_s"]
        self.assertLess(exposed["nodes"], exposed["ranks"])
        refused = [(["--server-clients", "nodes"], "dlscale: --server-clients changes nothing here"),
                   (["--cycle", "1 ms"], "dlscale: --cycle changes nothing here"),
                   (["--server-clients", "nodes", *served[:2]], "setting of the transports grpc"),
                   (["--server-clients", "node", *served], 'Did you mean "nodes"?'),
                   (["--server-clients", "nodes", "--servers", 9, *served], "servers is 9, and 16 ranks are on")]
        for more, part in refused:
            self.assert_refused(run(*self.words, "--ranks", 16, *more), 2, part)

    def test_what_cannot_be_predicted_is_left_out_and_said(self):
        answer = self.sweep("--ranks", "1,2", "--batch", "32,65536")
        self.assertEqual(len(answer["rows"]), 2)
        self.assertEqual(len(answer["left_out"]), 2)
        self.assertIn("cannot run", answer["left_out"][0])
        none = run(*self.words, "--ranks", "1,2", "--batch", "65535,65536")
        self.assert_refused(none, 2, "no combination can be predicted", "cannot run")

    def test_sweeps_that_are_none(self):
        for text, part in [("0..4", "not a number above 0"), ("5..1", "ends before it begins"), ("1..8:x1", "never end"),
                           ("1..8:+0", "not a number above 0"), ("1..1e12:+1", "not a whole number"), ("1..", "is missing"),
                           ("nan..4", "not a finite number"), ("1..8:2", "has the step 2"), (" ", "is missing"),
                           ("1..2147483647", "more than 1000000"), ("4,1..8", "names 4 twice")]:
            self.assert_refused(run(*self.words, "--ranks", text), 2, "--ranks", part)
        self.assert_refused(run(*self.words, "--ranks", "1", "--batch", "5..1"), 2, "--batch", "ends before it begins")

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
        for more in [[], ["--layers"], ["--explain"], ["--global-batch", "1000000"]]:
            result = run(*self.words, "--ranks", "1..1000000", *more)
            self.assert_refused(result, 2, "1000000 rows", "10000", "dlscale plan")

    def test_a_file_has_the_format_of_its_extension(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [*self.words, "--ranks", "1"]
            self.assertEqual(run(*words, "-o", f"{folder}/a.json").returncode, 0)
            with open(f"{folder}/a.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["schema"].split("/")[0], "dlscale.prediction")
            for name in ["a.pdf", "a.html", "a.xlsx", "a.png"]:
                self.assert_refused(run(*words, "-o", f"{folder}/{name}"), 2, f"ends in .{name[2:]}", ".txt, .csv, .json")
            self.assertEqual(os.listdir(folder), ["a.json"])

    def test_words_of_other_tools_have_an_answer(self):
        self.assert_refused(run("predict", "--model", "resnet50", "--cluster", "p40x16", "--ranks", "2"), 2, "Write --network NAME")
        self.assert_refused(run(*self.words, "--ranks", "2", "--color", "no"), 2, '"no" is not one of its words', "Allowed: auto, always, never.")
        for text, said in [("0", "must be above 0"), ("-1", "must be above 0"), ("1,024Gb/s", "Write 1024Gb/s"),
                           ("10Gb/s;25Gb/s", "10Gb/s,25Gb/s")]:
            self.assert_refused(run(*self.words, "--ranks", "2", f"--bandwidth={text}"), 2, said)

    def test_layers_are_of_one_combination(self):
        result = run(*self.words, "--ranks", "1", "--batch", "16,32", "--layers")
        self.assert_refused(result, 2, "--layers", "one batch")


if __name__ == "__main__":
    main()
