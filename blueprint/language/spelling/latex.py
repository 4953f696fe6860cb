"""The mathematics in LaTeX: equations, and a cell's equation with the numbers put in."""

import re

from blueprint.language.axes import Edge, NotationError
from blueprint.language.blocks import Block
from blueprint.language.cells import filled_by
from blueprint.language.nodes import Expr, Index, Lookup
from blueprint.language.spelling.numbers import explained
from blueprint.language.spelling.text import ANYTHING, BIG, PRODUCT, SIGN, SUM, Rule, Spelled, Style, call, styled
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
    "rounded": call(r"\operatorname{{round}}\left( {}, {} \right)", 2),
    "maximum": call(r"\max\left( {}, {} \right)", 2),
    "minimum": call(r"\min\left( {}, {} \right)", 2),
    "less": call(r"\left[ {} < {} \right]", 2),
    "at_most": call(r"\left[ {} \le {} \right]", 2),
    "equal": call(r"\left[ {} = {} \right]", 2),
    "filled": call(r"\left[ {} \text{{ is given}} \right]"),
    "is_off": call(r"\left[ {} \text{{ is off}} \right]"),
    "where": Rule(r"{1} \text{{ if }} {0} \text{{ else }} {2}", ANYTHING, (ANYTHING, ANYTHING, ANYTHING)),
}
SIGNS = {"sum": r"\sum_{{{axes}}} {body}", "max": r"\max_{{{axes}}} {body}"}
SEARCHES = {"find": r"\max\{{ {axis} : {among} \le {value} \}}", "match": r"{axis} : {among} = {value}"}

LETTERS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "Δ": r"\Delta ", "ε": r"\varepsilon",
    "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "Σ": r"\Sigma ",
    "τ": r"\tau", "ψ": r"\psi", "Â": r"\hat{A}", "ẑ": r"\hat{z}", "²": "^2", "·": r"\cdot ", "‖": r"\Vert ", "−": "-",
    "∣": r"\mid ", "±": r"\pm ", "∇": r"\nabla ", "η": r"\eta", "ĝ": r"\hat{g}",
    "Ā": r"\bar{A}", "φ": r"\varphi", "∂": r"\partial ", "∞": r"\infty ", "≤": r"\le ", "′": "'",
}  # fmt: skip
MARKS = {"\u0304": r"\bar", "\u0302": r"\hat"}
"""Signs that Unicode puts above the letter before them."""
RAISED = {**dict(zip("⁽⁾⁰¹²³⁴⁵⁶⁷⁸⁹", "()0123456789", strict=True)), "ᵀ": r"\top"}
"""Several in a row are one exponent, as the number of an update: E⁽²⁾."""


ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def escaped(word: str) -> str:
    """Returns a word with those signs spelled out that mean something to LaTeX, or that it has no letter for."""
    greek = {letter: f"${spelled.strip()}$" for letter, spelled in LETTERS.items()}
    return "".join(ESCAPES.get(sign) or greek.get(sign, sign) for sign in word)


STYLE = Style(
    table=LATEX,
    signs=SIGNS,
    searches=SEARCHES,
    brackets=r"\left( {} \right)",
    word=r"\text{{{}}}",
    size=r"\left| {} \right|",
    changes=Spelled(r"\text{changed inputs}"),
    choice=r"\text{{choose }} {number} \text{{ of }} ({rows})",
    alternative=r"\text{{{label}: }} {row}",
    between=r" \mid ",
    letters=escaped,
    minus="-",
    times=r" \cdot ",
    blank=r"\text{blank}",
    largest=r"\max\left( {} \right)",
    place=r"\text{{place of }} {} \text{{ in }} \left( {} \right)",
    rest=r"\dots",
    roughly=r" \approx ",
)
# The thin space between letters that are multiplied would make one number of two.
NUMBERS = STYLE._replace(table=LATEX | {"mul": Rule(r"{} \cdot {}", PRODUCT, (PRODUCT, BIG))}, word=r"\text{{``{}''}}")


def latex(expr: Expr) -> str:
    """Spells an expression in LaTeX."""
    spelled = styled(expr, STYLE, lambda ref: latex_reference(ref.block, ref.at)).text
    return spelled.replace("′", "'")  # of the letter of an axis over which a sum within a sum goes


def latex_equations(block: Block) -> str:
    """Spells a block's equations, one per line of an aligned display."""
    return " \\\\\n".join(f"{latex_reference(block, d.target)} &= {latex(d.expr)}" for d in block.definitions)


def latex_equation(block: Block, places: tuple[int, ...], values: Values) -> str:
    """Spells the equation that fills a cell, with `&` before its equals sign; nothing for a typed cell."""
    filled = filled_by(block, places, values)
    return f"{latex_reference(block, filled.definition.target)} &= {latex(filled.definition.expr)}" if filled else ""


def latex_explained(block: Block, places: tuple[int, ...], values: Values) -> str:
    """Spells a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    return explained(block, places, values, NUMBERS)


def latex_symbol(symbol: str) -> str:
    r"""Turns a printed symbol into LaTeX: Greek letters, and what follows a low line upright (`π_old` → `\pi_{\text{old}}`)."""
    marked = re.sub(f"(.)([{''.join(MARKS)}])", lambda each: f"{MARKS[each[2]]}{{{each[1]}}}", symbol)
    raised = re.sub(f"[{''.join(RAISED)}]+", lambda each: _exponent(each[0]), marked)
    spelled = _letters(raised)
    if stray := [letter for letter in spelled if not letter.isascii()]:
        raise NotationError(f"LaTeX has no spelling for {stray[0]!r} in the symbol {symbol!r}: add it to LETTERS")
    lowered = re.sub(r"_(\\[A-Za-z]+)_(\\[A-Za-z]+)", r"_{\1_{\2}}", spelled)
    lowered = re.sub(r"_(-?\\\w+(?: \w+)?|-\w+)", r"_{\1}", lowered)
    lowered = re.sub(r"_([A-Za-z]\w*)", lambda word: r"_{\text{" + word[1].replace("_", r"\_") + "}}", lowered)
    return re.sub(r"(?<![\\\w{])([A-Za-z]{2,})(?![A-Za-z0-9}])", r"\\mathrm{\1}", lowered)


def _letters(symbol: str) -> str:
    r"""Spells letters by their names, with a blank where an ordinary one follows: `βh` is `\beta h`, for `\betah` is no name."""
    spelled, after_name = "", False
    for letter in symbol:
        named = LETTERS.get(letter, letter)
        spelled += " " * (after_name and letter.isascii() and letter.isalpha()) + named
        after_name = len(named) > 1 and named[-1].isalpha()
    return spelled


def _exponent(signs: str) -> str:
    inside = "".join(map(RAISED.__getitem__, signs))
    return f"^{inside}" if len(inside) == 1 else f"^{{{inside}}}"


def latex_reference(block: Block, at: tuple[Index, ...]) -> str:
    """Spells a block with its indices."""
    inside = ", ".join(_index(index) for index in at)
    symbol = latex_symbol(block.symbol)
    base = f"{{{symbol}}}" if "_" in symbol or " " in symbol else symbol
    return f"{base}_{{{inside}}}" if inside else symbol


def _index(index: Index) -> str:
    match index:
        case Lookup(_, id):
            return latex(id)
        case Edge(axis, side):
            return rf"{axis.letter}_{{\text{{{'first' if side < 0 else 'last'}}}}} {'-' if side < 0 else '+'} 1"
    return latex_symbol(str(index))
