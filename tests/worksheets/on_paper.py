"""Solves a handout as a student does who has nothing but the paper: printed numbers, printed equations, answers of other blanks."""

import re

import numpy as np

from blueprint.language import Cell, Values, fill, filled_by, reads, schedule
from blueprint.language.cells import value_of
from blueprint.worksheets import Worksheet
from blueprint.worksheets.handout import Writer, handout

NUMBER = re.compile(r"^(.*) = ([-−]?[\d.]+(?:e[-+]?\d+)?|“.*”)$")


class Paper:
    """What stands on a handout: by the name of a cell its number, and the equations."""

    def __init__(self, made: Worksheet):
        self.made, self.book = made, made.full
        paper = handout(made)
        self.writer = Writer(made)
        self.writer.look()
        given = [text for task in paper.tasks for text in task.given]
        given += [part for line in paper.numbers for part in line.partition(":   ")[2].split("   ")]
        self.printed = {name: number for text in given for name, number in _numbers(text)}
        self.equations = {*paper.steps, *(task.equation for task in paper.tasks)}
        self.answers = {
            Cell(blank.block, at): answer
            for blank in made.blanks
            for at, answer in zip(blank.cells, made.answers[blank.title], strict=True)
        }
        self.links = schedule([block for block in self.book.blueprint.blocks() if block.link])
        self._known: dict[Cell, float | str] = {}

    def solved(self) -> list[float]:
        """Returns what each blank comes to. Raises AssertionError, which names it, for a number that is not on paper."""
        return [float(self._computed(Cell(blank.block, blank.cells[0]))) for blank in self.made.blanks]

    def _number(self, cell: Cell) -> float | str:
        """Returns the number of a cell, whether it is a blank, printed, or computed by a printed equation."""
        if cell in self.answers:
            return self.answers[cell]
        if cell not in self._known:
            name = self.writer.called(cell)
            self._known[cell] = self.printed[name] if name in self.printed else self._computed(cell)
        return self._known[cell]

    def _computed(self, cell: Cell) -> float | str:
        """Computes a cell by its equation from what is on paper; everything else is 0."""
        filled = filled_by(*cell, self.book.values)
        assert filled, f"{self.writer.called(cell)} has no equation"
        assert self.writer.equation(cell) in self.equations, f"{self.writer.called(cell)} is not on paper"
        read = [each for found in reads(cell, self.book.values) for each in found.cells]
        known = {each: self._number(each) for each in read}
        values = Values(self.book.values.sizes, beyond=True)
        arrays = self.book.values.arrays
        values.arrays = {block: _empty(array) for block, array in arrays.items() if not block.link}
        for each, number in known.items():
            at = (
                place + values.before(each.block, axis)
                for place, axis in zip(each.places, each.block.axes, strict=True)
            )
            values.arrays[each.block][tuple(at)] = np.inf if each.block.limit and number == "off" else number
        fill(self.links, values)
        found: float | str = value_of(filled.definition.expr, filled.members, values)
        return found


def _empty(array: np.ndarray) -> np.ndarray:
    return np.full(array.shape, "", dtype=object) if array.dtype == object else np.zeros(array.shape)


def _numbers(text: str) -> list[tuple[str, float | str]]:
    """Reads `A[1, 5], A[1, 6] = 0.25`: every name with the number."""
    if not (found := NUMBER.match(text)):
        return []
    number = found[2] if found[2].startswith("“") else float(found[2].replace("−", "-"))
    return [
        (name, number.strip("“”") if isinstance(number, str) else number)
        for name in re.split(r", (?![^\[]*\])", found[1])
    ]
