"""Mistakes in the mathematics, as data: in which equation, what stands there instead, and which witness sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blueprint.language import Block, Operand, at_most, exp, find, less, minimum, number
from blueprint.language.blocks import Definition
from blueprint.language.nodes import wrap
from blueprint.workbooks.common import n, t, v
from blueprint.workbooks.registry import kind_named
from tests.misconceptions.planting import plant

Blocks = Mapping[str, Block]


@dataclass(frozen=True)
class Planted:
    """A mistake.

    block:     whose equation is wrong.
    change:    makes the wrong right-hand side from the blueprint's own blocks; or the name of a misconception of that row, the
               same that graded worksheets and `check` tell a reader.
    caught_by: the witness that must see it, by its name in `witnesses.WITNESSES`.
    equation:  which equation of the block; the last one is its body.
    """

    name: str
    block: str
    change: Callable[[Blocks], Operand] | str
    caught_by: str
    equation: int = -1

    def plant(self, blocks: Blocks) -> None:
        """Puts the mistake into a fresh blueprint; one on a level without that block stays as it is."""
        if self.block not in blocks:
            return
        if isinstance(self.change, str):
            plant(self.change, self.block, blocks, kind_named("rlhf_ppo"))
        else:
            definitions = blocks[self.block].definitions
            target = definitions[self.equation].target
            definitions[self.equation] = Definition(target, wrap(self.change(blocks)))


def masked(b: Blocks, x: Operand) -> Operand:
    """Multiplies by the mask."""
    return b["signal.mask"][n, t] * x


# fmt: off
GAE = (
    Planted("λ forgotten", "advantages", "lambda-forgotten", "identity: short_sight_gives_the_td_error"),
    Planted("γ forgotten in A", "advantages", "gamma-forgotten", "page"),
    Planted("A not masked", "advantages",
            lambda b: b["td_errors"][n, t] + b["gamma"] * b["gae_lambda"] * b["advantages"][n, t + 1], "page"),
    Planted("V(t) for V(t+1)", "td_errors", "value-of-now-for-next", "identity: far_sight_gives_the_reward_to_go"),
    Planted("γ forgotten in δ", "td_errors", "gamma-forgotten", "page"),
    Planted("V not masked", "old_critic.values", "not-masked", "page"),
    Planted("returns from the whitened advantage", "returns", "whitened-for-raw", "identity: returns_are_advantages_and_values"),
)
REWARD = (
    Planted("score one column off", "reward.score", "score-a-column-off", "golden: default_table"),
    Planted("score not masked", "reward.score",
            lambda b: (1 - b["mask"][n, t + 1]) * b["reward_model.out"][n, t + 1], "page"),
    Planted("score on every token", "reward.score", "score-on-every-token", "golden: default_table"),
    Planted("k2 without the half", "kl.k2", "half-forgotten", "page by other settings"),
    Planted("k3 upside down", "kl.k3", "ratio-upside-down", "identity: estimates_mean_the_exact_kl"),
    Planted("sign of k1 within k3", "kl.k3", lambda b: exp(-b["kl.k1"][n, t]) - 1 - b["kl.k1"][n, t],
            "identity: divergences_are_not_negative"),
    Planted("exact KL the wrong way round", "kl.exact", "divergence-of-the-other", "identity: estimates_mean_the_exact_kl"),
    Planted("KL rewarded", "reward.penalty", "kl-rewarded", "golden: very_very_sleepy"),
    Planted("kl_coef forgotten", "reward.penalty", "beta-forgotten", "golden: very_very_sleepy"),
)
WHITENING = (
    Planted("mean not subtracted", "advantage.centred", "mean-not-subtracted", "identity: whitened_have_mean_0_and_variance_1"),
    Planted("n for n − 1", "advantage.variance", "n-for-n-minus-one", "identity: whitened_have_mean_0_and_variance_1"),
    Planted("mean over pads", "advantage.mean", "mean-over-pads", "identity: whitened_have_mean_0_and_variance_1"),
    Planted("variance over pads", "advantage.centred", lambda b: b["advantages"][n, t] - b["advantage.mean"],
            "page"),
    Planted("divided by the variance", "advantage.whitened", "divided-by-variance", "golden: default_table"),
)
CLIP = (
    Planted("ratio upside down", "log_ratio", "ratio-upside-down", "golden: default_table"),
    Planted("max for min in the clip", "surrogate", "max-for-min", "golden: clip_table"),
    Planted("never clipped from below", "ratio.clipped", "below-not-clipped", "golden: default_table"),
    Planted("clipped at 1 ± ε, but without the 1", "ratio.clipped", "clipped-around-0", "page"),
    Planted("clip fraction counts the bound", "clip_fraction.outside",
            lambda b: at_most(b["clip_range"], abs(b["ratio"][n, t] - 1)),
            "identity: nothing_moves_at_step_0"),
    Planted("clip fraction sees one side", "clip_fraction.outside",
            lambda b: less(b["clip_range"], b["ratio"][n, t] - 1), "page"),
)
VALUE = (
    Planted("min for max in the value clip", "value.word_loss", "min-for-max", "golden: default_table"),
    Planted("half of the value loss forgotten", "value.word_loss", "half-forgotten", "golden: default_table"),
    # In the default example no value falls by more than the clip, so only other numbers can tell.
    Planted("a falling value not held", "value.clipped", "below-not-clipped", "page at random"),
    Planted("value clipped around 0", "value.clipped", "clipped-around-0", "page"),
)
TOTAL = (
    Planted("sign of the entropy", "total_loss", "entropy-turned", "identity: shares_add_up_to_the_loss"),
    Planted("sign of the value loss", "total_loss", "value-loss-turned", "identity: shares_add_up_to_the_loss"),
    # Its coefficient is 0 by default.
    Planted("sign of the policy KL", "total_loss", "policy-kl-turned", "page by other settings"),
    Planted("entropy upside down", "policy.entropy", "entropy-turned", "golden: default_table"),
    Planted("policy loss over all columns", "policy_loss", "mean-over-pads", "identity: shares_add_up_to_the_loss"),
)
MODELS = (
    Planted("h(t) for h(t−1)", "old.inputs", "memory-of-now", "notation"),
    Planted("memory never passed on", "old_critic.inputs", "memory-not-passed-on", "golden: default_table"),
    Planted("token written for token read", "old_critic.inputs", "token-written-for-read", "golden: default_table"),
    Planted("bias of the reward model left out", "reward_model.out", "bias-forgotten", "golden: default_table"),
    # Its bias is 0 in the default example.
    Planted("bias of the old critic left out", "old_critic.out", "bias-forgotten", "page at random"),
    Planted("largest logit not put back", "old.logsumexp", "largest-not-put-back", "identity: soft_max_sums_to_1"),
    Planted("step ignored", "policy.Y", "step-forgotten", "golden: no_update"),
    Planted("step ignored by the critic", "critic.head.w", "step-forgotten", "identity: nothing_moves_at_step_0"),
    Planted("log-prob not masked", "policy.logprobs", "not-masked", "page"),
)
ROLLOUT = (
    Planted("cumulative sums that include the token", "rollout.drawn",
            lambda b: find(v, b["old.cumulative"][n, t, v], b["rollout.draw"][n, t]), "golden: other_draws"),
    Planted("mask ends one column late", "mask",
            lambda b: (1 - b["old.is_given"][n, t]) * (1 - b["rollout.ended"][n, t - 1]) * b["rollout.allowed"][n, t],
            "golden: other_draws"),
    Planted("mask begins one column late", "mask",
            lambda b: (1 - b["old.is_given"][n, t - 1]) * (1 - b["rollout.ended"][n, t]) * b["rollout.allowed"][n, t],
            "page"),
    Planted("one token too many", "rollout.allowed",
            lambda b: at_most(0, minimum(b["rollout.room"][n, t], b["decisions"] - number(t))), "page at random"),
)
# fmt: on

MISTAKES = (*GAE, *REWARD, *WHITENING, *CLIP, *VALUE, *TOTAL, *MODELS, *ROLLOUT)
