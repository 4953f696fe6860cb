"""Declared derivatives against the steps that they stand for, on random numbers around the kinks, and at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from blueprint.language import Block, Sum, block, compute, exp, log, minimum, typed
from blueprint.language.gradient import Declared, gradient
from blueprint.workbooks.common import n, t, v
from blueprint.workbooks.common.conventions import LIVE
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.definitions.logprobs_and_kl import chosen_logprobs, entropy, exact_kl, softmax
from blueprint.workbooks.common.definitions.losses import clip, value_loss
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import settings
from blueprint.workbooks.common.definitions.writing_rows import Choices, fixed

TOKENS = 400
SIZES = {n: 1, t: TOKENS, v: 5}
# Both forms are a handful of operations: they differ by their rounding, which is that of the largest number on the way.
NEAR = 1e-14


def apart(
    row: Block, by: Block, forward: Sequence[Block], declared: Declared, numbers: dict[Block, object], weight: Block
) -> float:
    """Returns the largest difference between a declared derivative and that of the steps, as a part of the largest of all."""
    loss = block("loss", (), "L")
    loss[()] = Sum(row.axes, weight[row.axes] * row[row.axes])
    raw, short = gradient(loss, [by], suffix="raw"), gradient(loss, [by], declared=[declared])
    assert len(short.blocks) < len(raw.blocks)
    values = compute([*numbers, *forward, loss, *raw.blocks, *short.blocks], SIZES, numbers)
    ours, theirs = values[short[by]], values[raw[by]]
    assert np.abs(theirs).max() > 0.1
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def numbers_of(rng: np.random.Generator, **blocks: Block) -> dict[Block, object]:
    """Draws the typed numbers of a distribution."""
    shapes = {each: tuple(SIZES[axis] for axis in each.axes) for each in blocks.values()}
    return {each: rng.normal(size=shape) for each, shape in shapes.items()}


@pytest.mark.parametrize("which", ["chosen", "entropy", "exact_kl"])
@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
def test_soft_max(which: str, spread: float) -> None:
    rng = np.random.default_rng(5)
    z, q, m, a, by = (
        typed("z", (n, t, v)),
        typed("q", (n, t, v)),
        typed("m", (n, t)),
        typed("a", (n, t)),
        typed("w", (n, t)),
    )
    made = softmax("policy", z)
    forward = list(made[1:])
    numbers = numbers_of(rng, z=z, w=by) | {
        m: rng.integers(0, 2, (1, TOKENS)),
        a: rng.integers(0, 5, (1, TOKENS)),
    }
    numbers[z] = np.asarray(numbers[z]) * spread
    numbers[q] = rng.dirichlet(np.ones(5), (1, TOKENS))
    match which:
        case "chosen":
            row = chosen_logprobs("policy", made.logp, a, m)
            declared = gradients.of_chosen_logprobs(row, made, a, m)
        case "entropy":
            row = entropy("policy", made.p_log_p, m)
            declared = gradients.of_entropy(row, made, m)
        case _:
            fixed_part = typed("q_log_q", (n, t))
            numbers[fixed_part] = np.zeros((1, TOKENS))
            cross, row = exact_kl("policy_kl", q, fixed_part, made.logp, m)
            declared = gradients.of_exact_kl(row, q, made, m)
            forward.append(cross)
    assert apart(row, z, list(dict.fromkeys([*forward, row])), declared, numbers, by) < NEAR * spread


def steps_around(rng: np.random.Generator, kinks: Sequence[float]) -> np.ndarray:
    """Returns numbers of which a third lie on a kink, a third a rounding beside one, and a third anywhere."""
    on = rng.choice(kinks, TOKENS)
    beside = np.nextafter(on, rng.choice([-np.inf, np.inf], TOKENS))
    found = np.where(rng.integers(0, 2, TOKENS), on, beside)
    return np.where(rng.integers(0, 3, TOKENS) == 0, rng.normal(size=TOKENS), found)[None]


def conventions(**limits: Block) -> Choices:
    """Returns the default's conventions, with limits that are typed here."""
    use = fixed(settings({}), LIVE)
    return replace(use, used={**use.used, **{key.replace("__", "."): limit for key, limit in limits.items()}})


