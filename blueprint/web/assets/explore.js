"use strict";
/* Explore: a sheet at a time, a row for each quantity, a column for each member; a panel tells all about the chosen number. */
let drawn = []; // the cells on the page: {td, block, offset}
const where = new Map();
const keyOf = (number, offset) => `${number}:${offset}`;

function fillCell({ td, block, offset, fixed }) {
  if (fixed) return;
  const value = block.cells[offset], text = state.hidden && !block.typed ? "?" : brief(value);
  if (td.textContent !== text) td.textContent = text;
  const colour = state.hidden || block.text || !value ? "" : `rgb(var(--${value > 0 ? "above" : "below"}) / ${((td.classList.contains("grey") ? 0.2 : 0.65) * depth(block, value)).toFixed(2)})`;
  td.style.backgroundColor = colour;
}

function cellOf(block, offset, grey) {
  const td = make("td", { tabindex: -1, class: [block.typed && !block.link ? "typed" : "", block.text ? "word" : "", grey ? "grey" : ""].join(" ").trim() || null });
  const cell = { td, block, offset };
  td.addEventListener("click", () => choose(block.number, offset));
  drawn.push(cell);
  if (!where.has(keyOf(block.number, offset))) where.set(keyOf(block.number, offset), cell);
  fillCell(cell);
  return td;
}

const narrow = () => innerWidth <= 820;
const WINDOW = 48; // columns that are shown at once; of more, those around the chosen one

/* Returns the members of the last axis that are shown, edges included where a block of the sheet has them. */
function shownMembers(used) {
  const size = axes[time].size, spans = used.map((block) => block.spans?.[block.axes.indexOf(time)] || [0, 0]);
  const first = spans.some(([before]) => before) ? -1 : 0, last = spans.some(([, behind]) => behind) ? size : size - 1;
  const most = narrow() ? 5 : WINDOW, here = state.at.at(-1);
  const from = last - first < most ? first : Math.max(first, Math.min(here - Math.floor(most / 2), last - most + 1));
  return Array.from({ length: Math.min(most, last - from + 1) }, (_, i) => from + i);
}

const membersOf = (all) => all.reduce((listed, axis) => listed.flatMap((members) => axes[axis].words.map((_, i) => ({ ...members, [axis]: i }))), [{}]);
const quantity = (block, members, says = true) => {
  const called = Object.entries(members).map(([axis, i]) => axes[axis].words[i]).join(" ");
  const label = math(block.math) + (called ? ` <span class="member">${escaped(called)}</span>` : "");
  return label + (says ? `<small>${escaped(block.meaning)}</small>` : "");
};

