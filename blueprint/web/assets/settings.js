"use strict";
/* Settings to try: a slider for each number, a choice for each word; above it the chosen number over the whole range. */
const POINTS = 24, MOST_SETTINGS = 9, MOST_DRAWN = 150000; // cells that hang on a setting
let curves = []; // {svg, read, own, low, high}

/* Returns the ends of a slider: the range that may be typed, if it is no wider than a few times the number itself. */
function ends(block, value) {
  const low = block.low ?? 0, high = block.high ?? 1;
  if (high <= 10 && low >= -10) return [low, high];
  return [Math.max(low, 0), Math.min(high, Math.max(4 * Math.abs(value), 0.2))];
}

function drawSettings() {
  curves = [];
  const shownSettings = (data.settings || []).map(({ read, own }) => setting(blocks[read], blocks[own])).filter(Boolean);
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
    const usual = own === read ? [] : [make("option", { value: "", selected: own.cells[0] === "" }, `as usual: ${value}`)];
    const select = make("select", { id, onchange: (event) => { type(own.number, 0, event.target.value); anew(); } },
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
  const said = words ? words.map((word, i) => `${word} ${shown(numbers[i])}`).join(", ") : `from ${shown(numbers[0])} to ${shown(numbers.at(-1))} along the slider`;
  svg.setAttribute("aria-label", flat ? "does not matter here" : `${block.meaning}: ${said}`);
  svg.parentElement.title = flat ? "does not matter here" : words ? said : "";
}
