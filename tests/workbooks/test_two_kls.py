"""The KL of the reward and the KL of the loss, each by its own estimator, clamps and price, at once.

The expected numbers are computed here, word by word in plain Python, on a batch whose log-ratios to the reference reach
±40: beyond every clamp, and where exp would be 1e17.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch", reason="PPO's page is torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.witness.raw import Raw
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.page.finished import Engine
from tests.page.workshop import Array, blocks_in, located, row

SHIFTS = (21.0, 40.0, -25.0, -3.0)
"""What is taken, episode by episode, off the reference's logit of the word written, or, below 0, off both policies'."""


class Kl(NamedTuple):
    """An estimator with the clamps that hold it; None: none does."""

    estimator: str
    limit_in: float | None
    limit_out: float | None

    def of(self, log_ratio: float) -> float:
        """Estimates from log π − log π_ref."""
        x = _held(log_ratio, self.limit_in)
        estimate = {"k1": x, "abs": abs(x), "k2": x * x / 2, "k3": math.exp(min(-x, 700.0)) - 1 + x}[self.estimator]
        return _held(estimate, self.limit_out)


def _held(x: float, limit: float | None) -> float:
    return x if limit is None else max(-limit, min(limit, x))


class Case(NamedTuple):
    """What is set over a preset, and the two estimates that it comes to."""

    given: Mapping[str, str | float]
    reward: Kl
    loss: Kl


CASES = {
    "verl's own": Case({}, Kl("k1", None, None), Kl("k3", 20, 10)),
    "verl, the other way round": Case(
        {"kl_estimator": "k3", "loss.kl_estimator": "k2"}, Kl("k3", 20, 10), Kl("k2", None, None)
    ),
    "other clamps": Case(
        {"kl_estimator": "abs", "reward.kl_clamp_in": "off", "reward.kl_clamp_out": 10, "reward.kl_clamp_of": "all",
         "loss.kl_estimator": "k1", "loss.kl_clamp_in": 15, "loss.kl_clamp_out": "off", "loss.kl_clamp_of": "all"},
        Kl("abs", None, 10), Kl("k1", 15, None),
    ),
    "a clamp of k3 that is not chosen": Case(
        {"kl_estimator": "k2", "reward.kl_clamp_in": 1, "reward.kl_clamp_out": 1, "loss.kl_estimator": "k3",
         "loss.kl_clamp_in": 2, "loss.kl_clamp_out": "off", "loss.kl_clamp_of": "k3"},
        Kl("k2", None, None), Kl("k3", 2, None),
    ),
}  # fmt: skip
PAID: dict[str, str | float] = {"reward.kl_in": "both", "kl_coef": 0.05, "loss.kl_coef": 0.002}
IN_LOSS: dict[str, str | float] = {
    "loss.kl_estimator": "k3", "loss.kl_clamp_in": 20, "loss.kl_clamp_out": 10, "loss.kl_clamp_of": "k3"
}  # fmt: skip
"""What verl does in the loss; said, so that what is said of the reward is not meant for the loss as well."""


@cache
def far(name: str) -> Book:
    """Returns the book of the libraries' batch with words made rare for the reference, or for both policies."""
    said = PAID | IN_LOSS | dict(CASES[name].given)
    keys = [f"{key if '.' in key else f'ppo.{key}'}={value}" for key, value in said.items()]
    base = load("ten-libraries", ["preset=verl", "compare=verl", *keys])
    ids = {word: number for number, word in enumerate(base["text.vocabulary"])}
    logits = {f"{name}.logits": np.array(base[f"{name}.logits"]) for name in ("old", "reference", "policy")}
    for n, (response, shift) in enumerate(zip(base["text.responses"], SHIFTS, strict=True)):
        for t, word in enumerate(response):
            for policy in ("reference",) if shift > 0 else ("old", "policy"):
                logits[f"{policy}.logits"][n, t, ids[word]] -= abs(shift)
    return Book(blueprint_of(replace(base, parts={**base.parts, **logits})))


