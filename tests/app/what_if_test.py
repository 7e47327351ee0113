"""predict with other hardware, its explanation, its time line and the time to train, as a shell sees them."""

import collections
import json

from program import ProgramTest, main, run

WORDS = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "16"]


class WhatIf(ProgramTest):
    def answer(self, *more):
        result = run(*WORDS, *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def iteration(self, *more):
        [prediction] = self.answer(*more)["predictions"]
        return prediction["time"]["t_iter_s"]

    def test_data_sheets_give_an_interval_and_say_that_they_are_no_bound(self):
        [prediction] = self.answer()["predictions"]
        self.assertEqual(prediction["interval"], 0.9)
        self.assertLess(prediction["t_iter_low_s"], prediction["time"]["t_iter_s"])
        self.assertGreater(prediction["t_iter_high_s"], prediction["time"]["t_iter_s"])
        self.assertEqual(set(prediction["basis"].values()), {"data sheet"})
        self.assertTrue(any(note["kind"] == "sheet_kernels" for note in prediction["notes"]), prediction["notes"])
        for words in (WORDS, [*WORDS, "--layers"], [*WORDS, "--explain"]):
            self.assertNotIn("lower bound", run(*words).stdout)

    def test_other_hardware_changes_the_prediction_and_says_so(self):
        now = self.iteration()
        for more in (["--set", "inter_node.bandwidth=400Gb/s"], ["--set", "device.peak.f32=30 TFLOP/s"],
                     ["--device", "h200"]):
            [prediction] = self.answer(*more)["predictions"]
            self.assertLess(prediction["time"]["t_iter_s"], now, more)
            self.assertTrue(any(any(word in note["text"] for word in ("stated", "in place of", "switches")) for note in prediction["notes"]),
                            prediction["notes"])
        [switched] = self.answer("--sharp")["predictions"]
        self.assertGreater(switched["time"]["t_iter_s"], now)  # four nodes of four GPUs gain nothing
        self.assertIn("switches that add make the iteration longer here", json.dumps(switched["notes"]))
        many = ["predict", "--network", "alexnet", "--cluster", "v100x16_ib100", "--ranks", "64", "--format", "json"]
        [without], [gaining] = (json.loads(run(*many, *more).stdout)["predictions"] for more in ([], ["--sharp"]))
        self.assertLess(gaining["time"]["t_iter_s"], without["time"]["t_iter_s"])
        self.assertNotIn("longer here", json.dumps(gaining["notes"]))
        both = self.iteration("--set", "inter_node.bandwidth=400Gb/s", "--set", "host.decode=1ms")
        self.assertLess(both, now)
        self.assertEqual(self.iteration("--set", "inter_node.bandwidth=400Gb/s"),
                         self.iteration("--inter-node-bandwidth", "400Gb/s"))

    def test_predict_adds_what_ranks_wait_for_stragglers(self):
        words = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,4", "--format", "json"]
        for schedule in ("wait_free", "horovod", "priority"):
            # What is stated replaces the waiting that published trainings have, so both state it.
            even, uneven = (json.loads(run(*words, "--schedule", schedule, "--straggler-spread", spread).stdout)["predictions"]
                            for spread in ("0.01 %", "5 %"))
            self.assertEqual(even[0]["time"], uneven[0]["time"])
            added = uneven[1]["time"]["t_iter_s"] - even[1]["time"]["t_iter_s"]
            # What is ready a little later may still be so at the same look of Horovod's thread.
            (self.assertGreaterEqual if schedule == "horovod" else self.assertGreater)(added, 0)
            self.assertAlmostEqual(uneven[1]["time"]["t_comm_exposed_s"] - even[1]["time"]["t_comm_exposed_s"], added, delta=1e-9)
            self.assertIn("varies by 5 % (log-normal, as stated)", json.dumps(uneven[1]["notes"]))

    def test_other_hardware_that_is_none(self):
        for value, *expected in (
            ("inter_node.bandwith=1GB/s", "inter_node.bandwidth"),
            ("inter_node.bandwidth", "is not a figure and its value", "="),
            ("inter_node.bandwidth=", "is not a figure and its value"),
            ("inter_node.bandwidth=1", "the stated inter_node.bandwidth"),
            ("inter_node.bandwidth=nanGB/s", "the stated inter_node.bandwidth"),
            ("inter_node.latency=-1us", "the stated inter_node.latency"),
            ("device.peak.f32=0 FLOP/s", "the stated device.peak.f32"),
            ("host.cores=99999999999999", "the stated host.cores"),
        ):
            self.assert_refused(run(*WORDS, "--set", value), 2, *expected)
        self.assert_refused(run(*WORDS, "--set", "host.cores=2", "--set", "host.cores=3"), 2, "twice")
        self.assert_refused(run(*WORDS, "--set", "inter_node.latency=1us", "--inter-node-bandwidth", "1GB/s"), 2, "same link")
        self.assert_refused(run(*WORDS, "--device", "h20"), 2, "h20")
        self.assert_refused(run(*WORDS, "--sharp", "--all-reduce", "ring"), 2, "--all-reduce", "--sharp")
        self.assert_refused(run(*WORDS, "--sharp", "--schedule", "reduce_scatter_overlap"), 2, "--sharp")

    def test_an_explanation_has_what_predict_says(self):
        answer = self.answer("--explain")
        self.assertEqual(answer["schema"], "dlscale.explanation")
        [explanation] = answer["explanations"]
        self.assertEqual(explanation["prediction"]["time"]["t_iter_s"], self.iteration())
        gains = {one["change"]: one["images_per_s"] for one in explanation["advice"]}
        self.assertAlmostEqual(gains["all-reduce sharp"], self.answer("--sharp")["predictions"][0]["images_per_s"], delta=1e-6)
        self.assert_refused(run(*WORDS, "--explain", "--layers"), 2, "--explain", "--layers")

    def test_a_time_line_adds_up_to_the_prediction(self):
        path = self.folder / "trace.json"
        now = self.iteration("--trace", path)
        events = json.loads(path.read_text())["traceEvents"]
        rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        until = collections.defaultdict(float)
        for event in events:
            if event["ph"] == "X":
                self.assertGreaterEqual(event["ts"], until[event["tid"]] - 1e-6)
                until[event["tid"]] = event["ts"] + event["dur"]
        shown = [event["dur"] * 1e-6 for event in events if event["ph"] == "X" and rows[event["tid"]] == "iterations"]
        self.assertEqual(len(shown), 3)
        self.assertAlmostEqual(sum(shown) / 3, now, delta=1e-8)
        names = {event["name"] for event in events}
        self.assertLessEqual({"conv1", "fc6", "update"}, names)
        self.iteration("--trace", path)  # may be written again
        other = self.folder / "mine.txt"
        other.write_text("mine")
        self.assert_refused(run(*WORDS, "--trace", other), 2, "mine.txt")
        self.assertEqual(other.read_text(), "mine")
        self.assert_refused(run(*WORDS, "--trace", "-"), 2, "--trace")
        self.assert_refused(run(*WORDS, "--trace", "/proc/none/trace.json"), 2, "/proc/none")

    def test_the_time_to_train(self):
        [training] = self.answer("--epochs", "90", "--samples", "1281167")["trainings"]
        rate = training["prediction"]["images_per_s"]
        self.assertAlmostEqual(training["training_s"], 90 * 1281167 / rate, delta=1e-6 * training["training_s"])
        resnet = run(*("resnet50" if word == "alexnet" else word for word in WORDS), "--target", "imagenet-75.9", "--format", "json")
        [to_target] = json.loads(resnet.stdout)["trainings"]
        self.assertGreater(to_target["epochs"], 34)
        self.assertFalse(to_target["epochs_covered"])  # a global batch of 512
        self.assertIn("hours", run(*WORDS, "--epochs", 1).stdout)
        for words in (["--epochs", "0"], ["--epochs", "-1"], ["--epochs", "nan"], ["--epochs", "1e300"],
                      ["--epochs", "1", "--samples", "0"], ["--epochs", "1", "--evaluation", "3"],
                      ["--epochs", "1", "--start=-3 s"], ["--target", "bert"], ["--samples", "5"],
                      ["--epochs", "1", "--target", "imagenet-75.9"], ["--epochs", "1", "--explain"]):
            option = [word for word in words if word.startswith("--")][-1]
            self.assert_refused(run(*WORDS, *words), 2, option.split("=")[0])


if __name__ == "__main__":
    main()
