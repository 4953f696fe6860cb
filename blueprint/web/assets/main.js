"use strict";
/* The page as a whole: title, result, columns, modes, keys, and where it opens. */
/* The first cell that was emptied: a blank on which the result may hang. */
function emptied() {
  for (const block of blocks) {
    const i = block.typed ? block.cells.findIndex((cell, i) => isBlank(cell) && !isBlank(block.given[i])) : -1;
    if (i >= 0) return [block.number, i];
  }
}
function drawResult() {
  const output = element("result");
  if (data.result === undefined) { output.replaceChildren(); return; }
  const block = blocks[data.result], value = block.cells[0];
  const undo = isChanged() ? [make("span", {}, ` was ${state.hidden ? "?" : shown(atFirst)} `), make("button", { onclick: () => { reset(); drawSettings(); } }, "as it was")] : [];
  const empty = isBlank(value) && emptied();
  if (empty) undo.unshift(" ", make("button", { html: `${math(blocks[empty[0]].math)} is empty`, onclick: () => choose(...empty, true) }));
  output.replaceChildren(make("span", { html: `${math(block.math)} = ${state.hidden ? "?" : escaped(shown(value))}` }), ...undo);
}

/* The columns to choose from: the words that were written, group by group. */
function drawTokens() {
  const root = element("tokens");
  root.hidden = time === undefined;
  if (root.hidden) return;
  const head = sheets.find((sheet) => (sheet.head || []).length > 1)?.head || [], words = head.map((number) => blocks[number]).filter((block) => block.text);
  const written = [blocks[data.page?.panels[0].columns.words], words[1], words[0]].find((block) => block?.axes.includes(time)), chosen = state.at.join();
  const groups = group === null ? [[]] : shownGroups().map((member) => [member]);
  root.replaceChildren(...groups.map((own) => make("div", { class: "group" },
    make("span", {}, group === null ? axes[time].meaning : axes[group].heads[own[0]]),
    ...shownTokens(own).map((member) => {
      const at = [...own, member], members = Object.fromEntries(columns.map((axis, i) => [axis, at[i]])), offset = written ? offsetAt(written, members) : -1;
      const word = offset >= 0 ? written.cells[offset] || "·" : axes[time].words[member];
      return make("button", { "aria-pressed": String(at.join() === chosen), "aria-label": `${axes[time].meaning} ${member + axes[time].start}: ${word}`, onclick: () => goToColumn(at) }, word);
    }), ...(own.length && own[0] !== state.at[0] ? [] : pager(shownTokens(own), axes[time], (member) => [...own, member])))), ...(group === null ? [] : [make("div", { class: "group" }, ...pager(groups.flat(), axes[group], (member) => [member, state.at.at(-1)]))]));
}
/* Buttons to what is not shown, where there is more: how many there are of all, and the ways back and on. */
function pager(here, axis, at) {
  if (here.length === axis.size) return [];
  const to = (member, sign, words) => make("button", { "aria-label": words, disabled: member < 0 || member >= axis.size, onclick: () => goToColumn(at(member)) }, sign);
  return [to(here[0] - 1, "‹", `${axis.meaning}: those before`), make("span", {}, `${here[0] + 1}–${here.at(-1) + 1} of ${axis.size}`), to(here.at(-1) + 1, "›", `${axis.meaning}: those behind`)];
}
const MOST_GROUPS = 4, MOST_TOKENS = 40;
function around(size, most, here) {
  const from = size <= most ? 0 : Math.max(0, Math.min(here - Math.floor(most / 2), size - most));
  return Array.from({ length: Math.min(size, most) }, (_, i) => from + i);
}
const shownGroups = () => around(axes[group].size, MOST_GROUPS, state.at[0]);
const shownTokens = (own) => around(axes[time].size, MOST_TOKENS, own.length && own[0] !== state.at[0] ? 0 : state.at.at(-1));

function goToColumn(at) {
  state.at = at;
  if (state.cell) {
    const block = blocks[state.cell[0]], members = {};
    engine.places(block, state.cell[1]).forEach((place, i) => { if (!columns.includes(block.axes[i])) members[block.axes[i]] = place - block.before[i]; });
    const offset = offsetAt(block, members);
    if (offset >= 0) state.cell = [block.number, offset];
  }
  redraw(true);
}
function stepColumn(way) {
  if (time === undefined) return;
  const at = [...state.at], last = at.length - 1;
  at[last] += way;
  if (at[last] >= 0 && at[last] < axes[time].size) goToColumn(at);
  else if (last && at[0] + way >= 0 && at[0] + way < axes[group].size) goToColumn([at[0] + way, way > 0 ? 0 : axes[time].size - 1]);
}

/* Shows the numbers as they are now; `anew`: other columns are shown, too. */
function redraw(anew = false) {
  drawResult();
  drawTokens();
  if (state.mode === "walk") drawWalk();
  else if (state.mode === "overview") drawOverview();
  else if (anew) drawSheet();
  else { drawn.forEach(fillCell); mark(); }
  if (state.mode !== "walk") drawPanel();
  drawFoot();
  drawCurves();
}

function setMode(mode) {
  state.mode = mode;
  document.body.dataset.mode = mode;
  for (const view of ["overview", "explore", "walk"]) {
    element(view).hidden = mode !== view;
    element(`${view}-button`).setAttribute("aria-pressed", String(mode === view));
  }
  redraw(true);
}
function setLecture(on) {
  document.body.classList.toggle("lecture", on);
  element("lecture-button").setAttribute("aria-pressed", String(on));
  if (on) setMode("walk");
  if (on && navigator.userActivation?.isActive) document.documentElement.requestFullscreen?.().catch(() => {});
  if (!on && document.fullscreenElement) document.exitFullscreen();
}
function setHidden(hidden) {
  state.hidden = hidden;
  element("hide-button").setAttribute("aria-pressed", String(hidden));
  redraw();
}

