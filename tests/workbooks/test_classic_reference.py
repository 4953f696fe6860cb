"""Random rollouts: classic PPO as plain loops over steps, written without the definitions, gives the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from blueprint.book import Book
from blueprint.inputs import Numbers, load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.classic_ppo.rollout import CLASSIC, classic_presets
from blueprint.workbooks.classic_ppo.workbook import classic_ppo

Array = npt.NDArray[np.float64]
ROUNDING = 1e-12
SEEDS = range(40)


def built_in() -> Numbers:
    """Returns the built-in rollout."""
    loaded = load("classic")
    return loaded


def drawn(seed: int) -> Numbers:
    """Draws a rollout and settings; some have a single environment, step or end, some no end at all."""
    rng = np.random.default_rng(seed)
    environments, steps, actions = rng.integers(1, 4), rng.integers(1, 9), rng.integers(2, 6)
    shape = environments, steps
    done = rng.random(shape) < rng.choice([0, 0.3, 1])
    logits = rng.normal(size=(*shape, actions)).round(2)
    after = (logits + 0.5 * rng.normal(size=logits.shape)).round(2)
    preset, ppo = str(rng.choice(["default", "cleanrl", "sb3", "torchrl", "rlax"])), _settings(rng)
    given = {
        "actions": rng.integers(0, actions, shape),
        "rewards": rng.normal(size=shape).round(2),
        "done": done.astype(float),
        "terminated": (done & (rng.random(shape) < 0.5)).astype(float),
        "values_old": rng.normal(size=shape).round(2),
        "values_new": rng.normal(size=shape).round(2),
        "next_values": rng.normal(size=environments).round(2),
        "logits_old": logits,
        "logits_new": after,
    }
    return replace(
        built_in(), ppo=ppo, parts={"preset": preset} | {f"rollout.{key}": each for key, each in given.items()}
    )


def _settings(rng: np.random.Generator) -> dict[str, float | str]:
    """Draws some of the settings; the others are left to the preset."""
    given: dict[str, float | str] = {}
    for key, setting in CLASSIC.items():
        if rng.random() < 0.4:
            low, high = (1e-8, 1e-3) if key == "whiten_eps" else (0.0, 1.0)
            given[key] = str(rng.choice(setting.words)) if setting.words else round(float(rng.uniform(low, high)), 9)
    return given


def log_softmax(scores: tuple[float, ...]) -> list[float]:
    """Returns log-probabilities."""
    total = math.log(sum(math.exp(score) for score in scores))
    return [score - total for score in scores]


def in_use(numbers: Numbers) -> dict[str, float | str]:
    """Returns every setting that is in use: the file's, else the preset's."""
    return {**classic_presets().preset(numbers["preset"]).values, **numbers.ppo}


def by_hand(numbers: Numbers) -> dict[str, Any]:
    """Computes the loss and what is watched, environment by environment, from the last step to the first."""
    use = in_use(numbers)
    gamma, lam = float(use["gamma"]), float(use["gae_lambda"])
    A: list[list[float]] = []
    names = ("rewards", "values_old", "done", "terminated", "next_values")
    for r, v, done, over, last in zip(*(numbers[f"rollout.{name}"] for name in names), strict=True):
        row: list[float] = []
        advantage, ahead = 0.0, last
        for t in reversed(range(len(r))):
            cut = over[t] if use["bootstrap"] == "terminated" else done[t]
            surprise = r[t] - v[t] + (0.0 if cut else gamma * ahead)
            advantage = surprise if done[t] else surprise + gamma * lam * advantage
            ahead = v[t]
            row.insert(0, advantage)
        A.append(row)
    R = np.add(A, numbers["rollout.values_old"])
    return {"advantages": np.array(A), "returns": R} | losses(numbers, np.array(A), R)


def losses(numbers: Numbers, A: Array, R: Array) -> dict[str, Any]:
    """Computes everything behind the advantages."""
    use = in_use(numbers)
    old, new = (
        [[log_softmax(s) for s in env] for env in z]
        for z in (numbers["rollout.logits_old"], numbers["rollout.logits_new"])
    )
    each = [(n, t) for n, row in enumerate(numbers["rollout.actions"]) for t in range(len(row))]
    taken = {at: int(numbers["rollout.actions"][at[0]][at[1]]) for at in each}
    d = np.array([new[n][t][taken[n, t]] - old[n][t][taken[n, t]] for n, t in each]).reshape(A.shape)
    H = np.array([-sum(math.exp(x) * x for x in new[n][t]) for n, t in each])
    used = whitened(A, use)
    low, high = 1 - float(use["clip_range"]), 1 + float(use["clip_range"]) + float(use["clip_more"])
    ratio = np.exp(d)
    policy = -np.minimum(ratio * used, np.clip(ratio, low, high) * used).mean()
    value = value_losses(numbers, R).mean()
    total = policy + float(use["vf_coef"]) * value - float(use["ent_coef"]) * H.mean()
    spread = R.var()
    foresaw = 1 - (R - np.array(numbers["rollout.values_old"])).var() / spread if spread > 1e-12 else 0.0
    return {
        "ratio": ratio, "advantages_used": used, "policy_loss": policy, "value_loss": value, "entropy": H.mean(),
        "total_loss": total, "approx_kl.k1": -d.mean(), "approx_kl.k3": (ratio - 1 - d).mean(),
        "clip_fraction": ((ratio < low) | (ratio > high)).mean(), "explained_variance.old": foresaw,
        "ratio.effective": ratio.sum() ** 2 / (ratio.size * (ratio**2).sum()),
    }  # fmt: skip


def whitened(A: Array, use: dict[str, float | str]) -> Array:
    """Shifts and scales the advantages, if that is asked for; a single step has σ = 0."""
    if use["whiten_advantages"] == "off":
        return A
    sigma = A.std(ddof=1) if A.size > 1 else 0.0
    eps = float(use["whiten_eps"])
    return np.asarray((A - A.mean()) / (sigma + eps if use["whiten_form"] == "std_plus" else max(sigma, eps)))


def value_losses(numbers: Numbers, R: Array) -> Array:
    """Returns the value loss of every step."""
    use = in_use(numbers)
    old, new, reach = (
        np.array(numbers["rollout.values_old"]),
        np.array(numbers["rollout.values_new"]),
        float(use["value_clip_range"]),
    )

    def distance(V: Array) -> Array:
        e = np.abs(V - R)
        return e**2 if use["value_norm"] == "l2" else np.where(e < 1, e**2 / 2, e - 0.5)

    near = distance(np.clip(new, old - reach, old + reach))
    either = near if use["value_combine"] == "clipped_only" else np.maximum(distance(new), near)
    return np.asarray(float(use["value_factor"]) * either)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_rollout(seed: int) -> None:
    numbers = drawn(seed)
    book = Book(classic_ppo(numbers))
    expected = by_hand(numbers)
    # Whitening divides by σ, and the explained variance by the variance of the returns: they magnify rounding by as much.
    sigma = np.std(expected["advantages"]) + 1e-8
    spread = np.var(expected["returns"]) + 1e-12
    for name, theirs in expected.items():
        ours = np.asarray(book.values[book.blocks[name]], dtype=float)
        harder = 1 / spread if name.startswith("explained") else 1 / sigma
        allowed = ROUNDING * (1 + np.abs(theirs).max()) * max(1.0, harder)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=allowed, err_msg=name)
    assert str(book.values.cell(book.blocks["check.master"])) == "OK"


def test_the_random_rollouts_reach_every_word_and_every_kind_of_end() -> None:
    every = [drawn(seed) for seed in SEEDS]
    for key, setting in CLASSIC.items():
        if setting.words:
            assert {in_use(numbers)[key] for numbers in every} == set(setting.words), key
    assert {sum(map(sum, numbers["rollout.done"])) > 0 for numbers in every} == {True, False}
    assert any((numbers["rollout.done"] != numbers["rollout.terminated"]).any() for numbers in every)
    assert any(len(numbers["rollout.actions"]) == len(numbers["rollout.actions"][0]) == 1 for numbers in every)


# Where a setting can only be felt: a guard that is large against σ, a clip that is reached.
FELT: dict[str, dict[str, float | str]] = {
    "whiten_form": {"whiten_eps": 0.3},
    "value_combine": {"value_clip_range": 0.01},
    "clip_more": {"clip_range": 0.01},
}


@pytest.mark.parametrize("key", CLASSIC)
def test_every_setting_counts(key: str) -> None:
    """Changed alone, each setting changes the loss; so none is read under another's name."""
    setting = CLASSIC[key]
    given = built_in()
    # All ends are time limits, so that it matters which end cuts V(next) off.
    before = replace(given, parts={**given.parts, "rollout.terminated": np.zeros((2, 8))}, ppo=FELT.get(key, {}))
    other = next((word for word in setting.words if word != setting.value), 0.35)
    after = replace(before, ppo=before.ppo | {key: other})
    first, second = (Book(blueprint_of(numbers)) for numbers in (before, after))
    totals = [float(book.values.cell(book.blocks["total_loss"])) for book in (first, second)]
    assert abs(totals[0] - totals[1]) > 1e-6