def expected(name: str) -> dict[str, float]:
    """Adds up what the KL takes from the rewards, what it adds to the loss, and the statistic of a controller."""
    book, case = far(name), CASES[name]
    old, new, ref = (row(book, f"{policy}.logprobs") for policy in ("old", "policy", "reference"))
    counts, weight = row(book, "response"), row(book, "policy.weight.row")
    penalty, loss, means = 0.0, 0.0, []
    for n in range(counts.shape[0]):
        of_response = 0.0
        for t in range(counts.shape[1]):
            of_response += counts[n, t] * case.reward.of(float(old[n, t] - ref[n, t]))
            loss += weight[n, t] * case.loss.of(float(new[n, t] - ref[n, t]))
        penalty -= 0.05 * of_response
        means.append(of_response / (float(counts[n].sum()) + 1e-8))
    return {
        "reward.penalty": penalty, "kl_loss": loss, "adds.kl_loss": 0.002 * loss, "kl.statistic": sum(means) / len(means),
        "total_loss": float(row(book, "policy_loss")) + 0.002 * loss,
    }  # fmt: skip


def same(found: Mapping[str, Array], name: str) -> None:
    for each, value in ((each, value) for each, value in expected(name).items() if each in found):
        assert float(np.sum(found[each])) == pytest.approx(value, rel=1e-9), each


@pytest.mark.parametrize("name", CASES)
def test_each_kl_has_an_estimator_clamps_and_a_price_of_its_own(name: str) -> None:
    book = far(name)
    assert np.abs(row(book, "kl.free")).max() > 39
    assert row(book, "kl_new.free").min() < -20
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    same(arrays, name)
    rows = PAGE.results(Raw(arrays))
    shared = {each: rows[each].numpy() for each in expected(name) if each in rows}
    assert {"reward.penalty", "kl_loss", "kl.statistic", "total_loss"} <= shared.keys()
    same(shared, name)


def test_one_workbook_says_them_all_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "two.xlsx"
    far("verl's own").save(path)
    engine, places = Engine(path), located(path)

    def typed(key: str, value: str | float | None) -> None:
        place = places[f"{key}.yours"]
        engine.type(place.sheet, place.top, place.left, value)

    for name, case in CASES.items():
        for key, value in case.given.items():
            typed(key, value)
        engine.evaluate()
        found = blocks_in(engine.model, places)
        same(found, name)
        assert float(found["check.settings"]) == 0
        for key in case.given:
            typed(key, IN_LOSS.get(key))


@pytest.mark.parametrize(
    ("said", "reward", "loss"),
    [
        ([], ("k1", 0.0, 0.001), ("k3", 10.0, 0.001)),
        (["ppo.kl_estimator=k2", "ppo.kl_coef=0.3"], ("k2", 0.0, 0.3), ("k2", 0.0, 0.3)),
        (["reward.kl_clamp_out=7", "ppo.kl_estimator=k3"], ("k3", 7.0, 0.001), ("k3", 7.0, 0.001)),
        (["ppo.kl_coef=0.3", "loss.kl_coef=0.4", "loss.kl_estimator=abs"], ("k1", 0.0, 0.3), ("abs", 0.0, 0.4)),
    ],
)
def test_what_a_file_says_of_the_reward_alone_it_says_of_both(
    said: list[str], reward: tuple[str, float, float], loss: tuple[str, float, float]
) -> None:
    """Files that were written when there was one setting for both mean what they meant."""
    book = Book(blueprint_of(load("ten-libraries", ["preset=verl", "compare=verl", "reward.kl_in=both", *said])))
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    for place, name, (estimator, limit, price) in (("reward", "kl", reward), ("loss", "kl_new", loss)):
        key = "kl_estimator" if place == "reward" else "loss.kl_estimator"
        assert arrays[key].item() == estimator
        assert float(arrays[f"kl_coef.{place}"]) == price
        assert float(arrays[f"{place}.kl_clamp_out"]) * float(arrays[f"{name}.holds"]) == limit
