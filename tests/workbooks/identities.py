"""What holds for every rollout, whatever the numbers are. Each function builds the books it needs and asserts."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.page.workshop import row
from tests.workbooks.building import Array, Build, mask_of, number
from tests.workbooks.random_numbers import with_settings

# A few additions of numbers of size x round by some 1e-16 · x; 1e-12 · (1 + x) leaves room for a batch of sums.
ROUNDING = 1e-12


def soft_max_sums_to_1(build: Build, numbers: WeightNumbers) -> None:
    """Each policy's probabilities of the next word sum to 1 in every column."""
    book = build(numbers)
    for model in ("old", "reference", "policy"):
        assert_allclose(row(book, f"{model}.p").sum(axis=2), 1.0, rtol=0, atol=ROUNDING, err_msg=model)


def nothing_moves_at_step_0(build: Build, numbers: WeightNumbers) -> None:
    """Without an update every ratio is exactly 1, so that nothing leaves even a clip range of 0, and no KL arises."""
    book = build(with_settings(numbers, update_step=0.0, clip_range=0.0))
    assert_array_equal(row(book, "ratio"), 1.0)
    assert_array_equal(row(book, "critic.values"), row(book, "old_critic.values"))
    for name in ("clip_fraction.ratio", "clip_fraction.loss", "approx_kl.k1", "approx_kl.k3"):
        assert number(book, name) == 0, name


def far_sight_gives_the_reward_to_go(build: Build, numbers: WeightNumbers) -> None:
    """With γ = λ = 1 the values cancel along the response: A + V is the sum of the rewards from here on."""
    book = build(with_settings(numbers, gamma=1.0, gae_lambda=1.0))
    mask, rewards = mask_of(book), row(book, "rewards")
    to_go = np.where(mask, rewards, 0.0)[:, ::-1].cumsum(axis=1)[:, ::-1]
    sums = row(book, "advantages") + row(book, "old_critic.values")
    assert_allclose(sums[mask], to_go[mask], rtol=0, atol=_room(to_go))


def short_sight_gives_the_td_error(build: Build, numbers: WeightNumbers) -> None:
    """With λ = 0 the advantage is δ, exactly."""
    book = build(with_settings(numbers, gae_lambda=0.0))
    assert_array_equal(row(book, "advantages"), row(book, "td_errors"))


def returns_are_advantages_and_values(build: Build, numbers: WeightNumbers) -> None:
    """R = A + V with the raw advantage, though the loss uses the whitened one."""
    book = build(with_settings(numbers, whiten_advantages="on"))
    sums = row(book, "advantages") + row(book, "old_critic.values")
    assert_allclose(row(book, "returns"), sums, rtol=0, atol=_room(sums))


def whitened_have_mean_0_and_variance_1(build: Build, numbers: WeightNumbers) -> None:
    """Over the response words of the batch, with divisor n − 1, up to the ε that is added to the variance."""
    book = build(with_settings(numbers, whiten_advantages="on", whiten_eps=1e-8))
    raw, white = (row(book, name)[mask_of(book)] for name in ("advantages", "advantages_used"))
    variance = raw.var(ddof=1)
    assert_allclose(white.mean(), 0.0, rtol=0, atol=_room(raw) / variance**0.5)
    assert_allclose(white.var(ddof=1), variance / (variance + 1e-8), rtol=0, atol=_room(white) / variance**0.5)


def divergences_are_not_negative(build: Build, numbers: WeightNumbers) -> None:
    """k2, k3 and the exact KL are never negative; e^x − 1 − x and Σ p log p − Σ p log q cancel near 0."""
    book = build(numbers)
    for name in ("kl.k2", "kl.k3", "kl.exact", "policy_kl.exact", "policy_kl.k3"):
        assert row(book, name).min() >= -1e-14, name


def estimates_mean_the_exact_kl(build: Build, numbers: WeightNumbers) -> None:
    """Weighted by how likely each word is, k1 and k3 of all first words come to the exact KL of the first decision."""
    book = build(numbers)
    episodes, first = np.arange(len(numbers.prompts)), np.array([len(prompt) - 1 for prompt in numbers.prompts])
    p = row(book, "old.p")[episodes, first]
    forced = [build(_with_first_word(numbers, word, p)) for word in range(p.shape[1])]
    for estimate, exact in [("kl.k1", "kl.exact"), ("kl.k3", "kl.exact"), ("policy_kl.k3", "policy_kl.exact")]:
        each = np.stack([row(other, estimate)[episodes, first] for other in forced], axis=1)
        expected = row(book, exact)[episodes, first]
        assert_allclose((p * each).sum(axis=1), expected, rtol=0, atol=_room(each), err_msg=estimate)


def shares_add_up_to_the_loss(build: Build, numbers: WeightNumbers) -> None:
    """The total loss is what all words add to it, and its four parts are weighted and signed as announced."""
    book = build(with_settings(numbers, vf_coef=0.5, ent_coef=0.25, policy_kl_coef=2.0))
    shares = row(book, "share")
    assert_allclose(shares.sum(), number(book, "total_loss"), rtol=0, atol=_room(shares))
    parts = [number(book, name) for name in ("policy_loss", "value_loss", "entropy", "policy_kl")]
    assert_allclose(np.dot(parts, [1, 0.5, -0.25, 2]), number(book, "total_loss"), rtol=0, atol=_room(np.array(parts)))


IDENTITIES: dict[str, Callable[[Build, WeightNumbers], None]] = {
    identity.__name__: identity
    for identity in (
        soft_max_sums_to_1,
        nothing_moves_at_step_0,
        far_sight_gives_the_reward_to_go,
        short_sight_gives_the_td_error,
        returns_are_advantages_and_values,
        whitened_have_mean_0_and_variance_1,
        divergences_are_not_negative,
        estimates_mean_the_exact_kl,
        shares_add_up_to_the_loss,
    )
}


def _room(numbers: Array) -> float:
    return float(ROUNDING * (1 + np.abs(numbers).max()))


def _with_first_word(numbers: WeightNumbers, word: int, p: Array) -> WeightNumbers:
    """Puts the draw of each first response word into the middle of the word's piece of the line from 0 to 1."""
    draws = numbers.draws.copy()
    for episode, prompt in enumerate(numbers.prompts):
        draws[episode, len(prompt) - 1] = p[episode, :word].sum() + p[episode, word] / 2
    return replace(numbers, draws=draws)
