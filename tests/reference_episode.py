"""Compute every quantity of one episode, before and after the update, in plain numpy.

Rows are (T,), T being the length of this episode's own response. Sources: PPO (Schulman et al. 2017, eq. 7); value
clipping as in OpenAI baselines' PPO2.
"""

from collections.abc import Mapping

import numpy as np

from tests.reference_models import distributions, score, values
from tests.reference_tokens import Array, RewardSettings, Tokens, clipped_surrogate, kl_estimates, per_token


class Ppo(RewardSettings):
    """Hold every hyperparameter and convention of the loss."""

    clip_range: float
    value_clip_range: float
    vf_coef: float
    ent_coef: float
    policy_kl_coef: float
    update_step: float
    whiten_advantages: str
    whiten_eps: float


def rollout(weights: Mapping[str, Array], prompt: list[int], response: list[int], ppo: Ppo) -> Tokens:
    """Return everything that is fixed before the update, (T,) each: log-probs, KL, rewards, advantages, returns."""
    old = distributions(weights, "old", prompt, response)
    ref = distributions(weights, "reference", prompt, response)
    rows = np.arange(len(response))
    logp_old, logp_ref = old[rows, response], ref[rows, response]
    old_values, scored = values(weights, "old_critic", prompt, response), score(weights, prompt + response)
    tokens = per_token(logp_old, logp_ref, old_values, scored, ppo)
    return (
        tokens
        | {f"kl.{name}": kl for name, kl in kl_estimates(logp_old, logp_ref).items()}
        | {
            "old.logprobs": logp_old,
            "reference.logprobs": logp_ref,
            "kl.exact": (np.exp(old) * (old - ref)).sum(axis=1),
            "reward.penalty": -ppo["kl_coef"] * tokens["kl.used"],
            "reward.score": np.append(np.zeros(len(response) - 1), scored),
            "old_critic.values": old_values,
        }
    )


def policy_terms(
    weights: Mapping[str, Array], prompt: list[int], response: list[int], done: Tokens, ppo: Ppo
) -> Tokens:
    """Return the updated policy's log-probs, entropy, KL from the old policy, ratio and surrogate, (T,) each."""
    old, new = (distributions(weights, model, prompt, response) for model in ("old", "policy"))
    logp_new = new[np.arange(len(response)), response]
    d = logp_new - done["old.logprobs"]
    surrogate = clipped_surrogate(done["advantages_used"], np.exp(d), ppo["clip_range"])
    return {
        "policy.logprobs": logp_new,
        "policy.entropy": -(np.exp(new) * new).sum(axis=1),
        "policy_kl.exact": (np.exp(old) * (old - new)).sum(axis=1),
        "policy_kl.k1": -d,
        "policy_kl.k3": np.exp(d) - 1 - d,
        "ratio": np.exp(d),
        "surrogate.unclipped": surrogate["unclipped"],
        "surrogate.clipped": surrogate["clipped"],
        "surrogate": surrogate["smaller"],
    }


def value_terms(weights: Mapping[str, Array], prompt: list[int], response: list[int], done: Tokens, ppo: Ppo) -> Tokens:
    """Return the updated critic's values and the clipped value loss against the fixed returns, (T,) each."""
    new, old, reach = values(weights, "critic", prompt, response), done["old_critic.values"], ppo["value_clip_range"]
    clipped = old + np.clip(new - old, -reach, reach)
    square, square_clipped = (new - done["returns"]) ** 2, (clipped - done["returns"]) ** 2
    return {
        "critic.values": new,
        "value.clipped": clipped,
        "value.square": square,
        "value.square_clipped": square_clipped,
        "value.loss": np.maximum(square, square_clipped) / 2,
    }
