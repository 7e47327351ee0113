#!/usr/bin/env python3
"""How long a real browser takes to load a page, and to open, filter and sort its longest table: page_load.py PAGE [TIMES]

Prints JSON. Of loading: seconds from the start of navigation to the end of the load event (`load_s`) and to the frame after it
(`painted_s`), and processor time of the browser's renderers for it (`load_cpu_s`), which other programs on the machine lengthen
less. The same of an empty page beside it (`empty_…`): what no page can go below. Of opening: until the second frame after it
(`open_s`); of filtering and sorting: until the layout that follows (`filter_s`, `sort_s`). No test: it claims nothing.
"""

import json
import pathlib
import statistics
import sys
import tempfile

import browser

NAVIGATION = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1e3"
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1e3))))"
LONGEST = """
  const count = (region) => {
    const all = region.querySelector("table").getAttribute("aria-rowcount"); // with the heading, where not all are shown
    return all ? Number(all) - 1 : region.querySelectorAll("tbody > tr").length;
  };
  const region = [...document.querySelectorAll(".wide")].sort((a, b) => count(b) - count(a))[0];
  const settle = () => { region.getBoundingClientRect(); region.offsetHeight; };
  const timed = (act) => { const start = performance.now(); act(); settle(); return (performance.now() - start) / 1e3; };
  const open = () => { region.closest("details")?.setAttribute("open", ""); region.scrollIntoView(); };
"""
# What was out of sight is laid out in the frame after it comes into it.
OPENED = f"""(() => {{ {LONGEST} const start = performance.now(); open(); settle();
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {{ settle();
    done((performance.now() - start) / 1e3); }}))); }})()"""
ROWS = f"(() => {{ {LONGEST} return count(region); }})()"
FILTERED = f"""(() => {{ {LONGEST}
  const input = region.previousElementSibling.querySelector("input");
  return timed(() => {{ input.value = "7"; input.dispatchEvent(new Event("input")); }}); }})()"""
SORTED = f"(() => {{ {LONGEST} return timed(() => region.querySelectorAll('thead button')[1].click()); }})()"
EMPTY = "<!DOCTYPE html><html lang=\"en\"><title>empty</title><p>empty</p></html>"


def renderer_seconds(driver):
    """Processor time of all renderers so far."""
    session, driver.session = driver.session, None
    try:
        processes = driver.call("SystemInfo.getProcessInfo")["processInfo"]
    finally:
        driver.session = session
    return sum(each["cpuTime"] for each in processes if each["type"] == "renderer")


def load(driver, page, samples, prefix=""):
    driver.open("about:blank")
    before = renderer_seconds(driver)
    driver.open(page.as_uri())
    samples[prefix + "painted_s"].append(driver.evaluate(PAINTED))
    samples[prefix + "load_s"].append(driver.evaluate(NAVIGATION))
    samples[prefix + "load_cpu_s"].append(renderer_seconds(driver) - before)


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    loads = [prefix + name for prefix in ("", "empty_") for name in ("load_s", "painted_s", "load_cpu_s")]
    samples = {name: [] for name in (*loads, "open_s", "filter_s", "sort_s")}
    driver = browser.Browser(browser.find())
    try:
        version = driver.call("Browser.getVersion")["product"]
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "empty.html"
            empty.write_text(EMPTY, encoding="utf-8")
            for _ in range(times):
                load(driver, empty, samples, "empty_")
                load(driver, page, samples)
                for name, expression in (("open_s", OPENED), ("filter_s", FILTERED), ("sort_s", SORTED)):
                    samples[name].append(driver.evaluate(expression))
        elements = driver.evaluate("document.querySelectorAll('*').length")
        rows = driver.evaluate(ROWS)
    finally:
        driver.close()
    medians = {name: statistics.median(values) for name, values in samples.items()}
    print(json.dumps({"browser": version, "page_bytes": page.stat().st_size, "elements": elements, "rows_of_longest_table": rows,
                      "median": medians, "samples": samples}, indent=2))


if __name__ == "__main__":
    main()
