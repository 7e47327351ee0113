#!/usr/bin/env python3
"""Opens a report in a real browser: browser_test.py FOLDER [PICTURE]

It renders, sorts and filters, says nothing on the console, asks the network for nothing, has contrast and labels, and reads the
same without JavaScript. Exits with 77 (skipped) where no Chromium is installed. With PICTURE the page is kept as a PNG.
"""

import importlib.util
import json
import pathlib
import sys
import unittest

import browser

SKIPPED = 77
HERE = pathlib.Path(__file__).parent
FOLDER = PICTURE = None

# The first table with a filter: its parts, for expressions.
FIRST = "const bar = document.querySelector('.filter'); const region = bar.nextElementSibling; " \
        "const input = bar.querySelector('input'); const select = bar.querySelector('select'); "
ROWS = "[...region.querySelectorAll('tbody > tr')]"
TYPE = "const type = (text) => { input.value = text; input.dispatchEvent(new Event('input')); }; "


def axe_core():
    """The source of axe-core (Deque's checker of accessibility), or None."""
    found = importlib.util.find_spec("axe_playwright_python")
    script = found and pathlib.Path(found.origin).parent / "axe.min.js"
    return script.read_text(encoding="utf-8") if script and script.exists() else None


def run(body):
    return f"(() => {{ {body} }})()"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser(browser.find())
        cls.pages = sorted(FOLDER.glob("*.html"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def each_page(self, **how):
        self.assertTrue(self.pages)
        for page in self.pages:
            with self.subTest(page=page.name):
                self.browser.open(page.as_uri(), **how)
                yield page

    def evaluate(self, body):
        return self.browser.evaluate(run(body))

    def check_quiet(self, page):
        self.assertEqual(self.browser.troubles(), [])
        self.assertEqual(self.browser.requests(), [page.as_uri()])

    def check_accessible(self):
        found = self.browser.evaluate((HERE / "accessibility.js").read_text(encoding="utf-8"))
        self.assertGreater(found["texts"], 20)
        self.assertEqual(found["problems"], [])

    def test_it_renders_without_a_word_on_the_console_or_a_request(self):
        for page in self.each_page():
            self.check_quiet(page)
            self.assertGreater(self.evaluate("return document.querySelector('main').getBoundingClientRect().height"), 200)
            self.assertGreater(self.evaluate("return document.querySelectorAll('table').length"), 0)

    def test_texts_have_contrast_and_controls_have_labels_on_light_and_dark_pages(self):
        for dark in (False, True):
            for _ in self.each_page(dark=dark):
                shade = self.evaluate("return getComputedStyle(document.body).backgroundColor")
                self.assertEqual(shade == "rgb(255, 255, 255)", not dark)
                self.evaluate("document.querySelectorAll('details:not(.raw)').forEach((each) => { each.open = true; })")
                self.check_accessible()

    def test_axe_core_finds_no_violation_folded_or_open_light_or_dark_wide_or_narrow(self):
        axe = axe_core()
        if axe is None:
            self.skipTest("axe-core is not installed (pip install --no-deps axe-playwright-python)")
        for dark, width, opened in ((False, 1280, False), (False, 1280, True), (True, 1280, True), (False, 600, True)):
            for _ in self.each_page(dark=dark, width=width):
                if opened:
                    self.evaluate("document.querySelectorAll('details:not(.raw)').forEach((each) => { each.open = true; })")
                self.browser.evaluate(axe + "; null")
                found = self.browser.evaluate("axe.run(document).then((all) => all.violations.map("
                                              "(each) => `${each.id}: ${each.help}: ${each.nodes[0].html.slice(0, 120)}`))")
                self.assertEqual(found, [])

    def test_pages_fit_a_narrow_window(self):
        for _ in self.each_page(width=600):
            self.evaluate("document.querySelectorAll('details:not(.raw)').forEach((each) => { each.open = true; })")
            self.assertLessEqual(self.evaluate("return document.documentElement.scrollWidth"), 600)

    def test_tables_and_borders_of_cards_fit_on_paper(self):
        for _ in self.each_page(width=717):  # A4 without its margins
            self.browser.call("Emulation.setEmulatedMedia", media="print", features=[])
            wide = self.evaluate("""
              const most = document.body.clientWidth;
              const shown = [...document.querySelectorAll("table, .tiles > div")].filter((each) => !each.closest(".raw"));
              return shown.filter((each) => each.getBoundingClientRect().right > most - (each.tagName === "DIV" ? 1 : 0))
                .map((each) => each.textContent.slice(0, 60));""")
            self.browser.call("Emulation.setEmulatedMedia", media="", features=[])
            self.assertEqual(wide, [])

    def test_a_link_to_a_folded_section_opens_it(self):
        for _ in self.each_page():
            if self.evaluate("return document.querySelector('.data a') === null"):
                continue
            shown = self.evaluate("""
              const link = document.querySelector(".data a");
              link.click();
              return document.querySelector(link.getAttribute("href")).closest("details").open;""")
            self.assertTrue(shown)

    def test_a_button_copies_each_command_as_it_is(self):
        copied = 0
        for page in self.each_page():
            text = page.with_suffix(".md")
            if not text.exists():
                continue
            parts = text.read_text(encoding="utf-8").split("```sh\n")[1:]
            shown = self.evaluate("""
              return [...document.querySelectorAll("#next .copy")].map((button) => button.nextElementSibling.textContent);""")
            self.assertEqual(shown, [part.split("\n")[0] for part in parts])
            copied += len(shown)
        self.assertGreater(copied, 0)

    def test_without_javascript_everything_can_be_read(self):
        for page in self.each_page(script=False):
            self.assertEqual(self.evaluate("return document.querySelectorAll('.filter, thead button').length"), 0)
            self.assertGreater(self.evaluate("return document.querySelectorAll('tbody > tr').length"), 0)
            self.check_quiet(page)
            self.check_accessible()

    def test_a_table_sorts_by_a_column_both_ways_and_says_so(self):
        for _ in self.each_page():
            # Of all columns of all tables: numbers ascend after one click, descend after two.
            wrong = self.evaluate("""
              const wrong = [];
              for (const heading of document.querySelectorAll("thead th.number")) {
                const button = heading.querySelector("button");
                if (!button) continue;
                for (const sign of [1, -1]) {
                  button.click();
                  const rows = [...heading.closest("table").querySelectorAll("tbody > tr")];
                  const texts = rows.map((row) => row.cells[heading.cellIndex].textContent);
                  const plain = texts.filter((text) => /^-?[0-9.]+$/.test(text)).map(Number);
                  const said = heading.getAttribute("aria-sort");
                  if (said !== (sign > 0 ? "ascending" : "descending")) wrong.push(`${heading.textContent}: ${said}`);
                  if (plain.some((each, i) => i > 0 && sign * (each - plain[i - 1]) < 0)) wrong.push(heading.textContent);
                }
              }
              return wrong;""")
            self.assertEqual(wrong, [])
            self.assertEqual(self.evaluate("return document.querySelectorAll('[aria-sort=descending]').length > 0"), True)

    def test_units_count_where_a_table_sorts(self):
        found = 0
        for _ in self.each_page():
            order = self.evaluate("""
              const heading = [...document.querySelectorAll(".raw thead th")].find((each) => each.textContent === "median");
              if (!heading) return null;
              heading.querySelector("button")?.click();
              const factors = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1 };
              const rows = [...heading.closest("table").querySelectorAll("tbody > tr")];
              return rows.map((row) => row.cells[heading.cellIndex].textContent).filter((text) => text)
                .map((text) => parseFloat(text) * factors[text.split(" ")[1]]);""")
            if order is None:
                continue
            found += 1
            self.assertEqual(order, sorted(order))
        self.assertGreater(found, 0, "no page has everything that was measured")

    def test_a_table_filters_by_text_and_by_column_and_the_address_keeps_it(self):
        for page in self.each_page():
            if self.evaluate("return document.querySelector('.filter') === null"):
                continue
            rows = self.evaluate(FIRST + f"bar.querySelector('button')?.click(); return {ROWS}.length")
            word = self.evaluate(FIRST + f"return {ROWS}[1].cells[0].textContent")
            script = FIRST + TYPE + "select.value = '0'; type(" + json.dumps(word) + "); "
            matching, visible, status = self.evaluate(FIRST + f"""
              const has = (row) => row.cells[0].textContent.toLowerCase().includes({json.dumps(word.lower())});
              const before = {ROWS}.filter(has).length;
              (() => {{ {script} }})();
              return [before, {ROWS}.length, bar.querySelector('[role=status]').textContent];""")
            self.assertEqual(matching, visible)
            self.assertTrue(status.startswith(f"{visible} of " if visible < rows else f"{rows} rows"), status)
            kept = self.evaluate("return location.href")
            self.assertIn("#?", kept)
            self.browser.open(kept)
            again = self.evaluate(FIRST + f"bar.querySelector('button')?.click(); return [input.value, select.value, {ROWS}.length]")
            self.assertEqual(again, [word, "0", visible])
            none = self.evaluate(FIRST + TYPE + f"type('no row has this'); return {ROWS}.length")
            self.assertEqual(none, 0)
            cleared = self.evaluate(FIRST + TYPE + f"type(''); return [{ROWS}.length, location.hash]")
            self.assertEqual(cleared, [rows, ""])

    def test_of_a_long_table_the_first_rows_stand_in_the_page_and_all_are_sorted_filtered_and_printed(self):
        found = 0
        for page in self.each_page(script=False):
            rows = self.evaluate("""
              return [...document.querySelectorAll("table")].map((each) => each.querySelectorAll("tbody > tr").length)""")
            if max(rows) <= 500:
                continue
            found += 1
            self.browser.open(page.as_uri())
            most, at = max(rows), rows.index(max(rows))
            long = f"""
              const table = document.querySelectorAll('table')[{at}];
              const bar = table.parentNode.previousElementSibling;
              const count = () => table.querySelectorAll('tbody > tr').length;
              const status = () => bar.querySelector('[role=status]').textContent;
              const input = bar.querySelector('input'); {TYPE}"""
            begun = self.evaluate(long + "return [count(), status(), table.getAttribute('aria-rowcount')]")
            self.assertEqual(begun, [500, f"{most} rows, the first 500 shown", str(most + 1)])
            last = self.evaluate(long + """
              bar.querySelector("button").click();
              return [count(), status(), table.rows[count()].textContent]""")
            self.assertEqual(last[:2], [most, f"{most} rows"])
            self.browser.open(page.as_uri())
            beyond = self.evaluate(long + f"type({json.dumps(last[2])}); return count()")
            self.assertGreater(beyond, 0, "a row beyond those shown is found")
            if "1200 rows" in self.evaluate(long + "return table.caption.textContent"):  # the sample, whose values are known
                least = self.evaluate(long + """
                  type(""); table.querySelectorAll("thead button")[1].click();
                  return table.rows[1].cells[1].textContent""")
                self.assertEqual(least, "0 ms", "all rows are sorted, not those shown alone")
        if FOLDER.joinpath("history.html").exists():
            self.assertGreater(found, 0, "the samples have a long table")

    def test_a_broken_address_does_no_harm(self):
        for hash_ in ("#?0=1~%E0%A4%A", "#?99=0~x", "#?0=77~x", "#?<script>", "#nowhere"):
            self.browser.open(self.pages[0].as_uri() + hash_)
            self.assertEqual(self.browser.troubles(), [])

    def test_keys_reach_what_a_pointer_reaches(self):
        for _ in self.each_page():
            unreachable = self.evaluate("""
              const controls = [...document.querySelectorAll(".filter input, .filter select, thead button, summary, a[href]")];
              return controls.filter((each) => { if (!each.checkVisibility()) return false; each.focus();
                return document.activeElement !== each || each.tabIndex < 0; }).length;""")
            self.assertEqual(unreachable, 0)

    def test_a_script_that_is_not_the_page_s_own_does_not_run(self):
        self.browser.open(self.pages[0].as_uri())
        ran = self.evaluate("""
          const script = document.createElement("script");
          script.textContent = "window.foreign = true";
          document.body.append(script);
          return window.foreign === true;""")
        self.assertFalse(ran)

    def test_what_is_folded_is_opened_for_print_but_not_thousands_of_raw_rows(self):
        self.browser.open(self.pages[0].as_uri())
        self.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.evaluate("return document.querySelectorAll('details:not(.raw):not([open])').length"), 0)
        self.assertEqual(self.evaluate("return document.querySelectorAll('details.raw[open]').length"), 0)

    def test_a_picture_can_be_taken(self):
        if PICTURE:
            self.browser.open(self.pages[0].as_uri())
            self.browser.screenshot(PICTURE, 2400)


if __name__ == "__main__":
    if browser.find() is None:
        print(f"skipped: none of {', '.join(browser.NAMES)} is installed (apt install chromium)")
        sys.exit(SKIPPED)
    FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        PICTURE = sys.argv.pop(1)
    unittest.main()
