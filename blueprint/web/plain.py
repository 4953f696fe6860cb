"""The walk of the chosen token as plain HTML: what a page shows where no script runs, and what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from blueprint.language import Block, Values
from blueprint.language.cells import Cell, filled_by
from blueprint.language.cells import origin as link_origin
from blueprint.language.spelling.mathml import STYLE, mathml_equation, mathml_explained, mathml_symbol
from blueprint.language.spelling.numbers import printed
from blueprint.page.outline import Blueprint, Listed, Step

Places = tuple[int, ...]
LONGEST_LIST = 40
"""Members that a list shows at most."""


def plain_walk(outline: Blueprint, values: Values) -> str:
    """Returns the walk as HTML, a line for each quantity: its meaning, its equation, and the same with numbers."""
    return "\n".join(Walk(outline, values).sections())


class Walk:
    """The steps of a book, for the member of each axis that it opens with."""

    def __init__(self, outline: Blueprint, values: Values):
        self.outline, self.values = outline, values
        chosen = outline.chosen
        numbers = [] if chosen is None else [int(float(self.values.cell(each))) for each in chosen.numbers]
        self.across = () if chosen is None else chosen.across
        self.at = {axis: number - axis.start for axis, number in zip(self.across, numbers, strict=True)}

    def sections(self) -> Iterator[str]:
        """Yields the sections of the walk; without one, the steps that lead to the result."""
        outline, any_said = self.outline, False
        for section in (section for sheet in outline.sheets for section in sheet.sections):
            lines = [self.line(item) for item in section.items if isinstance(item, Step | Listed)]
            if lines := [line for line in lines if line]:
                any_said = True
                yield f"<section><h2>{escape(section.title)}</h2>{''.join(lines)}</section>"
        if not any_said:
            named = {block.name: block for block in outline.blocks()}
            steps = [named[name] for name in outline.derivation if name in named]
            computed = [block for block in named.values() if not (block.typed or block.link or block.text)]
            lines = [self.line(Step(block)) for block in steps or computed]
            yield f"<section><h2>Step by step</h2>{''.join(lines)}</section>"

    def line(self, step: Step | Listed) -> str:
        """Returns the line of a step, "" for one that has no cell there."""
        block = step.block
        places = self.places(step)
        if places is None:
            return ""
        says = (step.says if isinstance(step, Listed) else "") or block.about.meaning
        head = f"<p>{escape(says)}</p>"
        if isinstance(step, Listed):
            return f'<div class="line">{head}<p>{_math(mathml_symbol(block.symbol))}: {self.listed(block, places)}</p></div>'
        block, places = link_origin(Cell(block, places), self.values)
        filled = filled_by(block, places, self.values)
        if filled is None:
            value = self.values.cell(block, *places)
            return f'<div class="line">{head}<p>{_math(mathml_symbol(block.symbol))} = {escape(printed(value))}, typed in</p></div>'
        equation = _math(mathml_equation(block, filled.definition, frozenset(self.across)))
        numbers = _math(STYLE.equals + mathml_explained(block, places, self.values))
        return f'<div class="line">{head}<p>{equation}</p><p>{numbers}</p></div>'

    def places(self, step: Step | Listed) -> Places | None:
        """Returns the 0-based places of a step's cell (of a list: of its first member); None outside of the block."""
        block, member = step.block, step.member
        by = int(step.later) if isinstance(step, Step) else step.by
        places = [self.at.get(axis, 0) + (by if self.across and axis is self.across[-1] else 0) for axis in block.axes]
        if isinstance(member, Block) and places and block.axes[-1] not in self.at:
            places[-1] = int(float(self.values.cell(member, *(self.at.get(axis, 0) for axis in member.axes))))
        elif isinstance(member, int) and places:
            places[-1] = member
        spans = self.values.spans(block)
        return tuple(places) if all(place in span for place, span in zip(places, spans, strict=True)) else None

    def listed(self, block: Block, places: Places) -> str:
        """Returns the members of a list, each behind its name where it has one."""
        names, axis = self.outline.names.get(block.axes[-1].extent), block.axes[-1]
        members = range(min(self.values.size(axis), LONGEST_LIST))
        shown = [printed(self.values.cell(block, *places[:-1], member)) for member in members]
        if isinstance(names, Block):
            shown = [f"{self.values.arrays[names].flat[i]} {number}" for i, number in zip(members, shown, strict=True)]
        return escape("; ".join(shown) + ("; …" if self.values.size(axis) > LONGEST_LIST else ""))


def _math(spelled: str) -> str:
    return f"<math>{spelled}</math>"
