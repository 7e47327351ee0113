"""Options of predict: what goes together, and what the answers add."""

import fcntl
import json
import os
import pty
import struct
import termios

from program import ProgramTest, main, run, start


def on_terminal(columns, *words):
    """What the program writes to a terminal of so many columns."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(*words, stdout=terminal, stderr=terminal)
    os.close(terminal)
    text = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    process.wait()
    os.close(reader)
    return text.decode().replace("\r\n", "\n")


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

    def test_lines_are_as_wide_as_the_terminal(self):
        resnet = ["predict", "--network", "resnet50", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 128, "--parallel"]
        llama = ["--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 16, "--color", "never"]
        for words in [[*resnet, "context=8"], ["predict", *llama, "--parallel", "stage=4"], [*resnet, "stages=4,micro_batches=8", "--color", "never"],
                      ["predict", *llama, "--parallel", "tensor=2"], ["predict", *llama, "--parallel", "tensor=2", "--memory"]]:
            for columns in (80, 100, 200):
                text = on_terminal(columns, *words)
                self.assertLessEqual(max(map(len, text.splitlines())), min(columns, 100), text)
        answer, _, _ = on_terminal(80, "plan", *llama).partition("\nNext:\n")  # a plan to type is one word
        lead, *tables = answer.split("\n\n")
        self.assertLessEqual(max(map(len, lead.splitlines())), 80, lead)
        self.assertLessEqual(max(map(len, "\n".join(tables).splitlines())), 100)

    def test_what_stands_in_the_way_comes_first(self):
        bert = ["predict", "--network", "bert_large", "--cluster", "dgx_h100", "--ranks", 4, "--parallel"]
        self.assert_refused(run(*bert, "tensor=2"), 2, "the plan has tensor, and bert_large is predicted by its layers")
        self.assert_refused(run(*bert, "stages=2"), 2, "cut by their layers, as bert_large. Add --global-batch.")
        text = self.words_of(*bert, "stages=2", "--global-batch", 32)
        self.assertIn("Taken, since not said: --dtype f32.", text)
        self.assertNotIn("Taken", run(*bert, "stages=2", "--global-batch", 32, "--dtype", "bf16").stdout)
        self.assert_refused(run("predict", "--network", "resnet50", "--cluster", "dgx_h100", "--global-batch", 64, "--ranks", 8, "--parallel", "stages=2", "--dtype", "fp4"), 2,
                            "--dtype fp4 is for parallel plans of decoders (--parallel)", "Name f32, tf32, bf16 or f16.")
        self.assert_refused(run("predict", "--network", "llama2_7b", "--cluster", "dgx_h100", "--ranks", 1_000_000_000, "--parallel", "tensor=2,micro_batch=1"), 2,
                            "--ranks 1000000000 are 500000000 replicas of this plan, and at most 1000000 can be")

    def test_strips_that_cannot_be_name_context(self):
        words = ["predict", "--cluster", "p40x16", "--ranks", 4, "--global-batch", 128, "--parallel", "context=4", "--network"]
        for network, layer in [("alexnet", "fc6"), ("vgg16", "fc6"), ("googlenet", "loss1"), ("vit_base", "")]:
            self.assert_refused(run(*words, network), 2, f"context 4 cuts images into strips of rows, and layer \"{layer}",
                                f"of {network} reads all pixels at once. Leave context out")
        text = self.words_of(*words, "resnet50")
        self.assertIn("No published training decides the range of strips: that of pipelines is a judgement.", text)
        text = self.words_of(*words, "resnet50", "--explain")
        self.assertNotRegex(text, r"0\.0000")
        self.assertIn("1 GPU of", self.words_of(*words[:4], 1, *words[5:8], "stages=1", "--network", "resnet50"))

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
        self.assertNotIn("--dtype tf32", self.words_of(*h100, "--network", "resnet50", "--dtype", "tf32", "--quiet"))
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
