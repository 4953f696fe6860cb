"use strict";
/* Walk: the lines of the sheet Walk as cards, one after the other: the equation, then its numbers, then the value. A book without
   such a sheet is walked from its result down along the largest contributions. */
const LETTERS_ONLY = 0, NUMBERS_TOO = 1, VALUE_TOO = 2, MOST_STEPS = 40;

const walkLines = (data.walk || []).length
  ? data.walk.flatMap((section) => section.steps.map((step, i) => ({ ...step, title: section.title, number: i + 1, of: section.steps.length })))
  : downFromTheResult();

function downFromTheResult() {
  const found = [], seen = new Set(), waiting = data.result === undefined ? [] : [[data.result, 0]];
  while (waiting.length && found.length < MOST_STEPS) {
    const [number, offset] = waiting.shift(), block = blocks[number];
    if (seen.has(keyOf(number, offset)) || block.typed) continue;
    seen.add(keyOf(number, offset));
    found.push({ block: number, offset, title: "From the result down" });
    const size = ([read, at]) => (blocks[read].text ? 0 : Math.abs(blocks[read].cells[at]) || 0);
    waiting.push(...engine.reads(block, offset).sort((one, other) => size(other) - size(one)).slice(0, 3));
  }
  return found.map((line, i) => ({ ...line, number: i + 1, of: found.length }));
}

/* Returns the cell of a line, and the axis along which it lists members, if it does. */
function cellOfLine(line) {
  const block = blocks[line.block];
  if (line.offset !== undefined) return { block, offset: line.offset, axis: null };
  const members = line.by ? { [time]: state.at.at(-1) + line.by } : {}, free = block.axes.filter((axis) => !columns.includes(axis));
  if (line.member !== undefined && free.length) members[free.at(line.listed && free.length > 1 ? -2 : -1)] = blocks[line.member].cells[offsetAt(blocks[line.member])];
  if (line.id !== undefined && free.length) members[free.at(-1)] = line.id;
  const open = free.filter((axis) => members[axis] === undefined);
  return { block, offset: offsetAt(block, members), axis: open.length ? open.at(-1) : null, members };
}

function drawWalk() {
  const root = element("walk"), line = walkLines[state.step];
  if (!line) { root.replaceChildren(make("p", {}, "This book has nothing to walk through.")); return; }
  const { block, offset, axis, members } = cellOfLine(line);
  const chapters = [...new Set(walkLines.map((each) => each.title))];
  const bar = make("div", { class: "chapters", role: "group", "aria-label": "Chapters" }, ...chapters.map((title) => make("button", {
    "aria-current": title === line.title ? "step" : null, onclick: () => goTo(walkLines.findIndex((each) => each.title === title), LETTERS_ONLY),
  }, title)));
  const card = make("div", { class: "card" }, make("p", { class: "step" }, `${line.title}: ${line.number} of ${line.of}`), make("h2", {}, line.says || block.meaning));
  if (offset < 0) card.append(make("p", {}, "There is no such column: the walk goes on with the next line."));
  else if (axis !== null) card.append(...listed(block, axis, members));
  else card.append(...single(block, offset));
  const [origin, at] = offset >= 0 ? engine.origin(block.number, offset) : [], votes = offset >= 0 && axis === null && canVote(blocks[origin], at);
  if (votes && state.vote) card.append(ballot(blocks[origin], at, state.phase >= VALUE_TOO && !state.hidden));
  const forward = offset >= 0 && state.phase < lastPhase(line) ? ["Numbers", "Value"][state.phase] : "Next";
  const along = root.querySelector(".chapters")?.scrollLeft ?? 0;
  root.replaceChildren(bar, card, make("div", { class: "move" }, make("button", { onclick: () => move(-1) }, "Back"),
    ...(votes ? [make("button", { id: "vote-button", "aria-pressed": String(Boolean(state.vote)), onclick: () => setVote(!state.vote) }, "Vote")] : []), make("button", { class: "next", onclick: () => move(1) }, forward)));
  const current = bar.querySelector("[aria-current]"), { left, right } = bar.getBoundingClientRect(), own = current.getBoundingClientRect();
  bar.scrollLeft = along; // on a phone the chapters are a strip, in which the one at hand stays in sight
  if (own.left - along < left || own.right - along > right) bar.scrollLeft = own.left - left - (right - left - own.width) / 2;
}

const ghost = (phase) => (state.phase >= phase && !(state.hidden && phase > LETTERS_ONLY) ? "" : " ghost");
function single(block, offset) {
  const [number, place] = engine.origin(block.number, offset), from = blocks[number], equation = spelling.equation(from, place, columns), equals = data.style.equals;
  const reads = engine.reads(from, place).filter(([read]) => !blocks[read].text);
  if (!equation) return [
    make("div", { class: "equation", html: math(from.math) }), make("p", {}, "is typed in"), make("p", { class: `value${ghost(NUMBERS_TOO)}` }, shown(from.cells[place])),
  ];
  return [
    make("div", { class: "equation", tabindex: 0, role: "group", "aria-label": "Equation", html: math(equation.left + equals + equation.letters) }),
    make("div", { class: `equation numbers${ghost(NUMBERS_TOO)}`, tabindex: 0, role: "group", "aria-label": "With numbers", html: math(equals + equation.numbers) }),
    make("p", { class: "value" }, ghost(VALUE_TOO) ? "= ?" : `= ${shown(from.cells[place])}`),
    ...(reads.length ? [make("div", { class: `links${ghost(NUMBERS_TOO)}` }, make("span", {}, "from "), ...reads.slice(0, MANY).map(link))] : []),
  ];
}

/* A quantity with a number for each member, as bars with the numbers beside them. */
function listed(block, axis, members) {
  const cells = axes[axis].words.map((word, i) => [word, block.cells[offsetAt(block, { ...members, [axis]: i })]]);
  const most = Math.max(...cells.map(([, value]) => Math.abs(value) || 0));
  const equation = block.definitions ? spelling.equation(block, offsetAt(block, members), columns) : null;
  const rows = cells.map(([word, value]) => make("tr", {}, make("th", { scope: "row" }, word), make("td", { class: "bar" }, make("i", { class: value < 0 ? "below" : "above", style: `width:${most ? 100 * Math.abs(value) / most : 0}%` })), make("td", {}, shown(value))));
  return [
    make("div", { class: "equation", html: math(equation ? equation.left + data.style.equals + equation.letters : block.math) }),
    make("table", { class: `bars${ghost(NUMBERS_TOO)}` }, make("caption", { class: "unseen" }, block.meaning), ...rows),
  ];
}

function lastPhase(line) {
  const { block, axis } = cellOfLine(line);
  return axis !== null || !block.definitions ? NUMBERS_TOO : VALUE_TOO;
}
function goTo(step, phase) {
  if (step !== state.step) state.vote = false;
  state.step = Math.max(0, Math.min(walkLines.length - 1, step));
  state.phase = phase;
  drawWalk();
  history.replaceState(null, "", `#walk/${state.step}`);
}
function move(way) {
  const most = lastPhase(walkLines[state.step]);
  if (way > 0 && state.phase < most) goTo(state.step, state.phase + 1);
  else if (way > 0 && state.step < walkLines.length - 1) goTo(state.step + 1, LETTERS_ONLY);
  else if (way < 0 && state.phase > LETTERS_ONLY) goTo(state.step, state.phase - 1);
  else if (way < 0 && state.step > 0) goTo(state.step - 1, lastPhase(walkLines[state.step - 1]));
}
