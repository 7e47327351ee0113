"""calibrate --cases, predict --cases and validate --cases: the model of scaling as a shell sees it."""

import json
import math
import os
import pathlib
import random
import unittest

from program import ProgramTest, main, run

VALIDATION = pathlib.Path(os.environ.get("DLSCALE_SHARED_DATA", "none")) / "validation"
OPEN = VALIDATION / "open.jsonl"
OPEN2 = VALIDATION / "open2.jsonl"
LINKS = {
    "pcie": ("V100-PCIe-16GB", "pcie3x16", 15.75e9, "ethernet-tcp", 1.25e9),
    "nvlink": ("V100-SXM2-16GB", "nvlink2", 150e9, "infiniband-rdma", 12.5e9),
    "mixed": ("V100-SXM2-16GB", "nvlink2", 150e9, "ethernet-tcp", 1.25e9),
}


def case(name, gpus, measured=None, **changed):
    """A training of ResNet-50 on four GPUs a node, of which one alone does 500 pictures a second."""
    gpu, in_node, fast, between, slow = LINKS[name]
    line = {
        "schema": "dlscale.case/1", "id": f"{name}/{gpus}", "set": name, "network": {"name": "ResNet-50", "parameters": 25557032},
        "sample_unit": "image", "precision": "fp32", "gradient_bytes_per_element": 4, "batch_per_gpu": 64,
        "global_batch": 64 * gpus, "gpus": gpus, "gpus_per_node": 4, "nodes": math.ceil(gpus / 4),
        "cluster": {"gpu": gpu, "intra_node": {"kind": in_node, "nominal_bandwidth_bytes_per_s": fast},
                    "inter_node": {"kind": between, "nominal_bandwidth_bytes_per_s": slow, "nics": 1}},
        "run": {"framework": "PyTorch 1.4 DistributedDataParallel", "synchronisation": "all_reduce", "overlap": "bucketed",
                "input": "synthetic", "parallel": {"dp": gpus, "tp": 1, "pp": 1}},
        "given": [{"gpus": 1, "samples_per_s": 500.0, "batch_per_gpu": 64, "global_batch": 64}],
        "measured": measured and {"samples_per_s": measured}, "quality": "A", "source": "nobody", "licence": "MIT", "assumed": []}
    return line | changed


def study():
    """Three sets whose efficiency falls with the number of GPUs."""
    dice = random.Random(7)
    return [case(name, gpus, 500.0 * gpus * 0.97 ** math.log2(gpus) * math.exp(dice.gauss(0, 0.02)))
            for name in LINKS for gpus in (2, 4, 8, 16)]


