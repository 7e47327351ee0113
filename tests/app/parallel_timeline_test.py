"""predict --parallel with --explain and --trace: parts add up, changes keep their promise, stages are drawn."""

import json
import pathlib
import tempfile

from program import ProgramTest, main, run

LLAMA = ["predict", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 32, "--global-batch", 64, "--framework", "nanotron"]
PLAN = "tensor=8,stages=4,micro_batch=1"


class ParallelTimeline(ProgramTest):
    def explained(self, plan):
        return json.loads(self.answered(*LLAMA, "--parallel", plan, "--explain", "--format", "json"))["explanations"][0]

    def seconds(self, plan, *more):
        return json.loads(self.answered(*LLAMA, "--parallel", plan, *more, "--format", "json"))["plans"][0]["t_iter_s"]

    def test_parts_add_up_to_the_iteration(self):
        for plan in [PLAN, "tensor=2,zero=3,micro_batch=1", "stages=4,stage_layers=9/8/8/7,micro_batch=1"]:
            explained = self.explained(plan)
            self.assertAlmostEqual(explained["t_iter_s"] / self.seconds(plan), 1, places=9)
            self.assertAlmostEqual(sum(part["share"] for part in explained["parts"]), 1, places=4)
        self.assertEqual([stage["stage"] for stage in self.explained(PLAN)["stages"]], [1, 2, 3, 4])

    def test_a_change_keeps_its_promise(self):
        before = self.seconds(PLAN)
        changes = {change["plan"]: change for change in self.explained(PLAN)["improvements"] if change["plan"]}
        for keys, changed in {
            "sequence_parallel=true": f"{PLAN},sequence_parallel=true",
            "tensor=4,data=2": "tensor=4,data=2,stages=4,micro_batch=1",
        }.items():
            self.assertAlmostEqual(before / self.seconds(changed), 1 + changes[keys]["gain"], places=9)
        gains = [change["gain"] for change in self.explained(PLAN)["improvements"]]
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertGreater(min(gains), 0.01)

    def test_the_answer_opens_with_what_helps_and_bounds_it(self):
        lines = self.answered(*LLAMA, "--parallel", PLAN, "--explain").splitlines()
        self.assertLessEqual(max(map(len, lines[:5])), 100, lines)
        text = " ".join(" ".join(lines).split())
        self.assertRegex(text, "^Most helps: .* Now an iteration takes .*, bound by ")
        self.assertIn("NVLink", text)
        self.assertIn("InfiniBand", text)

    def test_the_order_of_ranks_counts(self):
        near = self.seconds("tensor=8,micro_batch=1")
        self.assertGreater(self.seconds("tensor=8,micro_batch=1,order=data/tensor/context/branches/stages"), near)

    def test_a_point_that_was_predicted_moves_nothing(self):
        for schedule in ["1f1b", "zero_bubble"]:
            plan = f"tensor=2,stages=4,micro_batch=1,schedule={schedule}"
            predicted = self.seconds(plan)
            self.assertAlmostEqual(self.seconds(plan, "--measured", f"32={predicted} s") / predicted, 1, places=6)

    def test_a_trace_draws_each_stage(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "trace.json"
            self.answered(*LLAMA, "--parallel", PLAN, "--trace", file)
            events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
            names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
            self.assertEqual(names, ["stage 1", "stage 2", "stage 3", "stage 4"])
            spans = [event for event in events if event["ph"] == "X"]
            self.assertEqual({span["tid"] for span in spans}, {0, 1, 2, 3})
            rows = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
            self.assertEqual(rows, {"stage 1", "stage 2", "stage 3", "stage 4"})
            forward = [span for span in spans if span["name"] == "forward" and span["tid"] == 1]
            self.assertEqual([span["args"]["micro_batch"] for span in forward], list(range(64)))
            self.answered(*LLAMA, "--parallel", PLAN, "--trace", file)
            file.write_text("{}", encoding="utf-8")
            self.assert_refused(run(*LLAMA, "--parallel", PLAN, "--trace", file), 2, str(file))
        self.assert_refused(run(*LLAMA, "--parallel", PLAN, "--trace", "-"), 2, "--trace")


if __name__ == "__main__":
    main()
