"""Conventions far from the defaults, and batches that no library ran: page and autograd agree with every row of the workbook."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from tests.page.workshop import made
from tests.workbooks.apart import apart

OTHERS = (
    ("reward.overlong=capped", "reward.max_tokens=4", "reward.buffer=2", "reward.truncated=0.5"),
    ("group.baseline=length", "group.std=residual", "reward.clip_low=-1", "reward.clip_high=0.5", "reward.clip_at=after"),
    ("group.baseline=second", "group.std=batch_of_advantages", "advantage.whiten=responses"),
    ("group.baseline=greedy", "group.std=not_zero", "advantage.credit=discounted", "ppo.gamma=0.9", "kl.place=advantage"),
    ("group.of=row", "advantage.credit=reward_to_go", "kl.place=reward_token", "kl.coef=0.1", "advantage.whiten=tokens"),
    ("advantage.credit=to_go", "kl.place=after", "ppo.gamma=0.8", "advantage.whiten=tokens", "advantage.whiten_form=at_least"),
    ("loss.objective=sapo", "loss.sapo_bad=1.05", "ratio.level=own_token", "ratio.sequence_most=0.1"),
    ("loss.objective=gmpo", "ratio.length_eps=0.001", "loss.aggregation=seq_mean_token_sum", "loss.constant=6"),
    ("loss.objective=vespo", "ratio.clamp=0.2", "loss.aggregation=prompt_mean", "loss.entropy_least=1.5"),
    ("loss.objective=reinforce", "ratio.level=rollout", "loss.off_policy=0.01", "loss.ent_coef=0.01"),
    ("kl.place=loss", "kl.gradient=k2_is", "kl.weight=ratio", "kl.aggregation=token_mean", "loss.aggregation=token_sum"),
    ("rollout.level=product", "rollout.low=0.5", "rollout.high=2", "rollout.mode=mask", "rollout.normalise=on"),
    ("rollout.level=token", "rollout.mode=filter", "rollout.statistic=binary_kl", "rollout.high=0.01", "ratio.old=new"),
    ("group.filter=constant", "loss.aggregation=prompt_mean", "group.baseline=others", "loss.mask=drop_truncated"),
    ("group.filter=zero_spread", "group.std=others", "loss.aggregation=seq_mean_token_sum", "loss.rows_eps=0.1"),
    ("group.filter=mean_at_end", "loss.aggregation=seq_mean_token_mean", "kl.place=loss", "kl.aggregation=token_mean"),
    ("rollout.reject=mean", "rollout.reject_low=0.9", "rollout.reject_high=1.1", "loss.mask=drop_truncated", "loss.dual_clip=3"),
)  # fmt: skip
"""Conventions of GRPO that are far from the default, so that each way is gone at least once."""


@pytest.mark.parametrize("overrides", OTHERS, ids=[each[0] for each in OTHERS])
def test_every_quantity_of_other_conventions_agrees(overrides: tuple[str, ...]) -> None:
    assert apart(made(*overrides, numbers="grpo-batch")) == {}


TWO_TEXTS: dict[str, Any] = {
    "text.vocabulary": ["<eos>", "a", "b"], "text.texts": [["a", "a", "<eos>"], ["b", "<eos>", "<eos>"]],
    "text.response": [[1, 1], [1, 0]], "text.there": [[1, 1], [1, 0]],
    "policy.logits": [[[0, 800, 0], [0, 0, 0]], [[-300, 0, 300], [40, 0, 0]]],
}  # fmt: skip
"""Two texts whose prompt is one token; the pad is the end token, and the second response is that token alone."""
SMALL = (*(f"{key}={json.dumps(each)}" for key, each in TWO_TEXTS.items()), "gradients=on")
"""A label of probability 1, labels as likely as any other, one of probability e^−600, and a likely one: beyond e^−709 no cell holds
a perplexity."""
TEXTS = {
    "steps of SGD": ("sft", "update.by=sgd", "update.epochs=3", "update.max_norm=0.1", "update.weight_decay=0.1"),
    "steps on microbatches": ("sft", "update.by=adam", "sft.microbatches=2", "loss.normaliser=microbatches"),
    "wrapped": ("sft-batch", "gradients=on", "sft.region=text", "sft.packing=wrapped", "loss.normaliser=labels"),
    "DFT of three microbatches": (
        "sft-batch", "gradients=on", "loss.dft=on", "sft.microbatches=3", "loss.normaliser=microbatches"
    ),
    "probability 1, one token, pad = eos": ("sft-batch", *SMALL, "loss.normaliser=nonzero"),
    "no end token in any text": ("sft-batch", "gradients=on", "sft.end_token=out", "loss.normaliser=row_sums"),
    "four microbatches": (
        "sft-batch", "gradients=on", "sft.microbatches=4", "loss.normaliser=microbatches", "loss.mean_eps=1e-8"
    ),
    "means of all rows": ("sft-batch", "gradients=on", "loss.normaliser=row_means"),
    "labels that are not 0": ("sft-batch", "gradients=on", "loss.normaliser=nonzero", "sft.region=text"),
    **{f"small, by {word}": ("sft-batch", *SMALL, f"loss.normaliser={word}") for word in ("tokens", "row_sums")},
    "no end token": ("sft-batch", *SMALL, "sft.end_token=out", "loss.normaliser=row_sums"),
    "means of rows": ("sft-batch", *SMALL, "loss.normaliser=row_means"),
    "wrapped, and cut where no column is left": ("sft-batch", *SMALL, "sft.packing=wrapped", "sft.region=text"),
    "nothing to learn": ("sft-batch", *SMALL, "text.response=[[0, 0], [0, 0]]", "preset=nemo_rl"),
    "one response of two": ("sft-batch", *SMALL, "text.response=[[0, 0], [1, 0]]", "preset=verl_b178a3c", "sft.microbatches=2"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_every_quantity_of_demonstrations_agrees(name: str) -> None:
    numbers, *overrides = TEXTS[name]
    book = made(*overrides, numbers=numbers)
    assert apart(book) == {}
    for row in ("total_loss", "policy.logits.grad"):
        assert np.isfinite(book.values[book.blocks[row]]).all()