/* Sums of every computed quantity, made in Python, against those of this page. */
function held() {
  let worst = 0;
  const computed = blocks.filter(({ text, typed, link }) => !text && !typed && !link);
  for (const [i, due] of data.proof.entries()) {
    const sum = computed[i].cells.reduce((total, value) => (Number.isFinite(value) ? total + value : total), 0);
    worst = Math.max(worst, Math.abs(sum - due) / Math.max(1, Math.abs(due)));
  }
  return { sums: data.proof.length, worst };
}
const proof = held();
const numbers = blocks.reduce((sum, block) => sum + (block.link ? 0 : block.size), 0);
function drawFoot() {
  const last = took === null ? "" : ` The last change took ${took.toFixed(1)} ms.`;
  element("foot").textContent = `${blocks.length} quantities, ${numbers.toLocaleString("en")} numbers, all computed on this page. Held against Python when it was opened: ${proof.sums} sums, largest difference ${proof.worst.toExponential(0)}.${last}`;
}

function onKey(event) {
  const { target } = event, ofField = target.type === "range" ? /^(Arrow|Page|Home|End)/.test(event.key) : target.matches("input, select, textarea");
  if (ofField || event.ctrlKey || event.metaKey || event.altKey || element("help").open) return;
  const walking = state.mode === "walk", onButton = target.matches("button, summary");
  const keys = {
    o: () => data.page && setMode("overview"),
    h: () => setHidden(!state.hidden), w: () => setMode(walking ? "explore" : "walk"), p: () => setLecture(!document.body.classList.contains("lecture")),
    v: () => setVote(!state.vote), r: () => { reset(); drawSettings(); }, "?": () => element("help").showModal(), ",": () => stepColumn(-1), ".": () => stepColumn(1),
    Escape: () => document.body.classList.contains("lecture") && setLecture(false),
  };
  const walks = { ArrowRight: 1, PageDown: 1, " ": onButton ? 0 : 1, ArrowLeft: -1, PageUp: -1 };
  if (state.vote && !tap && /^[1-4]$/.test(event.key)) { document.querySelectorAll(".vote .answer:enabled")[event.key - 1]?.click(); return; }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (keys[key]) keys[key]();
  else if (walking && walks[event.key]) { move(walks[event.key]); event.preventDefault(); }
  else if (!walking && event.key.startsWith("Arrow") && document.activeElement?.matches("td")) { neighbour(event.key); event.preventDefault(); }
}
/* Chooses the cell beside, above or below the chosen one. */
function neighbour(key) {
  const td = document.activeElement, row = td.parentElement, place = [...row.children].indexOf(td);
  const cellIn = (list, at) => drawn.find((cell) => cell.td === list[at]);
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const cell = cellIn(row.children, place + (key === "ArrowRight" ? 1 : -1));
    if (cell) choose(cell.block.number, cell.offset);
    return;
  }
  const all = [...element("explore").querySelectorAll("tr")], way = key === "ArrowDown" ? 1 : -1;
  for (let i = all.indexOf(row) + way; all[i]; i += way) {
    const cell = cellIn(all[i].children, Math.min(place, all[i].children.length - 1));
    if (cell) { choose(cell.block.number, cell.offset); cell.td.scrollIntoView({ block: "nearest" }); return; }
  }
}

const atFirst = data.result === undefined ? NaN : blocks[data.result].cells[0];
element("title").textContent = data.title;
element("explore-button").onclick = () => { setLecture(false); setMode("explore"); };
element("overview-button").hidden = !data.page;
element("overview-button").onclick = () => { setLecture(false); setMode("overview"); };
element("walk-button").onclick = () => setMode("walk");
element("lecture-button").onclick = () => setLecture(!document.body.classList.contains("lecture"));
element("hide-button").onclick = () => setHidden(!state.hidden);
element("signs").append(legend(SIGNS_OF_PAGE), legend(SIGNS_OF_SHEETS));
/* A button that was clicked, or that opened Walk, gives its focus away, so that the space bar goes on there.
   Help does so before it opens: what closes it gives the focus back at once, its event comes later. */
const leave = () => element("main").focus({ preventScroll: true });
element("help-button").onclick = () => { leave(); element("help").showModal(); };
document.querySelector(".tools").addEventListener("click", ({ detail }) => { if (detail || state.mode === "walk") leave(); });
addEventListener("keydown", onKey);
let width = innerWidth;
addEventListener("resize", () => { if (Math.abs(innerWidth - width) > 8) { width = innerWidth; redraw(true); } });

function open() {
  const [name, place] = decodeURIComponent(location.hash.slice(1)).split("/"), result = data.result;
  state.sheet = Math.max(0, sheets.findIndex((sheet) => (sheet.across || []).includes(time) && sheet.sections.some((section) => section.items.some((item) => item.role === "key"))));
  drawSettings();
  drawTokens();
  if (name === "walk") { state.step = Math.min(walkLines.length - 1, Number(place) || 0); setMode("walk"); return; }
  const asked = byName[name];
  if (result !== undefined && !data.page) state.cell = [result, 0];
  setMode(data.page && !asked ? "overview" : "explore");
  if (asked) choose(asked.number, Math.min(asked.size - 1, Number(place) || 0), true);
}
open();
window.ready = performance.now();
