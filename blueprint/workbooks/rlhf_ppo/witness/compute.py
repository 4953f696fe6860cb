"""A file of RLHF PPO, from what is typed to its last check."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from blueprint.witness import TABLE, Batch, Rows, Tie, add_clip_curve, add_dots, add_settings, add_verdicts, checks
from blueprint.witness.ppo import recompute
from blueprint.workbooks.rlhf_ppo.witness import tokens
from blueprint.workbooks.rlhf_ppo.witness.libraries import add_libraries
from blueprint.workbooks.rlhf_ppo.witness.metrics import add_metrics
from blueprint.workbooks.rlhf_ppo.witness.signal import add_curves, add_identities, signal_distances
from blueprint.workbooks.rlhf_ppo.witness.start import Start, from_logits, from_weights, texts_of

PLAIN = (
    "kl.k1", "kl.k2", "kl.k3", "kl.used", "reward.penalty", "rewards", "td_errors", "advantages", "returns",
    "advantage.mean", "advantage.centred", "advantage.variance", "advantage.whitened", "advantages_used",
    "log_ratio", "ratio", "ratio.clipped", "surrogate.unclipped", "surrogate.clipped", "surrogate",
    "clip_fraction.changed", "clip_fraction.outside", "policy_kl.k1", "policy_kl.k3",
    "value.error", "value.square", "value.clipped", "value.error_clipped", "value.square_clipped", "value.word_loss",
    "policy_loss", "value_loss", "entropy", "policy_kl", "adds.value_loss", "adds.entropy", "adds.policy_kl", "total_loss",
    "share",
)  # fmt: skip
"""What a file with the default options shows of PPO."""
NOT_PLAIN = (
    "slots", "old.tempered", "reference.tempered", "policy.tempered", "score.given", "kl_new.cross", "kl_new.exact",
)  # fmt: skip
"""What such a file does not show of its models."""
PARTS = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.policy_kl", "adds.kl_loss")
POLICIES = {"old_policy": "old", "reference": "reference", "new_policy": "policy"}


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows and returns the draws that are ties."""
    add_settings(batch, rows)
    file = batch.files[0]
    if tokens.BEGINS in file and "old.W" not in file:
        return tokens.compute(batch, rows)
    start = compute_ppo(batch, rows)
    add_metrics(batch, rows, start.mask, "score.placed" if TABLE in file else "reward.score")
    add_libraries(batch, rows, texts_of(rows, start.mask))
    add_charts(batch, rows, start)
    add_checks(batch, rows, start.mask)
    return start.ties


def compute_ppo(batch: Batch, rows: Rows) -> Start:
    """Adds the models and PPO itself, and returns where it starts."""
    start = (from_weights if "old.W" in batch.files[0] else from_logits)(batch, rows)
    options, floor = batch.options, batch.typed("explained_variance.floor")
    found = recompute(texts_of(rows, start.mask), options, floor)
    rows.add(found)
    if TABLE not in batch.files[0]:
        rows.hide((*NOT_PLAIN, *(found.keys() - set(PLAIN))))
    return start


def add_charts(batch: Batch, rows: Rows, start: Start) -> None:
    """Adds the curve of the clip with its dots, the words of the bars, GAE for several λ, and the parts of the loss."""
    add_clip_curve(batch, rows)
    add_dots(batch, rows, rows["ratio"], rows["advantages_used"], start.mask)
    rows.add_words("bar.word", start.words)
    add_curves(batch, rows)
    parts = PARTS if TABLE in batch.files[0] else PARTS[:-1]
    rows.add({"parts": torch.stack([rows[name] for name in (*parts, "total_loss")], dim=-1)}, whole=True)


def add_checks(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds every check that the files have."""
    add_identities(batch, rows)
    parts, shares = torch.stack([rows[name] for name in PARTS], dim=-1), rows["share"]
    sizes = {"check.share_size": shares.abs(), "check.shares_size": shares.abs().sum(dim=(-2, -1))}
    rows.add(sizes | {"check.parts_size": parts.abs().sum(dim=-1)})
    found = {"check.settings": batch.outside_all, "check.mask": (mask * (1 - mask)).abs()} | signal_distances(rows)
    found |= checks.probability_distances(rows, POLICIES) | checks.log_distances(rows, POLICIES)
    found |= {
        "check.exact_kl": (-rows["kl.exact"]).clamp(min=0),
        "check.total": checks.sum_distance(shares.flatten(1), rows["total_loss"]),
        "check.parts": checks.sum_distance(parts, rows["total_loss"]),
        "check.score": ((rows["kept"] * rows["score.placed"]).sum(dim=-1) - rows["score.clipped"]).abs(),
    }
    if "is_given" in rows:
        found |= text_distances(batch, rows)
    add_verdicts(batch, rows, found)


def text_distances(batch: Batch, rows: Rows) -> dict[str, Tensor]:
    """Returns ones where a word is given behind a gap, and where a prompt has no first word; and how far from its range
    what is typed is, and the ratio from 1 where nothing was updated."""
    given, apart = rows["is_given"], (rows["ratio"] - 1).abs()
    return {
        "check.prompt": given[..., 1:] * (1 - given[..., :-1]),
        "check.empty": 1 - given[..., 0],
        "check.ratio": torch.where(batch.setting("update_step") == 0, apart, 0.0),
        "check.draws": checks.range_distance(batch, "rollout.draw", fill=0.5),
        "check.length": checks.range_distance(batch, "max_new_tokens"),
    }
