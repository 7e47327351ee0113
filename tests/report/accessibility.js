// Problems of the page that is open, a sentence each: contrast of texts below that of WCAG 2.2, 1.4.3, and what lacks a name.
(() => {
  const problems = [];
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const parsed = (text) => {
    const found = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    return found ? [found[1] / 255, found[2] / 255, found[3] / 255, found[4] === undefined ? 1 : Number(found[4])] : null;
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const luminance = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const background = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = parsed(getComputedStyle(each).backgroundColor);
      if (colour && colour[3] > 0) layers.push(colour);
      if (colour && colour[3] === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((back, front) => over(front, back), dark ? [0.07, 0.07, 0.07, 1] : [1, 1, 1, 1]);
  };
  const seen = new Set();
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const drawing = element.closest("svg");
    if (drawing && (!drawing.classList.contains("own") || ["title", "desc", "style"].includes(element.tagName))) continue;
    ++texts;
    const style = getComputedStyle(element);
    const front = parsed(drawing ? style.fill : style.color);
    const back = background(element);
    if (!front) {
      problems.push(`no colour known of "${walker.currentNode.data.trim()}"`);
      continue;
    }
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(over(front, back), back);
    const key = `${front}/${back}`;
    if (ratio < (large ? 3 : 4.5) && !seen.has(key)) {
      seen.add(key);
      problems.push(`contrast ${ratio.toFixed(2)} of "${walker.currentNode.data.trim().slice(0, 60)}"`);
    }
  }
  for (const control of document.querySelectorAll("input, select, textarea")) {
    if (!control.labels.length && !control.getAttribute("aria-label")) problems.push(`${control.tagName} without a label`);
  }
  for (const control of document.querySelectorAll("button, a[href], summary")) {
    if (!control.textContent.trim()) problems.push(`${control.tagName} without a text`);
  }
  for (const drawing of document.querySelectorAll("svg")) {
    if (drawing.getAttribute("role") !== "img" || !drawing.getAttribute("aria-label")) problems.push("a drawing without a name");
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption && !table.closest("[aria-label]")) problems.push("a table without a caption");
  }
  for (const region of document.querySelectorAll("[role=group]")) {
    if (region.tabIndex < 0 || !region.getAttribute("aria-label")) problems.push("a region that keys do not reach");
  }
  if (!document.documentElement.lang) problems.push("no language");
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one first heading");
  let level = 1;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    if (Number(heading.tagName[1]) > level + 1) problems.push(`a heading skips a level: ${heading.textContent}`);
    level = Number(heading.tagName[1]);
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  if (new Set(ids).size !== ids.length) problems.push("an id twice");
  return { problems: problems, texts: texts };
})()
