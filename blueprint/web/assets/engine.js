"use strict";
/* The engine: the trees of the notation, turned into closures. One tree gives a cell's number and what it reads, as in Python.

   Data comes as blueprint/language/packed.py describes it. A blank is NaN, a limit that is off is Infinity, a condition 1 or 0.
   What a spreadsheet calls an error is NaN, too; so infinity inside an operation is NaN, except where a limit is meant. */
const isBlank = Number.isNaN;
function Engine(data) {
  const blocks = data.blocks, axes = data.axes;
  const at = new Int32Array(axes.length);   // the member of each axis that the loops stand at
  let trace = null;                         // while a cell's readings are collected: [block, offset] of each
  let typed = null;                         // while a line is tried on a calculator: what is typed there for a number

  unfold([blocks.map((block) => [block.equations, block.wrong]), data.page]);
  blocks.forEach((block, number) => {
    block.number = number;
    for (const told of ["symbol", "meaning", "unit", "source", "note"]) block[told] = data.texts[block[told]] ?? "";
    block.axes = block.axes || [];
    block.shape = block.axes.map((axis, i) => axes[axis].size + (block.spans ? block.spans[i][0] + block.spans[i][1] : 0));
    block.before = block.axes.map((_, i) => (block.spans ? block.spans[i][0] : 0));
    block.strides = [];
    block.size = 1;
    for (let i = block.shape.length - 1; i >= 0; i--) { block.strides[i] = block.size; block.size *= block.shape[i]; }
    block.cells = block.text ? new Array(block.size).fill("") : new Float64Array(block.size).fill(NaN);
    if (block.typed) block.typed.forEach((value, i) => { block.cells[i] = inCell(block, value); });
    block.given = block.cells.slice();
  });

  /* Puts the indices of references, which travel as the numbers of those that are shared, back into the trees. */
  function unfold(tree) {
    if (!tree || typeof tree !== "object") return;
    if (tree[0] === "r" && typeof tree[2] === "number") tree[2] = data.indices[tree[2]];
    else Object.values(tree).forEach(unfold);
  }

  /* Values as they travel: null is a blank, "off" a limit that limits nothing. */
  function inCell(block, value) {
    if (block.text) return value === null ? "" : String(value);
    return value === null || value === "" ? NaN : value === "off" ? Infinity : Number(value);
  }

  const isId = (value, size) => value >= 0 && value < size && Number.isInteger(value);
  const folded = (word) => String(word).toLowerCase();
  const CHOICES = ["where", "choose"];

  function isWord(expr) {
    if (expr[0] === "c") return typeof expr[1] === "string";
    if (expr[0] === "r") return Boolean(blocks[expr[1]].text);
    return expr[0] === "o" && CHOICES.includes(expr[1]) && isWord(expr[2][1]);
  }

  function isLimit(expr) {
    if (expr[0] === "r") return Boolean(blocks[expr[1]].limit);
    return expr[0] === "o" && CHOICES.includes(expr[1]) && expr[2].slice(1).some(isLimit);
  }

  /* Returns a closure that says at which offset a reference lies; −1 where a computed id is none. */
  function placed(block, indices) {
    let base = 0;
    const moves = [], ids = [];
    indices.forEach((index, i) => {
      const stride = block.strides[i];
      if (index[0] === "id") ids.push([compiled(index[1]), index[2], index[3], stride]);
      else {
        base += index[1] * stride;
        if (index[0] >= 0) moves.push([index[0], stride]);
      }
    });
    if (!ids.length && !moves.length) return () => base;
    if (!ids.length && moves.length === 1) { const [axis, stride] = moves[0]; return () => base + at[axis] * stride; }
    return () => {
      let offset = base;
      for (const [axis, stride] of moves) offset += at[axis] * stride;
      for (const [id, begin, size, stride] of ids) {
        const value = id();
        if (!isId(value, size)) return -1;
        offset += (value + begin) * stride;
      }
      return offset;
    };
  }

  /* Runs something for every member of axes. */
  function forEach(over, run, depth = 0) {
    if (depth === over.length) { run(); return; }
    const axis = over[depth], kept = at[axis];
    for (let member = 0; member < axes[axis].size; member++) { at[axis] = member; forEach(over, run, depth + 1); }
    at[axis] = kept;
  }

  /* Turns an expression into a closure that gives its number for the members at hand. */
  function compiled(expr) {
    switch (expr[0]) {
      case "c": { const value = expr[1]; return () => value; }
      case "number": { const axis = expr[1], start = axes[axis].start; return () => at[axis] + start; }
      case "size": { const size = axes[expr[1]].size; return () => size; }
      case "changes": return () => blocks.filter((block) => block.typed && !block.cells.every((v, i) => Object.is(v, block.given[i]))).length;
      case "r": {
        const block = blocks[expr[1]], place = placed(block, expr[2]), cells = block.cells;
        return () => {
          const offset = place();
          if (trace) trace.push([block.number, offset]);
          if (offset < 0) return NaN;
          return typed === null || block.text ? cells[offset] : typed(cells[offset]);
        };
      }
      case "sum": { const over = expr[1], body = compiled(expr[2]); return () => { let sum = 0; forEach(over, () => { sum += body(); }); return sum; }; }
      case "max": {
        const over = expr[1], body = compiled(expr[2]);
        return () => {
          let most = -Infinity, blank = false;
          forEach(over, () => { const value = body(); if (value > most) most = value; if (isBlank(value)) blank = true; });
          return blank ? NaN : most;
        };
      }
      case "find": case "match": return searched(expr);
    }
    return operation(expr);
  }

  function searched([kind, axis, among, value]) {
    const here = compiled(among), sought = compiled(value);
    return () => {
      const target = sought(), kept = at[axis];
      let found = NaN, before = -Infinity, ascending = true, below = 0;
      for (let member = 0; member < axes[axis].size; member++) {
        at[axis] = member;
        const cell = here();
        if (kind === "match") { if (isBlank(found) && folded(cell) === folded(target)) found = member; continue; }
        if (!(cell >= before)) ascending = false;
        before = cell;
        if (cell <= target) below++;
      }
      at[axis] = kept;
      return kind === "match" ? found : ascending && below > 0 ? below - 1 : NaN;
    };
  }

  const compared = (a, b, holds) => () => {
    const left = a(), right = b();
    return isBlank(left) || isBlank(right) ? NaN : holds(left, right) ? 1 : 0;
  };
  const finite = (number) => () => { const value = number(); return value === Infinity || value === -Infinity ? NaN : value; };

  function operation(expr) {
    const [, name, operands] = expr;
    const plain = CHOICES.includes(name) || name === "filled" || name === "is_off", inLimit = isLimit(expr);
    const closures = operands.map((operand) => {
      if (inLimit && operand[0] === "c" && operand[1] === "off") return () => Infinity;
      return plain || isLimit(operand) || isWord(operand) ? compiled(operand) : finite(compiled(operand));
    });
    const [a, b, c] = closures;
    switch (name) {
      case "add": return () => a() + b();
      case "sub": return () => a() - b();
      case "mul": return expr[3] ? () => { const weight = a(); return weight === 0 ? 0 : weight * b(); } : () => a() * b();
      case "div": return () => a() / b();
      case "neg": return () => -a();
      case "abs": return () => Math.abs(a());
      case "exp": return () => Math.exp(a());
      case "log": return () => Math.log(a());
      case "tanh": return () => Math.tanh(a());
      case "sqrt": return () => Math.sqrt(a());
      case "rounded": return () => { const value = a(), power = 10 ** b(); return Math.sign(value) * Math.floor(Math.abs(value) * power + 0.5) / power; };
      case "maximum": return () => Math.max(a(), b());
      case "minimum": return () => Math.min(a(), b());
      case "less": return compared(a, b, (x, y) => x < y);
      case "at_most": return compared(a, b, (x, y) => x <= y);
      case "equal": return isWord(operands[0]) ? () => (folded(a()) === folded(b()) ? 1 : 0) : compared(a, b, (x, y) => x === y);
      case "filled": return isWord(operands[0]) ? () => (a() !== "" ? 1 : 0) : () => (isBlank(a()) ? 0 : 1);
      case "is_off": return () => (a() === Infinity ? 1 : 0);
      case "where": return () => { const test = a(); return test === 1 ? b() : test === 0 ? c() : NaN; };
      case "choose": { const rows = closures.slice(1); return () => { const row = a(); return isId(row, rows.length) ? rows[row]() : NaN; }; }
    }
    throw new Error(`no operation ${name}`);
  }

  for (const block of blocks) {
    if (!block.equations) continue;
    block.definitions = block.equations.map(([target, expr]) => ({
      target, expr, letters: target.map((index) => index[0]).filter((axis) => axis >= 0),
      place: placed(block, target), number: compiled(expr),
    }));
  }

  /* Tells whether a definition writes at the place where the loops stand: its edge at the edge, its body inside. */
  const belongs = (definition, block, loops) => definition.target.every(([axis, place], i) => {
    if (axis >= 0) return !loops.includes(axis) || (at[axis] >= 0 && at[axis] < axes[axis].size);
    const slot = block.axes[i];
    return !loops.includes(slot) || at[slot] === place - block.before[i];
  });

  function run(steps, loops) {
    for (const step of steps) {
      if (typeof step === "number") {
        const block = blocks[step];
        for (const definition of block.definitions) {
          if (!belongs(definition, block, loops)) continue;
          forEach(definition.letters.filter((axis) => !loops.includes(axis)), () => { block.cells[definition.place()] = definition.number(); });
        }
        continue;
      }
      const [axis, way, inner] = step, size = axes[axis].size, within = [...loops, axis];
      for (let i = -1; i <= size; i++) { at[axis] = way > 0 ? i : size - 1 - i; run(inner, within); }
      at[axis] = 0;
    }
  }

  function compute(steps = data.steps) { at.fill(0); run(steps, []); }

  const places = (block, offset) => block.strides.map((stride, i) => Math.floor(offset / stride) % block.shape[i]);

  /* Returns the definition that fills a cell, and lets the loops stand at its members; null for a typed one. */
  function filling(block, offset) {
    const place = places(block, offset);
    for (const definition of block.definitions || []) {
      at.fill(0);
      const fits = definition.target.every(([axis, begin], i) => {
        if (axis < 0) return place[i] === begin;
        const member = place[i] - begin;
        if (member < 0 || member >= axes[axis].size) return false;
        at[axis] = member;
        return true;
      });
      if (fits) return definition;
    }
    return null;
  }

  /* Returns the cells that a cell reads, as [block, offset], each once, in order; through links where `through`. */
  function reads(block, offset, through = true) {
    const definition = filling(block, offset);
    return definition ? traced(definition.number, through) : [];
  }
  /* The same of a closure, where the loops stand. */
  function traced(number, through = true) {
    trace = [];
    let found;
    try { number(); } finally { found = trace; trace = null; }
    const seen = new Map();
    for (const [read, place] of found) {
      if (place < 0) continue;
      const cell = through ? origin(read, place) : [read, place];
      seen.set(cell.join(":"), cell);
    }
    return [...seen.values()];
  }

  /* Returns the cell that a link shows, link by link. */
  function origin(number, offset) {
    for (let steps = 0; blocks[number].link && steps < 9; steps++) {
      const next = reads(blocks[number], offset, false);
      if (!next.length) break;
      [number, offset] = next[0];
    }
    return [number, offset];
  }

  /* Calculates with other numbers for the cells, as somebody does who types into a calculator what is printed. */
  function calculated(number, instead) {
    typed = instead;
    try { return number(); } finally { typed = null; }
  }

  return { data, blocks, axes, at, compiled, compute, filling, reads, traced, origin, places, forEach, calculated, inCell };
}

/* Rounds as a sheet does: halves away from 0, on the fifteen digits that its numbers have. */
function rounded(value, decimals) {
  if (!Number.isFinite(value) || Math.abs(value) >= 1e15) return value;
  const [digits, exponent = "0"] = Math.abs(value).toPrecision(15).split("e");
  const size = Number(`${Math.round(Number(`${digits}e${Number(exponent) + decimals}`))}e${-decimals}`);
  return value < 0 ? -size : size;
}

if (typeof module !== "undefined") module.exports = { Engine, rounded };
