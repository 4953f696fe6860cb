"""Every built-in workbook of the critic-free family, with every preset, against the page that reads its typed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the pages are plain torch")

import blueprint as bp
from blueprint.witness.raw import Raw
from blueprint.workbooks.grpo.schema import grpo_presets
from blueprint.workbooks.grpo.witness.page import results

BUILT_IN = ("by-hand-grpo", "grpo-batch", "grpo", "pipeline/grpo")
PRESETS = tuple(grpo_presets().presets)
NEAR = 1e-12
OF_TOKENS = (
    "advantages", "log_ratio.free", "log_ratio", "ratio", "policy.token_loss", "rollout.counts", "loss.counted", "keep",
    "policy.counts", "kl_new.counts", "kl_old.used",
)  # fmt: skip
"""Rows that the mask says to count."""
NAMED = (
    *OF_TOKENS, "reward.shaped", "reward", "group.reward", "group.baseline_used", "group.spread_used", "group.advantage",
    "group.left", "policy_loss", "kl_loss", "adds.kl_loss", "entropy", "adds.entropy", "total_loss", "mean.score", "mean.reward",
    "response.mean_length", "mean.advantage", "mean.ratio", "mean.ratio_clipped", "approx_kl.k1", "kl.mean_new",
    "rollout.mean_kl", "clip.fraction_low", "clip.fraction_high", "clip.fraction", "clip.mean_of_responses",
    "clip.fraction_dual", "group.share_same", "policy.logprobs.grad",
)  # fmt: skip
"""What every file has."""
MORE = {
    "by-hand-grpo": (),
    "grpo-batch": ("policy.logits.grad", "policy.entropy.grad", "policy.logprobs", "engine.logprobs", "policy.entropy"),
    "grpo": (
        "policy.E.grad", "policy.W.grad", "policy.Y.grad", "policy.logits", "policy.logits.grad", "reference.logits", "score",
        "truncated", "mask", "rollout.written", "engine.logprobs", "policy.entropy",
    ),
}  # fmt: skip
MORE["pipeline/grpo"] = MORE["grpo"]
"""What else the file has that begins there."""


def compared(book: bp.Book) -> dict[str, float]:
    """Returns by name how far the page is from the workbook, relative to the largest number above 1."""
    cells: Mapping[str, Any] = {block.name: book.values.arrays[block] for block in book.blocks.values()}
    typed = {block.name: cells[block.name] for block in book.blocks.values() if block.typed}
    found = {}
    for name, made in results(Raw(typed)).items():
        ours, theirs = made.numpy(), np.asarray(cells[name], float)
        assert ours.shape == theirs.shape, (name, ours.shape, theirs.shape)
        if name in OF_TOKENS:
            counts = np.asarray(book.values[book.blocks["mask"]]) == 1
            ours, theirs = ours[counts], theirs[counts]
        found[name] = float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))
    return found


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_page_gives_what_the_workbook_shows(name: str, preset: str) -> None:
    found = compared(bp.build(name, preset=preset, gradients=True))
    assert {*NAMED, *MORE[name]} <= {*found}
    assert {row: each for row, each in found.items() if not each <= NEAR} == {}
