#!/usr/bin/env python3
"""Checks a report folder by parsers that know nothing of dlscale: check_report.py FOLDER"""

import base64
import hashlib
import html.parser
import pathlib
import re
import sys
import unittest

VOID = {"meta", "br", "hr", "img", "link", "input", "col"}
FOLDER = None


class Page(html.parser.HTMLParser):
    """Tags with their attributes, text, and whether every tag is closed where it was opened."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.errors, self.text = [], [], [], []
        self.feed(text)
        self.close()
        self.errors += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.errors.append(f"</{tag}> inside {self.open[-3:]} at {self.getpos()}")
        if self.open:
            self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


class WellFormed:
    """What is true of every report; `name` is that of its two files."""

    @classmethod
    def setUpClass(cls):
        cls.html = (FOLDER / f"{cls.name}.html").read_text(encoding="utf-8")
        cls.markdown = (FOLDER / f"{cls.name}.md").read_text(encoding="utf-8")
        cls.page = Page(cls.html)

    def test_every_tag_is_closed_where_it_was_opened(self):
        self.assertEqual(self.page.errors, [])

    def test_nothing_is_loaded(self):
        for tag, attributes in self.page.tags:
            self.assertNotIn(tag, ("link", "iframe", "object", "embed"))
            for name in ("src", "href", "xlink:href", "srcset", "action"):
                value = attributes.get(name) or ""
                beside = tag == "a" and (FOLDER / value).is_file()
                self.assertTrue(value == "" or value.startswith("#") or beside, f"{tag} {name}={value}")
        self.assertNotRegex(self.html, r"@import|url\((?!#)")

    def test_one_script_may_run_which_is_the_one_that_the_policy_names(self):
        (script,) = re.findall(r"<script>(.*?)</script>", self.html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        (policy,) = [attributes["content"] for tag, attributes in self.page.tags
                     if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"]
        self.assertIn(f"script-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertEqual([tag for tag, _ in self.page.tags].count("script"), 1)

    def test_ids_are_unique_and_references_lead_somewhere(self):
        ids = [attributes["id"] for _, attributes in self.page.tags if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        for _, attributes in self.page.tags:
            for name in ("href", "xlink:href"):
                if (attributes.get(name) or "").startswith("#"):
                    self.assertIn(attributes[name][1:], ids)
        for reference in re.findall(r"url\(#([^)]+)\)", self.html):
            self.assertIn(reference, ids)

    def test_headings_of_tables_have_a_scope(self):
        scopes = [attributes.get("scope") for tag, attributes in self.page.tags if tag == "th"]
        self.assertGreater(len(scopes), 20)
        self.assertTrue(all(scope in ("col", "row") for scope in scopes))

    def test_the_answer_stands_before_all_tables_and_sections_are_folded(self):
        main = self.html[self.html.index("<main>"):]
        first = main.index('<details class="section">')
        for part in ('<section id="verdict"', '<dl class="tiles">', '<summary>How sure? ', '<section id="next"'):
            if part in main:
                self.assertLess(main.index(part), first, part)
        self.assertLess(main.index('<section id="verdict"'), main.index("<table"))
        self.assertNotIn("<details open", self.html)
        self.assertNotIn("<h2", main[first:].replace("<summary><h2", ""))

    def test_every_figure_has_its_numbers_and_its_unit(self):
        figures = re.findall(r"<figure>(.*?)</figure>", self.html, re.DOTALL)
        for figure in figures:
            self.assertIn('<details class="data">', figure)
            self.assertRegex(figure, r"<td")
            drawing = re.sub(r"<style>.*?</style>", "", figure.partition("</svg>")[0], flags=re.DOTALL)
            self.assertRegex(drawing, r" %|\bms\b|GB/s|GFLOP/s|speed-up|, ×|\bns\b", figure[:200])

    def test_a_page_is_small(self):
        self.assertLess(len(self.html), 500_000)

    def test_figures_have_a_text_for_those_who_cannot_see_them(self):
        figures = [tag for tag, _ in self.page.tags if tag == "figure"]
        labels = [
            attributes.get("aria-label") for tag, attributes in self.page.tags if tag == "svg"
        ]
        self.assertEqual(len(figures), len(labels))
        self.assertTrue(all(label and len(label) > 40 for label in labels))

    def test_hostile_text_stays_text(self):
        hostile = '<b>Hostile & "quoted" | name</b>'
        self.assertIn(hostile, "".join(self.page.text))
        self.assertNotIn("b", [tag for tag, _ in self.page.tags])

    def check_tables(self, text):
        """Every row of a table is as wide as the others; returns how many tables there are."""
        width, tables = None, 0
        for line in text.splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
            if cells is None:
                width = None
                continue
            tables += width is None
            self.assertIn(width, (None, cells), line)
            width = cells
        return tables

    def test_markdown_tables_have_equal_rows(self):
        self.assertGreater(self.check_tables(self.markdown), 1)

    def test_html_and_markdown_have_the_same_sections(self):
        in_markdown = [title.replace("\\", "") for title in re.findall(r"^## (.*)$", self.markdown, re.MULTILINE)]
        in_html = re.findall(r"<h2[^>]*>([^<]*)</h2>", self.html)
        self.assertEqual(in_html, in_markdown)

    def test_linked_files_exist(self):
        for target in re.findall(r"\]\(<([^>]+)>\)", self.markdown):
            self.assertTrue((FOLDER / target).exists(), target)


class ReportTest(WellFormed, unittest.TestCase):
    name = "report"

    def test_every_run_is_there(self):
        for text in ("".join(self.page.text), self.markdown):
            for word in ("alexnet", "resnet50", "sequential", "wait_free"):
                self.assertIn(word, text)
        rows = re.findall(r"^\| (?:alexnet|resnet50) \| 8 \| f32 \|", self.markdown, re.MULTILINE)
        self.assertEqual(len(rows), 2 * 8)  # each of 8 runs in the table of runs and of phases


class PartsTest(WellFormed, unittest.TestCase):
    name = "parts"

    def test_every_algorithm_is_there(self):
        for text in ("".join(self.page.text), self.markdown):
            for word in ("onednn direct", "native winograd_f4", "avx512", "triad"):
                self.assertIn(word, text)

    def test_tables_of_layers_stand_on_a_page_of_their_own(self):
        (page,) = (FOLDER / "layers").iterdir()
        self.assertIn(f"(<layers/{page.name}>)", self.markdown)
        text = page.read_text(encoding="utf-8")
        self.assertGreater(self.check_tables(text), 1)
        self.assertIn("](../README.md)", text)

    def test_tables_of_layers_are_folded(self):
        self.assertIn("details", [tag for tag, _ in self.page.tags])
        self.assertEqual(self.markdown.count("<details>"), self.markdown.count("</details>"))


class GateTest(WellFormed, unittest.TestCase):
    name = "gate"

    def test_what_changed_stands_before_what_did_not(self):
        text = "".join(self.page.text)
        self.assertLess(text.index("What changed, the largest"), text.index("Not regressed"))
        for word in ("A/A test", "seed", "conv batch=1", "+ = worse"):
            self.assertIn(word, text)


class HistoryTest(WellFormed, unittest.TestCase):
    name = "history"

    def test_levels_and_marks_stand_in_tables_too(self):
        text = "".join(self.page.text)
        for word in ("Levels of the strips", "Marks of the strips", "oneDNN: 2.6.3 → 3.0.0", "bisect c0031"):
            self.assertIn(word, text)


class PredictionTest(WellFormed, unittest.TestCase):
    name = "prediction"


class ComparisonTest(WellFormed, unittest.TestCase):
    name = "comparison"


class SideBySideTest(WellFormed, unittest.TestCase):
    name = "side_by_side"

    def test_ratios_stand_beside_times(self):
        self.assertIn("÷ first", self.markdown)
        self.assertIn("What differs in where it was measured", self.markdown)


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv.pop(1))
    unittest.main()
