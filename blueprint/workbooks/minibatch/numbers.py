"""A few responses of a training minibatch, a window of columns each, and what the rest of the batch adds; and these numbers as a
saved workbook has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from blueprint.inputs import Array, Numbers
from blueprint.reopening.saved import Saved
from blueprint.workbooks.common.conventions.data import PLAIN, Conventions, rlhf
from blueprint.workbooks.minibatch.given import WHERE


@dataclass(frozen=True, eq=False, kw_only=True)
class MinibatchNumbers(Numbers):
    """Hold all numbers of a minibatch; no numbers file holds them.

    Attributes:
        words: what stands for the word of each column, (episodes, columns).
        typed: by the name of its block, every other number: rows (episodes, columns), numbers of responses (episodes,),
            numbers of the whole batch (). Which rows are there decides where the workbook begins.
        conventions: the preset in use; ppo: the settings in which the run differs from it.
        focus: the column of the first response, from 1, that one looks at first.
        notes: sentences on where the numbers come from, and on what the dump has not.
    """

    kind: str = "minibatch"
    level: str = "minibatch"
    words: tuple[tuple[str, ...], ...]
    typed: Mapping[str, Array]
    conventions: Conventions = PLAIN
    focus: int = 1
    notes: tuple[str, ...] = ()


FIRST_BLOCK = "episode.number"
"""The block below the sentences; only workbooks of a minibatch have it."""


def numbers_in(file: Saved) -> MinibatchNumbers:
    """Return numbers of a file's sizes with every typed block that it has: which rows are there decides what is computed.

    Raises:
        ReadError: for what is typed, which no numbers file holds.
    """
    if not file.blank:
        raise file.refusal(
            "shows a part of a training minibatch, which numbers files do not hold: "
            "its numbers are those of the dump (blueprint import), and rebuild keeps them"
        )
    words, mask = file.rows("word_written"), file.array("mask", 2)
    if mask.shape != (len(words), len(words[0])):
        raise file.refusal("says not on its Contents sheet how tokens and mask lie: it was changed")
    typed = [name for name, found in file.file.places.items() if found.kind == "typed" and name != "word_written"]
    typed = [name for name in typed if ".grad." not in name]  # comes with the gradients
    return MinibatchNumbers(
        **file.head(),
        words=words,
        typed={name: file.array(name) for name in typed},
        ppo={},
        conventions=Conventions(True, file.preset(rlhf())),
        notes=_notes(file),
    )


def _notes(file: Saved) -> tuple[str, ...]:
    """Return the sentences between the heading above a minibatch's first block and the one that every such sheet has."""
    found = file.file.block(FIRST_BLOCK)
    texts = {(row, column): text for row, column, text in file.file.words_on(found.sheet, found.top) if row < found.top}
    last, column = next((place for place, text in texts.items() if text == WHERE), (0, 0))
    above = (texts.get((row, column), "") for row in range(last - 1, 0, -1))
    return tuple(takewhile(lambda text: text and not text.startswith("1  "), above))[::-1]
