"""An explanation as text: every cell once, indented below the cell that it is read by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.language import printed

if TYPE_CHECKING:
    from blueprint.explaining.tree import Explanation, Span

STEP = " " * 4
DEEPEST = 12
"""From here on the indentation stays and the depth is told by its number."""


def text(top: Explanation) -> str:
    """Returns the text: what stands above the cell, the chain, and how to see more of it."""
    return "\n".join([*top.head, *_Printer(top).lines, *_more(top)])


class _Printer:
    """Prints cell after cell; `left` holds what is still to be printed, the next one last."""

    def __init__(self, top: Explanation):
        self.home = {id(each): id(parent) for each, parent in top.nearest()}
        self.printed: set[int] = set()
        self.meant: set[str] = set()
        self.lines: list[str] = []
        self.left: list[tuple[Explanation | str, int]] = [(top, 0)]
        while self.left:
            told, level = self.left.pop()
            if isinstance(told, str):
                self.say(told, level)
            else:
                self.cell(told, level)

    def say(self, line: str, level: int) -> None:
        """Prints a line at its level."""
        deep = f"[{level}] " if level > DEEPEST else ""
        self.lines.append(f"{STEP * min(level, DEEPEST)}{deep}{line}")

    def cell(self, told: Explanation, level: int) -> None:
        """Prints a cell in one line, or opens it."""
        self.printed.add(id(told))
        self.say(self.line(told), level)
        if not told.reads and not (level == 0 and told.equation):
            return
        self.say(f"  {told.equation}", level)
        self.say(f"  {told.numbers}", level)
        below = self.below(told)
        if others := self.others(told):
            self.say(f"  with {others}", level)
        self.left += [(each, level + 1) for each in reversed(below)]

    def line(self, told: Explanation) -> str:
        """Names a cell with its value, its block and its place; what it means is told once for each block."""
        place = ", ".join(filter(None, (told.name, told.cell, "typed" if told.typed else "")))
        said = "" if told.said is None else f"but the file says {printed(told.said)}"
        constant = told.equation if not told.reads and not told.more else ""
        return "  ".join(
            filter(None, (f"{_value(told)}  ({place})", said, self.meaning(told), constant, "…" if told.more else ""))
        )

    def meaning(self, told: Explanation) -> str:
        """Returns what a block means, the first time it is asked for."""
        new = told.name not in self.meant
        self.meant.add(told.name)
        return told.meaning if new else ""

    def below(self, told: Explanation) -> list[Explanation | str]:
        """Lists what is told under a cell: the lines of its sums, and the cells whose place is here."""
        spans = {span.first: span for span in told.spans}
        listed: list[Explanation | str] = []
        taken: set[int] = set()
        end = 0
        for i, each in enumerate(told.reads):
            if i in spans:
                end = spans[i].last
                listed.append(self.span(told, spans[i]))
            if self.home[id(each)] == id(told) and id(each) not in taken:
                taken.add(id(each))
                if i < end and not each.reads:
                    self.printed.add(id(each))  # its span tells of it
                else:
                    listed.append(each)
        return listed

    def span(self, told: Explanation, span: Span) -> str:
        """Tells of the cells of a sum what they are; those that read something are opened below."""
        members = told.reads[span.first : span.last]
        count = f"{len(members)} of {span.of}" if len(members) < span.of else f"{span.of}"
        kind = ", typed" if members[0].typed else ""
        rest = "; the other terms are 0" if len(members) < span.of else ""
        place = ", ".join(filter(None, (members[0].name, span.cell)))
        here = any(self.home[id(each)] == id(told) for each in members)
        away = "" if here else "(above)" if id(members[0]) in self.printed else "(below)"
        cut = "…" if here and any(each.more for each in members) else ""
        line = f"{span.label}  ({place}: {count} cells{kind}{rest})"
        return "  ".join(filter(None, (line, self.meaning(members[0]), away, cut)))

    def others(self, told: Explanation) -> str:
        """Names the single cells that are told elsewhere."""
        spanned = {i for span in told.spans for i in range(span.first, span.last)}
        single = [each for i, each in enumerate(told.reads) if i not in spanned and self.home[id(each)] != id(told)]
        above = [_value(each) for each in single if id(each) in self.printed]
        below = [_value(each) for each in single if id(each) not in self.printed]
        told_there = [f"{', '.join(each)} ({way})" for each, way in ((above, "above"), (below, "below")) if each]
        return "; ".join(told_there)


def _more(top: Explanation) -> list[str]:
    """Says how to see what was left out."""
    cut = sum(each.more for each, _ in top.nearest())
    if not cut or top.depth is None:
        return []
    cells = "1 cell marked … is" if cut == 1 else f"{cut} cells marked … are"
    return ["", f"{cells} not opened: --depth {top.depth + 1} goes one step further, --depth all down to the inputs."]


def _value(told: Explanation) -> str:
    return f"{told.label} = {printed(told.value)}"
