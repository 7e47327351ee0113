"""Options of predict: what goes together, and what the answers add."""

import json

from program import ProgramTest, main, run


class PredictOptions(ProgramTest):
    words = ["predict", "--network", "alexnet", "--cluster", "p40x16"]

    def words_of(self, *words):
        """What is printed, without its breaks of lines."""
        result = run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return " ".join(result.stdout.split())

    def rows(self, *more, of="predictions"):
        result = run(*self.words, *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)[of]

    def test_memory_goes_with_nothing_that_changes_no_memory(self):
        for others in [["--measured", "1=100/s"], ["--explain"], ["--trace", "trace.json"], ["--epochs", 90], ["--straggler-spread", "5%"],
                       ["--notes"], ["--schedule", "wait_free,merged"], ["--layers"], ["--limits"], ["--inter-node-bandwidth", "10Gb/s"]]:
            self.assert_refused(run(*self.words, "--ranks", 1, "--memory", *others), 2, others[0])

    def test_memory_has_a_row_for_ranks_that_share_it(self):
        rows = ["predict", "--network", "alexnet", "--cluster", "stampede2_skx", "--memory", "--format", "json"]
        answer = json.loads(run(*rows, "--ranks", "1,2,96").stdout)["trainings"]
        self.assertEqual([row["ranks_on_node"] for row in answer], [1, 2])
        self.assertEqual(answer[0]["memory_bytes"], 2 * answer[1]["memory_bytes"])
        self.assertEqual(len(self.rows("--ranks", "1,2,4", "--batch", "32,64", "--memory", of="trainings")), 2)

    def test_out_of_core_has_a_row_for_each_policy_or_the_outputs_of_one(self):
        words = [*self.words, "--batch", 6144, "--out-of-core"]
        rows = {row["policy"]: row for row in json.loads(run(*words, "--format", "json").stdout)["policies"]}
        self.assertEqual(rows["keep"]["fits"], "no")
        self.assertEqual(rows["optimal"]["fits"], "yes")
        self.assertLessEqual(rows["optimal"]["peak_bytes"], rows["optimal"]["memory_bytes"])
        self.assertLessEqual(max(map(len, run(*words).stdout.splitlines())), 100)
        answer = json.loads(run(*words, "vdnn_all", "--format", "json").stdout)
        self.assertEqual([row["policy"] for row in answer["policies"]], ["vdnn_all"])
        self.assertIn("swap", [row["choice"] for row in answer["tensors"]])

    def test_out_of_core_refuses_what_it_cannot_mean(self):
        words = [*self.words, "--batch", 6144, "--out-of-core"]
        self.assert_refused(run(*words, "keep"), 2, "the policy keep")
        self.assert_refused(run(*words, "swap"), 2, "policy of out-of-core training")
        self.assert_refused(run(*words, "--ranks", 4), 2, "--ranks")
        self.assert_refused(run(*self.words, "--batch", "16,32", "--out-of-core"), 2, "one batch")
        on_processors = ["predict", "--network", "alexnet", "--cluster", "stampede2_skx", "--batch", 64, "--out-of-core"]
        self.assert_refused(run(*on_processors), 2, "processors")

    def test_limits_are_a_column_of_every_row(self):
        for row in self.rows("--ranks", "1,4,16", "--limits"):
            self.assertGreater(row["sheet_limit_images_per_s"], row["images_per_s"])
        self.assertNotIn("sheet_limit_images_per_s", self.rows("--ranks", 1)[0])
        swept = self.rows("--ranks", "1,4", "--batch", "32,64", "--limits", of="rows")
        self.assertEqual(len([row["sheet_limit_images_per_s"] for row in swept]), 4)
        text = run(*self.words, "--ranks", "1,4", "--limits").stdout
        self.assertIn("sheet limit: images/s at full peak", text)
        self.assertIn("sheet_limit_images_per_s", run(*self.words, "--ranks", 1, "--limits", "--format", "csv").stdout)
        self.assert_refused(run(*self.words, "--ranks", 1, "--limits", "--explain"), 2, "--limits")

    def test_tables_for_people_are_at_most_100_columns_wide(self):
        swept = ["--ranks", "4,16", "--batch", "32,64", "--schedule", "wait_free,merged", "--bandwidth", "10Gb/s,25Gb/s"]
        plan = ["plan", "--network", "resnet50", "--cluster", "p40x16", "--target", "imagenet-75.9", "--max-ranks", 4, "--time-limit", "30 d"]
        for words in [[*self.words, "--ranks", "1,16", "--notes"], [*self.words, *swept], [*self.words, "--ranks", 4, "--layers"],
                      [*self.words, "--ranks", 4, "--explain"], [*self.words, "--ranks", 4, "--memory"], plan]:
            result = run(*words)
            self.assertEqual(result.returncode, 0, result.stderr)
            tables = result.stdout.splitlines()["--explain" in words:]  # after the answer in a sentence
            self.assertLessEqual(max(map(len, tables)), 100, words)

    def test_sequences_are_not_called_images(self):
        bert = ["predict", "--network", "bert_base", "--cluster", "dgx1", "--ranks", "1,8"]
        for more in [[], ["--notes"], ["--batch", "8,16"], ["--explain"]]:
            text = self.words_of(*bert, *more)
            self.assertNotIn("images", text.replace("channels-last images", ""), more)
            self.assertNotIn("pictures", text, more)
        self.assertIn("tokens/s", run(*bert).stdout)
        self.assert_refused(run(*bert, "--epochs", 1), 2, "Give --samples N")
        self.assert_refused(run("plan", *bert[1:], "--epochs", 1), 2, "Give --samples N")
        self.assertIn("1000000 sequences", self.words_of(*bert, "--epochs", 1, "--samples", 1000000))

    def test_choices_that_frameworks_make_otherwise_are_named(self):
        h100 = ["predict", "--cluster", "dgx_h100", "--ranks", 1, "--notes"]
        self.assertIn("--dtype tf32", self.words_of(*h100, "--network", "resnet50"))
        self.assertNotIn("--dtype tf32", self.words_of(*h100, "--network", "resnet50", "--dtype", "tf32"))
        of_pytorch = [*h100, "--dtype", "bf16", "--framework", "pytorch_ddp"]
        self.assertIn("--network resnet50_v1.5", self.words_of(*of_pytorch, "--network", "resnet50"))
        self.assertNotIn("version 1.5", self.words_of(*of_pytorch, "--network", "resnet50_v1.5"))

    def test_a_node_trains_no_faster_than_the_input_that_is_stated(self):
        h100 = ["predict", "--cluster", "dgx_h100", "--network", "resnet50", "--ranks", "1,8,16", "--batch", 256, "--dtype", "bf16", "--format", "json"]
        result = run(*h100, "--set", "storage.read_bandwidth=12000 images/s")
        self.assertEqual(result.returncode, 0, result.stderr)
        one, node, two = json.loads(result.stdout)["predictions"]
        self.assertEqual([one["bound"], node["bound"], two["bound"]], ["compute", "input", "input"])
        self.assertAlmostEqual(node["images_per_s"], 12000, delta=1)
        self.assertAlmostEqual(two["images_per_s"], 24000, delta=1)
        self.assertIn("storage delivers 12000 of the", json.dumps(node["notes"]))
        self.assert_refused(run(*h100, "--set", "storage.read_bandwidth=0/s"), 2, "samples a second are a number above 0")


if __name__ == "__main__":
    main()
