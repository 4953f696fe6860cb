"use strict";
/* How expressions are set: the table of blueprint/language/spelling/mathml.py, which came with the data, applied to the trees.

   Letters give an equation, numbers the same with every quantity's number in its place, as many decimals as it takes for a
   pocket calculator to come to the result (blueprint/language/spelling/numbers.py). */
const ANYTHING = 0, BIG = 3, PRODUCT = 4, ATOM = 9;
const SHOWN = 4, MOST_DECIMALS = 12, LARGEST_PLAIN = 1e9, LONGEST_SUM = 12;

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
const escaped = (text) => String(text).replace(/[&<>"']/g, (sign) => ENTITIES[sign]);
const math = (spelled) => `<math><mrow>${spelled}</mrow></math>`;

function filled(template, parts) {
  let next = 0;
  return template.replace(/\{(\w*)\}/g, (_, key) => parts[key === "" ? next++ : key]);
}

/* Prints a number without empty zeros; very small and very large ones with a power of ten. */
function printed(value, decimals = SHOWN) {
  if (typeof value === "string") return value;
  if (isBlank(value)) return "blank";
  if (!Number.isFinite(value)) return "off";
  if (Math.abs(value) >= LARGEST_PLAIN) return general(value, decimals + 2);
  const text = rounded(value, decimals).toFixed(decimals).replace(/\.?0+$/, "");
  return /^-?0?$/.test(text) ? (value ? general(value, decimals - 2) : "0") : text;
}

/* Prints so many digits, with a power of ten where the number is very small or has more digits before its point. */
function general(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e"), power = Number(exponent);
  if (power >= -4 && power < digits) return Number(value.toPrecision(digits)).toFixed(digits - 1 - power).replace(/\.0+$|(\.\d*?)0+$/, "$1");
  const plain = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${plain}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
const shown = (value, decimals) => printed(value, decimals).replace(/-/g, "−");

const isTiny = (value) => Math.abs(value) < 1e-12; // what rounding has left: 0 on a calculator

/* Sets a printed symbol: what follows a low line is a subscript (all of λ=0.5 in A_λ=0.5), a square an exponent, words are upright. */
function symbolSet(symbol) {
  const pieces = (symbol.match(/[\p{L}\p{N}]+(?:_[\p{L}\p{N}_]+(?:=\d[\d.]*)?)?²?|\S/gu) || []).map(pieceSet);
  return pieces.length === 1 ? pieces[0] : `<mrow>${pieces.join("")}</mrow>`;
}
const RAISED = { "²": "<mn>2</mn>", "ᵀ": '<mi mathvariant="normal">T</mi>' };
function pieceSet(piece) {
  const raised = RAISED[piece.at(-1)], plain = raised ? piece.slice(0, -1) : piece;
  let [base, ...rest] = plain.split("_"), sub = rest.join("_");
  const numbered = sub ? null : base.match(/^([A-Za-z])(\d+)$/);
  if (numbered) [, base, sub] = numbered;
  if (!/^[\p{L}\p{N}]/u.test(base)) return `<mo>${escaped(base)}</mo>`;
  const upright = base.length > 1 && /^[\x00-\x7f]+$/.test(base) ? ' mathvariant="normal"' : "";
  let set = /^\d+$/.test(base) ? `<mn>${base}</mn>` : `<mi${upright}>${escaped(base)}</mi>`;
  if (sub) set = `<msub>${set}<mtext>${escaped(sub)}</mtext></msub>`;
  return raised ? `<msup>${set}${raised}</msup>` : set;
}

function Spelling(engine) {
  const { blocks, axes, at, data } = engine, style = data.style;
  for (const block of blocks) block.math = symbolSet(block.symbol);
  const bracketed = ([text, strength], need) => (strength >= need ? text : filled(style.brackets, [text]));
  const word = (text) => [filled(style.word, [escaped(text)]), ATOM];

  function number(value, decimals = SHOWN) {
    if (typeof value === "string") return word(value);
    if (!Number.isFinite(value)) return isBlank(value) ? [style.blank, ATOM] : word("off");
    const text = printed(value, decimals), negative = text.startsWith("-");
    return [(negative ? style.minus : "") + filled(style.digits, [text.replace(/^-/, "").replace(/-/g, "−")]), negative ? ANYTHING : ATOM];
  }

  function index(block, index, slot, understood) {
    if (index[0] === "id") return index[1][0] === "c" ? `<mn>${axes[block.axes[slot]].start + index[1][1]}</mn>` : letters(index[1], understood)[0];
    if (index[0] < 0) return `<mtext>${index[1] < block.before[slot] ? "start" : "end"}</mtext>`;
    const letter = `<mi>${axes[index[0]].letter}</mi>`;
    if (index[2]) return `${letter}<mo>${index[2] > 0 ? "+" : "−"}</mo><mn>1</mn>`;
    return understood.includes(index[0]) ? "" : letter;
  }

  /* Sets a block with its indices; behind the subscript that its symbol has. */
  function reference(block, indices, understood = []) {
    const inside = indices.map((each, slot) => index(block, each, slot, understood)).filter(Boolean).join(style.comma);
    if (!inside) return block.math;
    const lowered = block.math.match(/^<msub>(.*)<mtext>(.*?)<\/mtext><\/msub>$/);
    return lowered
      ? `<msub>${lowered[1]}<mrow><mtext>${lowered[2]}</mtext>${style.comma}${inside}</mrow></msub>`
      : `<msub>${block.math}<mrow>${inside}</mrow></msub>`;
  }

  const byTable = (name, parts) => {
    const [template, strength, needs] = style.table[name];
    return [filled(template, parts.map((part, i) => bracketed(part, needs[i]))), strength];
  };

  /* Sets an expression in letters; returns it with how strongly it binds. */
  function letters(expr, understood) {
    const set = (inner) => letters(inner, understood);
    switch (expr[0]) {
      case "c": return typeof expr[1] === "string" ? word(expr[1]) : [filled(style.digits, [expr[1]]), ATOM];
      case "r": return [reference(blocks[expr[1]], expr[2], understood), blocks[expr[1]].binds || ATOM];
      case "number": return [filled(style.letter, [axes[expr[1]].letter]), ATOM];
      case "size": return [filled(style.size, [axes[expr[1]].letter]), ATOM];
      case "changes": return style.changes;
      case "sum": case "max": {
        const over = expr[1].map((axis) => axes[axis].letter).join(","), body = set(expr[2]);
        return [filled(style.signs[expr[0]], { axes: over, body: expr[2][0] === "r" ? bracketed(body, BIG) : body[0] }), BIG];
      }
      case "find": case "match":
        return [filled(style.searches[expr[0]], { axis: axes[expr[1]].letter, among: set(expr[2])[0], value: set(expr[3])[0] }), ANYTHING];
    }
    const [, name, operands, labels] = expr;
    if (name !== "choose") return byTable(name, operands.map(set));
    const rows = operands.slice(1).map((row, i) => filled(style.alternative, { label: escaped(labels[i]), row: set(row)[0] }));
    return [filled(style.choice, { rows: rows.join(style.between), number: set(operands[0])[0] }), ATOM];
  }

  const value = (expr) => engine.compiled(expr)();

  /* Lists the terms of a sum or a maximum at hand, each as its factors set with numbers; a sum goes without terms that are 0. */
  function terms([kind, over, body], decimals) {
    const factors = body[0] === "o" ? body[2] : [body], found = [], need = kind === "sum" ? PRODUCT : ANYTHING;
    engine.forEach(over, () => {
      if (kind === "max" || factors.every((each) => value(each) !== 0))
        found.push(factors.map((each) => bracketed(numbers(each, decimals), need)).join(style.times));
    });
    return found;
  }

  /* Sets an expression with the numbers of the members at hand. */
  function numbers(expr, decimals) {
    switch (expr[0]) {
      case "sum": case "max": {
        let found = terms(expr, decimals);
        if (found.length > LONGEST_SUM) found = [...found.slice(0, LONGEST_SUM - 2), style.rest, found.at(-1)];
        if (expr[0] === "max") return [filled(style.largest, [found.join(style.comma)]), ATOM];
        return [found.join(style.plus) || filled(style.digits, ["0"]), 2];
      }
      case "find": case "match": {
        const listed = [];
        engine.forEach([expr[1]], () => listed.push(numbers(expr[2], decimals)[0]));
        return [filled(style.place, [numbers(expr[3], decimals)[0], listed.join(style.comma)]), ANYTHING];
      }
      case "o": {
        const [, name, operands] = expr;
        if (name === "choose") { const row = operands[value(operands[0]) + 1]; return row ? numbers(row, decimals) : [style.blank, ATOM]; }
        if (name === "where" && operands[0][1] === "is_off") return numbers(operands[value(operands[0]) === 1 ? 1 : 2], decimals);
        return byTable(name, operands.map((each) => numbers(each, decimals)));
      }
    }
    return number(value(expr), decimals);
  }

  const longest = (expr) => (expr[0] === "sum" || expr[0] === "max" ? terms(expr, SHOWN).length : expr[0] === "o" ? Math.max(0, ...expr[2].map(longest)) : 0);

  /* Returns the fewest decimals with which the numbers of a line lead to its result; null where none are enough. */
  function enough(definition, result) {
    if (typeof result === "string" || !Number.isFinite(result) || longest(definition.expr) > LONGEST_SUM) return SHOWN;
    const due = printed(result);
    for (let decimals = SHOWN; decimals <= MOST_DECIMALS; decimals++) {
      const found = engine.calculated(definition.number, (cell) => (Number.isFinite(cell) ? Number(printed(cell, decimals)) : cell));
      if (typeof found !== "string" && printed(isTiny(found) ? 0 : Number(found.toPrecision(12))) === due) return decimals;
    }
    return null;
  }

  /* Sets the equation of a cell three ways: what is defined, the equation in letters, and with numbers; null for a typed cell. */
  function equation(block, offset, understood) {
    const definition = engine.filling(block, offset);
    if (!definition) return null;
    const left = reference(block, definition.target, understood), letter = letters(definition.expr, understood)[0];
    engine.filling(block, offset);
    const decimals = enough(definition, block.cells[offset]);
    const line = numbers(definition.expr, decimals ?? (isTiny(block.cells[offset]) ? SHOWN : MOST_DECIMALS))[0];
    return { left, letters: letter, numbers: line, sign: decimals === null ? style.roughly : style.equals };
  }

  /* Sets an expression that is no cell's, where the loops stand: in letters, and with numbers. */
  function expression(expr, understood) {
    const number = engine.compiled(expr), decimals = enough({ expr, number }, number());
    return { letters: letters(expr, understood)[0], numbers: numbers(expr, decimals ?? MOST_DECIMALS)[0] };
  }

  return { equation, expression, reference, number };
}

if (typeof module !== "undefined") module.exports = { Spelling, printed };
