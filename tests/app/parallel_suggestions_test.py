"""What predict --parallel suggests: plans that the framework runs, with the verdict that they get when asked."""

import json

from program import ProgramTest, main


class Suggestions(ProgramTest):
    def with_change(self, plan, change):
        """The plan with other values of some keys; replicas follow the ranks."""
        stated = dict(word.split("=") for word in f"{plan},{change}".split(","))
        stated.pop("data", "")
        return ",".join(f"{key}={value}" for key, value in stated.items())

    def test_what_would_fit_is_what_the_framework_runs(self):
        words = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--global-batch", 256]
        plan = "tensor=8,sequence_parallel=true,micro_batch=2,zero=1"
        asked = [*words, "--framework", "nanotron", "--parallel", plan, "--fits"]
        [row] = self.plans(*asked, code=2)
        self.assertTrue(row["would_fit"], row)
        for one in row["would_fit"]:
            text = self.answered(*words, "--framework", "nanotron", "--parallel", self.with_change(plan, one["change"]))
            self.assertNotIn("as published does not run", " ".join(text.split()), one)
        text = " ".join(self.answered(*asked, code=2).split())
        self.assertNotIn("(time ", text)  # it would wait for memory that no GPU has
        self.assertRegex(text, r"fit with \S+ \(step [0-9.]+ s\)")
        [free] = self.plans(*words, "--framework", "homemade", "--parallel", plan, "--fits", code=2)
        self.assertTrue(any("zero=3" in one["change"] for one in free["would_fit"]), free["would_fit"])

    def test_what_would_help_is_what_the_framework_runs(self):
        words = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--global-batch", 256]
        asked = ["--parallel", "tensor=8,sequence_parallel=true,stages=4,micro_batch=1,zero=1", "--explain", "--format", "json"]

        def changes(framework):
            explained = json.loads(self.answered(*words, "--framework", framework, *asked))["explanations"][0]
            return {one["plan"] for one in explained["improvements"] if one["plan"]}

        not_run = {"schedule=interleaved,chunks=2", "schedule=zero_bubble", "zero=2", "zero=3"}
        self.assertTrue(not_run & changes("homemade"))
        self.assertFalse(not_run & changes("nanotron"))
        self.assertTrue(changes("nanotron"))

    def test_changes_carry_the_verdict(self):
        words = ["predict", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 16, "--global-batch", 64, "--framework", "torchtitan", "--parallel"]
        explained = json.loads(self.answered(*words, "tensor=2,sequence_parallel=true,micro_batch=2,zero=3,recompute=selective", "--explain", "--format", "json"))
        changes = {one["plan"]: one for one in explained["explanations"][0]["improvements"] if one["plan"]}
        self.assertIn("micro_batch=4", changes)
        [row] = self.plans(*words, "tensor=2,sequence_parallel=true,micro_batch=4,zero=3,recompute=selective")
        self.assertEqual(changes["micro_batch=4"]["fits"], row["fits"])


if __name__ == "__main__":
    main()
