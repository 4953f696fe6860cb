"""The list of misconceptions: each makes another row than the right one, no two of a row the same, and every kind has many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="a minibatch is replayed in torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Array, Block
from blueprint.misconceptions import Misconception, Rows, misconceptions_of
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import blueprint_of, kind_named
from tests.page.workshop import MAINS, made
from tests.replayed import window_book, with_everything_logged
from tests.workbooks.random_numbers import random_numbers, with_settings

GENERIC = {
    "gamma": 0.9, "gae_lambda": 0.8, "kl_coef": 0.3, "clip_range": 0.15, "value_clip_range": 0.1, "vf_coef": 0.4,
    "ent_coef": 0.2, "policy_kl_coef": 0.3, "update_step": 0.5,
}  # fmt: skip
LIVE = {**{f"ppo.{name}": value for name, value in GENERIC.items()}, "conventions": "live", "compare": "verl"}

TIGHT = {
    **LIVE, "advantage.ddof": 0, "reward.kl_clamp_in": 0.05, "reward.kl_clamp_out": 0.04, "loss.kl_clamp_in": 0.05,
    "loss.kl_clamp_out": 0.04, "reward.score_clip": 0.5, "loss.log_ratio_clamp": 0.05, "reward.missing_eos_value": 1,
    "reward.length_penalty": 0.3, "reward.free_tokens": 3,
    "loss.dual_clip": 1.01, "loss.sample_filter": "ended", "ppo.clip_range": 0.01,
}  # fmt: skip
"""By n, and with every clamp so near that it holds something."""


def at_random(seed: int, **ppo: float | str) -> Book:
    return Book(blueprint_of(with_settings(random_numbers(seed), **{**GENERIC, **ppo})))


GROUPS: dict[str, dict[str, Any]] = {
    "grpo by default": {"ppo.gamma": 0.9},
    "grpo by n": {
        "group.ddof": 0, "group.baseline": "others", "group.std": "residual", "ratio.level": "product", "loss.dual_clip": 1.01,
        "loss.clip_low": 0.02, "loss.clip_high": 0.01, "reward.overlong": "linear", "reward.max_tokens": 5, "reward.buffer": 2,
        "reward.overlong_factor": 0.5, "kl.place": "reward_token", "kl.coef": 0.3, "kl.estimator": "k2", "kl.weight": "ratio",
        "advantage.credit": "reward_to_go", "advantage.whiten": "tokens", "loss.mask": "drop_truncated", "loss.ent_coef": 0.1,
        "loss.sapo_bad": 1.3, "loss.constant": 7, "rollout.level": "product", "loss.aggregation": "seq_mean_token_sum",
        "ppo.gamma": 0.8, "group.zero_std": "skip", "advantage.mean_eps": 0.1,
    },
    "grpo by n − 1": {
        "group.baseline": "none", "group.std": "none", "ratio.level": "response", "kl.place": "loss", "kl.coef": 0.2,
        "kl.estimator": "k1", "loss.aggregation": "seq_mean_token_mean", "advantage.whiten": "responses", "gradients": "on",
        "rollout.level": "token", "rollout.high": 1.05, "loss.ent_coef": 0.2, "advantage.whiten_form": "outside",
    },
}  # fmt: skip
"""Conventions that are far from the default and from each other, so that each row is read somewhere."""


TEXTS = {"sft.microbatches": 4, "sft.region": "text", "loss.normaliser": "labels"}
RULES = {"reward.form": 0.5, "reward.free_tokens": 3}


def grouped(name: str) -> Callable[[], Book]:
    return lambda: Book(blueprint_of(load("grpo-batch", GROUPS[name])))


PAIRS: dict[str, dict[str, Any]] = {
    "dpo by default": {
        "loss.gamma": 0.3, "loss.label_smoothing": 0.1, "loss.nll_coef": 0.2, "loss.bco_mix": 0.3, "loss.weight": "wpo",
        "loss.bco_threshold": "batch_mean", "loss.desirable": 1.3, "logp.ld": "both", "logp.ld_alpha": 0.5, "logp.alpha": 0.3,
        "loss.mean_eps": 0.1, "watch.rewards": "sum", "dpo.beta": 0.3,
    },
    "dpo of means": {
        "logp.of": "mean", "reference.used": "off", "loss.form": "kto", "loss.nll_mean": "sequence_mean",
        "watch.rewards": "no_beta", "dpo.beta": 2, "loss.nll_region": "text", "loss.undesirable": 0.7, "loss.exo_eps": 0.2,
    },
}  # fmt: skip
"""Conventions of pairs that are far from the default, so that each row is read somewhere."""
MODELS = ("policy", "reference")
SCORED: dict[str, Any] = {
    "pairs.ranking": [1, 1, 1, 2], "pairs.counts": [1, 0, 1, 1], "loss.average": "rankings", "loss.margin": "typed",
    "reward.center": 0.3, "reward.l2": 0.2, "score.subtract": 0.3, "score.divide": 1.7, "loss.form": "per_position",
}  # fmt: skip
"""Three pairs of one ranking, one of which does not count, and every part of the loss."""


def _scored(conventions: dict[str, Any]) -> Book:
    return Book(blueprint_of(load("reward-batch", conventions)))


def _paired(conventions: dict[str, Any]) -> Book:
    return Book(blueprint_of(load("dpo-batch", conventions)))


def at_the_start() -> Book:
    """Makes pairs of a policy that is the reference still, so that all rewards are ties; elsewhere each has the other's logits."""
    known = load("dpo-batch")
    elsewhere = {f"mismatched.{one}": known[f"mismatched.{other}"] for one, other in (MODELS, MODELS[::-1])}
    parts = {**known.parts, **elsewhere, "policy.logits": known["reference.logits"]}
    return Book(blueprint_of(replace(known, parts=parts)))


