#!/usr/bin/env python3
"""How long a real browser takes to load a page, and to filter and sort its longest table: page_load.py PAGE [TIMES]

Prints JSON: seconds from the start of navigation to the end of the load event, and of a filter and a sort with the layout that
follows, each run as measured. No test: it claims nothing.
"""

import json
import pathlib
import statistics
import sys

import browser

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1e3"
LONGEST = """
  const regions = [...document.querySelectorAll(".wide")];
  const region = regions.sort((a, b) => b.querySelectorAll("tbody > tr").length - a.querySelectorAll("tbody > tr").length)[0];
  region.closest("details")?.setAttribute("open", "");
  region.scrollIntoView();
  const timed = (act) => { const start = performance.now(); act(); region.getBoundingClientRect(); region.offsetHeight;
    return (performance.now() - start) / 1e3; };
"""
OPENED = f"(() => {{ {LONGEST} return timed(() => {{}}); }})()"
ROWS = f"(() => {{ {LONGEST} return region.querySelectorAll('tbody > tr').length; }})()"
FILTERED = f"""(() => {{ {LONGEST}
  const input = region.previousElementSibling.querySelector("input");
  return timed(() => {{ input.value = "7"; input.dispatchEvent(new Event("input")); }}); }})()"""
SORTED = f"(() => {{ {LONGEST} return timed(() => region.querySelectorAll('thead button')[1].click()); }})()"


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    driver = browser.Browser(browser.find())
    samples = {name: [] for name in ("load_s", "open_s", "filter_s", "sort_s")}
    try:
        version = driver.call("Browser.getVersion")["product"]
        for _ in range(times):
            driver.open(page.as_uri())
            for name, expression in zip(samples, (LOADED, OPENED, FILTERED, SORTED), strict=True):
                samples[name].append(driver.evaluate(expression))
        rows = driver.evaluate(ROWS)
    finally:
        driver.close()
    medians = {name: statistics.median(values) for name, values in samples.items()}
    print(json.dumps({"browser": version, "page_bytes": page.stat().st_size, "rows_of_longest_table": rows,
                      "median": medians, "samples": samples}, indent=2))


if __name__ == "__main__":
    main()
