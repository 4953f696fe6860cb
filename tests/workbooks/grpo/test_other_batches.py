"""Every preset on batches that no library was run on: far log-probs, one token, one response, empty ones, equal and huge rewards.

The definitions and the page of libraries give the same advantages, ratios, losses and gradients; where a library divides by 0,
both have no number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import torch

from blueprint.workbooks.registry import kind_named
from tests.papers.test_grpo_pages import NOT_RECORDED
from tests.workbooks.apart import distance
from tests.workbooks.grpo.recorded import Array, Batch
from tests.workbooks.side_by_side import SETTINGS, Asking, array, of_groups, paged

GRPO = SETTINGS["grpo"]
PRESETS = {name: preset.values for name, preset in kind_named("grpo").part("presets")().presets.items()}
# Both compute in double precision, in an order of their own; relative to the largest number of a row.
TOLERANCE = 1e-12
NOISE = 1e-11
"""Of a single token whitening leaves rounding, 1e-16 of its advantage, and divides it by √1e-8."""
WORDS = 5


def drawn(
    prompts: int, size: int, positions: int, *, lengths: Sequence[int] = (), rewards: float | None = None,
    scale: float = 1, cut: float = 0, far: float = 0, seed: int = 0,
) -> Batch:  # fmt: skip
    """Draws a batch. rewards: the same for all; far: by how much a log-prob falls, of the old policy and of the new in turn."""
    rng, count = np.random.default_rng(seed), prompts * size
    n = np.array(lengths) if lengths else rng.integers(1, positions + 1, count)
    tokens, z = rng.integers(0, WORDS, (count, positions)), rng.normal(size=(count, positions, WORDS))
    logits = {name: z + 0.3 * rng.normal(size=z.shape) for name in ("new", "old", "ref", "rollout")}
    for at in np.ndindex(count, positions):
        logits["new" if sum(at) % 2 else "old"][(*at, tokens[at])] -= far
    scores = scale * rng.integers(-4, 5, count) / 4 if rewards is None else np.full(count, float(rewards))
    mask = (np.arange(positions) < n[:, None]).astype(float)
    return Batch(scores, np.full(count, float(cut)), rng.normal(size=prompts), mask, tokens, logits)


BATCHES: dict[str, Callable[[], Batch]] = {
    "plain": partial(drawn, 3, 4, 6, seed=1),
    "log-ratios of 20": partial(drawn, 3, 4, 6, far=20),
    "log-ratios of 200": partial(drawn, 3, 4, 6, far=200),
    "log-ratios of 700": partial(drawn, 3, 4, 6, far=700),
    "one token each": partial(drawn, 3, 4, 6, lengths=[1] * 12),
    "one position": partial(drawn, 3, 4, 1),
    "groups of two": partial(drawn, 4, 2, 5),
    "groups of one": partial(drawn, 5, 1, 5),
    "one prompt": partial(drawn, 1, 8, 4),
    "one response": partial(drawn, 1, 1, 3),
    "rewards all 1": partial(drawn, 3, 4, 5, rewards=1),
    "rewards all 0": partial(drawn, 3, 4, 5, rewards=0),
    "rewards of 1e150": partial(drawn, 3, 4, 5, scale=1e150),
    "rewards of 1e-150": partial(drawn, 3, 4, 5, scale=1e-150),
    "all cut off": partial(drawn, 3, 4, 5, cut=1),
    "an empty response": partial(drawn, 3, 4, 5, lengths=[0, 3, 4, 5, 1, 2, 3, 4, 5, 5, 5, 5]),
    "an empty group": partial(drawn, 3, 4, 5, lengths=[0, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5]),
    "no token at all": partial(drawn, 1, 2, 5, lengths=[0, 0]),
}
OVER_NONE = "a mean over tokens divides by their number, 0"
WHITENS_NONE = "the mean over all tokens divides by their number, 0, and verl adds 1e-8; the page whitens none of them"
NO_NUMBER = {
    "no token at all": {
        "rfpp_paper": WHITENS_NONE,
        **{
            name: OVER_NONE
            for name in PRESETS
            if name == "openrlhf" or (name.startswith("verl_") and name != "verl_gspo")
        },
    }
}
"""Where the loss is no number, and why."""
ROWS = ("reward", "group.advantage", "advantages", "ratio", "policy.token_loss", "rollout.counts", "policy_loss", "kl_loss",
        "entropy", "total_loss")  # fmt: skip
SLOPE = "the slope of the loss by each log-prob"


def by_definitions(batch: Batch, asked: Sequence[Asking]) -> list[dict[str, Array]]:
    """Returns the rows that are compared, for each set of conventions."""
    beside = of_groups(batch, asked)
    slopes = beside.slopes()["policy.logprobs"]
    values = beside.computed(beside.rows[name] for name in ROWS)
    return [
        {name: beside.row(values, name, place) for name in ROWS} | {SLOPE: slopes[place]} for place in range(len(asked))
    ]


def by_page(batch: Batch, asked: Asking) -> dict[str, Array]:
    """Returns the same of one set, from the page; the entropy has a gradient of its own."""
    of, _, found = paged(batch, asked)
    slope = torch.autograd.grad(found.total, of.new, allow_unused=True, materialize_grads=True)[0]
    made = (
        found.rewards, found.compared.advantages.view(len(batch.greedy), -1), found.advantages, found.ratio, found.token_losses,
        found.weights, found.policy_loss, found.kl_loss, found.entropy, found.total,
    )  # fmt: skip
    return dict(zip(ROWS, map(array, made), strict=True)) | {SLOPE: array(slope)}


def far(mask: Array, ours: dict[str, Array], theirs: dict[str, Array], allowed: float) -> dict[str, float]:
    """Returns the rows in which two part, and by how much; of tokens those in the mask are compared."""

    def counted(row: Array) -> Array:
        return np.where(mask == 1, row, 0) if row.shape == mask.shape else row

    found = {row: distance(counted(theirs[row]), counted(ours[row])) for row in ours}
    return {row: each for row, each in found.items() if not each <= allowed}


@pytest.mark.parametrize("name", BATCHES)
def test_definitions_and_page_agree_for_every_preset(name: str) -> None:
    batch, lost = BATCHES[name](), NO_NUMBER.get(name, {})
    for (preset, asked), ours in zip(PRESETS.items(), by_definitions(batch, [*PRESETS.values()]), strict=True):
        theirs = by_page(batch, asked)
        finite = bool(np.isfinite(ours["total_loss"])), bool(np.isfinite(theirs["total_loss"]))
        assert finite == (preset not in lost, lost.get(preset) != OVER_NONE), (preset, lost.get(preset))
        if preset not in lost:
            allowed = NOISE if name in ("one response", "one token each", "one position") else TOLERANCE
            assert far(batch.mask, ours, theirs, allowed) == {}, preset


def mixed(seed: int) -> Asking:
    """Draws any word and number for every convention; limits are off half of the time."""
    rng, found = np.random.default_rng(seed), dict[str, float | str]()
    for key, setting in GRPO.items():
        if setting.words:
            found[key] = str(rng.choice(setting.words))
        elif setting.limit:
            on = {"reward.clip_low": -1.0, "reward.clip_high": 0.75}.get(key, float(rng.choice([0.1, 0.3, 1, 2])))
            found[key] = on if rng.random() < 0.5 else np.inf
        elif setting.whole:
            found[key] = float(rng.integers(int(setting.low), min(int(setting.high), 6) + 1))
        elif rng.random() < 0.5:
            found[key] = float(np.clip(rng.choice([0.01, 0.1, 0.5, 0.9, 1, 2]), setting.low, setting.high))
    if (found["group.of"], found["group.std"]) == ("row", NOT_RECORDED):
        found["group.std"] = "group"
    return found


@pytest.mark.parametrize("name", ["plain", "an empty response"])
def test_definitions_and_page_agree_however_conventions_are_mixed(name: str) -> None:
    batch, asked = BATCHES[name](), [*map(mixed, range(60))]
    ended = 0
    for seed, ours in enumerate(by_definitions(batch, asked)):
        theirs = by_page(batch, asked[seed])
        finite = bool(np.isfinite(ours["total_loss"])), bool(np.isfinite(theirs["total_loss"]))
        assert finite[0] == finite[1], seed
        assert not finite[0] or far(batch.mask, ours, theirs, NOISE) == {}, seed
        ended += not finite[0]
    assert ended <= 6  # where rewards are divided by a mean that is 0


@pytest.mark.parametrize("same", [0.1, 0.7, 0.9])
def test_rewards_of_the_others_that_are_equal_have_no_spread(same: float) -> None:
    """NeMo-RL divides where the deviation of the others is not 0: rounding of 1e-17 would make an advantage of 300,000."""
    batch = drawn(1, 4, 3)._replace(rewards=np.array([same, same, same, 0.5]))
    ours, theirs = by_definitions(batch, [PRESETS["nemo_rl"]])[0], by_page(batch, PRESETS["nemo_rl"])
    assert far(batch.mask, ours, theirs, TOLERANCE) == {}
    assert ours["group.advantage"][0, 3] == pytest.approx(0.5 - same, abs=1e-12)


def test_no_large_number_stands_for_off() -> None:
    """What is off is infinite, so that nothing is large enough to be held; any other limit is one that somebody would set."""
    for key, setting in GRPO.items():
        if setting.limit:
            limits = [float(values.get(key, setting.value)) for values in PRESETS.values()]
            assert all(abs(limit) <= 40 or limit == np.inf for limit in limits), key


def test_what_is_off_holds_nothing() -> None:
    """Log-ratios of 700, and every limit off: the ratio is e^700, and so is what the clip leaves of it."""
    asked = {key: np.inf for key, setting in GRPO.items() if setting.limit}
    beside = of_groups(drawn(3, 4, 6, far=700), [asked])
    rows = beside.rows
    values = beside.computed(rows.values())
    d, ratio = values[rows["log_ratio.free"]], values[rows["ratio"]]
    assert d.max() > 690
    assert np.array_equal(values[rows["log_ratio"]], d)
    assert np.allclose(ratio, np.exp(d), rtol=1e-12)
    for name in ("ratio.clipped", "ratio.free"):
        assert np.array_equal(values[rows[name]], ratio), name
