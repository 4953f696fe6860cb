"""Compute RLHF PPO in plain numpy, one ragged episode at a time: the independent witness.

There is no mask and no padding here, so a mistake in a mask or at a pad cannot be shared. Nothing may be imported
from the package under test. `reference_models` runs the networks, `reference_tokens` holds the mathematics of one
response, `reference_episode` joins both; here they become a batch. Sources: PPO (Schulman et al. 2017, eq. 9).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from tests.reference_episode import Ppo, policy_terms, rollout, value_terms
from tests.reference_models import at_step, respond
from tests.reference_tokens import Array, Tokens, clipped_surrogate, gae, per_token

__all__ = ["Numbers", "Ppo", "Result", "clipped_surrogate", "gae", "per_token", "run"]


class Numbers(TypedDict):
    """Hold all numbers of one batch; `draws` has one uniform per possible response word of each episode.

    `fixed` has the words that are written instead of drawn ones, None where the draw decides.
    """

    vocabulary: Sequence[str]
    prompts: Sequence[Sequence[int]]
    max_new_tokens: int
    draws: Sequence[Sequence[float]]
    weights: Mapping[str, ArrayLike]
    ppo: Ppo
    fixed: NotRequired[Sequence[Sequence[int | None]]]


@dataclass(frozen=True)
class Result:
    """Hold what `run` found; `margin` is the distance of the closest used draw from a boundary between two words."""

    words: list[list[int]]
    tokens: dict[str, list[Array]]
    episodes: dict[str, Array]
    scalars: dict[str, float]
    margin: float


def mean_and_variance(row: Array) -> tuple[float, float]:
    """Return the mean and the variance with divisor n - 1 (1 for a single word)."""
    mean = row.mean()
    return float(mean), float(((row - mean) ** 2).sum() / max(len(row) - 1, 1))


def advantages_used(advantages: list[Array], ppo: Ppo) -> list[Array]:
    """Return the advantages the loss uses: whitened over all words of the batch, or raw.

    Raises ValueError for a switch that is neither "on" nor "off".
    """
    mean, variance = mean_and_variance(np.concatenate(advantages))
    match ppo["whiten_advantages"]:
        case "on":
            return [(row - mean) / np.sqrt(variance + ppo["whiten_eps"]) for row in advantages]
        case "off":
            return advantages
        case other:
            raise ValueError(f'ppo.whiten_advantages is "{other}", expected "on" or "off"')


def losses(flat: Tokens, ppo: Ppo) -> dict[str, float]:
    """Return the parts of the loss, means over all words of the batch, and their sum, which is minimised."""
    policy, value = -flat["surrogate"].mean(), flat["value.loss"].mean()
    entropy, kl = flat["policy.entropy"].mean(), flat["policy_kl.exact"].mean()
    total = policy + ppo["vf_coef"] * value - ppo["ent_coef"] * entropy + ppo["policy_kl_coef"] * kl
    return {"policy_loss": policy, "value_loss": value, "entropy": entropy, "policy_kl": kl, "total_loss": total}


def explained_variance(returns: Array, predictions: Array) -> float:
    """Return 1 - var(R - V) / var(R), or 0 where all returns are equal but for rounding."""
    if np.ptp(returns) <= 1e-6:
        return 0.0
    return float(1 - (returns - predictions).var() / returns.var())


def diagnostics(flat: Tokens, episodes: Tokens, ppo: Ppo) -> dict[str, float]:
    """Return what a training dashboard shows: `flat` over all words of the batch, `episodes` one number per episode."""
    mean, variance = mean_and_variance(flat["advantages"])
    return {
        "advantage.mean": mean,
        "advantage.variance": variance,
        "clip_fraction.loss": (flat["surrogate.clipped"] < flat["surrogate.unclipped"]).mean(),
        "clip_fraction.ratio": (np.abs(flat["ratio"] - 1) > ppo["clip_range"]).mean(),
        # Within the range both squares are one number, but for the rounding of V_old + (V − V_old).
        "clip_fraction.value": (flat["value.square_clipped"] > flat["value.square"] + 1e-12).mean(),
        "approx_kl.k1": flat["policy_kl.k1"].mean(),
        "approx_kl.k3": flat["policy_kl.k3"].mean(),
        "kl.per_word": flat["kl.used"].mean(),
        "kl.per_response": episodes["kl.response"].mean(),
        "score.mean": episodes["score"].mean(),
        "non_score_reward": -ppo["kl_coef"] * episodes["kl.response"].mean(),
        "advantage.mean_abs": np.abs(flat["advantages"]).mean(),
        "explained_variance": explained_variance(flat["returns"], flat["old_critic.values"]),
        "response.longest": episodes["response.length"].max(),
        "response.mean_length": episodes["response.length"].mean(),
    }


def every_weight(numbers: Numbers) -> dict[str, Array]:
    """Return all weights as float arrays, those of the updated policy and critic among them."""
    weights = {name: np.asarray(weight, dtype=np.float64) for name, weight in numbers["weights"].items()}
    step = numbers["ppo"]["update_step"]
    return at_step(at_step(weights, "old", "policy", step), "old_critic", "critic", step)


def gather(words: list[list[int]], rows: list[Tokens], ppo: Ppo, margin: float) -> Result:
    """Turn rows by episode into rows by name, and average over all words of the batch."""
    tokens = {name: [row[name] for row in rows] for name in rows[0]}
    flat = {name: np.concatenate(parts) for name, parts in tokens.items()}
    episodes = {
        "response.length": np.array([len(response) for response in words], dtype=np.float64),
        "kl.response": np.array([kl.sum() for kl in tokens["kl.used"]]),
        "score": np.array([scored[-1] for scored in tokens["reward.score"]]),
    }
    scalars = losses(flat, ppo) | diagnostics(flat, episodes, ppo)
    return Result(words, tokens, episodes, {name: float(number) for name, number in scalars.items()}, margin)


def run(numbers: Numbers) -> Result:
    """Compute one batch from words to total loss; raises KeyError or ValueError for an unknown convention."""
    ppo, weights = numbers["ppo"], every_weight(numbers)
    prompts = [list(prompt) for prompt in numbers["prompts"]]
    draws = [episode[: numbers["max_new_tokens"]] for episode in numbers["draws"]]
    fixed = numbers.get("fixed") or [()] * len(prompts)
    answers = [respond(weights, *episode) for episode in zip(prompts, draws, fixed, strict=True)]
    words = [response for response, _ in answers]
    rows = [rollout(weights, prompt, response, ppo) for prompt, response in zip(prompts, words, strict=True)]
    used = advantages_used([row["advantages"] for row in rows], ppo)
    for prompt, response, row, advantages in zip(prompts, words, rows, used, strict=True):
        row["advantages_used"] = advantages
        row |= policy_terms(weights, prompt, response, row, ppo)
        row |= value_terms(weights, prompt, response, row, ppo)
    return gather(words, rows, ppo, min(margin for _, margin in answers))
