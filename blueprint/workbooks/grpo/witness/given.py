"""Where a computation starts from log-probs: what is typed of them, and what is read where nothing is."""

from math import inf

import torch
from torch import Tensor

from blueprint.witness import Batch, Named, Rows, with_end
from blueprint.workbooks.grpo.witness.start import MODELS, Start, counted, placed

UNSET: dict[str, float | str] = {
    "kl.place": "none", "kl.coef": 0.0, "kl.estimator": "k3", "kl.clamp_in": inf, "kl.clamp_out": inf, "kl.weight": "none",
    "kl.gradient": "own", "kl.reach": 1.0, "kl.aggregation": "as_policy", "rollout.level": "none", "rollout.mode": "truncate",
    "rollout.low": inf, "rollout.high": inf, "rollout.statistic": "ratio", "rollout.clamp": inf, "rollout.normalise": "off",
    "rollout.mean_eps": 0.0, "rollout.reject": "off", "rollout.reject_low": inf, "rollout.reject_high": inf, "loss.ent_coef": 0.0,
    "loss.entropy_least": inf, "loss.entropy_aggregation": "token_mean",
}  # fmt: skip
"""What a file does that has no such convention, for want of a reference, an engine or entropies."""
OPTIONS = {
    "kl.place": (
        "kl_old.chosen.abs", "kl_new.chosen.abs", "kl_new.log_weight.own", "kl_new.log_weight.rollout", "kl_new.moves.k2_is",
        "weight.kl.mode",
    ),
    "rollout.level": (
        "rollout.ratio.product", "rollout.ratio.mean", "rollout.judged.difference", "rollout.chosen.mask",
        "rollout.chosen.filter", "rollout.normed.on", "rollout.tried.token", "rollout.tried.mean",
    ),
    "loss.ent_coef": ("weight.entropy.mode", "policy.entropy.grad"),
}  # fmt: skip
"""Rows of ways among which a file that lacks the convention has no choice, and so has no such rows."""
ENTROPY = "policy.entropy"


def from_logprobs(batch: Batch, rows: Rows) -> Start:
    """Reads responses, scores and what policies say of each token; of one that nobody asked, another speaks."""
    typed = placed(batch) | {name: batch.typed(name)[0] for name in ("score", "truncated")}
    mask = typed["mask"] = batch.mask()[0]
    found = counted(typed) | {"response.tokens": with_end(mask)}
    spoken, unknown = _spoken(batch, mask)
    for key in OPTIONS.keys() - batch.settings[0].keys():
        rows.hide(OPTIONS[key])
    rows.know({name: each[None] for name, each in spoken.items()})
    return Start(typed | spoken, found | unknown, None, None)


def _spoken(batch: Batch, mask: Tensor) -> tuple[Named, Named]:
    """Returns log-probs and entropies by model, typed or not; and the rows of those that are not."""
    file, names = batch.files[0], [f"{model}.logprobs" for model in MODELS]
    found = {name: batch.typed(name)[0] for name in (*names, ENTROPY) if name in file}
    made: Named = {}
    for name, other, row in (
        ("old.logprobs", "policy.logprobs", "old.as_policy"),
        ("reference.logprobs", "policy.logprobs", "reference.as_policy"),
        ("engine.logprobs", "old.logprobs", "engine.as_old"),
    ):
        if name not in found:
            found[name] = made[row] = found[other]
    if ENTROPY not in found:
        found[ENTROPY] = made["policy.entropy_unknown"] = torch.zeros_like(mask)
    return found, made
