"use strict";
/* What the page shows now, and what every view needs: the book, elements, cells that know their place, typing. */
const data = JSON.parse(document.getElementById("data").textContent);
const engine = Engine(data), { blocks, axes } = engine, spelling = Spelling(engine);
engine.compute();

const columns = data.columns || [];
const time = columns.at(-1), group = columns.length > 1 ? columns[0] : null;
const state = {
  mode: "explore", sheet: 0, cell: null, line: null, step: 0, phase: 0, hidden: false, all: false, each: false, vote: false, asked: null,
  at: columns.map((axis, i) => (data.start[i] ?? axes[axis].start) - axes[axis].start),
};
const byName = Object.fromEntries(blocks.map((block) => [block.name, block]));
for (const sheet of data.sheets || []) for (const section of sheet.sections) section.items = section.items.map((item) => (Array.isArray(item) ? { blocks: item } : item));
for (const sheet of data.sheets || []) for (const section of sheet.sections) for (const item of section.items) if (item.turned) blocks[item.blocks[0]].turned = true;
const sheets = (data.sheets || []).filter((sheet) => sheet.sections.some((section) => section.items.some((item) => item.blocks || item.chart)));
const element = (id) => document.getElementById(id);

/* Makes an element; `html` is markup that this page has made, everything else is text. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") made.innerHTML = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/* What marks and colours mean: how each looks, and what it says. */
const SIGNS_OF_PAGE = [["framed", "0.1", "what was written"], ["", "↖", "read one to the left"], ["counts", "0.2", "the one that counts"], ["", "✂", "clipped: no gradient"]];
const SIGNS_OF_SHEETS = [["above", "0.3", "above 0"], ["below", "−0.3", "below 0: the deeper the colour, the larger in its row"], ["grey", "0.4", "does not count"], ["typed", "0.5", "typed, may be changed"], ["from", "0.6", "read by the chosen one"], ["into", "0.7", "reads the chosen one"]];
const legend = (signs) => make("p", { class: "legend" }, ...signs.map(([look, sample, says]) => make("span", {}, make("i", { class: look }, sample), ` ${says}`)));

/* The reading of precedents backwards: which blocks read a block, and which of their cells read a cell. */
const readers = blocks.map(() => new Set());
function readBy(expr, tell) {
  if (expr[0] === "r") { tell(expr[1]); expr[2].forEach((index) => index[0] === "id" && readBy(index[1], tell)); }
  else if (expr[0] === "o") expr[2].forEach((each) => readBy(each, tell));
  else if (expr[0] === "sum" || expr[0] === "max") readBy(expr[2], tell);
  else if (expr[0] === "find" || expr[0] === "match") { readBy(expr[2], tell); readBy(expr[3], tell); }
}
for (const block of blocks) for (const definition of block.definitions || []) readBy(definition.expr, (read) => readers[read].add(block.number));

/* Returns all blocks that hang on one. */
function hanging(number) {
  const found = new Set(), waiting = [number];
  while (waiting.length) for (const reader of readers[waiting.pop()]) if (!found.has(reader)) { found.add(reader); waiting.push(reader); }
  return found;
}
const hangs = new Map(), plans = new Map();
const hangingOn = (number) => { if (!hangs.has(number)) hangs.set(number, hanging(number)); return hangs.get(number); };
const only = (steps, wanted) => steps.flatMap((step) => {
  if (typeof step === "number") return wanted.has(step) ? [step] : [];
  const inner = only(step[2], wanted);
  return inner.length ? [[step[0], step[1], inner]] : [];
});
/* Returns the steps that compute anew what hangs on a block. */
const planOf = (number) => { if (!plans.has(number)) plans.set(number, only(data.steps, hangingOn(number))); return plans.get(number); };

/* Which cells read each cell of a block; an id or a word that was computed anew may change it. Where many cells may read it they
   are looked through a slice at a time, so that the page answers meanwhile; what was drawn is drawn again when they are known. */
