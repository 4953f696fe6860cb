"""Mistakes in a trainer of DPO, as data: what its code does otherwise, and what `verify` must then find.

Each is planted in one stage of TRL's formulas, on the files of a real run; all that comes after it follows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.hooks.dpo_formulas import (
    Array,
    Trainer,
    Use,
    log_sigmoid,
    otherwise,
    pair_loss,
    sigmoid,
    sums,
)
from tests.hooks.trl_formulas import Mistake, Tensors


def lost(**more: Any) -> Trainer:
    """Returns a trainer in which settings get lost on the way, and others count."""
    return otherwise(settled=lambda use: {**use, **more})


def in_loss(**more: Any) -> Trainer:
    """Returns a trainer whose loss alone has other settings."""
    return otherwise(pair_loss=lambda a, c, lengths, use: pair_loss(a, c, lengths, {**use, **more}))


def mask_by(more: int) -> Trainer:
    """Returns a trainer whose responses end some tokens later."""

    def of(t: Tensors) -> Tensors:
        mask = t["completion_mask"]
        end = mask.shape[1] - 1 - mask[:, ::-1].argmax(1)[:, None] + more
        return {**t, "completion_mask": np.where(np.arange(mask.shape[1]) <= end, np.maximum(mask, more > 0), 0.0)}

    return otherwise(given=of)


def without_first(t: Tensors) -> Tensors:
    return {**t, "completion_mask": t["completion_mask"] * (t["completion_mask"].cumsum(1) > 1)}


def shifted(name: str, by: int) -> Trainer:
    return otherwise(given=lambda t: {**t, name: np.roll(t[name], by, axis=1)})


def halves_exchanged(name: str) -> Trainer:
    return otherwise(given=lambda t: {**t, name: np.roll(t[name], len(t[name]) // 2, axis=0)})


def mean_of_tokens(logps: Array, mask: Array, use: Use) -> Array:
    return np.asarray(sums(logps, mask, use) / mask.sum(1))


def mean_of_columns(logps: Array, mask: Array, use: Use) -> Array:
    return np.asarray(sums(logps, mask, use) / mask.shape[1])


def smoothed(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    right, wrong = log_sigmoid(use["beta"] * (a - c)), log_sigmoid(use["beta"] * (c - a))
    return np.asarray(-0.9 * right - 0.1 * wrong)


def without_log(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    return 1 - sigmoid(use["beta"] * (a - c))


def turned(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    return pair_loss(c, a, lengths[::-1], use)


def less_a_margin(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    return np.asarray(-log_sigmoid(use["beta"] * (a - c) - 0.5))


def without_reference_in_loss(policy: Array, reference: Array) -> Array:
    return np.asarray(policy)


def halves(each: Array) -> float:
    """Averages microbatches of three and one by themselves."""
    return float((each[:3].mean() + each[3:].mean()) / 2)


def rows(logps: Array, mask: Array, use: Use) -> float:
    half = len(mask) // 2
    return float(-((logps * mask).sum(1) / mask.sum(1))[:half].mean())


def row_sums(logps: Array, mask: Array, use: Use) -> float:
    return float(-(logps * mask).sum(1)[: len(mask) // 2].mean())


def of_both(logps: Array, mask: Array, use: Use) -> float:
    return float(-(logps * mask).sum() / mask.sum())


def no_nll(logps: Array, mask: Array, use: Use) -> float:
    return 0.0


def tie_is_right(chosen: Array, rejected: Array) -> Array:
    return np.asarray(chosen >= rejected, float)


def tie_is_half(chosen: Array, rejected: Array) -> Array:
    return np.asarray((chosen > rejected) + 0.5 * (chosen == rejected))


def positive(chosen: Array, rejected: Array) -> Array:
    return np.asarray(chosen > 0, float)


PLAIN, IPO, ROBUST, SFT, LD, NORM, MIXED = (
    f"trl_dpo/{name}" for name in ("sigmoid", "ipo", "robust", "sft", "shared", "norm", "mixed")
)
MISTAKES = {
    "the end of a text is masked, as where it is the pad": Mistake(PLAIN, "chosen.logp", "the last token of each response left out",
                                                                  mask_by(-1)),
    "the first token is left out": Mistake(PLAIN, "chosen.logp", "the first token of each response left out",
                                           otherwise(given=without_first)),
    "a mean for the sum": Mistake(PLAIN, "chosen.logp", "divided by Σ_t response.tokens", otherwise(sums=mean_of_tokens)),
    "a mean over padded columns": Mistake(PLAIN, "chosen.logp", "", otherwise(sums=mean_of_columns)),
    "log-probs of the token before": Mistake(PLAIN, "chosen.logp", "the policy's log-probs one position late",
                                             shifted("per_token_logps", 1)),
    "log-probs of the token behind": Mistake(PLAIN, "chosen.logp", "the policy's log-probs one position early",
                                             shifted("per_token_logps", -1)),
    "the reference's log-probs of the token before": Mistake(
        PLAIN, "chosen.logp_ref", "the reference's log-probs one position late", shifted("ref_per_token_logps", 1)),
    "halves exchanged": Mistake(PLAIN, "chosen.logp", "chosen and rejected exchanged", halves_exchanged("per_token_logps")),
    "the reference's halves exchanged": Mistake(
        PLAIN, "chosen.logp_ref", "chosen and rejected exchanged in the reference", halves_exchanged("ref_per_token_logps")),
    "LD's α forgotten": Mistake(LD, "chosen.logp", "logp.ld = off", lost(ld_alpha=None)),
    "another α of LD": Mistake(LD, "chosen.logp", "logp.ld_alpha = 0.3", lost(ld_alpha=0.3)),
    "another β": Mistake(PLAIN, "chosen.reward", "dpo.beta = 0.2", lost(beta=0.2)),
    "a β that nobody uses": Mistake(PLAIN, "chosen.reward", "dpo.beta = 0.137", lost(beta=0.137)),
    "rewards without β": Mistake(PLAIN, "chosen.reward", "watch.rewards = no_beta", otherwise(rewards=lambda apart, use: apart)),
    "rewards without the reference": Mistake(PLAIN, "chosen.reward", "the reference left out",
                                             otherwise(apart=without_reference_in_loss)),
    "the log-ratio the other way round": Mistake(PLAIN, "chosen.reward", "the log-ratio the other way round",
                                                 otherwise(apart=lambda policy, reference: reference - policy)),
    "a tie is right": Mistake(PLAIN, "rewards.accuracies", "two equal rewards counted as a success", otherwise(ahead=tie_is_right)),
    "a tie is half right": Mistake(PLAIN, "rewards.accuracies", "half a success", otherwise(ahead=tie_is_half)),
    "a success is a reward above 0": Mistake(PLAIN, "rewards.accuracies", "", otherwise(ahead=positive)),
    "β missing in the loss": Mistake(PLAIN, "total_loss", "dpo.beta = 1", in_loss(beta=1.0)),
    "another β in the loss": Mistake(PLAIN, "total_loss", "dpo.beta = 0.07", in_loss(beta=0.07)),
    "hinge for log σ": Mistake(PLAIN, "total_loss", "loss.form = hinge", in_loss(loss_type=["hinge"])),
    "IPO for DPO": Mistake(PLAIN, "total_loss", "loss.form = ipo", in_loss(loss_type=["ipo"])),
    "length-normalised": Mistake(PLAIN, "total_loss", "logp.of = mean", in_loss(loss_type=["sigmoid_norm"])),
    "IPO of sums": Mistake(IPO, "total_loss", "logp.of = sum",
                           otherwise(pair_loss=lambda a, c, lengths, use: pair_loss(a, c, np.ones_like(lengths), use))),
    "label smoothing that should do nothing": Mistake(PLAIN, "total_loss", "loss.label_smoothing = 0.1",
                                                      otherwise(pair_loss=smoothed)),
    "robust without ε": Mistake(ROBUST, "total_loss", "loss.label_smoothing = 0", in_loss(label_smoothing=0.0)),
    "ε of .25": Mistake(ROBUST, "total_loss", "loss.label_smoothing = 0.25", in_loss(label_smoothing=0.25)),
    "no division by 1 − 2ε": Mistake(ROBUST, "total_loss", "it is not divided by 1 − 2·loss.label_smoothing",
                                     otherwise(pair_loss=lambda a, c, lengths, use: pair_loss(a, c, lengths, use) * 0.8)),
    "σ without log": Mistake(PLAIN, "total_loss", "1 − σ of the margin", otherwise(pair_loss=without_log)),
    "the margin turned": Mistake(PLAIN, "total_loss", "chosen and rejected exchanged", otherwise(pair_loss=turned)),
    "a target margin": Mistake(PLAIN, "total_loss", "loss.gamma = 0.5", otherwise(pair_loss=less_a_margin)),
    "a sum over the pairs": Mistake(PLAIN, "total_loss", "a sum over the pairs",
                                    otherwise(averaged=lambda each: float(each.sum()))),
    "uneven microbatches averaged alike": Mistake(PLAIN, "total_loss", "", otherwise(averaged=halves)),
    "divided by accumulation once more": Mistake(PLAIN, "total_loss", "everything divided by 2",
                                                 otherwise(averaged=lambda each: float(each.mean() / 2))),
    "the NLL forgotten": Mistake(SFT, "total_loss", "loss.nll_coef = 0", otherwise(likelihood=no_nll)),
    "the NLL with weight 1": Mistake(SFT, "total_loss", "loss.nll_coef = 1", lost(loss_weights=[1.0, 1.0])),
    "the NLL a mean of rows": Mistake(SFT, "total_loss", "loss.nll_mean = sequence_mean", otherwise(likelihood=rows)),
    "the NLL a mean of row sums": Mistake(SFT, "total_loss", "loss.nll_mean = sequence_sum", otherwise(likelihood=row_sums)),
    "the NLL of both sides": Mistake(SFT, "total_loss", "response.chosen is left out", otherwise(likelihood=of_both)),
    "the weights of the losses forgotten": Mistake(MIXED, "total_loss", "the weights of the losses left out",
                                                   lost(loss_weights=[1.0, 1.0, 1.0, 1.0])),
    "the weights in another order": Mistake(MIXED, "total_loss", "the weights of the losses the other way round",
                                            lost(loss_weights=[0.3, 0.2, 0.8, 1.0])),
    "one loss of a sum forgotten": Mistake(MIXED, "total_loss", "the loss bco left out", lost(loss_weights=[0.8, 0.0, 0.3, 1.0])),
    "one loss of a sum alone": Mistake(MIXED, "total_loss", "the loss sigmoid alone", lost(loss_weights=[1.0, 0.0, 0.0, 1.0])),
    "another β in a sum": Mistake(MIXED, "total_loss", "dpo.beta = 0.1", in_loss(beta=0.1)),
    "a loss of a sum of means": Mistake(MIXED, "total_loss", "", otherwise(
        pair_loss=lambda a, c, lengths, use: pair_loss(a, c, np.ones_like(lengths), use))),
    "JS forgotten": Mistake(LD, "total_loss", "margin.divergence = reverse_kl", in_loss(f_divergence_type="reverse_kl")),
    "the weights of WPO forgotten": Mistake("trl_dpo/weighted", "total_loss", "loss.weight = off", lost(use_weighting=False)),
}  # fmt: skip
