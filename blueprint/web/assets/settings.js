"use strict";
/* Settings to try: a slider for each number, a choice for each word; above it the chosen number over the whole range. */
const POINTS = 24, MOST_SETTINGS = 9, MOST_FOLLOWED = 24, MOST_DRAWN = 150000; // cells that are followed, cells that hang on a setting
let curves = []; // {svg, read, own, low, high}

/* Returns the ends of a slider: the range that may be typed, if it is no wider than a few times the number itself. */
function ends(block, value) {
  const low = block.low ?? 0, high = block.high ?? 1;
  if (high <= 10 && low >= -10) return [low, high];
  return [Math.max(low, 0), Math.min(high, Math.max(4 * Math.abs(value), 0.2))];
}

/* Returns the settings that the result reads as it is computed now, the nearest first; of each quantity some cells are followed. */
function nearest() {
  const reads = new Set(data.settings.map(({ read }) => read)), found = new Set(), seen = new Set(), many = new Map(), waiting = [[data.result, 0]];
  for (const [number, offset] of waiting) {
    if (reads.has(number)) found.add(number);
    for (const [read, at] of engine.reads(blocks[number], offset)) {
      const key = keyOf(read, at), followed = many.get(read) || 0;
      if (seen.has(key) || followed >= MOST_FOLLOWED) continue;
      seen.add(key);
      many.set(read, followed + 1);
      waiting.push([read, at]);
    }
  }
  return [...found];
}
/* Tells whether the printed result is another one where a setting is 0, twice as large (one that is 0: at its slider's end), or another word. */
function moves(read, own) {
  const kept = own.cells[0], value = read.cells[0], plan = planOf(own.number), result = blocks[data.result].cells, before = shown(result[0]);
  const tried = own.text ? blocks[own.choices]?.cells ?? [] : Number.isFinite(value) ? [0, 2 * value || ends(own, value)[1]].map((each) => Math.min(own.high ?? Infinity, Math.max(own.low ?? 0, each))) : [];
  const other = [...tried].some((each) => { own.cells[0] = each; engine.compute(plan); return shown(result[0]) !== before; });
  own.cells[0] = kept;
  engine.compute(plan);
  return other;
}
let front = null, frontOf; // the settings that stand in front, and under which preset
/* The preset, then numbers that the result of this preset moves with, then words; the nearest of them, in the order of the list. */
function inFront() {
  const all = data.settings || [], preset = byName.preset?.cells[0];
  if (all.length <= MOST_SETTINGS || data.result === undefined) return all;
  if (front && frontOf === preset) return front;
  const near = nearest().map((read) => all.find((each) => each.read === read)), isPreset = ({ read }) => blocks[read].name === "preset", first = all.filter(isPreset);
  for (const text of [false, true]) for (const each of near) if (first.length < MOST_SETTINGS && !isPreset(each) && Boolean(blocks[each.own].text) === text && moves(blocks[each.read], blocks[each.own])) first.push(each);
  frontOf = preset;
  front = [...all.filter((each) => first.includes(each)), ...all.filter((each) => !first.includes(each))];
  return front;
}

function drawSettings() {
  curves = [];
  const shownSettings = inFront().map(({ read, own }) => setting(blocks[read], blocks[own])).filter(Boolean);
  const [first, more] = [shownSettings.slice(0, MOST_SETTINGS), shownSettings.slice(MOST_SETTINGS)];
  const rest = more.length ? [make("details", {}, make("summary", {}, `${more.length} more settings`), make("div", { class: "more" }, ...more))] : [];
  element("settings").replaceChildren(...first, ...rest);
  drawCurves();
}