function drawSheet() {
  drawn = [];
  where.clear();
  const sheet = sheets[state.sheet], root = element("explore");
  element("sheets").replaceChildren(...sheets.map((each, i) => make("button", {
    "aria-current": i === state.sheet ? "page" : null, class: each.colour || null, onclick: () => { state.sheet = i; drawSheet(); },
  }, each.title)));
  const folds = sheet.sections.some((section) => section.items.some((item) => item.fold));
  if (folds) element("sheets").append(make("button", { "aria-pressed": String(state.all), class: "fold", onclick: () => { state.all = !state.all; drawSheet(); } }, "every row"));
  if (group !== null) element("sheets").append(make("button", { "aria-pressed": String(state.each), class: "fold", onclick: () => { state.each = !state.each; drawSheet(); } }, "all below each other"));
  root.replaceChildren(make("p", { class: "lead" }, sheet.lead || ""));
  const used = sheet.sections.flatMap((section) => section.items.flatMap((item) => item.blocks || [])).map((number) => blocks[number]);
  const wide = time !== undefined && (sheet.across || []).includes(time) && used.some((block) => block.axes.includes(time));
  const members = wide ? shownMembers(used.filter((block) => block.axes.includes(time))) : [];
  const grey = sheet.grey === undefined ? null : blocks[sheet.grey];
  const table = make("table", { class: `sheet ${sheet.colour || ""}` }, make("caption", { class: "unseen" }, sheet.title), heads(sheet, members, wide));
  const apart = [];
  for (const section of sheet.sections) {
    const body = make("tbody", {}, make("tr", { class: "section" }, make("th", { scope: "rowgroup", colspan: members.length + 1 }, section.title)));
    const beside = [], lines = [];
    const charts = section.items.filter((item) => item.chart).map((item) => drawnChart(item.chart));
    if (charts.length) root.append(make("div", { class: "charts" }, ...charts));
    for (const item of section.items) {
      if (isSideBySide(item)) { if (!item.fold || state.all) lines.push(item); continue; }
      for (const number of item.blocks || []) {
        const block = blocks[number];
        if (item.fold && !state.all) continue;
        if (!wide || !block.axes.includes(time)) beside.push(block);
        else rows(block, item, members, grey).forEach((row) => body.append(row));
      }
    }
    const tables = [...lined(lines), ...beside.filter((block) => block.axes.length <= 2).map(small)];
    if (wide && tables.length) body.append(make("tr", {}, make("td", { class: "plain", colspan: members.length + 1 }, make("div", { class: "beside" }, ...tables))));
    if (wide && body.children.length > 1) table.append(body);
    else if (!wide && tables.length) apart.push(make("h2", {}, section.title), make("div", { class: "beside" }, ...tables));
  }
  root.append(legend(SIGNS_OF_SHEETS));
  root.append(...(table.tBodies.length ? [make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": sheet.title }, table)] : []), ...apart);
  mark();
}

function heads(sheet, members, wide) {
  if (!wide) return "";
  const words = (sheet.head || []).map((number) => blocks[number]).filter((block) => block.text);
  const row = (block, i) => make("tr", {}, make("th", { scope: "row" }, block ? block.meaning : axes[time].meaning), ...members.map((member) => {
    const offset = block ? offsetAt(block, { [time]: member }) : -1, edge = member < 0 ? "start" : member >= axes[time].size ? "end" : null;
    const text = edge ?? (block && offset >= 0 ? block.cells[offset] || "·" : axes[time].words[member]);
    return make("th", { scope: "col", class: member === state.at.at(-1) ? "here" : null }, i === 0 || !edge ? text : "·");
  }));
  return make("thead", {}, ...(words.length ? words.slice(0, 2).map(row) : [row(null, 0)]));
}

const MOST_EACH = 16; // groups whose rows stand below each other
function rows(block, item, members, grey) {
  const here = group === null ? [] : around(axes[group].size, MOST_EACH, state.at[0]), each = (axis) => axis === group && state.each;
  return membersOf(block.axes.filter((axis) => !columns.includes(axis) || each(axis))).filter((others) => others[group] === undefined || here.includes(others[group])).map((others, i) => make("tr", { class: item.role || null },
    make("th", { scope: "row", html: quantity(block, others, i === 0) }),
    ...members.map((member) => {
      const offset = offsetAt(block, { ...others, [time]: member }), counts = grey && grey !== block ? offsetAt(grey, { ...others, [time]: member }) : -1;
      return offset < 0 ? make("td", { class: "plain" }) : cellOf(block, offset, counts >= 0 && grey.cells[counts] === 0);
    })));
}

/* Single numbers side by side, of which the first names the line: a table of all lines with the same heads. */
const isSideBySide = ({ blocks: numbers }) => numbers?.length > 1 && !blocks[numbers[0]].axes.length;
function headsOf({ blocks: [first, ...others] }) {
  const { meaning, symbol } = blocks[first];
  return others.map((number) => blocks[number].meaning.replace(`: ${meaning}`, "").replace(`${symbol} `, ""));
}
function lined(items) {
  const groups = new Map();
  for (const item of items) { const key = headsOf(item).join("|"); groups.set(key, [...(groups.get(key) || []), item]); }
  return [...groups.values()].map((each) => make("table", { class: "lines" },
    make("tr", {}, make("td", { class: "plain" }), ...["used", ...headsOf(each[0])].map((head, i, all) => (i || all.includes("yours") ? make("th", { scope: "col" }, make("small", {}, head)) : make("td", { class: "plain" })))),
    ...each.map(({ blocks: [first, ...others] }) => make("tr", {}, make("th", { scope: "row", html: quantity(blocks[first], {}) }),
      ...[first, ...others].flatMap((number) => [...blocks[number].cells.keys()].map((offset) => cellOf(blocks[number], offset)))))));
}

/* Weights, words and single numbers as a table of their own. */
function small(block) {
  const turned = block.turned; // its first axis runs from left to right
  const [down, right] = turned ? [...block.axes].reverse() : block.axes.length === 2 ? block.axes : [null, block.axes[0]];
  const table = make("table", { class: "small" }, make("caption", { html: quantity(block, {}) }));
  if (right === undefined) { table.append(make("tr", {}, cellOf(block, 0))); return table; }
  const edge = (slot) => block.spans?.[slot] || [0, 0], slot = block.axes.indexOf(right);
  const span = (axis, which) => Array.from({ length: axes[axis].size + edge(which)[0] + edge(which)[1] }, (_, i) => i - edge(which)[0]);
  const called = (axis, member) => axes[axis].words[member] ?? (member < 0 ? "start" : "end");
  table.append(make("tr", {}, ...(down === null ? [] : [make("td", { class: "plain" })]), ...span(right, slot).map((member) => make("th", { scope: "col" }, called(right, member)))));
  for (const row of down === null ? [null] : span(down, 1 - slot))
    table.append(make("tr", {}, ...(row === null ? [] : [make("th", { scope: "row" }, called(down, row))]), ...span(right, slot).map((member) => cellOf(block, offsetAt(block, { ...(row === null ? {} : { [down]: row }), [right]: member })))));
  return table;
}

/* Chooses a number: its column becomes the chosen one, and the panel tells of it; `go`: also open its sheet. */
function choose(number, offset, go = false) {
  if (!state.cell || keyOf(...state.cell) !== keyOf(number, offset)) state.vote = false;
  state.cell = [number, offset];
  state.line = null;
  const block = blocks[number], before = state.at.join();
  engine.places(block, offset).forEach((place, i) => {
    const column = columns.indexOf(block.axes[i]), member = place - block.before[i];
    if (column >= 0 && member >= 0 && member < axes[block.axes[i]].size) state.at[column] = member;
  });
  if (go && (state.mode !== "explore" || !where.has(keyOf(number, offset)))) {
    const home = sheets.findIndex((sheet) => sheet.sections.some((section) => section.items.some((item) => (item.blocks || []).includes(number))));
    if (home >= 0) state.sheet = home;
    if (home >= 0 && !state.all) state.all = sheets[home].sections.some((section) => section.items.some((item) => item.fold && (item.blocks || []).includes(number)));
  }
  if (go && state.mode !== "explore") setMode("explore");
  else if (go || before !== state.at.join()) redraw(true);
  else mark();
  drawPanel();
  drawCurves();
  const cell = where.get(keyOf(number, offset));
  if (cell && state.mode === "explore") { cell.td.focus({ preventScroll: !go }); if (go) cell.td.scrollIntoView({ block: "center", inline: "nearest" }); }
  reveal();
  history.replaceState(null, "", `#${encodeURIComponent(block.name)}/${offset}`);
}

/* Marks the chosen cell, those that it reads and those that read it. */
function mark() {
  for (const { td } of drawn) { td.classList.remove("chosen", "from", "into"); td.tabIndex = -1; }
  const first = drawn[0];
  if (!state.cell || !where.has(keyOf(...state.cell))) { if (first) first.td.tabIndex = 0; return; }
  const [number, offset] = state.cell, here = where.get(keyOf(number, offset)).td;
  here.classList.add("chosen");
  here.tabIndex = 0;
  for (const read of engine.reads(blocks[number], offset, false)) where.get(keyOf(...read))?.td.classList.add("from");
  for (const reader of readersOf(number, offset)) where.get(keyOf(...reader))?.td.classList.add("into");
}

const link = ([number, offset]) => make("button", {
  title: blocks[number].meaning, onclick: () => choose(number, offset, true),
  html: `${math(blocks[number].math)} <span class="member">${escaped(placeOf(blocks[number], offset))}</span> ${state.hidden ? "" : escaped(shown(blocks[number].cells[offset]))}`,
});
const MANY = 14;
function links(title, cells) {
  if (!cells.length) return [];
  const rest = cells.length > MANY ? [make("span", {}, `and ${cells.length - MANY} more`)] : [];
  return [make("h3", {}, title), make("div", { class: "links" }, ...cells.slice(0, MANY).map(link), ...rest)];
}

function drawPanel() {
  const panel = element("panel");
  panel.hidden = !state.cell && !state.line && state.mode === "overview";
  if (state.line) { panel.replaceChildren(...aboutLine(state.line)); return; }
  if (!state.cell) { panel.replaceChildren(make("p", {}, "Choose a number: its equation, the numbers in it, where they come from and where it goes.")); return; }
  const [number, offset] = state.cell, block = blocks[number], equation = spelling.equation(block, offset, columns), value = block.cells[offset];
  const shownValue = state.hidden && equation ? "?" : shown(value);
  const parts = [make("h2", { html: `${math(block.math)}<span class="unseen">${escaped(block.symbol)}</span> <span class="member">${escaped(placeOf(block, offset))}</span>` }), make("p", {}, block.meaning + (block.unit ? ` (${block.unit})` : ""))];
  const equals = data.style.equals;
  if (equation) parts.push(
    make("div", { class: "equation", tabindex: 0, role: "group", "aria-label": "Equation", html: math(equation.left + equals + equation.letters) }),
    make("div", { class: "equation", tabindex: 0, role: "group", "aria-label": "With numbers", html: state.hidden ? math(`${equals}<mtext>?</mtext>`) : math(equals + equation.numbers) }));
  parts.push(make("p", { class: "value", title: state.hidden && equation ? null : String(value) }, `${equation ? "= " : ""}${shownValue}`));
  if (equation && canVote(block, offset) && (state.hidden || state.vote)) parts.push(state.vote ? ballot(block, offset, !state.hidden) : make("button", { onclick: () => setVote(true) }, "Vote"));
  if (block.typed && !block.link) parts.push(typing(block, offset));
  parts.push(...links("comes from", engine.reads(block, offset)), ...links("goes into", goesInto(number, offset)));
  if (block.note || block.source) parts.push(make("details", {}, make("summary", {}, "Why, and where from"), make("p", {}, block.note || ""), make("p", {}, block.source || "")));
  const split = parts.findIndex((part) => part.tagName === "H3");
  panel.replaceChildren(make("div", {}, ...parts.slice(0, split < 0 ? undefined : split)), make("div", {}, ...(split < 0 ? [] : parts.slice(split))));
}

/* Reads a number as people write it: 0,5 and −3, too. */
function numberIn(text) {
  const plain = text.trim().replace("−", "-").replace(/^(-?\d*),(\d+)$/, "$1.$2");
  return plain === "" || plain === "off" ? plain : Number(plain);
}

/* Says why a number is not taken. */
function refusal({ limit, low, high }, number) {
  if (number === "" || (number === "off" && limit)) return "";
  if (!Number.isFinite(number)) return "type a number, such as 0.5";
  return number < (low ?? -Infinity) || number > (high ?? Infinity) ? `type a number from ${low ?? "−∞"} to ${high ?? "∞"}` : "";
}

function typing(block, offset) {
  const value = block.cells[offset], words = block.choices === undefined ? null : [...blocks[block.choices].cells];
  const changed = !Object.is(value, block.given[offset]);
  const change = ({ target }) => {
    const free = words || block.text, typed = free ? target.value : numberIn(target.value), wrong = free ? "" : refusal(block, typed);
    target.setCustomValidity(wrong);
    if (wrong) return target.reportValidity();
    type(block.number, offset, typed);
    drawSettings();
  };
  const field = words
    ? make("select", { onchange: change }, ...["", ...words].map((word) => make("option", { value: word, selected: word === value }, word)))
    : make("input", { type: "text", inputmode: block.text ? null : "decimal", value: block.text || Number.isFinite(value) ? value : brief(value), onchange: change, oninput: ({ target }) => target.setCustomValidity("") });
  const undo = changed ? [make("button", { onclick: () => { type(block.number, offset, block.given[offset]); drawSettings(); } }, "as it was")] : [];
  return make("p", { class: "typing" }, make("label", {}, "type your own ", field), ...undo);
}