let dependents = new Map(), looking = 0;
const AT_ONCE = 30000, SLICE = 12; // cells, milliseconds
function* indexed(number, found) {
  for (const reader of readers[number]) for (let place = 0; place < blocks[reader].size; place++) {
    for (const [read, at] of engine.reads(blocks[reader], place, false))
      if (read === number) found.has(at) ? found.get(at).push([reader, place]) : found.set(at, [[reader, place]]);
    if (place % 64 === 0) yield;
  }
}
function readersOf(number, offset) {
  const known = dependents.get(number);
  if (known) return known.get(offset) || [];
  const found = new Map(), cells = [...readers[number]].reduce((sum, reader) => sum + blocks[reader].size, 0), search = indexed(number, found);
  if (cells <= AT_ONCE) for (const _ of search);
  else lookLater(number, found, search);
  if (cells <= AT_ONCE) dependents.set(number, found);
  return found.get(offset) || [];
}
function lookLater(number, found, search) {
  clearTimeout(looking);
  const mine = dependents;
  const slice = () => {
    if (mine !== dependents) return;
    for (const began = performance.now(); performance.now() - began < SLICE;) if (search.next().done) {
      dependents.set(number, found);
      mark();
      drawPanel();
      return;
    }
    looking = setTimeout(slice, 4);
  };
  looking = setTimeout(slice, 200);
}
/* Returns the cells into which a cell goes, through links; checks last. */
function goesInto(number, offset) {
  const found = [];
  const follow = (at, depth) => {
    for (const next of readersOf(...at)) if (blocks[next[0]].link && depth < 4) follow(next, depth + 1); else found.push(next);
  };
  follow([number, offset], 0);
  const isCheck = ([reader]) => Number(blocks[reader].name.startsWith("check"));
  return found.sort((one, other) => isCheck(one) - isCheck(other));
}

/* Returns the offset of a block's cell for the chosen column and other members, by axis; −1 where it has none. */
function offsetAt(block, members = {}) {
  let offset = 0;
  for (const [i, axis] of block.axes.entries()) {
    const chosen = columns.indexOf(axis), member = members[axis] ?? (chosen >= 0 ? state.at[chosen] : 0), place = member + block.before[i];
    if (place < 0 || place >= block.shape[i]) return -1;
    offset += place * block.strides[i];
  }
  return offset;
}

/* Says which member of each axis a cell is. */
function placeOf(block, offset) {
  return engine.places(block, offset).map((place, i) => {
    const axis = axes[block.axes[i]], member = place - block.before[i];
    if (member < 0) return "start";
    if (member >= axis.size) return "end";
    return columns.includes(block.axes[i]) ? `${axis.letter} = ${member + axis.start}` : axis.words[member];
  }).join(", ");
}

/* A number in a table: short, in the page's own words for a blank and a limit that is off. */
/* What is left of a rounding, as of 1.6 − 1.6, is shown as the 0 that it means. */
function brief(value) {
  if (typeof value === "string") return value;
  if (isBlank(value)) return "";
  if (!Number.isFinite(value)) return "off";
  const size = Math.abs(value);
  return (Number.isInteger(value) || size < 1e-14 ? String(Math.round(value)) : size >= 1e6 || size < 5e-4 ? value.toExponential(1) : value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3)).replace("-", "−");
}

/* Types into a cell, and computes anew what hangs on it. */
function type(number, offset, value) {
  const block = blocks[number];
  block.cells[offset] = engine.inCell(block, value);
  recompute(planOf(number));
}
function reset() {
  for (const block of blocks) if (block.typed) block.given.forEach((value, i) => { block.cells[i] = value; });
  recompute();
}
const isChanged = () => blocks.some((block) => block.typed && block.given.some((value, i) => !Object.is(value, block.cells[i])));
let took = null;
function recompute(steps) {
  const began = performance.now();
  engine.compute(steps);
  took = performance.now() - began;
  dependents = new Map();
  scales.clear();
  redraw();
}
const scales = new Map();
/* Returns how deep the colour of a number is, from 0 to 1, on the scale of its quantity. */
function depth(block, value) {
  if (!scales.has(block)) scales.set(block, block.text ? 0 : block.cells.reduce((most, each) => (Number.isFinite(each) ? Math.max(most, Math.abs(each)) : most), 0));
  const most = scales.get(block);
  return most && Number.isFinite(value) ? Math.sqrt(Math.abs(value) / most) : 0;
}