@pytest.mark.parametrize("seed", range(5))
def test_clipped_surrogate(seed: int) -> None:
    rng, reach = np.random.default_rng(seed), 0.2
    new, old, A, weight = (typed(name, (n, t)) for name in ("new", "old", "A", "w"))
    limit = typed("clip_range", (), limit=True)
    made = clip(new, old, A, conventions(clip_range=limit, loss__clip_range_high=limit))
    steps = list(dict.fromkeys([made.log_ratio, made.ratio, *made.steps, made.smaller]))
    numbers: dict[Block, object] = {
        new: steps_around(rng, [0.0, np.log(1 + reach), np.log(1 - reach), 5.0, -5.0]),
        old: np.zeros((1, TOKENS)),
        A: rng.choice([-1.0, 0.0, 0.7], (1, TOKENS)),
        weight: rng.normal(size=(1, TOKENS)),
        limit: reach,
    }
    declared = gradients.of_surrogate(made.smaller, made.unclipped, made.clipped, made.ratio, A)
    assert apart(made.smaller, made.ratio, steps, declared, numbers, weight) < NEAR


@pytest.mark.parametrize("seed", range(5))
def test_clipped_value_loss(seed: int) -> None:
    rng, reach = np.random.default_rng(seed), 0.2
    V, V_old, R, m, weight = (typed(name, (n, t)) for name in ("V", "V_old", "R", "m", "w"))
    limit = typed("value_clip_range", (), limit=True)
    made = value_loss(V, V_old, R, conventions(value_clip_range=limit), m=m)
    numbers: dict[Block, object] = {
        V: steps_around(rng, [0.0, reach, -reach, 0.7]),
        V_old: rng.choice([0.0, 0.3], (1, TOKENS)),
        R: rng.choice([-1.0, 0.0, 0.2, 0.7], (1, TOKENS)),
        m: rng.integers(0, 2, (1, TOKENS)),
        weight: rng.normal(size=(1, TOKENS)),
        limit: reach,
    }
    steps = list(dict.fromkeys([*made.ways, made.loss]))
    declared = gradients.of_value_loss(made.loss, made.ways[0], made.square, made.held_square, V, m)
    assert apart(made.loss, V, steps, declared, numbers, weight) < NEAR


@pytest.mark.parametrize("way", ["log_sigmoid", "sigmoid"])
def test_sigmoids_have_their_slope_at_0_and_far_from_it(way: str) -> None:
    """The steps have a kink at 0, where every first step of DPO stands; elsewhere they are right."""
    x, weight, row = typed("x", (t,)), typed("w", (t,)), block("row", (t,), "r")
    size, least = exp(-abs(x[t])), minimum(x[t], 0)
    row[t] = least - log(1 + size) if way == "log_sigmoid" else exp(least) / (1 + size)
    declared = gradients.of_log_sigmoid(row, x) if way == "log_sigmoid" else gradients.of_sigmoid(row, x)
    at = np.concatenate([[0.0], np.linspace(-30, 30, TOKENS - 3), [-800.0, 800.0]])
    loss = block("loss", (), "L")
    loss[()] = Sum(t, weight[t] * row[t])
    made = gradient(loss, [x], declared=[declared])
    found = compute([x, weight, row, loss, *made.blocks], SIZES, {x: at, weight: np.ones(TOKENS)})[made[x]]
    numeric = 0.5 * (1 - np.tanh(at / 2)) if way == "log_sigmoid" else 0.25 / np.cosh(np.clip(at, -700, 700) / 2) ** 2
    assert found[0] == (0.5 if way == "log_sigmoid" else 0.25)
    assert np.abs(found - numeric).max() < NEAR
