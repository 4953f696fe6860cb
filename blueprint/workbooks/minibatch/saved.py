"""The rows that a saved minibatch has, and the sentences on its sheet Dump; its numbers stay those of the dump."""

from blueprint.reopening.saved import Saved
from blueprint.workbooks.common.conventions.data import Conventions, rlhf
from blueprint.workbooks.minibatch.given import WHERE
from blueprint.workbooks.minibatch.schema import MinibatchNumbers

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
        raise file.refusal("says not on its Contents sheet how words and mask lie: it was changed")
    typed = {
        name: file.array(name)
        for name, found in file.file.places.items()
        if found.kind == "typed" and name != "word_written"
    }
    return MinibatchNumbers(
        **file.head(),
        words=words,
        typed=typed,
        ppo={},
        conventions=Conventions(True, file.preset(rlhf())),
        notes=_notes(file),
    )


def _notes(file: Saved) -> tuple[str, ...]:
    """Return the sentences between the heading above a minibatch's first block and the one that every such sheet has."""
    found = file.file.block(FIRST_BLOCK)
    above = [(row, column, text) for row, column, text in file.file.words_on(found.sheet, found.top) if row < found.top]
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