BOOKS: dict[str, tuple[str, Callable[[], Book]]] = {
    "whitened": ("rlhf_ppo", lambda: at_random(5, whiten_advantages="on", kl_estimator="k2")),
    "raw": ("rlhf_ppo", lambda: at_random(6, whiten_advantages="off", kl_estimator="k3")),
    "by n − 1": ("rlhf_ppo", lambda: Book(blueprint_of(load("default", LIVE)))),
    "by n": ("rlhf_ppo", lambda: Book(blueprint_of(load("ten-libraries", TIGHT)))),
    "classic": ("classic_ppo", lambda: Book(blueprint_of(load("classic", {"ppo.gamma": 0.9})))),
    "controller": ("kl_controller", lambda: Book(blueprint_of(load("kl-controller")))),
    "token mean": (
        "kl_controller",
        lambda: Book(blueprint_of(load("kl-controller", {"controller.kl_stat": "token_mean"}))),
    ),
    **{name: ("grpo", grouped(name)) for name in GROUPS},
    **{name: ("dpo", partial(_paired, each)) for name, each in PAIRS.items()},
    "dpo at the start": ("dpo", at_the_start),
    "reinforce": ("reinforce", lambda: Book(blueprint_of(load("reinforce", {"reinforce.baseline": "leave_one_out"})))),
    "q-learning": ("q_learning", lambda: Book(blueprint_of(load("q-learning-path", {"q_learning.gae_lambda": 0.5})))),
    "scores": ("reward_model", partial(_scored, {"pairs.ranking": [1, 1, 1, 2]})),
    "scores of rankings": ("reward_model", partial(_scored, SCORED)),
    "sft": ("sft", lambda: Book(blueprint_of(load("sft-batch", {"sft.microbatches": 2})))),
    "sft of texts": ("sft", lambda: Book(blueprint_of(load("sft-batch", TEXTS)))),
    "grpo by rules": ("grpo", lambda: Book(blueprint_of(load("grpo", RULES)))),
    "a minibatch": ("rlhf_ppo", lambda: window_book(batch=with_everything_logged())),
}
BOOKS |= {
    "single responses": ("kto", lambda: Book(blueprint_of(load("kto", {"kto.desirable_weight": 1.5})))),
    "single responses, z at 0": ("kto", partial(made, "policy.elsewhere=[-9, -8, -7, -8, -9]", numbers="kto")),
}
LISTED = {kind for kind, _ in BOOKS.values()}
BOOKS |= {name: (kind, partial(made, numbers=name)) for kind, name in MAINS.items() if kind not in LISTED}
MANY = {kind: name for name, (kind, _) in reversed(BOOKS.items())} | {"minibatch": "a minibatch", "grpo": "grpo by n"}
"""By kind a workbook in which misconceptions are known of many rows."""
FEWEST_ROWS = {
    "rlhf_ppo": 115,
    "classic_ppo": 60,
    "kl_controller": 8,
    "a minibatch": 45,
    "grpo": 60,
    "reinforce": 13,
    "optimum": 12,
    "frontier": 8,
    "value_iteration": 5,
    "q_learning": 6,
    "bandit": 10,
    "advantage": 14,
    "reward_model": 20,
    "kto": 6,
    "sft": 14,
}
"""In how many rows of a kind's workbook, or of one workbook, at least one misconception is known."""


