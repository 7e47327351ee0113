"""predict of whole trainings, as a shell sees it: failures, checkpoints, energy and price."""

import json
import math

from program import ProgramTest, main, run

GPT = ["predict", "--network", "gpt2_xl", "--cluster", "dgx_h100", "--batch", 4, "--dtype", "bf16"]
ALEXNET = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", 16]


class TrainingCost(ProgramTest):
    def trainings(self, *words):
        result = run(*words, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["trainings"]

    def cost(self, *more):
        [training] = self.trainings(*GPT, "--ranks", 512, "--tokens", "3T", *more)
        return training["cost"]

    def test_tokens_give_days_failures_and_energy(self):
        cost = self.cost()
        self.assertGreater(cost["with_failures_s"], cost["without_failures_s"])
        self.assertLess(cost["with_failures_low_s"], cost["with_failures_s"])
        self.assertGreater(cost["with_failures_high_s"], cost["with_failures_s"])
        self.assertGreater(cost["failures"], 0)
        self.assertGreater(cost["energy_kwh"], cost["energy_without_failures_kwh"])
        self.assertIsNone(cost["price"])
        self.assertAlmostEqual(cost["device_hours"] / (512 * cost["with_failures_s"] / 3600), 1)
        text = run(*GPT, "--ranks", "512,1024", "--tokens", "3T").stdout
        for word in ("days", "useful", "failures", "GPU-hours", "MWh", "a failure every"):
            self.assertIn(word, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_tokens_are_written_as_people_do(self):
        self.assertEqual(self.cost()["with_failures_s"], self.cost("--start", "0 s")["with_failures_s"])
        [one] = self.trainings(*GPT, "--ranks", 512, "--tokens", "3e12")
        self.assertEqual(one["cost"]["with_failures_s"], self.cost()["with_failures_s"])

    def test_epochs_of_images_cost_as_well(self):
        [plain] = self.trainings(*ALEXNET, "--epochs", 90)
        self.assertNotIn("cost", plain)
        [priced] = self.trainings(*ALEXNET, "--epochs", 90, "--cost-per-gpu-hour", 2)
        self.assertEqual(priced["training_s"], plain["training_s"])
        self.assertAlmostEqual(priced["cost"]["without_failures_s"] / plain["training_s"], 1)
        self.assertAlmostEqual(priced["cost"]["price"] / (2 * priced["cost"]["device_hours"]), 1)

    def test_what_is_stated_counts(self):
        usual = self.cost()
        self.assertEqual(self.cost("--mtbf", "all=never")["failures"], 0)
        self.assertGreater(self.cost("--mtbf", "gpu=5000h")["failures"], usual["failures"])
        rare = self.cost("--checkpoint-every", "1 d")
        self.assertEqual(rare["checkpoint_every_s"], 86400)
        self.assertLess(rare["goodput"], usual["goodput"])
        self.assertGreater(self.cost("--checkpoint-every", "best,async")["goodput"], usual["goodput"])
        held = self.cost("--spares", 2)
        self.assertAlmostEqual(held["device_hours"] / (528 * held["with_failures_s"] / 3600), 1)
        measured = self.cost("--power", "gpu=500W,host=0W,pue=2", "--mtbf", "all=never")
        self.assertAlmostEqual(measured["energy_kwh"] / (2 * 0.5 * measured["device_hours"]), 1)

    def test_parallel_plans_have_a_cost(self):
        llama = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--global-batch", 1024, "--tokens", "15T"]
        plan = ["--parallel", "tensor=8,sequence_parallel=true,stages=4,micro_batch=1,zero=1"]
        [one] = self.trainings(*llama, "--ranks", 512, *plan, "--cost-per-gpu-hour", 2)
        self.assertEqual(one["devices"], 512)
        self.assertAlmostEqual(one["price"] / (2 * one["device_hours"]), 1)
        self.assertGreater(one["with_failures_s"], one["without_failures_s"])
        few, many = self.trainings(*llama, "--ranks", "512,1024", *plan)
        self.assertEqual(few["with_failures_s"], one["with_failures_s"])
        self.assertLess(many["with_failures_s"], few["with_failures_s"])
        self.assertLess(many["goodput"], few["goodput"])
        self.assertEqual(one["tokens"], 15e12)
        self.assertNotIn("samples", one)
        self.assertEqual(one["iterations"], math.ceil(15e12 / (1024 * 8192)))
        self.assert_refused(run(*llama[:-1], 15, "--ranks", 512, *plan), 2, "shorter than an iteration, of 8.389M tokens. State a longer one.")
        for more in ("--memory", "--fits", "--notes"):
            self.assert_refused(run(*llama, "--ranks", 512, *plan, more), 2, "Leave one")
        self.assert_refused(run(*llama[:-2], "--ranks", 512, *plan, "--spares", 1), 2, "needs a length")

    def test_the_shortest_of_several_plans_that_fit_leads(self):
        words = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--global-batch", 256, "--tokens", "15T"]
        plans = ["tensor=8,micro_batch=1", "zero=1,micro_batch=1", "tensor=8,sequence_parallel=true,stages=4,micro_batch=1,zero=1"]
        text = " ".join(run(*words, *[part for plan in plans for part in ("--parallel", plan)]).stdout.split())
        self.assertRegex(text, r"^Only 1 of 3 trainings fits, llama3_70b on dgx_h100 by data=2, tensor=8, .*stages=4.*: 15T tokens take [0-9]+ days on 64 devices \(90 % interval ")
        for part in ["A on 64 devices: llama3_70b", "C on 64 devices", "Plan A may not fit the devices", "Plan B may not fit"]:
            self.assertIn(part, text)
        self.assertNotIn("Plan C may not", text)
        text = " ".join(run(*words, *[part for plan in plans[:2] for part in ("--parallel", plan)]).stdout.split())
        self.assertRegex(text, r"^Quickest of 2 trainings, .*zero=1.*: 15T tokens take [0-9]+ days .*, [0-9.]+ % of it useful\. It may not fit the devices\.")
        self.assertNotIn("left out for their width: 90 % interval", text)

    def test_what_cannot_be_is_refused_in_a_sentence(self):
        tokens = ["--ranks", 8, "--tokens", "3T"]
        for more, words in [
            (["--ranks", 8, "--tokens", "many"], "--tokens has many"),
            (["--ranks", 8, "--tokens", "0"], "--tokens has 0"),
            ([*tokens, "--epochs", 1], "--epochs"),
            ([*tokens, "--samples", 1000], "--samples"),
            (["--ranks", 8, "--spares", 1], "needs a length"),
            ([*tokens, "--mtbf", "gpus=1h"], "Did you mean"),
            ([*tokens, "--mtbf", "gpu"], "gpu=50000h"),
            ([*tokens, "--mtbf", "gpu=0s"], "not a time"),
            ([*tokens, "--mtbf", "gpu=5"], "with its unit, s, min, h or d. Write, for example, gpu=50000h."),
            ([*tokens, "--mtbf", "gpu=-5h"], "gpu=50000h"),
            ([*tokens, "--mtbf", "gpu=5h,gpu=6h"], "--mtbf states gpu twice. Keep one."),
            ([*tokens, "--checkpoint-every", "30"], "Write, for example, 30min."),
            ([*tokens, "--checkpoint-every", "best,best"], "twice. Keep one."),
            ([*tokens, "--checkpoint-every", "async,30min,async"], "states async twice"),
            ([*tokens, "--power", "host=250W,host=5W"], "--power states host twice"),
            ([*tokens, "--power", "gpu=0W"], "from 1 to 100000"),
            ([*tokens, "--spares", "1.5"], "1.5 is not a whole number of nodes from 0 to 100000"),
            (["--ranks", 8, "--tokens", "15"], "State a longer one."),
            (["--ranks", 1024, "--tokens", "3T", "--mtbf", "gpu=1h"], "would not end"),
            ([*tokens, "--mtbf", "all=1h,gpu=1h"], "Leave one out"),
            ([*tokens, "--power", "gpu=600"], "gpu=600W"),
            ([*tokens, "--power", "pue=0.5"], "from 1 to 10"),
            ([*tokens, "--power", "disk=6W"], "does not know"),
            ([*tokens, "--spares", -1], "--spares"),
            ([*tokens, "--checkpoint-every", "soon"], "--checkpoint-every"),
            ([*tokens, "--cost-per-gpu-hour", 0], "--cost-per-gpu-hour"),
            ([*tokens, "--cost-per-gpu-hour", "nan"], "nan is not a price"),
            (["--ranks", 131072, "--tokens", "3T", "--mtbf", "all=100h"], "would not end"),
        ]:
            self.assert_refused(run(*GPT, *more), 2, words)
        self.assert_refused(run(*ALEXNET, "--tokens", "3T"), 2, "trains on images")


if __name__ == "__main__":
    main()
