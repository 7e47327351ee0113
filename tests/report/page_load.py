#!/usr/bin/env python3
"""How long a real browser takes to load pages, and to open, filter and sort their longest table: page_load.py [--times N] PAGE...

Prints JSON with all samples, medians and their 95 % intervals (order statistics). Times of loading begin with the navigation:
`first_view_s` is the first contentful paint, `load_s` the end of the load event, and `load_cpu_s` the processor time of the
browser's renderers, which other programs on the machine lengthen less. The entry "empty" is a page without contents: none can
load faster. `open_s` ends with the second frame after opening; `filter_s` and `sort_s` with the layout that follows. No test: it
claims nothing.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import tempfile

import browser

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1e3"
FIRST_VIEW = """
new Promise((done) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName("first-contentful-paint")[0];
  if (paint) done(paint.startTime / 1e3);
}).observe({ type: "paint", buffered: true }))"""
LONGEST = """
  const count = (region) => {
    const all = region.querySelector("table").getAttribute("aria-rowcount"); // with the heading, where not all are shown
    return all ? Number(all) - 1 : region.querySelectorAll("tbody > tr").length;
  };
  const region = [...document.querySelectorAll("div.wide")].sort((a, b) => count(b) - count(a))[0];
  const settle = () => { region.getBoundingClientRect(); region.offsetHeight; };
  const timed = (act) => { const start = performance.now(); act(); settle(); return (performance.now() - start) / 1e3; };
  const open = () => {
    for (let each = region; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    region.scrollIntoView();
  };
"""
# What was out of sight is laid out in the frame after it comes into it.
OPENED = f"""(() => {{ {LONGEST} const start = performance.now(); open(); settle();
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {{ settle();
    done((performance.now() - start) / 1e3); }}))); }})()"""
ROWS = f"(() => {{ {LONGEST} return region ? count(region) : 0; }})()"
FILTERED = f"""(() => {{ {LONGEST}
  const input = region.previousElementSibling.querySelector("input");
  return timed(() => {{ input.value = "7"; input.dispatchEvent(new Event("input")); }}); }})()"""
SORTED = f"(() => {{ {LONGEST} return timed(() => region.querySelectorAll('thead button')[1].click()); }})()"
EMPTY = "<!DOCTYPE html><html lang=\"en\"><title>empty</title><p>empty</p></html>"
FEWEST_FILTERED = 6  # a table of fewer rows has no filter


def interval(samples):
    """Ends of the 95 % interval of the median, from order statistics; of few samples the extremes."""
    ordered, n = sorted(samples), len(samples)
    below = 0
    while 2 * sum(math.comb(n, i) for i in range(below + 1)) <= 0.05 * 2**n:
        below += 1
    at = max(below, 1)
    return [ordered[at - 1], ordered[n - at]]


def renderer_seconds(driver):
    """Processor time of all renderers so far."""
    session, driver.session = driver.session, None
    try:
        processes = driver.call("SystemInfo.getProcessInfo")["processInfo"]
    finally:
        driver.session = session
    return sum(each["cpuTime"] for each in processes if each["type"] == "renderer")


class PageLoads:
    """Loads of one page."""

    def __init__(self, path, name):
        self.path, self.name = path, name
        self.samples = {}
        self.rows = self.elements = 0

    def load(self, driver):
        driver.open("about:blank")
        before = renderer_seconds(driver)
        driver.open(self.path.as_uri())
        times = {"first_view_s": driver.evaluate(FIRST_VIEW), "load_s": driver.evaluate(LOADED),
                 "load_cpu_s": renderer_seconds(driver) - before}
        self.rows = driver.evaluate(ROWS)
        self.elements = driver.evaluate("document.querySelectorAll('*').length")
        if self.rows >= FEWEST_FILTERED:
            times |= {"open_s": driver.evaluate(OPENED), "filter_s": driver.evaluate(FILTERED), "sort_s": driver.evaluate(SORTED)}
        for key, time in times.items():
            self.samples.setdefault(key, []).append(time)

    def result(self):
        times = {key: {"median": statistics.median(all_), "ci95": interval(all_), "samples": all_} for key, all_ in self.samples.items()}
        return {"page": self.name, "bytes": self.path.stat().st_size, "elements": self.elements,
                "rows_of_longest_table": self.rows, "times": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=11, help="loads of each page (default: 11)")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    driver = browser.Browser(browser.find())
    try:
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "empty.html"
            empty.write_text(EMPTY, encoding="utf-8")
            pages = [PageLoads(empty, "empty"), *(PageLoads(path.resolve(), str(path)) for path in arguments.pages)]
            for _ in range(arguments.times):  # in turns, so that a busy moment is not one page's alone
                for page in pages:
                    page.load(driver)
            version = driver.call("Browser.getVersion")["product"]
            print(json.dumps({"browser": version, "load_average": os.getloadavg(), "pages": [page.result() for page in pages]}, indent=1))
    finally:
        driver.close()


if __name__ == "__main__":
    main()