def kind(name: str) -> Kind:
    return kind_named(BOOKS[name][0])


def same(one: Array, other: Array) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-15, equal_nan=True))


@cache
def wrong(name: str) -> dict[str, dict[str, Array]]:
    """Returns what each row of a workbook shows by each misconception, by their names; those that change nothing left out."""
    book, found = BOOKS[name][1](), dict[str, dict[str, Array]]()
    rows = Rows.of(book.blueprint)

    def shown(block: Block) -> dict[str, Array]:
        known: dict[str, Array] = {}
        if not (written := rows.rewritten(kind(name), block)):
            return known
        cells = list(np.ndindex(book.values[block].shape))
        right = rows.right(block).in_the_step(cells, book.values)
        for row in written:
            try:
                made = np.array(row.in_the_step(cells, book.values))
            except (KeyError, ValueError):  # rows that this workbook has not
                continue
            if not same(made, np.array(right)):
                known.setdefault(row.name, made)
        return known

    for block in (block for block in book.blueprint.blocks() if not (block.typed or block.link or block.text)):
        if known := shown(block):
            found[block.name] = known
    return found


def caught(each: Misconception) -> bool:
    """Tells whether a misconception makes some row of some workbook another one."""
    return any(
        each.name in known and each.bound(row) is not None
        for name in BOOKS
        if each in misconceptions_of(kind(name))
        for row, known in wrong(name).items()
    )


def test_every_misconception_makes_another_row_than_the_right_one() -> None:
    """Those of the way back and of an optimiser's step, which are made of several rows, are planted in tests/checking."""
    every = {each for name in BOOKS for each in misconceptions_of(kind(name)) if each.change is not None}
    known = {(each.row, each.name): each for each in every}
    assert len(known) >= 200
    assert [at for at, each in known.items() if not caught(each)] == []


def test_no_two_misconceptions_of_a_row_are_one_function() -> None:
    """Two that agree in one workbook, as where every advantage is positive, part in another."""
    apart: dict[tuple[str, str, str], bool] = {}
    for name in BOOKS:
        for row, known in wrong(name).items():
            for one in known:
                for other in (other for other in known if other > one):
                    at = row, one, other
                    apart[at] = apart.get(at, False) or not same(known[one], known[other])
    assert [at for at, differ in apart.items() if not differ] == []


@pytest.mark.parametrize("name", MANY.values())
def test_misconceptions_are_known_of_many_rows_of_every_kind(name: str) -> None:
    assert len(wrong(name)) >= FEWEST_ROWS.get(name, FEWEST_ROWS.get(BOOKS[name][0], 5))


def test_names_are_short_and_what_is_said_is_one_sentence() -> None:
    for each in {each for name in BOOKS for each in misconceptions_of(kind(name))}:
        assert len(each.name) <= 32
        assert each.name.replace("-", "").isalnum()
        assert each.says.endswith(".")
        assert len(each.says) <= 160
