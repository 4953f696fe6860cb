"""Words of one's own as a vocabulary: where a model is to be run, each token is a row of its weights."""

from collections.abc import Iterable, Sequence

import numpy as np

from blueprint.inputs import NumbersError

END = "<eos>"
MOST = 64
"""Tokens of a vocabulary."""
SPELLED = str.maketrans("*?~ ", "＊？～␣")
"""Signs that a spreadsheet reads as patterns, in their wide form, which it does not."""


def vocabulary_of(texts: Iterable[Sequence[str]], name: str, known: Sequence[str] = (END,)) -> list[str]:
    """Returns the tokens of texts, the end token first; or those that are known, where all are among them.

    Tokens that differ by capitals alone are one. Raises NumbersError, if they are more than a workbook holds.
    """
    found: dict[str, str] = {END: END}
    for token in (token for text in texts for token in text):
        found.setdefault(token.casefold(), token)
    there = {each.casefold() for each in known}
    if found.keys() <= there:
        return list(known)
    if len(found) > MOST:
        raise NumbersError(
            f"{name}: {len(found) - 1} different words, but a vocabulary holds {MOST - 1} and the end token; choose fewer rows "
            f"with --prompts, or keep the first words of each with --most-tokens."
        )
    return list(found.values())


def plain(tokens: Iterable[str]) -> list[str]:
    """Returns tokens as a vocabulary may hold them."""
    return [each.translate(SPELLED) for each in tokens]


def drawn(*shape: int, seed: int) -> list[list[float]]:
    """Draws weights of a model that nobody trained: normal, deviation 0.6, with one decimal."""
    return np.round(np.random.default_rng(seed).normal(0, 0.6, shape), 1).tolist()  # type: ignore[no-any-return]
