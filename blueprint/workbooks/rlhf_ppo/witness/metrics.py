"""What is watched in training: clip fractions, approximate KL, KL to the reference, scores, explained variance.

Tensors are [F, N, T] and masked; means are over the response words of a file unless a name says otherwise.
"""

from __future__ import annotations

from torch import Tensor

from blueprint.witness import Batch, Held, Named, Rows, explained, masked_mean, wide

MEANS = (
    "old.logprobs", "reference.logprobs", "policy.logprobs", "reward.penalty", "rewards", "old_critic.values", "td_errors",
    "advantages_used", "ratio", "surrogate.unclipped", "surrogate",
)  # fmt: skip
"""Rows whose means a workbook with models shows, beside that of the score."""


def add_metrics(batch: Batch, rows: Rows, mask: Tensor, score: str) -> None:
    """Adds clip fractions, KLs, scores, explained variance and means over the response words, whatever else counts.

    score: the row in which scores stand where they land.
    """
    count = rows["response.words"]
    rows.add(update_rows(rows, mask, count))
    rows.add(per_response_rows(rows, mask))
    size = rows["advantages"][..., :-1].abs()
    rows.add({"advantage.abs": size, "advantage.mean_abs": masked_mean(size, mask, count)})
    floor, old = batch.typed("explained_variance.floor"), rows["values.kept"][..., :-1]
    rows.add(explained_rows(rows["returns"], old, mask, count, floor))
    rows.add(mean_rows(rows, (*MEANS, score), mask, count))


def response_rows(mask: Tensor) -> Named:
    """Returns lengths [F, N] and their summaries; the counts that something is divided by are at least 1."""
    length = mask.sum(dim=-1)
    wrote = (length > 0).to(mask.dtype)
    count = wrote.sum(dim=-1).clamp(min=1)
    return {
        "response.length": length,
        "response.words": length.sum(dim=-1).clamp(min=1),
        "response.wrote": wrote,
        "response.count": count,
        "response.mean_length": length.sum(dim=-1) / count,
        "response.longest": length.amax(dim=-1),
    }


def update_rows(rows: Held, mask: Tensor, words: Tensor) -> Named:
    """Returns how far the update moved the policy: clip fractions, and approximate KL as means of −d and e^d − 1 − d."""
    of_words = {
        "clip_fraction.loss": "clip_fraction.changed",
        "clip_fraction.ratio": "clip_fraction.outside",
        "approx_kl.k1": "policy_kl.k1",
        "approx_kl.k3": "policy_kl.k3",
        "kl.per_word": "kl.used",
    }
    return {name: masked_mean(rows[row], mask, words) for name, row in of_words.items()}


def per_response_rows(rows: Held, mask: Tensor) -> Named:
    """Returns sums over each response [F, N] and their means [F]: KL of its words, score and penalty wherever they land."""
    summed = {"kl.response": mask * rows["kl.used"], "score.response": rows["score.placed"]}
    summed |= {"non_score.response": rows["reward.penalty"]}
    found = {name: each.sum(dim=-1) for name, each in summed.items()}
    means = {"kl.response": "kl.per_response", "score.response": "score.mean", "non_score.response": "non_score_reward"}
    return found | {mean: found[name].sum(dim=-1) / rows["response.count"] for name, mean in means.items()}


def explained_rows(returns: Tensor, values: Tensor, mask: Tensor, words: Tensor, floor: Tensor) -> Named:
    """Returns 1 − var(R − V_old)/var(R) with variances over N, 0 where var(R) is at most the floor [F]; and its steps."""
    found = {"value.residual": returns - values}
    for name, row, mean_of in (
        ("returns", returns, "returns.mean"),
        ("value.residual", returns - values, "value.residual.mean"),
    ):
        mean = masked_mean(row, mask, words)
        centred = mask * (row - wide(mean))
        found |= {mean_of: mean, f"{name}.centred": centred}
        found |= {f"{name}.variance": masked_mean(centred.square(), mask, words)}
    share = explained(found["value.residual.variance"], found["returns.variance"], floor)
    return found | {"explained_variance": share}


def mean_rows(rows: Held, names: tuple[str, ...], mask: Tensor, words: Tensor) -> Named:
    """Returns the masked means of rows, without their end columns."""
    columns = mask.shape[-1]
    return {f"mean.{name}": masked_mean(rows[name][..., :columns], mask, words) for name in names}
