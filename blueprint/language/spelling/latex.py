"""The mathematics in LaTeX: equations, and a cell's equation with the numbers put in."""

from __future__ import annotations

import re

from blueprint.language.axes import Edge
from blueprint.language.blocks import Block
from blueprint.language.cells import filled_by
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Changes, Constant, Count, Expr, Find, Index, Lookup, Op, Reduce, Ref
from blueprint.language.spelling.numbers import Writing, explained
from blueprint.language.spelling.rules import ANYTHING, BIG, PRODUCT, SIGN, SUM, Rule, Spelled, call, spell
from blueprint.language.values import Values

LATEX: dict[str, Rule] = {
    "add": Rule("{} + {}", SUM, (SIGN, SUM)),
    "sub": Rule("{} - {}", SUM, (SIGN, BIG)),
    "mul": Rule(r"{} \, {}", PRODUCT, (PRODUCT, BIG)),
    "div": call(r"\frac{{{}}}{{{}}}", 2),
    "neg": Rule("-{}", SIGN, (BIG,)),
    "abs": call(r"\left| {} \right|"),
    "exp": call(r"\exp\left( {} \right)"),
    "log": call(r"\ln\left( {} \right)"),
    "tanh": call(r"\tanh\left( {} \right)"),
    "sqrt": call(r"\sqrt{{{}}}"),
    "maximum": call(r"\max\left( {}, {} \right)", 2),
    "minimum": call(r"\min\left( {}, {} \right)", 2),
    "less": call(r"\left[ {} < {} \right]", 2),
    "at_most": call(r"\left[ {} \le {} \right]", 2),
    "equal": call(r"\left[ {} = {} \right]", 2),
    "filled": call(r"\left[ {} \text{{ is given}} \right]"),
    "is_off": call(r"\left[ {} \text{{ is off}} \right]"),
    "where": Rule(r"{1} \text{{ if }} {0} \text{{ else }} {2}", ANYTHING, (ANYTHING, ANYTHING, ANYTHING)),
}
BRACKETS = r"\left( {} \right)"
SIGNS = {"sum": r"\sum", "max": r"\max"}
SEARCHES = {"find": r"\max\{{ {axis} : {among} \le {value} \}}", "match": r"{axis} : {among} = {value}"}

LETTERS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "Δ": r"\Delta ", "ε": r"\varepsilon",
    "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "Σ": r"\Sigma ",
    "τ": r"\tau", "ψ": r"\psi", "Â": r"\hat{A}", "ẑ": r"\hat{z}", "²": "^2", "·": r"\cdot ", "‖": r"\Vert ", "−": "-",
    "∣": r"\mid ", "±": r"\pm ",
}  # fmt: skip


def latex(expr: Expr) -> str:
    """Spells an expression in LaTeX."""
    return _render(expr).text


def latex_equations(block: Block) -> str:
    """Spells a block's equations, one per line of an aligned display."""
    lines = [f"{latex_reference(block, d.target)} &= {latex(d.expr)}" for d in block.definitions]
    return " \\\\\n".join(lines)


def latex_symbol(symbol: str) -> str:
    r"""Turns a printed symbol into LaTeX: Greek letters, and what follows a low line upright (`π_old` → `\pi_{\text{old}}`)."""
    spelled = "".join(LETTERS.get(letter, letter) for letter in symbol)
    if stray := [letter for letter in spelled if not letter.isascii()]:
        raise NotationError(f"LaTeX has no spelling for {stray[0]!r} in the symbol {symbol!r}: add it to LETTERS")
    lowered = re.sub(r"_([A-Za-z]\w*)", _subscript, re.sub(r"_(\\\w+)", r"_{\1}", spelled))
    return re.sub(r"(?<![\\\w{])([A-Za-z]{2,})(?![A-Za-z0-9}])", r"\\mathrm{\1}", lowered)


def latex_reference(block: Block, at: tuple[Index, ...]) -> str:
    """Spells a block with its indices."""
    inside = ", ".join(_index(index) for index in at)
    symbol = latex_symbol(block.symbol)
    if not inside:
        return symbol
    return f"{{{symbol}}}_{{{inside}}}" if "_" in symbol or " " in symbol else f"{symbol}_{{{inside}}}"


def _subscript(found: re.Match[str]) -> str:
    return r"_{\text{" + found[1].replace("_", r"\_") + "}}"


def _render(expr: Expr) -> Spelled:
    match expr:
        case Op("choose", (number, *rows)):
            listed = r" \mid ".join(
                rf"\text{{{label}: }} {_render(r).text}"
                for label, r in zip((each.replace("_", r"\_") for each in expr.labels), rows, strict=True)
            )
            return Spelled(rf"\text{{choose }} {_render(number).text} \text{{ of }} ({listed})")
        case Op():
            return spell(expr, LATEX, _render, BRACKETS)
        case Constant(value):
            return Spelled(rf"\text{{{value}}}" if isinstance(value, str) else str(value))
        case Ref(block, at):
            return Spelled(latex_reference(block, at))
        case Reduce(name, axes, body):
            return Spelled(f"{SIGNS[name]}_{{{','.join(axis.letter for axis in axes)}}} {_render(body).text}", BIG)
        case Find(name, axis, among, value):
            spelled = SEARCHES[name].format(axis=axis.letter, among=_render(among).text, value=_render(value).text)
            return Spelled(spelled, ANYTHING)
        case Count("number", axis):
            return Spelled(axis.letter)
        case Changes():
            return Spelled(r"\text{changed inputs}")
        case Count("size", axis):
            return Spelled(rf"\left| {axis.letter} \right|")
    raise NotationError(f"LaTeX has no spelling for {expr!r}")


def _index(index: Index) -> str:
    match index:
        case Lookup(_, id):
            return _render(id).text
        case Edge(axis, side):
            return rf"{axis.letter}_{{\text{{{'first' if side < 0 else 'last'}}}}} {'-' if side < 0 else '+'} 1"
        case _:
            return latex_symbol(str(index))


ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip

# The thin space between letters that are multiplied would make one number of two.
NUMBERS = Writing(
    LATEX | {"mul": Rule(r"{} \cdot {}", PRODUCT, (PRODUCT, BIG))},
    BRACKETS,
    "-",
    r" \cdot ",
    r"\text{{``{}''}}",
    r"\text{blank}",
    r"\max\left( {} \right)",
    r"\text{{place of }} {} \text{{ in }} \left( {} \right)",
    r"\dots",
    lambda word: escaped(word),
)


def escaped(word: str) -> str:
    """Returns a word with those signs spelled out that mean something to LaTeX, or that it has no letter for."""
    greek = {letter: f"${spelled.strip()}$" for letter, spelled in LETTERS.items()}
    return "".join(ESCAPES.get(sign) or greek.get(sign, sign) for sign in word)


def latex_equation(block: Block, places: tuple[int, ...], values: Values) -> str:
    """Spells the equation that fills a cell, with `&` before its equals sign; nothing for a typed cell."""
    filled = filled_by(block, places, values)
    if filled is None:
        return ""
    return f"{latex_reference(block, filled.definition.target)} &= {latex(filled.definition.expr)}"


def latex_explained(block: Block, places: tuple[int, ...], values: Values) -> str:
    """Spells a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    return explained(block, places, values, NUMBERS)
