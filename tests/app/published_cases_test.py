"""validate --cases: predictions of published measurements, scored as the scorer beside those measurements does it."""

import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

from program import ProgramTest, main, run

VALIDATION = pathlib.Path(os.environ.get("DLSCALE_SHARED_DATA", "none")) / "validation"
# Of a score: here, and in score.py.
SAME = {"n": "n", "missing": "missing", "mean_abs": "mape", "median_abs": "median_ape", "bias": "bias", "p90_abs": "p90",
        "max_abs": "max", "spearman": "spearman", "coverage": "coverage", "width": "width"}
# Each file, and the groupings that scores are compared by.
FILES = {
    "open.jsonl": [[], ["--by", "run.overlap"], ["--by", "nodes"], ["--by", "cluster.intra_node.nominal_bandwidth_bytes_per_s"],
                   ["--by", "noise", "--data-quality", "AB"]],
    "open_llm.jsonl": [[], ["--by", "nodes"]],
    "open_allreduce.jsonl": [[], ["--by", "task"]],
}


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def case(name, nodes=1, measured=1000.0, **changed):
    gpus = 4 * nodes
    line = {
        "schema": "dlscale.case/1", "id": f"made/{name}", "set": "made", "network": {"name": "A net", "parameters": 25000000},
        "sample_unit": "image", "precision": "fp32", "gradient_bytes_per_element": 4, "batch_per_gpu": 32,
        "global_batch": 32 * gpus, "gpus": gpus, "gpus_per_node": 4, "nodes": nodes,
        "cluster": {"gpu": "V100", "intra_node": {"kind": "pcie3x16", "nominal_bandwidth_bytes_per_s": 1e10},
                    "inter_node": {"kind": "ethernet-tcp", "nominal_bandwidth_bytes_per_s": 1e9, "nics": 1}},
        "run": {"framework": "A framework", "synchronisation": "all_reduce", "overlap": "wfbp", "input": "synthetic",
                "parallel": {"dp": gpus, "tp": 1, "pp": 1}},
        "given": [{"gpus": 1, "samples_per_s": 320.0, "batch_per_gpu": 32, "global_batch": 32}],
        "measured": {"samples_per_s": measured}, "noise": None, "quality": "A", "weight": 1, "source": "nobody", "licence": "MIT",
        "assumed": []}
    return line | changed


class CasesTest(ProgramTest):
    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    def validate(self, cases, predictions, *words):
        return run("validate", "--cases", cases, "--predictions", predictions, *words)

    def scored(self, cases, predictions, *words):
        result = self.validate(cases, predictions, "--format", "json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class PublishedCases(CasesTest):
    def made(self):
        cases = self.write("cases.jsonl", [case("a"), case("b", nodes=2, measured=500.0), case("c", nodes=2, measured=600.0)])
        predictions = self.write("mine.jsonl", [
            {"id": "made/a", "samples_per_s": 1010.0, "low": 990.0, "high": 1030.0},
            {"id": "made/b", "iteration_s": 0.5, "low": 0.4, "high": 0.6,
             "terms": [{"name": "forward", "time_s": 0.1}, {"name": "exposed communication", "time_s": 0.3}]},
            {"id": "made/c", "status": "not_covered", "reason": "of a kind that nobody models"}])
        return cases, predictions

    def test_tables_say_how_good_and_beside_what(self):
        result = self.validate(*self.made(), "--by", "nodes")
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ["Predictions by nodes", "overall (each", "bsp_ring:", "Largest errors",
                     "communication (300.0", "nobody models", "mine"]:
            self.assertIn(part, result.stdout)

    def test_limits_decide_on_the_exit_code(self):
        files = self.made()
        for words, code in [(["--limit-median", 0.1], 0), (["--limit-median", 0.01], 1), (["--limit-mean", 0.5], 0),
                            (["--limit-mean", 0.1], 1), (["--limit-bias", 0.3], 1), (["--limit-coverage", "0.3,0.7"], 0),
                            (["--limit-coverage", "0.85,0.95"], 1), (["--data-quality", "A", "--limit-median", 0.1], 0)]:
            result = self.validate(*files, *words)
            self.assertEqual(result.returncode, code, f"{words} {result.stdout} {result.stderr}")

    def test_bad_usage_is_one_sentence(self):
        cases, predictions = self.made()
        both = ["--cases", cases, "--predictions", predictions]
        for words, part in [(["--predictions", predictions], "--cases"), ([*both, "--model", "scaling"], "--model"),
                            ([*both, "--machine", "m.json"], "--machine"), ([*both, cases], "exclude each other"),
                            ([*both, "--limit-coverage", "0.9"], "0.85,0.95"), ([*both, "--data-quality", "AD"], "such as AB"),
                            ([*both, "--limit-median", "-1"], "above 0"), (["--by", "set"], "--cases"),
                            ([], "Arguments are missing: results ("), (["x"], "An argument is missing: --machine (")]:
            result = run("validate", *words)
            self.assertEqual(result.returncode, 2, f"{words} {result.stdout}")
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_bad_files_are_one_sentence(self):
        cases, predictions = self.made()
        self.assert_refused(self.validate(cases, self.folder), 2, "it is a folder")
        self.assert_refused(self.validate(cases, cases), 2, f"{cases} is a file of published cases, and a file of predictions")
        self.assert_refused(self.validate(predictions, predictions), 2, f"{predictions}:1: schema is missing")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assert_refused(self.validate(pipe, predictions), 2, "it is a pipe")
        self.assert_refused(self.validate(cases, predictions, "--by", "node"), 2, 'Did you mean "nodes"?')
        self.assert_refused(self.validate(cases, predictions, "--data-quality", "C"), 2, "is of quality C")
        unmeasured = self.write("asked.jsonl", [case("a") | {"measured": None}])
        self.assert_refused(self.validate(unmeasured, predictions), 2, "nothing to score")

    def test_a_document_replaces_only_its_own_kind(self):
        out = self.folder / "score.json"
        for _ in range(2):
            result = self.validate(*self.made(), "--format", "json", "-o", out)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(out.read_text())["schema"], "dlscale.score")


