"use strict";
/* One page: the whole computation of the chosen group, as written arithmetic: a column for each token, one reads downwards. */
const LETTERS = "ABCDEFGHIJ", ON_A_PHONE = 6; // columns that fit there, with the words beside them
const pageTime = data.page?.time, pageGroup = data.page?.group;
/* The group of the page: the chosen one, or the first where one does not choose among groups. */
const hereGroup = () => (pageGroup !== undefined && columns.includes(pageGroup) ? state.at[columns.indexOf(pageGroup)] : 0);

/* A column is the members that it stands for, by axis; a strip is the columns of one group. Returns the strips of a panel. */
function stripsOf({ of, axis, blocks: named, member, most, ends }) {
  if (of === "members") { // the first ones, or those up to the last end
    const first = ends === undefined ? 0 : Math.max(0, blocks[ends].cells.lastIndexOf(1) - blocks[ends].before[0] + 1 - most);
    return [axes[axis].words.map((_, i) => ({ [axis]: i })).slice(first, first + most)];
  }
  if (of === "peers") return peersOf(blocks[named[0]], most);
  const chosen = of === "pair" ? sideOfPair(blocks[named[0]], blocks[named[1]], member) : hereGroup();
  return [tokensOf(pageGroup === undefined ? {} : { [pageGroup]: chosen }, most)];
}

/* Returns the columns of a group: its members that count, those around the chosen one where there are too many. */
function tokensOf(members, most) {
  const mask = data.page.mask === undefined ? null : blocks[data.page.mask];
  const counted = axes[pageTime].words.map((_, i) => i).filter((i) => !mask || mask.cells[offsetAt(mask, { ...members, [pageTime]: i })] === 1);
  const here = pageTime === time ? counted.indexOf(state.at.at(-1)) : 0;
  return around(counted.length, most, Math.max(0, here)).map((i) => ({ ...members, [pageTime]: counted[i] }));
}

/* Returns a strip for each group of the chosen one's family; the block says which group stands at each place of a family. */
function peersOf(block, most) {
  const [families, places] = block.axes, size = axes[places].size, mine = hereGroup() + axes[pageGroup].start;
  const family = Math.max(0, Math.floor(block.cells.indexOf(mine) / size));
  return axes[places].words.map((_, i) => {
    const number = block.cells[family * size + i];
    return tokensOf({ [families]: family, [places]: i, [pageGroup]: number - axes[pageGroup].start }, most);
  });
}

/* Returns the chosen (member 1) or the rejected group of the pair to which the chosen group belongs. */
function sideOfPair(pair, isChosen, member) {
  const mine = columns.includes(pageGroup) ? pair.cells[hereGroup()] : state.at[0] + axes[columns[0]].start;
  const found = [...pair.cells].findIndex((number, i) => number === mine && isChosen.cells[i] === member);
  return Math.max(0, found);
}

/* Returns the value of a tree for the chosen group and the members of a column. */
function valueOf(tree, column = {}) {
  engine.at.fill(0);
  columns.forEach((axis, i) => { engine.at[axis] = state.at[i]; });
  for (const [axis, member] of Object.entries(column)) engine.at[axis] = member;
  return engine.compiled(tree)();
}
/* Tells whether an expression is of settings alone, which are shown even while numbers are hidden. */
function isGiven(tree) {
  let given = true;
  readBy(tree, (number) => { given &&= Boolean(blocks[number].typed) || (data.settings || []).some(({ read }) => read === number); });
  return given;
}
const told = (words) => (words || []).map((part) => (typeof part === "string" ? part : state.hidden && !isGiven(part) ? "?" : shown(valueOf(part)))).join("").replace("−−", "+");

function numberCell(block, offset, classes, text, mark = "") {
  const td = make("td", { tabindex: -1, class: classes.filter(Boolean).join(" ") || null, onclick: () => choose(block.number, offset) }, ...(state.hidden ? ["?"] : [mark && make("span", { class: "mark" }, mark), text].filter(Boolean)));
  drawn.push({ td, block, offset, fixed: true });
  if (!where.has(keyOf(block.number, offset))) where.set(keyOf(block.number, offset), drawn.at(-1));
  return td;
}

