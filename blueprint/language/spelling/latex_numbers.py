"""A cell in LaTeX: its equation, and the same with the numbers put in."""

from __future__ import annotations

from blueprint.language.blocks import Block
from blueprint.language.cells import filled_by
from blueprint.language.spelling.latex import BRACKETS, LATEX, LETTERS, latex, latex_reference
from blueprint.language.spelling.numbers import Writing, explained
from blueprint.language.spelling.rules import BIG, PRODUCT, Rule
from blueprint.language.values import Values

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