function setting(read, own) {
  const value = read.cells[0], id = `setting-${own.number}`, changed = !Object.is(own.cells[0], own.given[0]);
  const name = make("label", { for: id, title: read.meaning, html: `${math(read.math)}<small>${escaped(read.name)}</small>` });
  if (own.text || own.choices !== undefined) {
    if (own.choices === undefined) return null;
    const words = [...blocks[own.choices].cells], curve = curveAbove(read);
    curves.push({ svg: curve, read, own, words });
    const anew = () => { if (own.name === "preset") drawSettings(); }; // a preset is the usual value of all others
    const usual = own === read ? [] : [make("option", { value: "", selected: own.cells[0] === "" }, `${value} (as usual)`)];
    const select = make("select", { id, title: value, onchange: (event) => { type(own.number, 0, event.target.value); anew(); } },
      ...usual, ...words.map((word) => make("option", { value: word, selected: word === own.cells[0] }, word)));
    return make("div", { class: changed ? "setting changed" : "setting" }, name, curve, select);
  }
  if (!Number.isFinite(value)) return null;
  const [low, high] = ends(own, value), output = make("output", { for: id }, shown(value));
  const curve = curveAbove(read);
  curves.push({ svg: curve, read, own, low, high });
  const slider = make("input", { type: "range", id, min: low, max: high, step: (high - low) / 100, value, oninput: (event) => {
    type(own.number, 0, event.target.value);
    output.textContent = shown(read.cells[0]);
  } });
  return make("div", { class: changed ? "setting changed" : "setting" }, name, output, curve, slider);
}

function curveAbove(read) {
  const curve = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  curve.setAttribute("viewBox", "0 0 100 18");
  curve.setAttribute("preserveAspectRatio", "none");
  curve.setAttribute("role", "img");
  curve.setAttribute("aria-label", `how the chosen number depends on ${read.meaning}`);
  return curve;
}

let waiting = 0;
/* Draws the curves one after the other when the page is idle, so that a slider never waits for them. */
function drawCurves() {
  clearTimeout(waiting);
  const [number, offset] = state.cell && !blocks[state.cell[0]].text ? state.cell : [data.result, 0];
  if (number === undefined) return;
  const next = (i) => {
    if (i >= curves.length) return;
    if (curves[i].svg.isConnected) drawCurve(curves[i], blocks[number], offset);
    waiting = setTimeout(() => next(i + 1), 0);
  };
  waiting = setTimeout(() => next(0), 150);
}

/* Draws the chosen number over a slider's range, or a dot for each word of a choice. */
function drawCurve({ svg, read, own, low, high, words }, block, offset) {
  if ([...hangingOn(own.number)].reduce((sum, each) => sum + blocks[each].size, 0) > MOST_DRAWN) {
    svg.setAttribute("aria-label", "no curve: too many numbers hang on it");
    return;
  }
  const kept = own.cells[0], plan = planOf(own.number), numbers = [], points = words ? words.length - 1 : POINTS;
  for (let i = 0; i <= points; i++) { own.cells[0] = words ? words[i] : low + (high - low) * i / POINTS; engine.compute(plan); numbers.push(block.cells[offset]); }
  own.cells[0] = kept;
  engine.compute(plan);
  const known = numbers.filter(Number.isFinite), least = Math.min(...known), most = Math.max(...known);
  const flat = !known.length || most - least < 1e-9 * Math.max(1, Math.abs(most));
  const height = (value) => (flat ? 9 : 16 - 14 * (value - least) / (most - least)).toFixed(1);
  const along = (i) => (points ? 100 * i / points : 50).toFixed(1);
  const path = numbers.map((value, i) => (Number.isFinite(value) ? `${along(i)} ${height(value)}` : "")).filter(Boolean);
  const here = words ? along(Math.max(0, words.indexOf(read.cells[0]))) : Math.min(100, Math.max(0, 100 * (read.cells[0] - low) / (high - low))).toFixed(1);
  const now = `<circle cx="${here}" cy="${Number.isFinite(block.cells[offset]) ? height(block.cells[offset]) : 9}" r="2.6"/>`;
  const line = words ? path.map((at) => `<circle class="word" cx="${at.split(" ")[0]}" cy="${at.split(" ")[1]}" r="1.6"/>`).join("") : path.length ? `<path d="M${path.join("L")}"/>` : "";
  svg.innerHTML = line + now;
  svg.classList.toggle("flat", flat);
  const said = state.hidden ? "hidden" : words ? words.map((word, i) => `${word} ${shown(numbers[i])}`).join(", ") : `from ${shown(numbers[0])} to ${shown(numbers.at(-1))} along the slider`;
  svg.setAttribute("aria-label", flat ? "does not matter here" : `${block.meaning}: ${said}`);
  svg.parentElement.title = flat ? "does not matter here" : words && !state.hidden ? said : "";
}
