"""predict --parallel --measured: the measured plan is met, others follow, and points that cannot be are refused."""

from program import ProgramTest, main, run

LLAMA = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--global-batch", 1024, "--dtype", "bf16"]
PLAN = "tensor=8,sequence_parallel=true,stages=4,micro_batch=1,zero=1"
SMALL = ["predict", "--network", "llama2_7b", "--cluster", "dgx_h100", "--global-batch", 64, "--framework", "nanotron"]
RESNET = ["predict", "--network", "resnet50", "--cluster", "dgx_h100", "--global-batch", 64]


class MeasuredPlans(ProgramTest):
    def test_a_measured_point_is_met(self):
        words = [*LLAMA, "--ranks", "64,512", "--parallel", PLAN]
        before = self.plans(*words)
        for factor in [0.8, 1.3, 3]:
            seconds = before[0]["t_iter_s"] * factor
            one, other = self.plans(*words, "--measured", f"64={seconds} s")
            self.assertAlmostEqual(one["t_iter_s"] / seconds, 1, places=6)
            self.assertAlmostEqual(one["t_iter_high_s"] / seconds, 1.03, places=6)
            self.assertEqual(other["t_iter_s"] > before[1]["t_iter_s"], factor > 1)
        self.assertAlmostEqual(self.plans(*words, "--measured", "64=0.02 h")[0]["t_iter_s"] / 72, 1, places=6)
        self.assert_refused(run(*words, "--measured", "64=0.001 s"), 2, "the peak of their data sheet")

    def test_a_measured_point_moves_and_narrows(self):
        words = [*SMALL, "--dtype", "bf16", "--ranks", "8,16", "--parallel", "tensor=4,sequence_parallel=true,micro_batch=2"]
        before = self.plans(*words)
        slow = before[0]["t_iter_s"] * 1.04
        after = self.plans(*words, "--measured", f"8={slow} s")
        for one, other in zip(before, after):
            self.assertGreater(other["t_iter_s"], one["t_iter_s"])
            self.assertLess(other["t_iter_high_s"] / other["t_iter_low_s"], one["t_iter_high_s"] / one["t_iter_low_s"])
        by_rate = self.plans(*words, "--measured", f"8={64 * 4096 / slow} tokens/s")
        self.assertAlmostEqual(by_rate[1]["t_iter_s"] / after[1]["t_iter_s"], 1, places=9)
        self.assertIn("check its batch", " ".join(self.answered(*words, "--measured", "8=100 s").split()))
        self.assertIn("moved by your point at 8 GPUs", self.answered(*words, "--measured", f"8={slow} s"))
        told = " ".join(self.answered(*words, "--measured", "8=100 s", "--explain").split())
        for part in ["moved by your point at 8 GPUs", "check its batch", "keeps the factor of your point"]:
            self.assertIn(part, told)

    def test_a_measured_plan_is_known_by_its_numbers(self):
        for network, plan, same in [
                (SMALL, "tensor=4,sequence_parallel=true,micro_batch=2", ["tensor=4,sequence_parallel=true,micro_batches=16"]),
                (RESNET, "stages=4,micro_batches=4", ["stages=4,micro_batch=8"])]:
            words = [*network, "--ranks", 8, "--parallel", plan]
            seconds = 1.2 * self.plans(*words)[0]["t_iter_s"]
            for other in same:
                one, two = self.plans(*words, "--parallel", other, "--measured", f"8={seconds} s")
                self.assertAlmostEqual(two["t_iter_high_s"] / one["t_iter_high_s"], 1, places=9)
                self.assertAlmostEqual(two["t_iter_s"] / one["t_iter_s"], 1, places=9)

    def test_a_measured_iteration_of_stages_is_met(self):
        words = [*RESNET, "--ranks", "8,16", "--parallel", "stages=4,micro_batches=4"]
        before = self.plans(*words)
        seconds = 1.1 * before[0]["t_iter_s"]
        one, other = self.plans(*words, "--measured", f"8={seconds} s")
        self.assertAlmostEqual(one["t_iter_s"] / seconds, 1, places=6)
        self.assertAlmostEqual(one["t_iter_high_s"] / seconds, 1.03, places=6)
        self.assertAlmostEqual(other["t_iter_s"] / before[1]["t_iter_s"], 1.1, places=6)
        text = " ".join(self.answered(*words, "--measured", f"8={seconds} s").split())
        self.assertIn("moved by your point at 8 GPUs", text)
        self.assertIn("check its batch", " ".join(self.answered(*words, "--measured", "8=1 s").split()))
        # Nobody knows what one device would take then.
        for key in ["speedup", "speedup_low", "speedup_high", "efficiency"]:
            self.assertIsNotNone(before[0][key])
            self.assertIsNone(one[key])
        self.assertRegex(text, "speed-up .* – ")

    def test_a_point_that_contradicts_narrows_no_other_plan(self):
        question = ["predict", "--network", "resnet50", "--cluster", "dgx_h100", "--ranks", 8, "--global-batch", 64]
        words = [*question, "--parallel", "stages=2,micro_batches=4", "--parallel", "stages=4,micro_batches=4"]
        before = self.plans(*words)
        for factor in [0.3, 2.1]:
            seconds = factor * before[0]["t_iter_s"]
            one, other = self.plans(*words, "--measured", f"8={seconds} s")
            self.assertAlmostEqual(one["t_iter_s"] / seconds, 1, places=6)
            self.assertLess(other["t_iter_low_s"], before[1]["t_iter_s"])
            self.assertGreater(other["t_iter_high_s"], before[1]["t_iter_s"])
            width = [row["t_iter_high_s"] / row["t_iter_low_s"] for row in [before[1], other]]
            self.assertGreater(width[1], width[0])

    def test_a_point_beyond_the_peak_is_refused(self):
        words = ["predict", "--network", "resnet50", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 256]
        for plan in [[], ["--parallel", "stages=2"]]:
            self.assert_refused(run(*words, *plan, "--measured", "8=25 ms"), 2, "times the peak of their data sheet")

    def test_a_point_that_no_interval_reaches_is_refused(self):
        images = ["predict", "--network", "resnet50", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 256]
        tokens = [*SMALL, "--ranks", 8, "--parallel", "data=8,micro_batch=1"]
        for words in [images, [*images, "--parallel", "stages=2"], tokens]:
            self.assert_refused(run(*words, "--measured", "8=1e6 s"), 2, "no interval")

    def test_rates_of_other_samples_are_refused(self):
        images = ["predict", "--network", "resnet50", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 256]
        for words in [images, [*images, "--parallel", "stages=2"]]:
            for unit in ["tokens/s", "sequences/s"]:
                self.assert_refused(run(*words, "--measured", f"8=520 {unit}"), 2, "trains on images")
        tokens = [*SMALL, "--ranks", 8, "--parallel", "data=8,micro_batch=1"]
        self.assert_refused(run(*tokens, "--measured", "8=520 images/s"), 2, "trains on sequences")


if __name__ == "__main__":
    main()
