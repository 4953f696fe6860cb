"""How many of sixty mistakes are named that were written down by one who had not read the list, and by the right idea.

Before anything was mended for them, 55 of the 60 were named as typed and 57 in full; one of these wrongly: an advantage that was
shared out among four tokens was taken for one divided by a sum over four responses.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from tests.misconceptions.fresh import FRESH, Mistake
from tests.misconceptions.test_upstream import said, world

TYPED = 4
"""Decimals that a student types."""
IDEAS = {
    "default": [
        "wrong way round", "another policy (policy)", "upside down", "β is forgotten", "penalty is subtracted",
        "score, on the last token): It is summed", "γ is forgotten", "V_t stands where V_{t+1} should", "λ is forgotten",
        "one step alone", "discounted by γ", "whitened advantage stands where the raw", "mean is not subtracted",
        "divided by the variance", "upside down", "not clipped from below", "max stands where min", "unclipped surrogate",
        "½ is forgotten", "unclipped square is taken", "all columns, pads and all", "entropy is added", "z_max is subtracted",
        "z_max is subtracted",
    ],
    "grpo": [
        "sum is not divided", "mean of all rewards", "divided by n", "root is forgotten", "not divided by the std",
        "wrong way round", "baseline is not subtracted", "divided by n", "deviation of the whole batch",
        "how many positions count", "exp is forgotten", "reference stands where the old policy", "logarithm is held between",
        "clipped one is taken", "unclipped one is taken", "means of the responses are averaged",
        "number of responses, not of tokens", "The KL is added",
    ],
    "dpo": [
        "This is mean_θ", "prompt's tokens are in the sum", "last position that counts is left out", "upside down",
        "divided by Sref_w, not less it", "logarithm is not taken", "reference is left out", "Both are added", "are exchanged",
        "divided by β", "logarithm is asked for", "β is forgotten", "1 − σ(u)", "log σ(−u)", "β times the log-prob stands there",
        "β is forgotten", "averaged over all pairs", "sum is not divided by the number of pairs",
    ],
}  # fmt: skip
"""A part of what is said of each, judged to be its idea by reading; the order is that of the list."""


def named(name: str, mistake: Mistake, decimals: int | None) -> str | None:
    """Returns what is said of a mistake, as it is typed with so many decimals or in full."""
    number = float(np.asarray(mistake.wrong(world(name))))
    found = said(name, mistake.row, mistake.at, number if decimals is None else round(number, decimals))
    return found.says if found else None


def all_said(decimals: int | None) -> list[tuple[str, str | None]]:
    """Returns the idea of each mistake, and what is said of it."""
    return [
        (idea, named(name, mistake, decimals))
        for name, mistakes in FRESH.items()
        for mistake, idea in zip(mistakes, IDEAS[name], strict=True)
    ]


def test_sixty_mistakes_each_make_another_number() -> None:
    assert len([*chain(*FRESH.values())]) == 60
    for name, mistakes in FRESH.items():
        for each in mistakes:
            here = world(name)
            right = float(here.values.cell(here.blocks[each.row], *each.at))
            assert abs(float(np.asarray(each.wrong(here))) - right) > 2 * 10.0**-TYPED, each


def test_of_sixty_fresh_mistakes_most_are_named_as_typed_and_none_wrongly() -> None:
    found = all_said(TYPED)
    assert [(idea, says) for idea, says in found if says is not None and idea not in says] == []
    assert sum(says is not None for _, says in found) >= 57


def test_of_sixty_fresh_mistakes_all_are_named_in_full() -> None:
    assert [(idea, says) for idea, says in all_said(None) if says is None or idea not in says] == []
