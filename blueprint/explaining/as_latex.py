"""An explanation in LaTeX: the equations and their numbers, one below the other, the nearest to the top first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from blueprint.language import escaped, latex_equation, latex_explained, latex_symbol

if TYPE_CHECKING:
    from blueprint.explaining.tree import Explanation


def as_latex(top: Explanation) -> str:
    """Returns an aligned environment, to be put into mathematics: `\\[ … \\]`.

    An equation stands there once, with the numbers of each of its cells; cells of sums only where they are opened.
    """
    lines: dict[str, list[str]] = {}
    for told in [top, *(each for each, parent in top.nearest() if each.reads or not _in_a_span(each, parent))]:
        cell, values = told.here
        lines.setdefault(latex_equation(*cell, values), []).append(
            f"{_label(told)} &= {latex_explained(*cell, values)}"
        )
    groups = [" \\\\\n".join(filter(None, [equation, *cells])) for equation, cells in lines.items()]
    return "\\begin{aligned}\n" + " \\\\[1ex]\n".join(groups) + "\n\\end{aligned}"


def _in_a_span(told: Explanation, parent: Explanation) -> bool:
    return any(told is each for span in parent.spans for each in parent.reads[span.first : span.last])


def _label(told: Explanation) -> str:
    symbol, inside = latex_symbol(told.symbol), told.label[len(told.symbol) + 1 : -1]
    named = re.sub("“(?P<word>.*?)”|(?P<letters>[^,“]+)", _member, inside)
    return f"{{{symbol}}}_{{{named}}}" if inside else symbol


def _member(found: re.Match[str]) -> str:
    """Spells a member: a word as text, letters and numbers as a symbol."""
    return r"\text{``" + escaped(found["word"]) + "''}" if found["letters"] is None else latex_symbol(found["letters"])