class ScalingCases(ProgramTest):
    model = ""

    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    def lines_of(self, path):
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def fitted(self):
        """A model of the study, fitted once."""
        path = self.folder / "fitted.yaml"
        if not ScalingCases.model:
            result = run("calibrate", "--cases", self.write("study.jsonl", study()), "-o", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("fitted to 12 trainings of 3 sets", result.stdout)
            self.assertIn("without a", result.stdout)
            ScalingCases.model = path.read_text()
        path.write_text(ScalingCases.model)
        return path

    def test_a_fitted_model_predicts(self):
        asked = self.write("asked.jsonl", [
            case("mixed", 8), case("nvlink", 16) | {"id": "new/16", "set": "new"},
            case("pcie", 4096) | {"id": "new/4096", "set": "new"},
            case("pcie", 8) | {"id": "new/split", "set": "new", "run": case("pcie", 8)["run"] | {
                "parallel": {"dp": 4, "tp": 2, "pp": 1}}}])
        out = self.folder / "predictions.jsonl"
        for _ in range(2):  # it replaces its own kind
            result = run("predict", "--cases", asked, "--model", self.fitted(), "-o", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("3 cases predicted, 1 of them outside the domain of the model; 1 not covered", result.stdout)
        seen, new, far, split = self.lines_of(out)
        for line in (seen, new, far):
            self.assertLess(0, line["low"])
            self.assertLess(line["low"], line["samples_per_s"])
            self.assertLess(line["samples_per_s"], line["high"])
            self.assertIn("compute", [term["name"] for term in line["terms"]])
        self.assertEqual([seen["status"], new["status"]], ["ok", "ok"])
        self.assertIn("4096 GPUs", far["reason"])
        self.assertEqual((split["status"], "samples_per_s" in split), ("not_covered", False))
        printed = run("predict", "--cases", asked, "--model", self.fitted())
        self.assertEqual(printed.stdout, out.read_text())

    def test_what_was_measured_changes_no_prediction(self):
        told = self.write("told.jsonl", [case("pcie", 8, 1.0), case("nvlink", 8, 1e6)])
        asked = self.write("asked.jsonl", [case("pcie", 8), case("nvlink", 8)])
        both = [run("predict", "--cases", cases, "--model", self.fitted()).stdout for cases in (told, asked)]
        self.assertEqual(both[0], both[1])

    def test_validate_scores_the_model_beside_the_baselines(self):
        cases = self.write("study.jsonl", study())
        words = ["validate", "--cases", cases, "--model", self.fitted()]
        result = run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ["Predictions by set", "bsp_ring", "term to blame", "fitted"]:
            self.assertIn(part, result.stdout)
        self.assertEqual(run(*words, "--limit-median", 1e-6).returncode, 1)
        scored = json.loads(run(*words, "--nodes", "several", "--format", "json").stdout)
        self.assertEqual((scored["nodes"], scored["predictions"]["overall"]["n"]), ("several", 6))
        predictions = self.folder / "p.jsonl"
        run("predict", "--cases", cases, "--model", self.fitted(), "-o", predictions)
        same = json.loads(run("validate", "--cases", cases, "--predictions", predictions, "--nodes", "several",
                              "--format", "json").stdout)
        self.assertEqual(same["predictions"]["overall"], scored["predictions"]["overall"])

    def test_a_model_can_go_to_standard_output(self):
        result = run("calibrate", "--cases", self.write("study.jsonl", study()), "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.fitted()
        self.assertEqual(result.stdout, ScalingCases.model)

    def test_terms_can_be_chosen_without_the_set_that_is_judged(self):
        cases, chosen = self.write("study.jsonl", study()), self.folder / "chosen.yaml"
        result = run("calibrate", "--cases", cases, "--choose-terms", "-o", chosen)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Terms chosen", result.stdout)
        self.assertNotEqual(chosen.read_text(), self.fitted().read_text())
        result = run("validate", "--cases", cases, "--model", chosen, "--format", "json")
        self.assertEqual(json.loads(result.stdout)["missing"], [], result.stderr)

    def test_options_that_do_not_go_together_are_refused(self):
        cases, model = self.write("cases.jsonl", study()), self.fitted()
        for words, part in [
                (["predict", "--cases", cases, "--network", "alexnet"], "--network"),
                (["predict", "--cases", cases, "--cluster", "p40x16"], "--cluster"),
                (["predict", "--cases", cases, "--machine", "m.json"], "--machine"),
                (["predict", "--cases", cases, "--format", "json"], "--format"),
                (["predict", "--model", model], "--cases"),
                (["predict", "--ranks", "1", "--cluster", "p40x16"], "An argument is missing: --network ("),
                (["predict", "--network", "alexnet", "--cluster", "p40x16"], "An argument is missing: --ranks ("),
                (["calibrate", "--cases", cases, "results", "-o", "x"], "results"),
                (["calibrate", "--cases", cases, "--workers", "2", "-o", "x"], "--workers"),
                (["calibrate", "--cases", cases], "--output"),
                (["calibrate", "results", "--choose-terms", "-o", "x"], "--cases"),
                (["calibrate", "-o", "x"], "An argument is missing: results ("),
                (["validate", "--cases", cases, "--nodes", "two"], "--nodes"),
                (["validate", "--model", model], "--cases"),
                (["validate", "--cases", cases, "--model", model, "--predictions", "p.jsonl"], "--predictions")]:
            result = run(*words)
            self.assertEqual(result.returncode, 2, f"{words} {result.stdout}")
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_bad_files_are_one_sentence(self):
        cases, model = self.write("cases.jsonl", study()), self.fitted()
        few = self.write("few.jsonl", [line for line in study() if line["set"] != "mixed"])
        self.assert_refused(run("calibrate", "--cases", few, "-o", self.folder / "few.yaml"), 2, "2 sets (nvlink, pcie)")
        self.assertFalse((self.folder / "few.yaml").exists())
        self.assert_refused(run("calibrate", "--cases", cases, "-o", cases), 2, str(cases))
        self.assert_refused(run("predict", "--cases", cases, "--model", model, "-o", cases), 2, str(cases))
        self.assertEqual(self.lines_of(cases), study())
        self.assert_refused(run("predict", "--cases", cases, "--model", "no_such_model"), 2, "no_such_model")
        self.assert_refused(run("predict", "--cases", self.folder / "none.jsonl", "--model", model), 2, "none.jsonl")
        broken = self.folder / "broken.yaml"
        broken.write_text(ScalingCases.model.replace("gpus: 16", "gpus: many", 1))
        self.assert_refused(run("predict", "--cases", cases, "--model", broken), 2, f"{broken}: /all/domain/gpus")
        curves = self.write("curves.jsonl", [{
            "schema": "dlscale.allreduce/1", "id": "rings/a", "set": "rings", "task": "interpolate", "collective": "all_reduce",
            "library": "a library", "buffer": "device", "ranks": 4, "nodes": 1,
            "cluster": {"gpu": "V100", "gpus_per_node": 4, "intra_node": None, "inter_node": None},
            "given": [{"ranks": 4, "nodes": 1, "bytes": [1000, 100000], "time_s": [1e-5, 1e-4]}],
            "query": {"bytes": [10000]}, "measured": {"time_s": [2e-5]}, "quality": "B"}])
        for verb, words in [("predict", ["--model", model]), ("calibrate", ["-o", self.folder / "curves.yaml"]), ("validate", ["--model", model])]:
            self.assert_refused(run(verb, "--cases", curves, *words), 2, "holds curves of collectives")
        self.assertEqual(len(run("predict", "--cases", curves).stdout.splitlines()), 1)
        self.assertIn("loglog", run("validate", "--cases", curves).stdout)
        self.assert_refused(run("validate", "--cases", few, "--model", model, "--nodes", "several", "--data-quality", "C"),
                            2, "is of several nodes")

    @unittest.skipUnless(OPEN2.exists(), "the published cases are not there")
    def test_published_trainings_are_predicted_as_well_as_it_is_said(self):
        """results/published: with all that is fitted left out set by set, in all, and on several nodes."""
        both = self.folder / "open_and_open2.jsonl"
        both.write_text(OPEN.read_text(encoding="utf-8") + OPEN2.read_text(encoding="utf-8"), encoding="utf-8")
        for words in [["--limit-median", 0.036, "--limit-mean", 0.07, "--limit-bias", 0.025, "--limit-coverage", "0.85,0.95"],
                      ["--nodes", "several", "--limit-median", 0.06, "--limit-mean", 0.095]]:
            result = run("validate", "--cases", both, "--format", "json", *words)
            self.assertEqual(result.returncode, 0, result.stdout[:400] + result.stderr)
            scored = json.loads(result.stdout)
            groups = scored["predictions"]["groups"]
            self.assertEqual(scored["missing"], [])
            for baseline in scored["baselines"]:
                better = [group for group, score in groups.items()
                          if score["median_abs"] < baseline["groups"][group]["median_abs"]]
                # All; but for those that results/published names.
                worse = 2 if "--nodes" in words else 1
                self.assertGreaterEqual(len(better), len(groups) - worse, better)
            if "--nodes" not in words:
                self.assertGreaterEqual(min(score["coverage"] for score in groups.values()), 0.75)
        scored = json.loads(run("validate", "--cases", both, "--format", "json", "--by", "run.synchronisation").stdout)
        self.assertLess(scored["predictions"]["groups"]["parameter_server"]["mean_abs"], 0.06)
        self.assertEqual(run("calibrate", "--cases", OPEN, "-o", self.folder / "again.yaml").returncode, 0)


if __name__ == "__main__":
    main()
