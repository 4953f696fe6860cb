"""An explanation as text, every cell once, indented below the cell that reads it; as LaTeX; and as data for programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from blueprint.language import Ended, escaped, latex_equation, latex_explained, latex_symbol, printed

if TYPE_CHECKING:
    from blueprint.explaining.tree import Explanation, Span

STEP = " " * 4
DEEPEST = 12
"""From here on the indentation stays and a number gives the depth."""
FIELDS = (
    "name", "label", "symbol", "meaning", "at", "cell", "equation", "numbers", "value", "unit", "source", "typed",
)  # fmt: skip


def text(top: Explanation) -> str:
    """Returns the text: what stands above the cell, the chain, and how to see more of it."""
    lines = [*top.head, *_Printer(top).lines]
    cut = sum(each.more for each, _ in top.nearest())
    if cut and top.depth is not None:
        cells = "1 cell marked … is" if cut == 1 else f"{cut} cells marked … are"
        further = f"--depth {top.depth + 1} goes one step further, --depth all down to the inputs."
        lines += ["", f"{cells} not opened: {further}"]
    return "\n".join(lines)


class _Printer:
    """Prints cell after cell; what a block means is said where its first cell is printed."""

    def __init__(self, top: Explanation):
        self.home = dict(top.nearest())
        self.meanings = {each.name: each.meaning for each in (top, *self.home)}
        self.printed: set[Explanation] = set()
        self.lines: list[str] = []
        left: list[tuple[Explanation | str, int]] = [(top, 0)]
        while left:
            item, level = left.pop()
            if isinstance(item, str):
                self.say(item, level)
            else:
                left += [(each, level + 1) for each in reversed(self.cell(item, level))]

    def say(self, line: str, level: int) -> None:
        """Prints a line at its level."""
        self.lines.append(STEP * min(level, DEEPEST) + f"[{level}] " * (level > DEEPEST) + line)

    def cell(self, cell: Explanation, level: int) -> list[Explanation | str]:
        """Prints a cell in one line, or opens it; returns what comes below it."""
        self.printed.add(cell)
        self.say(self.line(cell), level)
        if not cell.reads and not (level == 0 and cell.equation):
            return []
        below, others = self.below(cell), self.others(cell)
        for line in filter(None, (cell.equation, cell.numbers, others and f"with {others}")):
            self.say(f"  {line}", level)
        return below

    def line(self, cell: Explanation) -> str:
        """Names a cell with its value, its block and its place."""
        place = ", ".join(filter(None, (cell.name, cell.cell, "typed" if cell.typed else "", cell.blank)))
        shown = "" if cell.said is None else f"but the file says {printed(cell.said)}"
        end = "…" if cell.more else "" if cell.reads else cell.equation
        return "  ".join(filter(None, (f"{_value(cell)}  ({place})", shown, self.meanings.pop(cell.name, ""), end)))

    def below(self, cell: Explanation) -> list[Explanation | str]:
        """Lists what comes under a cell: the lines of its sums, and the cells whose place is here."""
        spans = {span.first: span for span in cell.spans}
        listed: list[Explanation | str] = []
        end = 0
        for i, each in enumerate(cell.reads):
            if i in spans:
                end = spans[i].last
                listed.append(self.span(cell, spans[i]))
            if self.home[each] is cell and each not in listed and each not in self.printed:
                if i < end and not each.reads:
                    self.printed.add(each)  # the line of its span covers it
                else:
                    listed.append(each)
        return listed

    def span(self, cell: Explanation, span: Span) -> str:
        """Says what the cells of a sum are; those that read something are opened below."""
        members = cell.reads[span.first : span.last]
        first, zeros, here = members[0], len(members) < span.of, any(self.home[each] is cell for each in members)
        count = f"{len(members)} of " * zeros + f"{span.of} cells" + ", typed" * first.typed
        place = ", ".join(filter(None, (first.name, span.cell))) + f": {count}" + "; the other terms are 0" * zeros
        cut = "…" if any(each.more for each in members) else ""
        away = cut if here else "(above)" if first in self.printed else "(below)"
        return "  ".join(filter(None, (f"{span.label}  ({place})", self.meanings.pop(first.name, ""), away)))

    def others(self, cell: Explanation) -> str:
        """Names the single cells that are opened elsewhere."""
        spanned = {i for span in cell.spans for i in range(span.first, span.last)}
        single = [each for i, each in enumerate(cell.reads) if i not in spanned and self.home[each] is not cell]
        above = ", ".join(_value(each) for each in single if each in self.printed)
        below = ", ".join(_value(each) for each in single if each not in self.printed)
        return "; ".join(f"{cells} ({way})" for cells, way in ((above, "above"), (below, "below")) if cells)


def _value(cell: Explanation) -> str:
    return f"{cell.label} = {'…' if cell.blank and cell.value != cell.value else printed(cell.value)}"


def as_latex(top: Explanation) -> str:
    """Returns an aligned environment, to be put into mathematics: `\\[ … \\]`.

    An equation stands there once, with the numbers of each of its cells; cells of sums only where they are opened.
    """
    lines: dict[str, list[str]] = {}
    for each in [top, *(each for each, parent in top.nearest() if each.reads or not _in_a_span(each, parent))]:
        cell, values = each.here
        shown = r"\ldots" if each.blank else latex_explained(*cell, values)
        lines.setdefault(latex_equation(*cell, values), []).append(f"{_label(each)} &= {shown}")
    groups = [" \\\\\n".join(filter(None, [equation, *cells])) for equation, cells in lines.items()]
    return "\\begin{aligned}\n" + " \\\\[1ex]\n".join(groups) + "\n\\end{aligned}"


def _in_a_span(cell: Explanation, parent: Explanation) -> bool:
    return any(cell is each for span in parent.spans for each in parent.reads[span.first : span.last])


def _label(cell: Explanation) -> str:
    symbol, inside = latex_symbol(cell.symbol), cell.label[len(cell.symbol) + 1 : -1]
    named = re.sub("“(?P<word>.*?)”|(?P<letters>[^,“]+)", _member, inside)
    return f"{{{symbol}}}_{{{named}}}" if inside else symbol


def _member(found: re.Match[str]) -> str:
    """Spells a member: a word as text, letters and numbers as a symbol."""
    return r"\text{``" + escaped(found["word"]) + "''}" if found["letters"] is None else latex_symbol(found["letters"])


def to_dict(top: Explanation) -> dict[str, Any]:
    """Returns {"top": key, "cells": {key: facts}}: every cell once, by its address, the nearest to the top first.

    `reads` lists the keys of what a cell's equation reads, in its order; `complete` is false where the depth was reached. A
    blank value is None; one that ended is the error that a spreadsheet shows. `said` stands only where a file shows another
    value, `blank` only in a worksheet.
    """
    return {
        "top": _key(top),
        "cells": {_key(each): _facts(each) for each in [top, *(each for each, _ in top.nearest())]},
    }


def _key(cell: Explanation) -> str:
    """Returns the address; of a cell that stands nowhere its block's name and its members."""
    return cell.cell or f"{cell.name}[{', '.join(map(str, cell.at.values()))}]"


def _facts(cell: Explanation) -> dict[str, Any]:
    facts = {field: getattr(cell, field) for field in FIELDS}
    value = cell.value.error if isinstance(cell.value, Ended) else None if cell.value != cell.value else cell.value
    facts |= {"at": dict(cell.at), "value": value}
    shown = {} if cell.said is None else {"said": cell.said}
    blank = {"blank": cell.blank} if cell.blank else {}
    return facts | shown | blank | {"complete": not cell.more, "reads": list(dict.fromkeys(map(_key, cell.reads)))}
