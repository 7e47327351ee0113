#!/usr/bin/env python3
"""Checks a gate's document in the formats of other programs by parsers that know nothing of dlscale: check_formats.py FOLDER"""

import html
import json
import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree

FOLDER = None
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
HOSTILE = '<b>Hostile & "quoted" | name</b>'


def text_of(name):
    return (FOLDER / f"gate.{name}").read_text(encoding="utf-8")


class JunitTest(unittest.TestCase):
    def setUp(self):
        self.root = ElementTree.fromstring((FOLDER / "gate.junit").read_bytes())
        (self.suite,) = self.root
        self.cases = self.suite.findall("testcase")

    def test_counts_are_those_of_the_cases(self):
        for element in (self.root, self.suite):
            self.assertEqual(int(element.get("tests")), len(self.cases))
            for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                self.assertEqual(int(element.get(name)), sum(case.find(tag) is not None for case in self.cases), name)

    def test_a_regression_fails_and_what_is_undecided_is_skipped(self):
        failed = [case.get("name") for case in self.cases if case.find("failure") is not None]
        skipped = [case.get("name") for case in self.cases if case.find("skipped") is not None]
        self.assertEqual(len(failed), 1)
        self.assertEqual(skipped, ["conv batch=16: time"])
        self.assertEqual(len(self.cases), 5)

    def test_hostile_names_stay_names(self):
        self.assertIn(HOSTILE, self.cases[0].get("name"))
        self.assertIn("\ufffd", self.cases[0].get("name"))
        self.assertEqual({element.tag for element in self.root.iter()},
                         {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out"})


class OpenMetricsTest(unittest.TestCase):
    """The rules of OpenMetrics 1.0 that its text format can break."""

    def test_it_is_valid(self):
        text = text_of("openmetrics")
        self.assertTrue(text.endswith("# EOF\n"))
        lines = text.splitlines()
        self.assertEqual(lines.count("# EOF"), 1)
        family, families, samples = None, {}, set()
        for line in lines[:-1]:
            meta = re.fullmatch(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)", line)
            if meta:
                kind, name, value = meta.groups()
                if name != family:
                    self.assertNotIn(name, families, "a family must stand together")
                    family, families[name] = name, {}
                self.assertNotIn(kind, families[name])
                families[name][kind] = value
                if kind == "UNIT":
                    self.assertTrue(name.endswith("_" + value), line)
                continue
            sample = re.fullmatch(rf"({NAME})\{{((?:{LABEL})(?:,{LABEL})*)?\}} (-?[0-9.eE+-]+)", line)
            self.assertIsNotNone(sample, line)
            suffix = {"info": "_info", "gauge": "", "stateset": ""}[families[family]["TYPE"]]
            self.assertEqual(sample.group(1), family + suffix)
            names = [name for name, _ in re.findall(LABEL, sample.group(2) or "")]
            self.assertEqual(len(names), len(set(names)))
            self.assertNotIn((sample.group(1), sample.group(2)), samples)
            samples.add((sample.group(1), sample.group(2)))
            if families[family]["TYPE"] == "stateset":
                self.assertIn(family, names, "a state is a label of the family's name")
                self.assertIn(line.rpartition(" ")[2], ("0", "1"))
            float(line.rpartition(" ")[2])
        self.assertIn("dlscale_gate_ratio", families)
        self.assertEqual(sum(name == "dlscale_gate_ratio" for name, _ in samples), 5)
        self.assertEqual(families["dlscale_gate_base_seconds"]["UNIT"], "seconds")
        states = [labels for name, labels in samples if name == "dlscale_gate_verdict"]
        self.assertEqual(len(states), 5 * 5)  # four verdicts, and not measured
        self.assertEqual(sum(line.startswith("dlscale_gate_verdict{") and line.endswith(" 1") for line in lines), 5)

    def test_hostile_names_stay_labels(self):
        self.assertIn('<b>Hostile & \\"quoted\\" | name</b>', text_of("openmetrics"))


class BencherTest(unittest.TestCase):
    """What Bencher takes: https://bencher.dev/bmf.json, names within its limits, slugs as measures."""

    def setUp(self):
        self.metrics = json.loads(text_of("bencher"), parse_constant=lambda word: self.fail(word))

    def test_it_is_valid(self):
        self.assertEqual(len(self.metrics), 5)
        for benchmark, measures in self.metrics.items():
            self.assertTrue(0 < len(benchmark.encode()) <= 1024)
            self.assertEqual(set(measures), {"latency", "ratio"})
            for measure, metric in measures.items():
                self.assertRegex(measure, r"^[a-z0-9]+(-[a-z0-9]+)*$")
                self.assertLessEqual(len(measure), 64)
                self.assertLessEqual({"value"}, set(metric))
                self.assertLessEqual(set(metric), {"value", "lower_value", "upper_value"})
                for number in metric.values():
                    self.assertIsInstance(number, (int, float))
                self.assertLessEqual(metric.get("lower_value", metric["value"]), metric["value"])

    def test_hostile_names_stay_names(self):
        self.assertTrue(any(HOSTILE in benchmark for benchmark in self.metrics))


class CommentTest(unittest.TestCase):
    def test_it_begins_with_its_mark_and_a_short_headline(self):
        mark, headline = text_of("comment").splitlines()[:2]
        self.assertEqual(mark, "<!-- dlscale -->")
        self.assertLessEqual(len(html.unescape(headline).replace("\\", "")), 140)
        self.assertIn("1 regressed, 1 improved, 1 inconclusive of 5", headline)

    def test_what_changed_is_open_and_the_rest_folded(self):
        opened, _, folded = text_of("comment").partition("<details>")
        self.assertIn("regressed", opened)
        self.assertNotIn("triad", opened)
        self.assertIn("triad", folded)
        rows = opened.partition("| metric")[2]
        self.assertLess(rows.index("conv batch=1 "), rows.index("conv batch=8"))  # what regressed comes first
        self.assertEqual(folded.count("</details>"), text_of("comment").count("<details>"))

    def test_hostile_names_make_no_markup(self):
        text = text_of("comment")
        self.assertNotIn("<b>", text)
        tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
        self.assertGreaterEqual(len(tables), 2)
        for table in tables:  # each has as many cells in every row
            self.assertEqual(len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}), 1, table)


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv.pop(1))
    unittest.main()