function lineOf(row, strips) {
  const block = row.block === undefined ? null : blocks[row.block];
  const symbol = row.symbol ? escaped(row.symbol) : block ? `${math(block.math)}<span class="unseen">${escaped(block.meaning)}</span>` : "";
  const cellsOf = (strip) => strip.map((column, i) => {
    const once = block && strip.length > 1 && !block.axes.includes(pageTime) && column[pageTime] !== undefined; // one number for the whole group
    if (once && i) return make("td", { class: row.result ? "result" : null });
    const classes = [row.fills && !state.hidden && valueOf(row.fills, column) === 1 && "counts", row.result && "result", row.model && `of-${row.model}`];
    if (!block && isLine({ column, symbol: row.symbol })) classes.push("chosen");
    if (!block) return make("td", { class: classes.filter(Boolean).join(" ") || null, onclick: () => chooseLine({ tree: row.value, column, symbol: row.symbol }) }, state.hidden ? "?" : brief(valueOf(row.value, column)));
    const offset = offsetAt(block, column), clipped = row.clipped && valueOf(row.clipped, column) === 1;
    return offset < 0 ? make("td") : numberCell(block, offset, classes, brief(block.cells[offset]), `${clipped ? "✂ " : ""}${row.back && i ? "↖ " : ""}`);
  });
  const other = row.equals && strips.flat().some((column) => !(Math.abs(valueOf(row.equals, column) - block.cells[offsetAt(block, column)]) < 5e-4)); // in what is displayed; under another convention it is something else
  return make("tr", {}, make("td", { class: "sign" }, other ? "…" : row.sign || ""), make("th", { scope: "row", html: symbol }), ...apart(strips.map(cellsOf)), make("td", { class: "told" }, other ? "" : told(row.words)));
}

/* Puts a narrow cell between the strips of a line. */
const apart = (strips) => strips.flatMap((cells, i) => (i ? [make("td", { class: "between" }), ...cells] : cells));

function matrixOf(matrix, panel, strips) {
  const block = blocks[matrix.block], inner = block.axes.at(-1), words = data.page.words === undefined ? null : blocks[data.page.words];
  return axes[inner].words.map((word, i) => make("tr", {}, make("td", { class: "sign" }), make("th", { scope: "row" }, ...(matrix.symbol && i ? [make("span", { class: "unseen" }, word)] : [matrix.symbol || word])),
    ...apart(strips.map((strip) => strip.map((column) => {
      const offset = offsetAt(block, { ...column, [inner]: i }), value = block.cells[offset];
      const framed = matrix.framed && words && words.cells[offsetAt(words, column)] === word;
      const td = numberCell(block, offset, [framed && "framed"], brief(value));
      if (!framed && !state.hidden) td.style.backgroundColor = `rgb(var(--model-${panel.model || "none"}) / ${(0.45 * depth(block, value)).toFixed(2)})`;
      return td;
    }))), make("td", { class: "told" }, matrix.symbol ? (i === 1 ? matrix.words || "" : "") : panel.aside?.[i] || "")));
}

/* What stands above the columns of a strip: the words that were written, or what the members are called; own: by which block. */
function headOf(strips, own) {
  const word = blocks[own ?? data.page.words];
  const called = (column) => {
    if (own === undefined && column[pageTime] === undefined) return Object.entries(column).map(([axis, i]) => axes[axis].words[i]).join(" ");
    return word ? word.cells[offsetAt(word, column)] : axes[pageTime].words[column[pageTime]];
  };
  const isHere = (column) => columns.every((axis, i) => (column[axis] ?? state.at[i]) === state.at[i]) && columns.some((axis) => column[axis] !== undefined) && column[time] !== undefined;
  return make("tr", { class: "words" }, make("td"), make("td"), ...apart(strips.map((strip) => strip.map((column) => make("th", { scope: "col", class: isHere(column) ? "here" : null }, called(column))))), make("td"));
}

