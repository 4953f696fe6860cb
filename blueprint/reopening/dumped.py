"""Empty numbers of a saved minibatch: the rows that its file has, and the sentences on its sheet Dump."""

from __future__ import annotations

import numpy as np

from blueprint.inputs.result import Array
from blueprint.page.opened import Opened
from blueprint.page.read import ReadError
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.minibatch.dump import WHERE
from blueprint.workbooks.minibatch.schema import MinibatchNumbers

FIRST_BLOCK = "episode.number"
"""The block below the sentences; only workbooks of a minibatch have it."""


def minibatch(file: Opened, name: str, told: tuple[str, str], preset: str) -> MinibatchNumbers:
    """Returns numbers with every typed block of the file, all of them empty: which rows are there decides what is computed."""
    typed = {block: _empty(file, block) for block, found in file.places.items() if found.kind == "typed"}
    words = typed.pop("word_written", np.empty((0, 0)))
    if words.ndim != 2 or 0 in words.shape or "mask" not in typed or typed["mask"].shape != words.shape:
        raise ReadError(f"{file.path}: the Contents sheet says not how words and mask lie: it was changed")
    rows = (("",) * words.shape[1],) * words.shape[0]
    return MinibatchNumbers(name, *told, rows, typed, {}, Conventions(True, preset), notes=_notes(file))


def _empty(file: Opened, name: str) -> Array:
    found = file.places[name]
    shape = tuple(along.cells for along in found.shape)
    return np.full(shape, "", dtype=object) if found.words else np.zeros(shape)


def _notes(file: Opened) -> tuple[str, ...]:
    """Returns the sentences between the heading above a minibatch's first block and the one that every such sheet has."""
    found = file.block(FIRST_BLOCK)
    above = [(row, column, text) for row, column, text in file.words_on(found.sheet, found.top) if row < found.top]
    last = next(((row, column) for row, column, text in above if text == WHERE), None)
    if last is None:
        return ()
    notes: list[str] = []
    texts = {(row, column): text for row, column, text in above}
    for row in range(last[0] - 1, 0, -1):
        if (row, last[1]) not in texts or texts[row, last[1]].startswith("1  "):
            break
        notes.insert(0, texts[row, last[1]])
    return tuple(notes)
