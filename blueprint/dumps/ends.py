"""Responses whose mask goes on behind their end: what that looks like where the tokens themselves are in the file."""

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import Array

FEWEST_ROWS, MOST_LISTED = 2, 8


def behind_the_end(batch: Minibatch) -> tuple[str, ...]:
    """Says where several responses end in one and the same token, written again and again, all inside the mask, as pads are.

    One response alone may end so by itself, but for a token that prompts are padded with.
    """
    ids = batch.tensors.get("response_ids")
    if ids is None or len(ids) != len(batch.mask):
        return ()
    width = min(ids.shape[1], batch.mask.shape[1])
    ends = [_run(row[mask]) for row, mask in zip(np.asarray(ids)[:, :width], batch.mask[:, :width], strict=True)]
    repeated = [token for token, times in ends if times > 1]
    if not repeated:
        return ()
    token = max(dict.fromkeys(repeated), key=repeated.count)
    rows = [row for row, (each, times) in enumerate(ends) if each == token and times > 1]
    if len(rows) < FEWEST_ROWS and token not in _pads(batch):
        return ()
    listed = ", ".join(str(batch.file_row(row)) for row in rows[:MOST_LISTED])
    more = " …" if len(rows) > MOST_LISTED else ""
    return (
        f"{len(rows)} of {len(ends)} responses end in token {token} several times over, all inside the mask (row {listed}{more}): "
        "if that is the pad or the end token, tokens behind the first end token are counted",
    )


def _run(tokens: Array) -> tuple[int, int]:
    """Returns the last token of a response, and how often it stands there without another between; −1 where there is none."""
    if not len(tokens):
        return -1, 0
    others = np.flatnonzero(tokens != tokens[-1])
    return int(tokens[-1]), len(tokens) - (int(others[-1]) + 1 if len(others) else 0)


def _pads(batch: Minibatch) -> set[int]:
    """Returns with what prompts begin twice and more, where others do not begin with it: what they are padded with."""
    prompts = batch.tensors.get("prompt_ids")
    if prompts is None or prompts.ndim != 2 or prompts.shape[1] < 2:
        return set()
    firsts = prompts[:, 0]
    twice = {int(each) for each in firsts[firsts == prompts[:, 1]]}
    return {each for each in twice if (firsts != each).any()}