/* Returns the cells of a block in the groups of a family, those that count. */
function ofFamily(block, groups, family) {
  const size = axes[groups.axes[1]].size, mine = [...groups.cells].slice(family * size, (family + 1) * size), slot = block.axes.indexOf(pageGroup);
  const mask = data.page.mask === undefined ? null : blocks[data.page.mask], counts = mask && mask.shape.join() === block.shape.join() ? (offset) => mask.cells[offset] === 1 : (offset) => block.cells[offset];
  return [...block.cells.keys()].filter((offset) => counts(offset) && mine.includes(engine.places(block, offset)[slot] - block.before[slot] + axes[pageGroup].start));
}
const summed = (block, offsets) => offsets.reduce((sum, offset) => sum + (block.cells[offset] || 0), 0);

/* Chooses a number of One page that is no cell: an expression, or the sum of some cells of a row. */
function chooseLine(line) {
  state.cell = null;
  state.line = line;
  drawOverview();
  drawPanel();
  drawCurves();
  reveal();
}
const isLine = ({ column, symbol, words }) => Boolean(state.line) && JSON.stringify([state.line.column, state.line.symbol, state.line.words]) === JSON.stringify([column, symbol, words]);
/* Scrolls so far that the panel does not hide what was chosen. */
function reveal() {
  const chosen = document.querySelector("#main .chosen"), panel = element("panel");
  if (!chosen || (state.mode !== "overview" && !narrow())) return;
  const below = chosen.getBoundingClientRect().bottom + 8 - panel.getBoundingClientRect().top;
  if (below > 0) scrollBy(0, below);
}

/* Returns what the panel says of such a number. */
function aboutLine({ tree, column, symbol, words, block: number, offsets }) {
  const block = blocks[number], value = tree ? valueOf(tree, column) : summed(block, offsets), equals = data.style.equals;
  const from = tree ? engine.traced(engine.compiled(tree)) : offsets.map((offset) => [number, offset]);
  const { letters, numbers } = tree ? spelling.expression(tree, columns) : sumSet(block, offsets, value);
  const place = Object.entries(column || {}).map(([axis, member]) => `${axes[axis].letter} = ${member + axes[axis].start}`).join(", ");
  return [
    make("div", {}, make("h2", {}, symbol || words, " ", make("span", { class: "member" }, place)), make("p", {}, symbol && words || ""),
      make("div", { class: "equation", tabindex: 0, role: "group", "aria-label": "Equation", html: math(letters) }),
      make("div", { class: "equation", tabindex: 0, role: "group", "aria-label": "With numbers", html: math(equals + (state.hidden ? "<mtext>?</mtext>" : numbers)) }), make("p", { class: "value" }, `= ${state.hidden ? "?" : shown(value)}`)),
    make("div", {}, ...links("comes from", from)),
  ];
}
/* Sets the sum of some cells, with as many decimals as a pocket calculator needs. */
function sumSet(block, offsets, value) {
  const sum = (decimals) => offsets.reduce((all, offset) => all + Number(printed(block.cells[offset], decimals)), 0);
  let decimals = SHOWN;
  while (decimals < MOST_DECIMALS && printed(isTiny(sum(decimals)) ? 0 : Number(sum(decimals).toPrecision(12))) !== printed(value)) decimals++;
  const groups = [...new Set(offsets.map((offset) => engine.places(block, offset)[block.axes.indexOf(pageGroup)] - block.before[block.axes.indexOf(pageGroup)] + axes[pageGroup].start))];
  const terms = offsets.map((offset) => { const [text, strength] = spelling.number(block.cells[offset], decimals); return strength < ATOM ? `<mo>(</mo>${text}<mo>)</mo>` : text; });
  return {
    letters: `<munder><mo>∑</mo><mrow><mi>${axes[pageGroup].letter}</mi><mo>=</mo><mtext>${groups.join(", ")}</mtext></mrow></munder>${spelling.reference(block, block.axes.map((axis, slot) => [axis, block.before[slot], 0]))}`,
    numbers: terms.length ? terms.join(data.style.plus) : data.style.digits.replace("{}", "0"),
  };
}

