"""Fresh formulas: those of a new workbook of a file's kind and sizes, whatever is typed in the file.

They hang on kind and sizes alone, but for one thing: what watches the formulas treats a limit that was delivered as off
as a word. So nothing is computed here: every number is a 1, every word is one word, and a limit is off where it is said.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from blueprint.explaining import spots_on
from blueprint.language import Axis, Values
from blueprint.page.formulas import fingerprint, formulas_of
from blueprint.page.grid import Address, Spot
from blueprint.page.outline import Blueprint
from blueprint.page.placing import lay_out
from blueprint.page.read import Opened
from blueprint.page.saved_file import Written
from blueprint.reopening.book import cut_of
from blueprint.reopening.saved import numbers_of
from blueprint.workbooks.common.checks import NEAREST, OWN, WITNESS, Witnessed
from blueprint.workbooks.registry import blueprint_of

SOME_WORD = "a"
KINDS_AT_HAND = 12
"""Fresh workbooks that are kept: files of one kind and size have one."""


class Fresh(NamedTuple):
    """A fresh workbook: its formulas by sheet and cell, its blocks, the cells of computed limits, its fingerprint and axes,
    and what it was made of."""

    formulas: Written
    blocks: dict[str, Spot]
    limits: dict[tuple[str, int], Address]
    fingerprint: str
    axes: dict[str, tuple[Axis, ...]]
    blueprint: Blueprint


Off = frozenset[tuple[str, int]]
"""Computed limits that were delivered as off: the name of the block, and which of its cells, edges included."""


def of_witness(name: str, file: Mapping[str, object]) -> bool:
    """Tells whether a block belongs to the witness's numbers beside a file's own; file: its blocks by name."""
    return NEAREST in file and name.startswith(OWN)


class Like:
    """A file's kind and sizes: files are alike that differ in nothing but name, title, text and what is typed in them.

    witnessed: which numbers of a witness stand beside the file's own, all of them 0; None where none do. Raises ReadError
    where the file is of no kind that is known. cut: what makes a worksheet of it, if it is one.
    """

    def __init__(self, file: Opened):
        names = [name.removeprefix(WITNESS) for name in file.places if name.startswith(WITNESS) and name != NEAREST]
        self.numbers, self.witnessed = numbers_of(file), Witnessed(dict.fromkeys(names, 0.0), "") if names else None
        self.cut = cut_of(file)
        nameless = replace(self.numbers, name="", title="", about="about" if self.numbers.about else "")
        self._key = f"{nameless!r} {self.witnessed!r} {hash(self.cut)}"

    def fresh(self, off: Off = frozenset()) -> Fresh:
        """Returns the fresh workbook in which these limits are off; it is made once for all files alike."""
        return _made(self, off)

    def whole(self) -> Blueprint:
        """Returns the blueprint of the file's kind and sizes, of a worksheet with all that it leaves out; one for all alike."""
        return _whole(self)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Like) and self._key == other._key


@lru_cache(maxsize=KINDS_AT_HAND)
def _whole(alike: Like) -> Blueprint:
    return blueprint_of(alike.numbers, alike.witnessed)


@lru_cache(maxsize=KINDS_AT_HAND)
def _made(alike: Like, off: Off) -> Fresh:
    blueprint = alike.cut.of(alike.whole())
    values = Values(blueprint.sizes)
    for block in blueprint.blocks():
        filled = np.full(values.shape(block), SOME_WORD if block.text else 1.0, dtype=object if block.text else float)
        filled.flat[[number for name, number in off if name == block.name]] = inf
        values.arrays[block] = filled
    layout = lay_out(blueprint, values)
    formulas: Written = {sheet: {} for sheet in layout.body}
    for each in formulas_of(layout):
        formulas[each.sheet][each.row + 1, each.column + 1] = each.formula.removeprefix("=")
    spots = spots_on(layout)
    limits = {
        (block.name, number): spots[block.name].stands(places)
        for block in layout.places
        if block.limit and not block.typed
        for number, places in enumerate(spots[block.name].places())
    }
    axes = {block.name: tuple(map(blueprint.called, block.axes)) for block in layout.places}
    return Fresh(formulas, spots, limits, fingerprint(layout), axes, blueprint)
