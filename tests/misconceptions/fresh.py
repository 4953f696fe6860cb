"""Sixty mistakes of single blanks, written down by one who had not read the list of misconceptions.

An examiner's list of what students do in homework on RLHF: test_fresh.py says how many of them a mark names.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Numbers = Any  # gives the numbers of a row, by its name


class Mistake(NamedTuple):
    """A wrong number that a student may give for one blank.

    row: the name of the row; at: the cell of it, counted from 0; wrong: what the student computes; did: what she does.
    """

    row: str
    at: tuple[int, ...]
    wrong: Callable[[Numbers], Any]
    did: str


def over(mask: Any, numbers: Any) -> Any:
    """The mean of the numbers where the mask is 1."""
    return (mask * numbers).sum() / mask.sum()


def log_sigmoid(u: Any) -> Any:
    """The logarithm of the sigmoid."""
    return -np.log1p(np.exp(-u))


def row_means(v: Numbers) -> Any:
    """The mean of the surrogate over the tokens of every response."""
    return (v["mask"] * v["surrogate"]).sum(1) / v["mask"].sum(1)


DEFAULT = [
    Mistake("kl.k1", (0, 3), lambda v: v["signal.logp_ref"][0, 3] - v["signal.logp_old"][0, 3], "other way round"),
    Mistake(
        "kl.k1", (0, 5), lambda v: v["loss.logp_new"][0, 5] - v["signal.logp_ref"][0, 5], "the new policy for the old"
    ),
    Mistake("kl.k3", (0, 4), lambda v: np.exp(v["kl.k1"][0, 4]) - 1 - v["kl.k1"][0, 4], "other sign of the log-ratio"),
    Mistake("reward.penalty", (0, 4), lambda v: -v["kl.k1"][0, 4], "forgot β"),
    Mistake(
        "rewards", (0, 6), lambda v: v["reward.score"][0, 6] - v["reward.penalty"][0, 6], "added β·KL to the score"
    ),
    Mistake(
        "rewards",
        (0, 4),
        lambda v: v["reward.penalty"][0, 4] + v["reward.score"][0, 6],
        "put the response's score on every token",
    ),
    Mistake(
        "td_errors",
        (0, 4),
        lambda v: v["rewards"][0, 4] + v["old_critic.values"][0, 5] - v["old_critic.values"][0, 4],
        "forgot γ",
    ),
    Mistake(
        "td_errors",
        (0, 6),
        lambda v: v["rewards"][0, 6] + (v["gamma"] - 1) * v["old_critic.values"][0, 6],
        "took the last value again as the next one, where there is none",
    ),
    Mistake(
        "advantages",
        (0, 4),
        lambda v: v["td_errors"][0, 4] + v["gamma"] * v["advantages"][0, 5],
        "forgot λ",
    ),
    Mistake(
        "advantages",
        (0, 3),
        lambda v: v["td_errors"][0, 3] + v["gamma"] * v["gae_lambda"] * v["td_errors"][0, 4],
        "the next TD error for the next advantage",
    ),
    Mistake(
        "returns",
        (0, 4),
        lambda v: v["rewards"][0, 4] + v["gamma"] * v["rewards"][0, 5] + v["gamma"] ** 2 * v["rewards"][0, 6],
        "discounted the rewards to go instead of adding the value to the advantage",
    ),
    Mistake(
        "returns",
        (1, 3),
        lambda v: v["advantage.whitened"][1, 3] + v["old_critic.values"][1, 3],
        "added the value to the whitened advantage",
    ),
    Mistake(
        "advantage.whitened",
        (0, 3),
        lambda v: v["advantages"][0, 3] / np.sqrt(v["advantage.variance"]),
        "did not subtract the mean",
    ),
    Mistake(
        "advantage.whitened",
        (1, 3),
        lambda v: v["advantage.centred"][1, 3] / v["advantage.variance"],
        "divided by the variance, not by its root",
    ),
    Mistake("ratio", (0, 4), lambda v: np.exp(v["loss.logp_old"][0, 4] - v["loss.logp_new"][0, 4]), "old over new"),
    Mistake("ratio.clipped", (0, 4), lambda v: min(v["ratio"][0, 4], 1 + v["clip_range"]), "clipped from above only"),
    Mistake(
        "surrogate",
        (0, 6),
        lambda v: max(v["surrogate.unclipped"][0, 6], v["surrogate.clipped"][0, 6]),
        "took the larger of both",
    ),
    Mistake("policy_loss", (), lambda v: -over(v["mask"], v["surrogate.unclipped"]), "forgot to clip"),
    Mistake("value.word_loss", (0, 3), lambda v: v["value.square_clipped"][0, 3], "forgot the half"),
    Mistake(
        "value_loss",
        (),
        lambda v: over(v["mask"], v["value.square"]) / 2,
        "the unclipped squares alone, without the maximum",
    ),
    Mistake("entropy", (), lambda v: v["loss.entropy"].sum() / v["mask"].size, "divided by all columns, padding too"),
    Mistake(
        "total_loss",
        (),
        lambda v: v["policy_loss"] + v["vf_coef"] * v["value_loss"] + v["ent_coef"] * v["entropy"],
        "added the entropy instead of subtracting it",
    ),
    Mistake(
        "policy.logprobs",
        (0, 4),
        lambda v: v["policy.logprobs"][0, 4] + v["policy.logsumexp"][0, 4] - v["policy.top"][0, 4],
        "the logit less the largest logit, not less the logarithm of the sum",
    ),
    Mistake("policy.p", (0, 4, 2), lambda v: v["policy.exponentials"][0, 4, 2], "did not divide by the sum"),
]

GRPO = [
    Mistake("group.mean", (1,), lambda v: v["group.reward"][1].sum(), "the sum for the mean"),
    Mistake("group.mean", (1,), lambda v: v["reward"].mean(), "the mean of the whole batch"),
    Mistake("group.deviation", (0,), lambda v: v["group.reward"][0].std(), "divided by G for G − 1"),
    Mistake("group.deviation", (1,), lambda v: v["group.reward"][1].var(ddof=1), "the variance, no root"),
    Mistake(
        "group.advantage",
        (1, 0),
        lambda v: v["group.reward"][1, 0] - v["group.mean"][1],
        "not divided by the deviation",
    ),
    Mistake("group.advantage", (0, 1), lambda v: -v["group.advantage"][0, 1], "the mean less the reward"),
    Mistake(
        "group.advantage",
        (0, 0),
        lambda v: v["group.reward"][0, 0] / (v["group.deviation"][0] + v["group.eps"]),
        "did not subtract the mean",
    ),
    Mistake(
        "group.advantage",
        (1, 2),
        lambda v: v["group.centred"][1, 2] / (v["group.reward"][1].std() + v["group.eps"]),
        "divided by the deviation over G for G − 1",
    ),
    Mistake(
        "group.advantage",
        (1, 0),
        lambda v: v["group.centred"][1, 0] / (v["reward"].std(ddof=1) + v["group.eps"]),
        "divided by the deviation of the batch",
    ),
    Mistake(
        "advantages",
        (6, 4),
        lambda v: v["group.advantage"][1, 2] / v["response.length"][6],
        "spread the advantage over the tokens of the response",
    ),
    Mistake("ratio", (0, 3), lambda v: v["log_ratio"][0, 3], "forgot the exponential"),
    Mistake(
        "ratio",
        (3, 4),
        lambda v: np.exp(v["policy.logprobs"][3, 4] - v["reference.logprobs"][3, 4]),
        "against the reference, not against the old policy",
    ),
    Mistake(
        "ratio.clipped",
        (3, 4),
        lambda v: np.exp(np.clip(v["log_ratio"][3, 4], -v["loss.clip_low"], v["loss.clip_high"])),
        "clipped the log-ratio, not the ratio",
    ),
    Mistake("surrogate", (3, 4), lambda v: v["surrogate.clipped"][3, 4], "always took the clipped one"),
    Mistake(
        "surrogate",
        (1, 3),
        lambda v: max(v["surrogate.unclipped"][1, 3], v["surrogate.clipped"][1, 3]),
        "took the larger of both",
    ),
    Mistake("policy_loss", (), lambda v: -row_means(v).mean(), "the mean of the responses' means"),
    Mistake(
        "policy_loss",
        (),
        lambda v: -(v["mask"] * v["surrogate"]).sum() / len(v["mask"]),
        "divided by the responses, not by the tokens",
    ),
    Mistake(
        "total_loss",
        (),
        lambda v: v["policy_loss"] + v["kl.coef"] * v["kl.mean_new"],
        "added β·KL, which these settings leave out",
    ),
]

DPO = [
    Mistake("policy.sum", (0,), lambda v: v["policy.sum"][0] / v["logp.length"][0], "the mean over the tokens"),
    Mistake("policy.sum", (4,), lambda v: v["policy.logprobs"][4].sum(), "added the prompt's tokens too"),
    Mistake(
        "reference.sum",
        (2,),
        lambda v: v["reference.sum"][2] - v["reference.logprobs"][2, 3],
        "left out the last token",
    ),
    Mistake("chosen.ratio", (0,), lambda v: v["chosen.logp_ref"][0] - v["chosen.logp"][0], "other way round"),
    Mistake(
        "chosen.ratio", (1,), lambda v: v["chosen.logp"][1] / v["chosen.logp_ref"][1], "divided log-probs by log-probs"
    ),
    Mistake("rejected.ratio", (1,), lambda v: np.exp(v["rejected.ratio"][1]), "the ratio itself, no logarithm"),
    Mistake("margin", (0,), lambda v: v["chosen.logp"][0] - v["rejected.logp"][0], "left out the reference"),
    Mistake("margin", (1,), lambda v: v["chosen.ratio"][1] + v["rejected.ratio"][1], "added for subtracted"),
    Mistake("margin", (0,), lambda v: v["rejected.ratio"][0] - v["chosen.ratio"][0], "rejected less chosen"),
    Mistake("margin.scaled", (1,), lambda v: v["margin"][1] / v["beta"], "divided by β"),
    Mistake("margin.right", (0,), lambda v: 1 / (1 + np.exp(-v["margin.argument"][0])), "forgot the logarithm"),
    Mistake("loss.sigmoid", (1,), lambda v: -log_sigmoid(v["margin"][1]), "forgot β"),
    Mistake("loss.sigmoid", (2,), lambda v: 1 - 1 / (1 + np.exp(-v["margin.scaled"][2])), "1 − σ for −log σ"),
    Mistake("loss.sigmoid", (1,), lambda v: -log_sigmoid(-v["margin.scaled"][1]), "chosen and rejected swapped"),
    Mistake("chosen.reward", (0,), lambda v: v["beta"] * v["chosen.logp"][0], "left out the reference"),
    Mistake("rewards.margins", (), lambda v: v["margin"].mean(), "forgot β"),
    Mistake("preference_loss", (), lambda v: -log_sigmoid(v["margin.scaled"].mean()), "the loss of the mean margin"),
    Mistake("preference_loss", (), lambda v: v["loss.sigmoid"].sum(), "the sum for the mean"),
]

FRESH = {"default": DEFAULT, "grpo": GRPO, "dpo": DPO}
