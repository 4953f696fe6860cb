"""Compute the reward, advantage and surrogate of each word of one response in plain numpy.

Sources: PPO (Schulman et al. 2017, eq. 7), GAE (Schulman et al. 2016, eq. 16), the KL estimators (Schulman 2020,
"Approximating KL divergence"). T is the length of the response; there is no padding.
"""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Tokens = dict[str, Array]


class RewardSettings(TypedDict):
    """Hold what turns log-probs, values and a score into advantages."""

    gamma: float
    gae_lambda: float
    kl_coef: float
    kl_estimator: str


def kl_estimates(logprobs_old: Array, logprobs_ref: Array) -> Tokens:
    """Return the three estimates of KL(old || ref) from the sampled words, (T,) each."""
    k1 = logprobs_old - logprobs_ref
    return {"k1": k1, "k2": k1**2 / 2, "k3": np.exp(-k1) - 1 + k1}


def gae(td_errors: Array, gamma: float, gae_lambda: float) -> Array:
    """Return the advantages A_t = delta_t + gamma lambda A_(t+1), (T,), with 0 after the last word."""
    advantages, following = np.zeros(len(td_errors)), 0.0
    for t in reversed(range(len(td_errors))):
        following = td_errors[t] + gamma * gae_lambda * following
        advantages[t] = following
    return advantages


def per_token(
    logprobs_old: Array, logprobs_ref: Array, values: Array, score_at_last: float, ppo: RewardSettings
) -> Tokens:
    """Return the chosen KL estimate, rewards, TD errors, advantages and returns of one response, (T,) each.

    The value after the last word is 0, whether the response ended or was cut. Raises KeyError for an unknown estimator.
    """
    kl = kl_estimates(logprobs_old, logprobs_ref)[ppo["kl_estimator"]]
    rewards = -ppo["kl_coef"] * kl
    rewards[-1] += score_at_last
    td_errors = rewards + ppo["gamma"] * np.append(values[1:], 0.0) - values
    advantages = gae(td_errors, ppo["gamma"], ppo["gae_lambda"])
    returns = advantages + values
    return {"kl.used": kl, "rewards": rewards, "td_errors": td_errors, "advantages": advantages, "returns": returns}


def clipped_surrogate(advantage: ArrayLike, ratio: ArrayLike, clip_range: float) -> Tokens:
    """Return both arms of the PPO objective and the smaller one, to be maximised, in the shape of the arguments."""
    unclipped = np.multiply(ratio, advantage)
    clipped = np.clip(ratio, 1 - clip_range, 1 + clip_range) * np.asarray(advantage)
    return {"unclipped": unclipped, "clipped": clipped, "smaller": np.minimum(unclipped, clipped)}
