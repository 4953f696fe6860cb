"""Blanks in a check: answers are held against torch, what goes on with them against the definitions, what waits against nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from blueprint.checking.files import Checked
from blueprint.language import Array
from blueprint.page.filled_in import Spot

NEAR = 1 + 1e-9
"""Half a unit of the last digit, as a spreadsheet rounds: 0.25 shown with one digit is 0.3."""


@dataclass(frozen=True)
class Answer:
    """What became of one blank.

    blank:   its defined name, `blank_01`. cells: where they stand.
    empty:   how many of its cells are empty. wrong: those in which something else is filled in than torch has.
    carried: those among them that are right for what was filled in elsewhere: the mistake lies before them.
    """

    blank: str
    cells: tuple[str, ...]
    empty: int
    wrong: tuple[Spot, ...]
    carried: tuple[Spot, ...]

    @property
    def says(self) -> str:
        """What became of it, in a word or two; a blank of which cells are empty is not filled in."""
        wrong = "differs" if set(self.wrong) - set(self.carried) else "carried" if self.wrong else "agrees"
        return wrong if self.wrong or not self.empty else "not filled in"


def held_against(file: Checked, witness: Mapping[str, Array]) -> tuple[Checked, dict[str, Array]]:
    """Returns a worksheet as it is compared, and the numbers with which: of a workbook without blanks both as they are.

    An answer that is right to the digits that its cell shows is as good as torch's. Behind a blank the sheet goes on with what
    was filled in, which the definitions do, too. What is open shows what is meant: it neither agrees nor deviates.
    """
    if file.book is None:
        return file, dict(witness)
    meant, shown = ({name: np.array(array) for name, array in each.items()} for each in (witness, file.arrays))
    blocks, values = file.book.blocks, file.book.values.arrays
    for name, at in file.blanks.behind:
        if name in meant and name in blocks and values[blocks[name]].shape == meant[name].shape:
            meant[name][at] = values[blocks[name]][at]
    for name, at in file.blanks.cells:
        if name in meant and _right(file, Spot(name, at), witness[name][at]):
            meant[name][at] = shown[name][at]
    for name, cells in file.blanks.open.items():
        for at in cells if name in meant and meant[name].shape == shown[name].shape else ():
            shown[name][at] = meant[name][at] = witness[name][at]
    return file.showing(shown), meant


def _right(file: Checked, spot: Spot, answer: float) -> bool:
    """Says whether a number is filled in that is an answer, to half a unit of the last digit that the cell shows."""
    decimals = file.book.blocks[spot.name].about.decimals if file.book and spot.name in file.book.blocks else 0
    return bool(abs(file.arrays[spot.name][spot.at] - answer) <= NEAR * 0.5 * 10.0**-decimals)


def answers(file: Checked, witness: Mapping[str, Array]) -> tuple[Answer, ...]:
    """Says what became of every blank."""
    return tuple(_answer(file, witness, *each) for each in file.blanks.blanks.items())


def _answer(file: Checked, witness: Mapping[str, Array], name: str, spots: tuple[Spot, ...]) -> Answer:
    filled = [spot for spot in spots if spot not in file.blanks.empty and spot.name in witness]
    wrong = tuple(spot for spot in filled if not _right(file, spot, witness[spot.name][spot.at]))
    cells = tuple(file.cell(*spot) for spot in spots)
    return Answer(name, cells, len(spots) - len(filled), wrong, tuple(_carried(file, wrong)))


def _carried(file: Checked, wrong: tuple[Spot, ...]) -> Iterator[Spot]:
    """Yields the wrong cells in which stands what their equation comes to from the cells as they are filled in."""
    for spot in wrong:
        block = file.book.blocks.get(spot.name) if file.book else None
        if file.book and block in file.book.values.own and _right(file, spot, file.book.values.own[block][spot.at]):
            yield spot
