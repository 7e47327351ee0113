"use strict";
// Makes the tables of a report sort and filter, and commands copy. Nothing is loaded or sent, and without this script the page reads the same.
(() => {
  const factors = {
    ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
    B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
    "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
    "FLOP/s": 1, "MFLOP/s": 1e6, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "%": 0.01,
  };
  const pattern = /^([+\-−]?\d[\d.]*(?:e[+\-]?\d+)?)(?:\s+(\S+))?/i;

  /** The number a cell begins with, in its base unit; NaN where it begins with none. */
  const value = (text) => {
    const found = pattern.exec(text.trim());
    if (!found) return NaN;
    return Number(found[1].replace("−", "-")) * (factors[found[2]] ?? 1);
  };

  /** Rows of a table that stand in the page at a time: a browser lays out thousands of them in seconds. */
  const most = 500;

  const cell = (row, column) => row.children[column]?.textContent ?? "";

  /** Numbers by value and before words, words by letters, empty cells last whatever the direction. */
  const compare = (a, b, sign) => {
    if (a.text === "" || b.text === "") return (a.text === "") - (b.text === "");
    if (!isNaN(a.number) && !isNaN(b.number)) return sign * (a.number - b.number);
    if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) - isNaN(b.number);
    return sign * (a.text < b.text ? -1 : a.text > b.text ? 1 : 0);
  };

  /** Puts the rows that match into the page, in their order: the first of them, unless all are wanted. */
  const show = (view) => {
    const matching = view.rows.filter((row) => !view.hidden.has(row));
    const shown = view.all ? matching : matching.slice(0, most);
    if (shown.length === view.body.rows.length && shown.every((row, i) => row === view.shown[i])) return;
    const table = view.body.parentNode;
    const place = view.body.nextSibling;
    view.body.remove(); // rows that are out of the page move without a layout each
    view.body.replaceChildren(...shown);
    table.insertBefore(view.body, place);
    view.shown = shown;
    if (!view.status) return;
    const cut = matching.length - shown.length;
    const part = cut > 0 ? `, the first ${shown.length} shown` : "";
    view.status.textContent = `${view.hidden.size ? `${matching.length} of ` : ""}${view.rows.length} rows${part}`;
    view.more.hidden = cut === 0;
  };

  const sort = (view, column, descending) => {
    view.keys[column] ??= new Map(view.rows.map((row) => {
      const text = cell(row, column);
      return [row, { text: text, number: value(text) }];
    }));
    const keys = view.keys[column];
    const sign = descending ? -1 : 1;
    view.rows.sort((a, b) => compare(keys.get(a), keys.get(b), sign));
    show(view);
    view.headings.forEach((heading, i) => {
      heading.setAttribute("aria-sort", i !== column ? "none" : descending ? "descending" : "ascending");
    });
    view.sorted = column;
    view.descending = descending;
  };

  const filter = (view) => {
    const wanted = view.input.value.toLowerCase();
    const column = Number(view.select.value);
    view.texts[column] ??= new Map(view.rows.map((row) =>
      [row, (column < 0 ? row.textContent : cell(row, column)).toLowerCase()]));
    const texts = view.texts[column];
    view.hidden = new Set(wanted === "" ? [] : view.rows.filter((row) => !texts.get(row).includes(wanted)));
    show(view);
  };

  /** What is set, kept in the address, so that a link shows the same: "#?0=1~convolution&3=-1~f32". */
  const remember = (views) => {
    const parts = views.flatMap((view, i) => view.input?.value
      ? [`${i}=${view.select.value}~${encodeURIComponent(view.input.value)}`] : []);
    history.replaceState(null, "", parts.length ? `#?${parts.join("&")}` : "#");
  };

  const recall = (views) => {
    if (!location.hash.startsWith("#?")) return;
    for (const part of location.hash.slice(2).split("&")) {
      const found = /^(\d+)=(-?\d+)~(.*)$/.exec(part);
      const view = found && views[Number(found[1])];
      if (!view?.input) continue;
      try {
        view.input.value = decodeURIComponent(found[3]);
      } catch {
        continue; // an address that somebody has cut off
      }
      view.select.value = found[2];
      if (view.select.selectedIndex < 0) view.select.value = "-1";
      for (let fold = view.region.closest("details"); fold; fold = fold.parentElement.closest("details")) {
        fold.setAttribute("open", "");
      }
      filter(view);
    }
  };

  const showAll = (view) => {
    view.all = true;
    show(view);
  };

  const labelled = (text, control) => {
    const label = document.createElement("label");
    label.append(text, control);
    return label;
  };

  const addFilter = (view, views) => {
    const bar = document.createElement("div");
    bar.className = "filter";
    view.input = document.createElement("input");
    view.input.type = "search";
    view.select = document.createElement("select");
    view.select.append(new Option("any column", "-1"),
      ...view.headings.map((heading, i) => new Option(heading.textContent || `column ${i + 1}`, String(i))));
    view.status = document.createElement("span");
    view.status.setAttribute("role", "status");
    view.status.textContent = `${view.rows.length} rows`;
    view.more = document.createElement("button");
    view.more.type = "button";
    view.more.textContent = "Show all";
    view.more.hidden = true;
    view.more.addEventListener("click", () => showAll(view));
    bar.append(labelled("Filter ", view.input), labelled("in ", view.select), view.status, view.more);
    view.region.before(bar);
    const changed = () => {
      filter(view);
      remember(views);
    };
    view.input.addEventListener("input", changed);
    view.select.addEventListener("change", changed);
  };

  const addSorting = (view) => {
    view.headings.forEach((heading, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(view, i, view.sorted === i && !view.descending));
    });
  };

  const views = [...document.querySelectorAll(".wide")].map((region) => ({
    region: region,
    body: region.querySelector("tbody"),
    rows: [...region.querySelectorAll("tbody > tr")],
    headings: [...region.querySelectorAll("thead th")],
    hidden: new Set(), // rows that do not match
    keys: {}, // by column, for sorting
    texts: {}, // by column, for filtering
  }));
  for (const view of views) {
    view.shown = [...view.rows];
    if (view.rows.length > 5) addFilter(view, views);
    if (view.rows.length > 1) addSorting(view);
    if (view.rows.length <= most) continue;
    view.region.querySelector("table").setAttribute("aria-rowcount", view.rows.length + 1);
    show(view);
  }
  for (const code of navigator.clipboard ? document.querySelectorAll("#next code") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy the command ${code.textContent}`);
    button.addEventListener("click", () => navigator.clipboard.writeText(code.textContent).then(
      () => { button.textContent = "Copied"; },
      () => getSelection().selectAllChildren(code))); // a browser that forbids it
    code.parentElement.before(button);
  }
  recall(views);
  window.addEventListener("hashchange", () => recall(views));
  // What is folded is not printed, unless it is opened before; raw rows stay folded.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not(.raw):not([open])")];
    opened.forEach((each) => each.setAttribute("open", ""));
    views.filter((view) => !view.region.closest(".raw")).forEach(showAll);
  });
  window.addEventListener("afterprint", () => opened.forEach((each) => each.removeAttribute("open")));
})();
