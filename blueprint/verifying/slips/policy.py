"""Slips in the policy loss: in the ratio, the clip, the advantages, and the mask."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from blueprint.verifying.formulas import Named, losses
from blueprint.verifying.slips.slip import Number, Own, Read, Slip, Words, altered, beside, counted, masks, read


def surrogates(own: Own) -> Named:
    """Returns ratio and surrogates."""
    found = own.rows | losses.ratio_rows(own.texts, own.rows, own.options) | own.altered
    high = 1 + own.options.number("loss.clip_range_high")
    found |= {"ratio.clipped": losses.between(found["ratio"], losses.lowest_ratio(own.options), high)} | own.altered
    return found | losses.surrogate_rows(found, own.options)


def policy(own: Own) -> Words:
    """Returns the words of the policy loss."""
    return Words(-surrogates(own)["surrogate"], counted(own))


def _cooled(name: str, temperature: float) -> Read:
    return lambda own: own.file(name) / temperature


TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.2, 1.5, 2.0)
SIDES = (("old_logprobs", "logprobs_old"), ("logprobs", "logprobs_new"))

RATIOS: tuple[tuple[str, Mapping[str, Read]], ...] = (
    # openai/baselines #1218 and hill-a/stable-baselines #447 ask which is divided by which
    ("logprobs_old and logprobs_new swapped: the ratio is inverted",
     {"logprobs": read("logprobs_old"), "old_logprobs": read("logprobs_new")}),
    ("the ratio against the reference, not the old policy", {"old_logprobs": read("logprobs_ref")}),
    ("the ratio of the old policy to the reference", {"logprobs": read("logprobs_old"), "old_logprobs": read("logprobs_ref")}),
    # thu-ml/tianshou #745 and higgsfield-ai/higgsfield #20: old log-probs of the policy as it is now
    ("the new log-probs for the old ones: a ratio of 1", {"old_logprobs": read("logprobs_new")}),
    ("the log-probs of the generating engine for the old ones", {"old_logprobs": read("logprobs_rollout")}),
    # opendilab/LightRFT #53: log-probs gathered from other places than the words'
    *((said, {key: moved}) for key, name in SIDES for said, moved in beside(name)),
    *((f"{name} divided by a temperature of {each:g}", {key: _cooled(name, each)})
      for key, name in SIDES for each in TEMPERATURES),
)  # fmt: skip
"""What may have been read for the log-probs of the ratio."""


def _for_ratio(made: Read, own: Own) -> Words:
    """The policy loss with something else for the ratio, 1 outside the response; where it is below 0, so is the surrogate of a
    positive advantage, which the dual clip leaves alone."""
    rows = surrogates(own.having({"ratio": torch.where(own["response"] > 0, made(own), 1.0)}))
    used = torch.where(rows["advantages_used"] < 0, rows["surrogate"], rows["surrogate.pessimistic"])
    return Words(-used, counted(own))


def _for_surrogate(made: Callable[[Own, Named], Tensor]) -> Number:
    return lambda own: Words(-made(own, surrogates(own)), counted(own))


def _log_ratio(own: Own) -> Tensor:
    return losses.ratio_rows(own.texts, own.rows, own.options)["log_ratio"]


def _of_mean(own: Own) -> Tensor:
    words = own["response"].sum(dim=-1, keepdim=True).clamp(min=1)
    return (_log_ratio(own).sum(dim=-1, keepdim=True) / words).exp().expand_as(own["response"])


LOW_FOR_LESS = "ε, not 1 − ε, for the lower end of the clip"


def low_for_less(own: Own) -> Tensor:
    """The ratio within ε … 1 + ε."""
    return surrogates(own)["ratio"].clamp(own.number("clip_range"), 1 + own.number("loss.clip_range_high"))


def _swapped(own: Own) -> Words:
    """1 − ε_high … 1 + ε_low."""
    low, high = own.settings["clip_range"], own.settings["loss.clip_range_high"]
    return policy(own.under({"clip_range": high, "loss.clip_range_high": low}))


def _sunk(own: Own, rows: Named) -> Tensor:
    """Not above c·Â where Â is negative."""
    low = torch.minimum(rows["surrogate.pessimistic"], own.number("loss.dual_clip") * rows["advantages_used"])
    return torch.where(rows["advantages_used"] < 0, low, rows["surrogate.pessimistic"])


def _product_clipped(own: Own, rows: Named) -> Tensor:
    low, high = 1 - own.number("clip_range"), 1 + own.number("loss.clip_range_high")
    return torch.minimum(rows["surrogate.unclipped"], rows["surrogate.unclipped"].clamp(low, high))


FOR_RATIO: tuple[tuple[str, Read], ...] = (
    ("the log-ratio for the ratio, without exp", _log_ratio),
    ("the log-prob for the ratio", lambda own: own.texts.logprobs),
    ("the probability for the ratio", lambda own: own.texts.logprobs.exp()),
    ("one ratio for each response, of the mean of its log-ratios, as in GSPO", _of_mean),
    ("one ratio for each response, of the sum of its log-ratios",
     lambda own: _log_ratio(own).sum(dim=-1, keepdim=True).exp().expand_as(own["response"])),
)  # fmt: skip
"""What may have been taken for the ratio."""

POLICY: tuple[Slip, ...] = (
    # rllm-org/rllm #81: the clip is computed, and the mean taken of what was not clipped
    Slip("the surrogate without the clip", _for_surrogate(lambda own, rows: rows["surrogate.unclipped"])),
    Slip("the clipped surrogate alone, not the smaller of both", _for_surrogate(lambda own, rows: rows["surrogate.clipped"])),
    Slip("max for min: the larger surrogate, not the smaller",
         _for_surrogate(lambda own, rows: torch.maximum(rows["surrogate.unclipped"], rows["surrogate.clipped"]))),
    *(Slip(said, altered(policy, reading)) for said, reading in RATIOS),
    *(Slip(said, altered(policy, {"advantages_used": moved})) for said, moved in beside("advantages")),
    *(Slip(said, partial(_for_ratio, made)) for said, made in FOR_RATIO),
    Slip("the clip of the product ρ·Â, not of the ratio", _for_surrogate(_product_clipped)),
    Slip("the clip range around 0, for the log-ratio", altered(policy, {
        "ratio.clipped": lambda own: _log_ratio(own).clamp(-own.number("clip_range"), own.number("loss.clip_range_high")).exp()})),
    Slip("the two ends of the clip range swapped", _swapped),
    # ChenmienTan/RL2 #21
    Slip(LOW_FOR_LESS, altered(policy, {"ratio.clipped": low_for_less})),
    Slip("only the upper end of the clip", lambda own: policy(own.under({"clip_range": "off"}))),
    Slip("only the lower end of the clip", lambda own: policy(own.under({"loss.clip_range_high": "off"}))),
    Slip("the dual clip for positive advantages, too", _for_surrogate(
        lambda own, rows: torch.maximum(rows["surrogate.pessimistic"], own.number("loss.dual_clip") * rows["advantages_used"]))),
    Slip("min for max under the dual clip: the smaller of both", _for_surrogate(_sunk)),
    Slip("the returns for the advantages",
         altered(policy, {"advantages_used": lambda own: own["returns"]})),
    Slip("the rewards for the advantages",
         altered(policy, {"advantages_used": lambda own: own["rewards"]})),
    Slip("raw advantages, not whitened",
         altered(policy, {"advantages_used": lambda own: own["response"] * own["advantages"]})),
    Slip("advantages whitened twice",
         altered(policy, {
        "advantages_used": lambda own: (own["advantages_used"] - own.whole["advantage.mean"]) / own.whole["advantage.divisor"]})),
    # verl-project/verl #2506: response_mask=advantages
    Slip("the advantages passed for the mask", lambda own: replace(policy(own), counted=own["advantages_used"])),
    Slip("the advantages passed for the mask", lambda own: replace(policy(own.everywhere), counted=own.file("advantages"))),
    *masks(policy, "the policy loss"),
)  # fmt: skip
