"""The printed numbers of the examples, held against a book. Each function builds the books it needs and asserts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from blueprint.inputs import Numbers, load
from tests import golden
from tests.page.workshop import row
from tests.workbooks.building import Build, mask_of, number, words_of
from tests.workbooks.random_numbers import default, with_settings

RENAMED = {"value.loss": "value.word_loss", "score": "score.response"}
"""Blocks that the example was printed with under other names."""
# S1 is printed exactly; 1e-12 is rounding, not the last printed digit.
EXACT = 1e-12


def half_unit(decimals: int) -> float:
    """Returns half a unit of the last printed digit, and a rounding error more."""
    return 0.5 * 10.0**-decimals + 1e-12


def default_table(build: Build) -> None:
    """The table of the default example: words, scores, every row, both squares, the parts of the loss."""
    book = build(default())
    assert words_of(book) == golden.DEFAULT_WORDS
    assert_allclose(row(book, "score.response"), golden.DEFAULT_SCORES, rtol=0, atol=half_unit(4))
    for name, printed in golden.DEFAULT_TOKENS.items():
        atol = half_unit(golden.DEFAULT_TOKEN_DECIMALS)
        assert_allclose(row(book, name)[mask_of(book)], np.concatenate(printed), rtol=0, atol=atol, err_msg=name)
    for name, episode, word, square in golden.DEFAULT_SQUARES:
        found = row(book, name)[episode][mask_of(book)[episode]][word]
        assert_allclose(found, square, rtol=0, atol=half_unit(4), err_msg=name)
    for name, (printed_number, decimals) in golden.DEFAULT_SCALARS.items():
        found = row(book, RENAMED.get(name, name))
        assert_allclose(found, printed_number, rtol=0, atol=half_unit(decimals), err_msg=name)


def other_draws(build: Build) -> None:
    """A response cut without the end word, and one that is the end word alone."""
    variants: tuple[dict[str, Any], ...] = (golden.CUT, golden.ONE_WORD)
    for variant in variants:
        book = build(replace(default(), draws=_redrawn(variant)))
        assert words_of(book)[variant["episode"]] == variant["words"]
        assert_allclose(number(book, "total_loss"), variant["total_loss"], rtol=0, atol=half_unit(6))


def no_update(build: Build) -> None:
    """The total with policy and critic held still, and with only the policy held still."""
    still = build(with_settings(default(), update_step=0.0))
    assert_allclose(number(still, "total_loss"), golden.STEP_0_TOTAL, rtol=0, atol=half_unit(6))
    weights = {k: 0 * w if k.startswith("policy.delta_") else w for k, w in default().weights.items()}
    policy_still = build(replace(default(), weights=weights))
    assert_allclose(number(policy_still, "total_loss"), golden.POLICY_STILL_TOTAL, rtol=0, atol=half_unit(6))


def very_very_sleepy(build: Build) -> None:
    """The S1 table, every column of it."""
    book = build(sleepy())
    assert row(book, "mask").tolist() == [[1, 1, 1]]
    given = {"old.logprobs": "logprobs_old", "reference.logprobs": "logprobs_ref", "old_critic.values": "values"}
    same = {name: name for name in ("kl.used", "rewards", "td_errors", "advantages")}
    for name, column in (given | same).items():
        assert_allclose(row(book, name)[0], golden.S1[column], rtol=0, atol=EXACT, err_msg=name)
    assert_allclose(row(book, "reward.score")[0], [0, 0, golden.S1["score"]], rtol=0, atol=0)
    returns = np.add(golden.S1["advantages"], golden.S1["values"])
    assert_allclose(row(book, "returns")[0], returns, rtol=0, atol=EXACT)
    assert_allclose(row(book, "advantages_used"), row(book, "advantages"), rtol=0, atol=0)


def clip_table(build: Build) -> None:
    """The S1 clip table, every column of it."""
    book = build(sleepy())
    columns = zip(*golden.S1_CLIP, strict=True)
    names = ("case.advantage", "case.ratio", "surrogate.unclipped", "surrogate.clipped", "case.loss")
    for name, printed in zip(names, columns, strict=True):
        assert_allclose(row(book, name), printed, rtol=0, atol=EXACT, err_msg=name)


def sleepy() -> Numbers:
    """Returns the numbers of "very very sleepy"."""
    loaded = load("very-very-sleepy")
    return loaded


GOLDEN: dict[str, Callable[[Build], None]] = {
    check.__name__: check for check in (default_table, other_draws, no_update, very_very_sleepy, clip_table)
}


def _redrawn(variant: dict[str, Any]) -> Any:
    """Returns the default draws with those of one episode's response replaced: they begin at its fourth column."""
    draws = default().draws.copy()
    draws[variant["episode"], 3:7] = variant["draws"]
    return draws
