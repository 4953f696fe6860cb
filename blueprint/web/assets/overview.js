"use strict";
/* One page: the whole computation of the chosen group, as written arithmetic: a column for each token, one reads downwards. */
const LETTERS = "ABCDEFGHIJ";

/* Returns the members that the columns of a panel stand for. */
function panelMembers(panel) {
  const axis = panel.axis ?? time, all = axes[axis].words.map((_, i) => i);
  if (panel.axis !== undefined || data.page.mask === undefined) return all.slice(0, 8);
  const mask = blocks[data.page.mask];
  const counted = all.filter((member) => mask.cells[offsetAt(mask, { [time]: member })] === 1), here = counted.indexOf(state.at.at(-1));
  return around(counted.length, 6, Math.max(0, here)).map((i) => counted[i]);
}

/* Returns the value of a tree for the chosen group and a member of a panel's axis. */
function valueOf(tree, panel, member) {
  engine.at.fill(0);
  columns.forEach((axis, i) => { engine.at[axis] = state.at[i]; });
  if (member !== undefined) engine.at[panel.axis ?? time] = member;
  return engine.compiled(tree)();
}
const told = (words, panel) => (words || []).map((part) => (typeof part === "string" ? part : shown(valueOf(part, panel)))).join("");

function numberCell(block, offset, classes, text) {
  const td = make("td", { tabindex: -1, class: classes.filter(Boolean).join(" ") || null, onclick: () => choose(block.number, offset) }, state.hidden ? "?" : text);
  drawn.push({ td, block, offset, fixed: true });
  if (!where.has(keyOf(block.number, offset))) where.set(keyOf(block.number, offset), drawn.at(-1));
  return td;
}

function lineOf(row, panel, members) {
  const block = row.block === undefined ? null : blocks[row.block], axis = panel.axis ?? time;
  const symbol = row.symbol ? escaped(row.symbol) : block ? `${math(block.math)}<span class="unseen">${escaped(block.meaning)}</span>` : "";
  const cells = members.map((member) => {
    const chosen = { [axis]: member }, fills = row.fills && valueOf(row.fills, panel, member) === 1;
    const clipped = row.clipped !== undefined && blocks[row.clipped].cells[offsetAt(blocks[row.clipped], chosen)] === 1;
    const classes = [fills && "counts", row.result && "result", row.model && `of-${row.model}`];
    if (!block) return make("td", { class: classes.filter(Boolean).join(" ") || null }, brief(valueOf(row.value, panel, member)));
    const offset = offsetAt(block, block.axes.length ? chosen : {});
    return offset < 0 ? make("td") : numberCell(block, offset, classes, `${clipped ? "✂ " : ""}${row.back && member !== members[0] ? "↖ " : ""}${brief(block.cells[offset])}`);
  });
  return make("tr", {}, make("td", { class: "sign" }, row.sign || ""), make("th", { scope: "row", html: symbol }), ...cells, make("td", { class: "told" }, told(row.words, panel)));
}

function matrixOf(matrix, panel, members) {
  const block = blocks[matrix.block], inner = block.axes.at(-1), words = data.page.words === undefined ? null : blocks[data.page.words];
  return axes[inner].words.map((word, i) => make("tr", {}, make("td", { class: "sign" }), make("th", { scope: "row" }, ...(matrix.symbol && i ? [make("span", { class: "unseen" }, word)] : [matrix.symbol || word])),
    ...members.map((member) => {
      const offset = offsetAt(block, { [time]: member, [inner]: i }), value = block.cells[offset];
      const framed = matrix.framed && words && words.cells[offsetAt(words, { [time]: member })] === word;
      const td = numberCell(block, offset, [framed && "framed"], brief(value));
      if (!framed && !state.hidden) td.style.backgroundColor = `rgb(var(--model-${panel.model || "none"}) / ${(0.45 * depth(block, value)).toFixed(2)})`;
      return td;
    }), make("td", { class: "told" }, matrix.symbol ? (i === 1 ? matrix.words || "" : "") : panel.aside?.[i] || "")));
}

function drawOverview() {
  drawn = [];
  where.clear();
  const root = element("overview"), page = data.page, boxes = [];
  const ordered = [...page.panels.filter((panel) => !panel.below), ...page.panels.filter((panel) => panel.below)]; // A, B, C above, then what is below
  for (const panel of page.panels) {
    const members = panelMembers(panel), word = page.words === undefined || panel.axis !== undefined ? null : blocks[page.words];
    const head = make("tr", { class: "words" }, make("td"), make("td"), ...members.map((member) => make("th", { scope: "col", class: panel.axis === undefined && member === state.at.at(-1) ? "here" : null }, word ? word.cells[offsetAt(word, { [time]: member })] : axes[panel.axis ?? time].words[member])), make("td"));
    const table = make("table", {}, make("caption", { class: `of-${panel.model}` }, `${LETTERS[ordered.indexOf(panel)]}   ${panel.head}`), head);
    for (const matrix of panel.matrices || []) table.append(...matrixOf(matrix, panel, members));
    for (const section of panel.sections || []) {
      if (section.title) table.append(make("tr", {}, make("th", { class: "section", colspan: members.length + 3, scope: "rowgroup" }, section.title)));
      table.append(...section.rows.map((row) => lineOf(row, panel, members)));
    }
    if (panel.below && boxes.length) boxes.at(-1).append(table);
    else boxes.push(make("div", { class: "box" }, table));
  }
  const tile = ({ block, value, sign, words, model }) => {
    const amount = block === undefined ? valueOf(value, {}) : blocks[block].cells[0];
    return [make("span", { class: "sign" }, sign || ""), make(block === undefined ? "div" : "button", { class: `tile of-${model || "none"}`, onclick: block === undefined ? null : () => choose(block, 0, true) }, make("b", {}, state.hidden ? "?" : shown(amount)), make("small", {}, words || ""))];
  };
  const result = data.result === undefined ? [] : [make("button", { class: "tile all", onclick: () => choose(data.result, 0) }, make("b", {}, `${page.result} ${state.hidden ? "?" : shown(blocks[data.result].cells[0])}`), make("small", {}, blocks[data.result].meaning))];
  const which = group === null ? "" : `${axes[group].meaning} ${state.at[0] + axes[group].start} of ${axes[group].size}; means go over all of them`;
  root.replaceChildren(make("p", { class: "lead" }, which), make("div", { class: "boxes" }, ...boxes), make("div", { class: "tiles" }, ...result, ...(page.tiles || []).flatMap(tile)));
  mark();
}