function drawOverview() {
  drawn = [];
  where.clear();
  const root = element("overview"), page = data.page, boxes = [];
  const ordered = [...page.panels.filter((panel) => !panel.below), ...page.panels.filter((panel) => panel.below)]; // A, B, C above, then what is below
  for (const panel of page.panels) {
    const strips = stripsOf(panel.columns), wide = strips.flat().length + strips.length - 1;
    const table = make("table", {}, make("caption", { class: `of-${panel.model}` }, `${LETTERS[ordered.indexOf(panel)]}   ${panel.head}`));
    if (panel.heads) {
      const names = strips.map((strip, i) => [make("th", { colspan: Math.max(1, strip.length), scope: "colgroup" }, (panel.heads[i] ?? panel.heads[0]).replace("{}", (strip[0]?.[pageGroup] ?? i) + (axes[pageGroup]?.start ?? 1)))]);
      table.append(make("tr", {}, make("td"), make("td"), ...apart(names), make("td")));
    }
    table.append(headOf(strips, panel.columns.words));
    for (const matrix of panel.matrices || []) table.append(...matrixOf(matrix, panel, strips));
    for (const section of panel.sections || []) {
      if (section.title) table.append(make("tr", {}, make("th", { class: "section", colspan: wide + 3, scope: "rowgroup" }, section.title)));
      table.append(...section.rows.map((row) => lineOf(row, strips)));
    }
    if (panel.below && boxes.length) boxes.at(-1).append(table);
    else boxes.push(make("div", { class: wide > ON_A_PHONE ? "box wide" : "box" }, table));
  }
  const tile = ({ block, value, sign, words, model, groups }, family = null) => {
    if (groups && family === null) return axes[blocks[groups.blocks[0]].axes[0]].words.flatMap((_, i) => tile({ block, words, model, sign: i ? "+" : "=", groups }, i));
    const offsets = groups && ofFamily(blocks[block], blocks[groups.blocks[0]], family);
    const amount = groups ? summed(blocks[block], offsets) : block === undefined ? valueOf(value) : blocks[block].cells[0];
    words = (words || "").replace("{}", String((family ?? 0) + 1));
    const open = () => (groups ? chooseLine({ block, offsets, words }) : block === undefined ? chooseLine({ tree: value, words }) : choose(block, Math.max(0, offsetAt(blocks[block])), true));
    return [make("span", { class: "sign" }, sign || ""), make("button", { class: `tile of-${model || "none"}${isLine({ words }) ? " chosen" : ""}`, onclick: open }, make("b", {}, state.hidden ? "?" : shown(amount)), make("small", {}, words || ""))];
  };
  const result = data.result === undefined ? [] : [make("button", { class: "tile all", onclick: () => choose(data.result, 0) }, make("b", {}, `${page.result} ${state.hidden ? "?" : shown(blocks[data.result].cells[0])}`), make("small", {}, blocks[data.result].meaning))];
  const which = group === null ? "" : `${axes[group].heads[state.at[0]]}, one of ${axes[group].size}; means go over all`;
  const side = make("div", { class: "boxes" }, ...boxes), has = ([look, sample]) => [...side.querySelectorAll(look ? `td.${look}` : ".mark")].some((mark) => look || mark.textContent.includes(sample));
  root.replaceChildren(make("p", { class: "lead" }, which), side, make("div", { class: "tiles" }, ...result, ...(page.tiles || []).flatMap((each) => tile(each))), legend(SIGNS_OF_PAGE.filter(has)));
  const below = () => boxes.at(-1).offsetTop > boxes[0].offsetTop;
  if (below() && !narrow()) { side.classList.add("tight"); side.classList.toggle("tight", !below()); } // where that puts them side by side
  mark();
}
