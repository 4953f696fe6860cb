"""Every built-in workbook of the critic-free family, with every preset, against the page that reads its typed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the pages are plain torch")

import blueprint as bp
from blueprint.language import Block
from blueprint.witness.raw import Raw
from blueprint.workbooks.grpo.paper import PAGE, results
from blueprint.workbooks.grpo.schema import ONLY_RUN
from blueprint.workbooks.registry import kind_named
from tests.workbooks.grpo.recorded import FRONT

BUILT_IN = ("by-hand-grpo", "grpo-batch", "grpo", "pipeline/grpo")
GRPO = kind_named("grpo").part("settings")
PRESETS = tuple(kind_named("grpo").part("presets")().presets)
NEAR = 1e-12
OF_TOKENS = tuple(PAGE.masks)
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


def apart(book: bp.Book, arrays: Mapping[Block, Any]) -> dict[str, float]:
    """Returns by name how far the page is from the workbook, relative to the largest number above 1. arrays: by block."""
    cells = {block.name: arrays[block] for block in book.blocks.values()}
    typed = {block.name: cells[block.name] for block in book.blocks.values() if block.typed}
    found = {}
    for name, made in results(Raw(typed)).items():
        ours, theirs = made.numpy(), np.asarray(cells[name], float)
        assert ours.shape == theirs.shape, (name, ours.shape, theirs.shape)
        if name in OF_TOKENS:
            counts = cells["mask"][:, -1 - ours.shape[1] : -1] == 1 if book.blocks["mask"].edges else cells["mask"] == 1
            ours, theirs = ours[counts], theirs[counts]
        found[name] = float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))
    return found


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_page_gives_what_the_workbook_shows(name: str, preset: str) -> None:
    book = bp.build(name, preset=preset, gradients=True)
    found = apart(book, book.values.arrays)
    assert {*NAMED, *MORE[name]} <= {*found}
    assert {row: each for row, each in found.items() if not each <= NEAR} == {}


ALL_IN_USE: dict[str, float | str] = {
    "kl.place": "loss", "kl.coef": 0.04, "rollout.level": "token", "rollout.low": 0.9, "rollout.high": 1.1, "loss.ent_coef": 0.01,
    "reward.max_tokens": 6, "reward.buffer": 3, "reward.overlong": "linear", "ratio.clamp": 0.2, "ratio.sequence_most": 0.1,
    "kl.clamp_in": 0.5, "kl.clamp_out": 0.08, "loss.constant": 8, "rollout.reject_low": 0.9, "rollout.reject_high": 1.1,
    "gamma": 0.9, "reward.clip_low": -0.2, "reward.clip_high": 0.9, "loss.dual_clip": 1.05, "loss.delta": 1.3,
}  # fmt: skip
"""Conventions under which every other one says something."""
OPTIONS = [(key, word) for key, setting in GRPO.items() if key not in ONLY_RUN for word in setting.words]
PAIRS: list[dict[str, float | str]] = [
    {"group.std": "batch", "group.ddof": 0}, {"group.std": "batch_of_advantages", "group.ddof": 0, "group.baseline": "length"},
    {"group.std": "group_of_advantages", "group.ddof": 0, "group.baseline": "length"},
    {"advantage.whiten": "tokens", "advantage.whiten_form": "outside", "advantage.whiten_ddof": 0},
    {"advantage.whiten": "tokens", "advantage.whiten_form": "at_least", "advantage.mean_eps": 1e-8},
    {"advantage.whiten": "tokens", "advantage.whiten_form": "centre"},
    {"kl.place": "reward_token", "advantage.credit": "reward_to_go"},
    {"kl.place": "after", "advantage.credit": "to_go", "kl.estimator": "k1"},
    {"kl.place": "reward", "reward.clip_at": "after"},
    {"rollout.level": "product", "rollout.mode": "filter", "rollout.normalise": "on"},
    {"rollout.level": "mean", "rollout.mode": "mask", "rollout.normalise": "on", "ratio.old": "new"},
    {"rollout.statistic": "binary_kl", "rollout.mode": "filter", "rollout.low": 0, "rollout.high": 0.01},
    {"rollout.statistic": "difference", "rollout.mode": "filter", "rollout.low": 0, "rollout.high": 0.05},
    {"rollout.statistic": "binary_kl", "rollout.level": "mean", "rollout.low": 0, "rollout.high": 0.01, "rollout.mode": "mask"},
    {"group.filter": "constant", "loss.aggregation": "prompt_mean"},
    {"group.filter": "zero_spread", "group.std": "others", "group.zero_std": "skip", "loss.aggregation": "seq_mean_token_sum"},
    {"kl.weight": "own", "kl.gradient": "k2"}, {"kl.weight": "ratio", "ratio.level": "response", "kl.gradient": "k2_is"},
    {"loss.objective": "gmpo", "ratio.length_eps": 1e-8}, {"loss.mask": "drop_truncated", "loss.off_policy": 0.01},
    {"loss.entropy_least": 1.6, "loss.entropy_aggregation": "as_policy", "loss.aggregation": "seq_mean_token_mean"},
    {"reward.truncated": -0.3}, {"reward.truncated": 0.5, "group.of": "row"}, {"vespo.power_bad": 4, "loss.objective": "vespo"},
]  # fmt: skip


@pytest.mark.parametrize("asked", [*({key: word} for key, word in OPTIONS), *PAIRS], ids=str)
def test_every_option_is_that_of_the_workbook(asked: dict[str, float | str]) -> None:
    values = FRONT.typed_in({**ALL_IN_USE, **asked})
    found = apart(FRONT.workbook, values.arrays)
    assert {row: each for row, each in found.items() if not each <= NEAR} == {}


NUMBERS: dict[str, tuple[float, ...]] = {
    "reward.max_tokens": (4, 6), "reward.buffer": (1, 3), "reward.overlong_factor": (1, 0.5), "reward.truncated": (inf, -0.3, 0.5),
    "reward.clip_low": (inf, -0.2), "reward.clip_high": (inf, 0.9), "kl.coef": (0.04, 0.5), "kl.clamp_in": (inf, 0.2),
    "kl.clamp_out": (inf, 0.08), "kl.reach": (10, 1.1), "group.ddof": (0, 1), "group.eps": (1e-6, 0.1), "gamma": (1, 0.9),
    "advantage.whiten_eps": (1e-8, 1e-4), "advantage.whiten_ddof": (0, 1), "advantage.mean_eps": (0, 1e-8),
    "ratio.length_eps": (0, 1e-8), "ratio.clamp": (inf, 0.2), "ratio.sequence_most": (inf, 0.1), "loss.clip_low": (inf, 0.2, 0.01),
    "loss.clip_high": (inf, 0.2, 0.01, -0.5), "loss.delta": (inf, 1.1), "loss.dual_clip": (inf, 1.05), "loss.constant": (1, 8),
    "loss.agg_eps": (0, 1e-8), "loss.length_eps": (0, 1e-8), "loss.rows_eps": (0, 1e-8),
    "loss.factor": (1, 0.9), "loss.off_policy": (inf, 0.01), "loss.entropy_least": (inf, 1.6), "loss.ent_coef": (0, 0.1),
    "rollout.low": (inf, 0.95), "rollout.high": (inf, 1.05), "rollout.clamp": (inf, 0.1), "rollout.mean_eps": (0, 1e-8),
    "rollout.reject_low": (inf, 0.9), "rollout.reject_high": (inf, 1.1),
}  # fmt: skip
"""Numbers that settings may be, off among them."""
OF_A_SIGN = ("keep", "policy.counts", "policy_loss", "total_loss", "policy.logprobs.grad", "policy.logits.grad")


@pytest.mark.parametrize("seed", range(40))
def test_any_conventions_together_are_those_of_the_workbook(seed: int) -> None:
    rng = Random(seed)
    asked: dict[str, float | str] = {key: rng.choice(each) for key, each in NUMBERS.items()}
    asked |= {key: rng.choice(GRPO[key].words) for key in dict.fromkeys(key for key, _ in OPTIONS)}
    asked["group.of"] = "prompt"
    values = FRONT.typed_in(asked)
    found = apart(FRONT.workbook, values.arrays)
    A = FRONT.cells(values, "advantages")[FRONT.cells(values, "mask") == 1]
    # The sign of what is 0 but for rounding is whoever's.
    close = bool((np.abs(A) < 1e-12).any() and (A != 0).any())
    left_out = {row for row in found if close and (row.startswith("clip.") or row in OF_A_SIGN)}
    assert {row: each for row, each in found.items() if not each <= NEAR and row not in left_out} == {}


@pytest.mark.parametrize(
    ("asked", "preset"),
    [
        ({"reward.from": "typed"}, "default"),
        ({"reward.from": "model", "ppo.update_step": 0}, "default"),
        (
            {"reward.answer": "anywhere", "reward.form": 0.2, "reward.free_tokens": 1, "reward.token_cost": 0.1},
            "default",
        ),
        ({"ppo.update_step": 3}, "verl_gspo"),
    ],
    ids=str,
)
def test_a_file_that_begins_at_weights_is_scored_and_moved_as_it_says(asked: dict[str, Any], preset: str) -> None:
    book = bp.build("grpo", preset=preset, set=asked, gradients=True)
    found = apart(book, book.values.arrays)
    assert {row: each for row, each in found.items() if not each <= NEAR} == {}


NOT_RECORDED = "residual"
"""What AReaL makes of a single response no run has recorded: the workbook has the spread 1, the page the residual around 0."""


@pytest.mark.parametrize("std", [word for word in GRPO["group.std"].words if word != NOT_RECORDED])
@pytest.mark.parametrize("baseline", GRPO["group.baseline"].words)
def test_a_response_alone_has_what_its_library_compares_it_with(baseline: str, std: str) -> None:
    values = FRONT.typed_in({"group.of": "row", "group.baseline": baseline, "group.std": std})
    found = apart(FRONT.workbook, values.arrays)
    assert {row: each for row, each in found.items() if not each <= NEAR} == {}
