"""Every built-in workbook of RLHF PPO, by every preset, is what the pages of the papers make of what is typed in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages are torch: install the extra [torch]")

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import Numbers, load
from blueprint.language import NoNumber, NotationError
from blueprint.witness.ppo_pages import COUNTED
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.paper import results
from tests.live import book, mix
from tests.papers.held import TOLERANCE, held_against
from tests.workbooks.planted import MISTAKES, Planted
from tests.workbooks.random_numbers import random_numbers

PRESETS = (
    "default", "openai", "trl_0.11.4", "trl_1.12", "openrlhf", "verl", "trlx", "dschat", "nemo_aligner", "nemo_rl", "torchtune",
)  # fmt: skip


def cases() -> Iterator[tuple[str, str | None]]:
    """Yields every built-in workbook with every preset that it takes."""
    yield "very-very-sleepy", None
    for name in ("default", "by-hand", "ten-libraries", "epochs", "pipeline/ppo"):
        yield from ((name, preset) for preset in (None, *PRESETS))


def off(book: Book) -> dict[str, float]:
    """Returns how far each result is from the book."""
    return held_against(book, results, COUNTED)


@pytest.mark.parametrize(("name", "preset"), list(cases()))
def test_a_book_is_what_the_page_makes_of_it(name: str, preset: str | None) -> None:
    """With the slopes of the loss, of which a file by token has none; without them a book has no other rows."""
    found = off(bp.build(name, preset=preset, gradients=name != "very-very-sleepy"))
    assert {each: far for each, far in found.items() if not far <= TOLERANCE} == {}
    assert len(found) >= (14 if name == "very-very-sleepy" else 50)


CHANGES: list[dict[str, Any]] = [
    {"ppo.kl_estimator": "full"},
    {"ppo.kl_estimator": "k3", "reward.kl_in": "both", "loss.kl_estimator": "k2"},
    {"reward.kl_in": "loss", "loss.kl_estimator": "abs"},
    {"reward.kl_in": "loss", "loss.kl_estimator": "full", "loss.kl_coef": 0.3},
    {"reward.kl_clamp_in": 0.1, "reward.kl_clamp_out": 0.05, "ppo.kl_estimator": "k3"},
    {"reward.score_slot": "two_past", "advantage.tail_slots": 2, "value.tail": 1},
    {"reward.whiten": "on", "reward.whiten_rezero": "off"},
    {"reward.whiten": "on", "advantage.stats": "all", "advantage.ddof": 0},
    {"reward.missing_eos": "subtract", "reward.missing_eos_value": 2, "reward.score_clip": 1},
    {"reward.missing_eos": "set", "reward.missing_eos_value": -1, "reward.missing_eos_test": "has_padding"},
    {
        "reward.length_penalty": 0.3,
        "reward.free_tokens": 2,
        "reward.missing_eos": "subtract",
        "reward.missing_eos_value": 1,
    },
    {"advantage.eps_form": "std_plus", "ppo.whiten_eps": 0.1},
    {"advantage.eps_form": "std_max", "ppo.whiten_eps": 0.9},
    {"ppo.whiten_advantages": "off"},
    {"ppo.whiten_advantages": "keep_mean"},
    {"loss.log_ratio_clamp": 0.1},
    {"loss.dual_clip": 1.01, "loss.clip_range_high": 0.5},
    {"loss.ratio_threshold": 0.5},
    {"loss.sample_filter": "ended"},
    {"loss.aggregation": "token-sum"},
    {"loss.aggregation": "seq-mean-token-sum-norm", "loss.agg_eps": 0.01},
    {"loss.aggregation": "seq-mean-token-mean", "loss.seq_eps": 0.1, "value.aggregation": "token-mean"},
    {"loss.aggregation": "seq-mean-token-sum", "loss.entropy_aggregation": "token-mean"},
    {"value.combine": "clipped_only", "value.factor": 1},
    {"ppo.clip_range": "off", "ppo.value_clip_range": "off"},
    {"ppo.policy_kl_coef": 0.5, "ppo.ent_coef": 0.2, "batch.temperature": 0.7},
    {"batch.response_mask": "all", "metrics.over": "all", "metrics.kl": "k1", "metrics.log_ratio": "raw"},
    {"metrics.clip_fraction": "ratio", "metrics.explained": "var_new", "metrics.ev_eps": 0.1},
    {"metrics.explained": "mse_new", "metrics.kl_stat": "token_mean", "advantage.mean_eps": 0.1},
]


@pytest.mark.parametrize("changed", CHANGES, ids=lambda changed: " ".join(changed))
@pytest.mark.parametrize("name", ["default", "ten-libraries"])
def test_every_convention_is_an_option_of_the_page(name: str, changed: dict[str, Any]) -> None:
    found = off(bp.build(name, conventions="live", set=changed, gradients=True))
    assert {each: far for each, far in found.items() if not far <= TOLERANCE} == {}


NOTHING_COUNTED = {0, 31}
"""Seeds by which no response ended and none counts, or one token alone is whitened: 0/0 on the page, as in a library; 0 in a
workbook."""


@pytest.mark.parametrize("seed", range(40))
def test_random_conventions_sizes_and_masks_with_holes_are_followed(seed: int) -> None:
    name, *overrides = mix(seed)
    found = off(book(name, *overrides, "gradients=on"))
    assert (any(map(math.isnan, found.values()))) == (seed in NOTHING_COUNTED)
    assert {each: far for each, far in found.items() if far > TOLERANCE} == {}


def tried() -> Iterator[Numbers]:
    """Yields numbers of which one at least shows a mistake: some change nothing of the default."""
    yield load("default")
    for changed in (
        ["ppo.kl_estimator=k2"], ["ppo.kl_estimator=k3", "ppo.policy_kl_coef=0.5"], ["ppo.update_step=0.5"],
        ["ppo.update_step=0", "ppo.clip_range=0"],
    ):  # fmt: skip
        yield load("default", changed)
    yield from map(random_numbers, range(20))


def is_noticed(mistake: Planted, numbers: Numbers) -> bool:
    """Returns whether the page finds another number than a workbook with a mistake, or the notation refuses it."""
    blueprint = blueprint_of(numbers)
    mistake.plant({block.name: block for block in blueprint.blocks()})
    try:
        found = off(Book(blueprint))
    except (NotationError, NoNumber):
        return True
    return any(not far <= TOLERANCE for far in found.values())


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.name)
def test_a_planted_mistake_is_seen(mistake: Planted) -> None:
    """What a definition does wrong is another number than the page's, which begins at what is typed."""
    assert any(is_noticed(mistake, numbers) for numbers in tried())
