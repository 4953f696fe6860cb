"""GRPO and DPO on one screen: texts in the notation, which the workbooks with all conventions have the numbers of."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import blueprint as bp
from blueprint.language import Block, compute, typed
from blueprint.workbooks.common import n, t
from blueprint.workbooks.common.preference_pairs import p
from blueprint.workbooks.dpo import dpo
from blueprint.workbooks.grpo import grpo
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import i, q

LONGEST = 60


def of(book: bp.Book, name: str) -> np.ndarray:
    """Returns the numbers of a block of a workbook, without its edges."""
    return book.values[book.blocks[name]].astype(float)


@pytest.mark.parametrize("numbers", ["grpo", "grpo-batch", "pipeline/grpo"])
def test_grpo_by_the_paper_is_the_page(numbers: str) -> None:
    book = bp.build(numbers, preset="grpo_paper")
    tokens = [typed(name, (n, t)) for name in ("m", "logp", "logp_old", "logp_ref")]
    batch = grpo.Batch._make([*tokens, typed("R", (q, i)), typed("of", (q, i, n))])
    use = grpo.Settings(typed("eps"), typed("beta"), typed("eps_std"))
    names = ("mask", "policy.logprobs", "old.logprobs", "reference.logprobs", "group.reward", "response.is")
    given = {block: of(book, name) for block, name in zip(batch, names, strict=True)}
    given |= {block: of(book, name) for block, name in zip(use, ("loss.clip_low", "kl.coef", "group.eps"), strict=True)}
    made = grpo.grpo(batch, use)
    found = compute([*given, *made], book.blueprint.sizes, given)
    counts, compared = given[batch.m] == 1, 0
    for block in made:
        there = book.blocks.get(block.name)
        if there is not None and len(there.axes) == len(block.axes):
            where = counts if block.axes == (n, t) else np.ones(found[block].shape, dtype=bool)
            np.testing.assert_allclose(
                found[block][where], of(book, block.name)[where], rtol=1e-12, atol=1e-13, err_msg=block.name
            )
            compared += 1
    assert compared >= 14


@pytest.mark.parametrize("numbers", ["dpo", "dpo-batch", "pipeline/dpo"])
def test_dpo_is_the_page(numbers: str) -> None:
    book = bp.build(numbers, preset="dpo_original")
    tokens = [typed(name, (n, t)) for name in ("m", "logp", "logp_ref")]
    batch = dpo.Batch._make([*tokens, typed("w", (p,)), typed("l", (p,))])
    beta = typed("beta")
    numbers_of = {"w": of(book, "pair.chosen").argmax(1), "l": of(book, "pair.rejected").argmax(1)}
    given: dict[Block, object] = {
        batch.m: of(book, "response.tokens"), batch.logp: of(book, "policy.logprobs"),
        batch.logp_ref: of(book, "reference.logprobs"), batch.w: numbers_of["w"], batch.l: numbers_of["l"], beta: of(book, "beta"),
    }  # fmt: skip
    made = {block.name: block for block in dpo.dpo(batch, beta)}
    found = compute([*given, *made.values()], book.blueprint.sizes, given)
    for name in ("chosen.reward", "rejected.reward", "loss.sigmoid", "total_loss"):
        np.testing.assert_allclose(found[made[name]], of(book, name), rtol=1e-12, atol=1e-13, err_msg=name)
    np.testing.assert_allclose(found[made["margin"]], of(book, "margin.argument"), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("page", [grpo.grpo, dpo.dpo])
def test_a_page_is_one_screen(page: object) -> None:
    assert len(inspect.getsource(page).splitlines()) <= LONGEST  # type: ignore[arg-type]
