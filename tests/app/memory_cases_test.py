"""predict --cases and validate --cases of files with the memory of trainings."""

import json
import os
import pathlib
import unittest

from program import ProgramTest, main, run

DATA = pathlib.Path(__file__).parent.parent / "data" / "memory_misc.jsonl"
OPEN = pathlib.Path(os.environ.get("DLSCALE_SHARED_DATA", "none")) / "validation" / "open_memory_h100.jsonl"


class MemoryCasesTest(ProgramTest):
    def first_case(self):
        return json.loads(DATA.read_text(encoding="utf-8").splitlines()[0])

    def write(self, case):
        path = self.folder / "cases.jsonl"
        path.write_text(json.dumps(case) + "\n", encoding="utf-8")
        return path

    def test_every_case_is_predicted_in_its_order(self):
        result = run("predict", "--cases", DATA)
        self.assertEqual(result.returncode, 0, result.stderr)
        cases = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
        predictions = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["id"] for line in predictions], [case["id"] for case in cases])
        for line in predictions:
            self.assertLessEqual(line["low"], line["peak_memory_bytes"])
            self.assertLessEqual(line["peak_memory_bytes"], line["high"])
            self.assertIn(line["fits"], [True, False])
            self.assertGreater(line["state_memory_bytes"], 0)

    def test_predictions_do_not_read_what_was_measured(self):
        case = self.first_case()
        before = run("predict", "--cases", self.write(case)).stdout
        case["measured"] = {"peak_memory_bytes": 1}
        self.assertEqual(run("predict", "--cases", self.write(case)).stdout, before)

    def test_validate_scores_and_keeps_limits(self):
        result = run("validate", "--cases", DATA, "--format", "json", "--limit-mean", 0.05)
        self.assertEqual(result.returncode, 0, result.stderr)
        groups = {group["group"]: group for group in json.loads(result.stdout)["groups"]}
        self.assertEqual(set(groups), {"simumax_b200", "torchtitan", "all cases"})
        self.assertLess(groups["simumax_b200"]["mean_abs"], 0.025)
        self.assertEqual(run("validate", "--cases", DATA, "--limit-mean", 0.001).returncode, 1)

    @unittest.skipUnless(OPEN.exists(), "the published cases are not there")
    def test_other_networks_are_predicted_as_well_as_it_is_said(self):
        """results/published/memory: fits never see the network that is judged."""
        result = run("validate", "--cases", OPEN, "--format", "json", "--limit-median", 0.06, "--limit-coverage", "0.85,0.95")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertGreater(json.loads(result.stdout)["groups"][-1]["balanced"], 0.96)

    def test_bad_input_is_refused(self):
        self.assert_refused(run("predict", "--cases", DATA, "--model", "other"), 2, "--model")
        self.assert_refused(run("validate", "--cases", DATA, "--nodes", "one"), 2, "--nodes")
        self.assert_refused(run("validate", "--cases", DATA, "--by", "gpus"), 2, "network.name")
        for change, told in [({"counter": "guessed"}, "counter"), ({"id": "elsewhere/1"}, "id"), ({"network": {}}, "network.name")]:
            self.assert_refused(run("predict", "--cases", self.write(self.first_case() | change)), 2, told)
        case = self.first_case()
        case["run"]["parallel"]["stage_layers"] = [1, 1]
        self.assert_refused(run("predict", "--cases", self.write(case)), 2, "stages")
        case["run"]["parallel"] |= {"stage_layers": None, "schedule": "zigzag"}
        self.assert_refused(run("predict", "--cases", self.write(case)), 2, "zigzag")


if __name__ == "__main__":
    main()