def guess(line, dice):
    """A prediction about as good as a model's: some in the other unit, some without an interval, some missing."""
    kind = dice.random()
    if kind < 0.03:
        return {"id": line["id"], "status": "not_covered", "reason": "left out"}
    measured = line["measured"]
    if "time_s" in measured:
        values = [value * math.exp(dice.gauss(0, 0.2)) for value in measured["time_s"]]
        return {"id": line["id"], "time_s": values, "low": [0.8 * value for value in values], "high": [1.3 * value for value in values]}
    unit = "samples_per_s" if "samples_per_s" in measured else "iteration_s"
    value = measured[unit] * math.exp(dice.gauss(0, 0.2))
    if kind < 0.3:
        unit = "iteration_s" if unit == "samples_per_s" else "samples_per_s"
        value = line["global_batch"] / value
    low = 0 if kind < 0.1 else 0.8 * value
    return {"id": line["id"], unit: value} | ({"low": low, "high": 1.3 * value} if kind < 0.9 else {})


@unittest.skipUnless((VALIDATION / "score.py").exists(), "the published cases are not there")
class AsTheScorerDoesIt(CasesTest):
    def scorer(self, cases, predictions, *words):
        theirs = ["--quality" if word == "--data-quality" else word for word in words]
        command = [sys.executable, VALIDATION / "score.py", cases, predictions, "--json", *theirs]
        return json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)

    def assert_same_score(self, found, expected, where):
        for key, theirs in SAME.items():
            if expected[theirs] is None or found[key] is None:
                self.assertEqual(found[key], expected[theirs], f"{where} {key}")
            else:
                self.assertAlmostEqual(found[key], expected[theirs], delta=1e-9 * max(1, abs(expected[theirs])), msg=f"{where} {key}")

    def assert_same(self, found, expected, where):
        self.assertEqual(set(found["groups"]), set(expected["groups"]), where)
        for group, score in expected["groups"].items():
            self.assert_same_score(found["groups"][group], score, f"{where} {group}")
        self.assert_same_score(found["overall"], expected["overall"], where)

    def test_every_number_is_that_of_the_scorer(self):
        dice = random.Random(6)
        for name, choices in FILES.items():
            cases = VALIDATION / name
            predictions = self.write(name, [guess(line, dice) for line in lines_of(cases)])
            for words in choices:
                found = self.scored(cases, predictions, *words)
                expected = self.scorer(cases, predictions, *words)
                self.assert_same(found["predictions"], expected, f"{name} {words}")
                self.assertEqual(found["missing"], expected["missing"])

    def test_baselines_are_those_of_the_published_definitions(self):
        pages = published_tables()
        for name, some in [("open.jsonl", "linear"), ("open_allreduce.jsonl", "alpha_beta"), ("open_llm.jsonl", "mfu40")]:
            made = self.folder / "baselines"
            subprocess.run([sys.executable, VALIDATION / "baselines.py", VALIDATION / name, made], check=True)
            stem = name.removesuffix(".jsonl")
            found = self.scored(VALIDATION / name, made / f"{stem}.{some}.jsonl")
            self.assertEqual(len(found["baselines"]), len(list(made.glob(f"{stem}.*"))))
            for baseline in found["baselines"]:
                theirs = self.scorer(VALIDATION / name, made / f"{stem}.{baseline['name']}.jsonl")
                self.assert_same(baseline, theirs, baseline["name"])
                self.assertEqual(cells(baseline["overall"]), pages[baseline["name"]]["overall"])
                for group, score in baseline["groups"].items():
                    self.assertEqual(cells(score), pages[baseline["name"]][group], f"{baseline['name']} {group}")

    def test_images_without_a_given_point_have_no_baseline(self):
        lines = [{**line, "sample_unit": "image"} for line in lines_of(VALIDATION / "open_llm.jsonl")[:5]]
        cases = self.write("images.jsonl", lines)
        predictions = self.write("p.jsonl", [guess(line, random.Random(1)) for line in lines])
        self.assertEqual(self.scored(cases, predictions)["baselines"], [])


def cells(score):
    """As the published page writes them."""
    percent = [f"{100 * score[key]:.2f}%" for key in ("mean_abs", "median_abs")]
    later = [f"{100 * score[key]:.2f}%" for key in ("p90_abs", "max_abs")]
    return [str(score["n"]), *percent, f"{100 * score['bias']:+.2f}%", *later, f"{score['spearman']:.3f}",
            f"{100 * score['coverage']:.1f}%", f"{100 * score['width']:.2f}%"]


def published_tables():
    """Of BASELINES.md: the first table under each heading that names a baseline alone, by its first column."""
    tables, name = {}, ""
    for line in (VALIDATION / "BASELINES.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            name = line.removeprefix("### ") if re.fullmatch(r"### \w+", line) else ""
        elif name and line.startswith("| ") and not line.startswith("| set"):
            row = [cell.strip() for cell in line.replace("*", "").split("|")[1:-1]]
            tables.setdefault(name, {})["overall" if row[0].startswith("overall") else row[0]] = row[1:]
    return tables


if __name__ == "__main__":
    main()
