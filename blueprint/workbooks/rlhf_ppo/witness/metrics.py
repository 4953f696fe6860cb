"""The metrics of a training step, and what is shown with the advantages: GAE for several λ, and its identities.

Tensors are [F, N, T] and masked; means are over the response tokens of a file unless a name says otherwise.
"""

import torch
from torch import Tensor

from blueprint.witness import Batch, Held, Named, Rows, checks, explained, masked_mean, sums_from, wide, with_end
from blueprint.workbooks.rlhf_ppo.witness.minibatches import step_mask

MEANS = (
    "old.logprobs", "reference.logprobs", "policy.logprobs", "reward.penalty", "rewards", "old_critic.values", "td_errors",
    "advantages_used", "ratio", "surrogate.unclipped", "surrogate",
)  # fmt: skip
"""Rows whose means a workbook with models shows, besides that of the score."""


def add_metrics(batch: Batch, rows: Rows, mask: Tensor, score: str) -> None:
    """Adds clip fractions, KLs, scores, explained variance and means over the response words, whatever else counts.

    score: the row in which scores stand where they land.
    """
    count = rows["response.words"]
    rows.add(update_rows(rows, *step_mask(rows, mask)) | {"kl.per_word": masked_mean(rows["kl.used"], mask, count)})
    rows.add(per_response_rows(rows, mask))
    size = rows["advantages"][..., :-1].abs()
    rows.add({"advantage.abs": size, "advantage.mean_abs": masked_mean(size, mask, count)})
    floor, old = batch.typed("explained_variance.floor"), rows["values.kept"][..., :-1]
    rows.add(explained_rows(rows["returns"], old, mask, count, floor))
    rows.add(mean_rows(rows, (*MEANS, score), *step_mask(rows, mask)))


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
    }
    return {name: masked_mean(rows[row], mask, words) for name, row in of_words.items()}


def per_response_rows(rows: Held, mask: Tensor) -> Named:
    """Returns sums over each response [F, N] and their means [F]: KL of its words, score and penalty wherever they land."""
    found = {}
    for name, mean, row in (
        ("kl.response", "kl.per_response", mask * rows["kl.used"]),
        ("score.response", "score.mean", rows["score.placed"]),
        ("non_score.response", "non_score_reward", rows["reward.penalty"]),
    ):
        found[name] = row.sum(dim=-1)
        found[mean] = found[name].sum(dim=-1) / rows["response.count"]
    return found


def explained_rows(returns: Tensor, values: Tensor, mask: Tensor, words: Tensor, floor: Tensor) -> Named:
    """Returns 1 − var(R − V_old)/var(R) with variances over N, 0 where var(R) is at most the floor [F]; and its steps."""
    residual = returns - values
    found = {"value.residual": residual}
    for name, row in (("returns", returns), ("value.residual", residual)):
        mean = masked_mean(row, mask, words)
        centred = mask * (row - wide(mean))
        variance = masked_mean(centred.square(), mask, words)
        found |= {f"{name}.mean": mean, f"{name}.centred": centred, f"{name}.variance": variance}
    return found | {"explained_variance": explained(found["value.residual.variance"], found["returns.variance"], floor)}


def mean_rows(rows: Held, names: tuple[str, ...], mask: Tensor, words: Tensor) -> Named:
    """Returns the masked means of rows, without their end columns."""
    return {f"mean.{name}": masked_mean(rows[name][..., : mask.shape[-1]], mask, words) for name in names}


def onward(rows: Rows, decay: Tensor) -> Tensor:
    """Returns what later TD errors are multiplied by with another decay, [F, N, T]; what is passed over does not fade."""
    return rows["slots"][..., :-1] * torch.where(rows["gae.over"] > 0, 1.0, decay)


def add_curves(batch: Batch, rows: Rows) -> None:
    """Adds the advantages for the λ of each curve, [F, N, T + 1]."""
    for number in ("1", "2", "3", "4"):
        gae_lambda = batch.typed(f"gae_at.lambda{number}").view(-1, 1, 1)
        rows.add({f"gae_at.{number}": sums_from(rows["td_errors"], onward(rows, gae_lambda * batch.setting("gamma")))})


def add_identities(batch: Batch, rows: Rows) -> None:
    """Adds the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go.

    The values are 0 outside the slots, except where one typed behind the last decision stands for what would have come: the
    reward to go then begins with it, since A + V for λ = 1 does.
    """
    slots, values, gamma = rows["slots"][..., :-1], rows["values.kept"], batch.setting("gamma")
    inside, behind = slots * (1 - rows["gae.over"]), values * (1 - with_end(slots))
    to_go = sums_from(inside * (rows["rewards"] + gamma * behind[..., 1:]), onward(rows, gamma)) + behind
    alone = inside * (rows["rewards"] - values[..., :-1])
    rows.add(checks.identity_rows(rows, alone, to_go, onward(rows, gamma), onward(rows, 0 * gamma)))
    rows.add(checks.size_rows(rows, rows["gae.ahead"][..., :-1]))


def signal_distances(rows: Rows) -> Named:
    """Returns how far k3, the returns and the three identities of GAE are from holding."""
    slots = rows["slots"][..., :-1]
    found = checks.gae_distances(rows, rows["values.kept"][..., :-1], slots, slots * (1 - rows["gae.over"]))
    lambda_1 = slots * checks.to_go_distance(rows, rows["gae.ahead"][..., :-1])
    return found | {"check.k3": (-rows["kl.k3"]).clamp(min=0), "check.lambda_1": lambda_1}
