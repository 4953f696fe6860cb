"""Mistakes in the mathematics, as data: in which equation, what stands there instead, and which witness sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blueprint.language import Block, Operand, Sum, at_most, exp, find, less, log, maximum, minimum, number, size
from blueprint.language.blocks import Definition
from blueprint.language.nodes import wrap
from blueprint.workbooks.common import j, k, n, t, v

Blocks = Mapping[str, Block]


@dataclass(frozen=True)
class Planted:
    """A mistake.

    block:     whose equation is wrong.
    change:    makes the wrong right-hand side from the blueprint's own blocks.
    caught_by: the witness that must see it, by its name in `witnesses.WITNESSES`.
    equation:  which equation of the block; the last one is its body.
    """

    name: str
    block: str
    change: Callable[[Blocks], Operand]
    caught_by: str
    equation: int = -1

    def plant(self, blocks: Blocks) -> None:
        """Puts the mistake into a fresh blueprint; one on a level without that block stays as it is."""
        if self.block in blocks:
            definitions = blocks[self.block].definitions
            target = definitions[self.equation].target
            definitions[self.equation] = Definition(target, wrap(self.change(blocks)))


def masked(b: Blocks, x: Operand) -> Operand:
    """Multiplies by the mask."""
    return b["signal.mask"][n, t] * x


def clip(b: Blocks, name: str) -> Operand:
    """Reads one arm of the surrogate."""
    return b[f"surrogate.{name}"][b[f"surrogate.{name}"].axes]


# fmt: off
GAE = (
    Planted("λ forgotten", "advantages",
            lambda b: b["td_errors"][n, t] + masked(b, b["gamma"]) * b["advantages"][n, t + 1],
            "identity: short_sight_gives_the_td_error"),
    Planted("γ forgotten in A", "advantages",
            lambda b: b["td_errors"][n, t] + masked(b, b["gae_lambda"]) * b["advantages"][n, t + 1], "reference"),
    Planted("A not masked", "advantages",
            lambda b: b["td_errors"][n, t] + b["gamma"] * b["gae_lambda"] * b["advantages"][n, t + 1], "reference"),
    Planted("V(t) for V(t+1)", "td_errors",
            lambda b: masked(b, b["rewards"][n, t] + b["gamma"] * b["signal.values"][n, t] - b["signal.values"][n, t]),
            "identity: far_sight_gives_the_reward_to_go"),
    Planted("γ forgotten in δ", "td_errors",
            lambda b: masked(b, b["rewards"][n, t] + b["signal.values"][n, t + 1] - b["signal.values"][n, t]),
            "reference"),
    Planted("V not masked", "old_critic.values", lambda b: b["old_critic.out"][n, t], "reference"),
    Planted("returns from the whitened advantage", "returns",
            lambda b: b["advantage.whitened"][n, t] + b["signal.values"][n, t],
            "identity: returns_are_advantages_and_values"),
)
REWARD = (
    Planted("score one column off", "reward.score",
            lambda b: b["reward_model.mask"][n, t] * (1 - b["mask"][n, t + 1]) * b["reward_model.out"][n, t],
            "golden: default_table"),
    Planted("score not masked", "reward.score",
            lambda b: (1 - b["mask"][n, t + 1]) * b["reward_model.out"][n, t + 1], "reference"),
    Planted("score on every token", "reward.score",
            lambda b: b["mask"][n, t] * b["reward_model.out"][n, t + 1], "golden: default_table"),
    Planted("k2 without the half", "kl.k2", lambda b: b["kl.k1"][n, t] * b["kl.k1"][n, t], "reference"),
    Planted("k3 upside down", "kl.k3", lambda b: exp(b["kl.k1"][n, t]) - 1 - b["kl.k1"][n, t],
            "identity: estimates_mean_the_exact_kl"),
    Planted("sign of k1 within k3", "kl.k3", lambda b: exp(-b["kl.k1"][n, t]) - 1 - b["kl.k1"][n, t],
            "identity: divergences_are_not_negative"),
    Planted("exact KL the wrong way round", "kl.exact",
            lambda b: masked(b, b["reference.p_log_p"][n, t] - Sum(v, b["reference.p"][n, t, v] * b["old.log_p"][n, t, v])),
            "identity: estimates_mean_the_exact_kl"),
    Planted("KL rewarded", "reward.penalty", lambda b: b["kl_coef"] * b["kl.used"][n, t],
            "golden: very_very_sleepy"),
    Planted("kl_coef forgotten", "reward.penalty", lambda b: -b["kl.used"][n, t], "golden: very_very_sleepy"),
)
WHITENING = (
    Planted("mean not subtracted", "advantage.centred", lambda b: masked(b, b["advantages"][n, t]),
            "identity: whitened_have_mean_0_and_variance_1"),
    Planted("n for n − 1", "advantage.variance",
            lambda b: Sum((n, t), b["advantage.centred"][n, t] * b["advantage.centred"][n, t]) / b["response.words"],
            "identity: whitened_have_mean_0_and_variance_1"),
    Planted("mean over pads", "advantage.mean",
            lambda b: Sum((n, t), b["advantages"][n, t]) / (size(n) * size(t)),
            "identity: whitened_have_mean_0_and_variance_1"),
    Planted("variance over pads", "advantage.centred", lambda b: b["advantages"][n, t] - b["advantage.mean"],
            "reference"),
    Planted("divided by the variance", "advantage.whitened",
            lambda b: b["advantage.centred"][n, t] / (b["advantage.variance"] + b["whiten_eps"]), "golden: default_table"),
)
CLIP = (
    Planted("ratio upside down", "log_ratio", lambda b: b["loss.logp_old"][n, t] - b["loss.logp_new"][n, t],
            "golden: default_table"),
    Planted("max for min in the clip", "surrogate",
            lambda b: maximum(clip(b, "unclipped"), clip(b, "clipped")), "golden: clip_table"),
    Planted("never clipped from below", "ratio.clipped",
            lambda b: minimum(1 + b["clip_range"], b["ratio"][n, t]), "golden: default_table"),
    Planted("clipped at 1 ± ε, but without the 1", "ratio.clipped",
            lambda b: maximum(-b["clip_range"], minimum(b["clip_range"], b["ratio"][n, t])), "reference"),
    Planted("clip fraction counts the bound", "clip_fraction.outside",
            lambda b: at_most(b["clip_range"], abs(b["ratio"][n, t] - 1)),
            "identity: nothing_moves_at_step_0"),
    Planted("clip fraction sees one side", "clip_fraction.outside",
            lambda b: less(b["clip_range"], b["ratio"][n, t] - 1), "reference"),
)
VALUE = (
    Planted("min for max in the value clip", "value.word_loss",
            lambda b: b["loss.mask"][n, t] * minimum(b["value.square"][n, t], b["value.square_clipped"][n, t]) / 2,
            "golden: default_table"),
    Planted("half of the value loss forgotten", "value.word_loss",
            lambda b: b["loss.mask"][n, t] * maximum(b["value.square"][n, t], b["value.square_clipped"][n, t]),
            "golden: default_table"),
    # In the default example no value falls by more than the clip, so only other numbers can tell.
    Planted("a falling value not held", "value.clipped",
            lambda b: b["loss.V_old"][n, t] + minimum(b["value_clip_range"], b["loss.V_new"][n, t] - b["loss.V_old"][n, t]),
            "reference at random"),
    Planted("value clipped around 0", "value.clipped",
            lambda b: maximum(-b["value_clip_range"], minimum(b["value_clip_range"], b["loss.V_new"][n, t])), "reference"),
)
TOTAL = (
    Planted("sign of the entropy", "total_loss",
            lambda b: b["policy_loss"] + b["vf_coef"] * b["value_loss"] + b["ent_coef"] * b["entropy"]
            + b["policy_kl_coef"] * b["policy_kl"], "identity: shares_add_up_to_the_loss"),
    Planted("sign of the value loss", "total_loss",
            lambda b: b["policy_loss"] - b["vf_coef"] * b["value_loss"] - b["ent_coef"] * b["entropy"]
            + b["policy_kl_coef"] * b["policy_kl"], "identity: shares_add_up_to_the_loss"),
    # Its coefficient is 0 by default.
    Planted("sign of the policy KL", "total_loss",
            lambda b: b["policy_loss"] + b["vf_coef"] * b["value_loss"] - b["ent_coef"] * b["entropy"]
            - b["policy_kl_coef"] * b["policy_kl"], "reference at random"),
    Planted("entropy upside down", "policy.entropy", lambda b: b["policy.mask"][n, t] * b["policy.p_log_p"][n, t],
            "golden: default_table"),
    Planted("policy loss over all columns", "policy_loss",
            lambda b: -Sum((n, t), b["loss.mask"][n, t] * b["surrogate"][n, t]) / (size(n) * size(t)),
            "identity: shares_add_up_to_the_loss"),
)
MODELS = (
    Planted("h(t) for h(t−1)", "old.inputs", lambda b: b["old.memory"][n, t, j], "notation", equation=1),
    Planted("memory never passed on", "old_critic.inputs", lambda b: 0, "golden: default_table", equation=1),
    Planted("token written for token read", "old_critic.inputs",
            lambda b: b["old_critic.E"][b["rollout.written"][n, t], k], "golden: default_table", equation=0),
    Planted("bias of the reward model left out", "reward_model.out",
            lambda b: Sum(j, b["reward_model.head.w"][j] * b["reward_model.memory"][n, t, j]), "golden: default_table"),
    # Its bias is 0 in the default example.
    Planted("bias of the old critic left out", "old_critic.out",
            lambda b: Sum(j, b["old_critic.head.w"][j] * b["old_critic.memory"][n, t, j]), "reference at random"),
    Planted("largest logit not put back", "old.logsumexp", lambda b: log(Sum(v, b["old.exponentials"][n, t, v])),
            "identity: soft_max_sums_to_1"),
    Planted("step ignored", "policy.Y", lambda b: b["old.Y"][j, v] + b["policy.delta.Y"][j, v],
            "golden: no_update"),
    Planted("step ignored by the critic", "critic.head.w",
            lambda b: b["old_critic.head.w"][j] + b["critic.delta.head.w"][j], "identity: nothing_moves_at_step_0"),
    Planted("log-prob not masked", "policy.logprobs",
            lambda b: b["policy.log_p"][n, t, b["policy.written"][n, t]], "reference"),
)
ROLLOUT = (
    Planted("cumulative sums that include the token", "rollout.drawn",
            lambda b: find(v, b["old.cumulative"][n, t, v], b["rollout.draw"][n, t]), "golden: other_draws"),
    Planted("mask ends one column late", "mask",
            lambda b: (1 - b["old.is_given"][n, t]) * (1 - b["rollout.ended"][n, t - 1]) * b["rollout.allowed"][n, t],
            "golden: other_draws"),
    Planted("mask begins one column late", "mask",
            lambda b: (1 - b["old.is_given"][n, t - 1]) * (1 - b["rollout.ended"][n, t]) * b["rollout.allowed"][n, t],
            "reference"),
    Planted("one token too many", "rollout.allowed",
            lambda b: at_most(0, minimum(b["rollout.room"][n, t], b["decisions"] - number(t))), "reference at random"),
)
# fmt: on

MISTAKES = (*GAE, *REWARD, *WHITENING, *CLIP, *VALUE, *TOTAL, *MODELS, *ROLLOUT)
