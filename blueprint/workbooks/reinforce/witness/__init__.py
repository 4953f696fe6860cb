"""REINFORCE with and without a baseline, in torch: what draws estimate, beside what autograd gives over all tokens.

Sources: Williams 1992 (the estimate, and why a baseline is free), Greensmith, Bartlett & Baxter 2004 (the best constant),
Ahmadian et al. 2024, arXiv:2402.14740 (leave-one-out). Axes: F file, V token drawn, J logit, N draw.
"""

from collections.abc import Sequence

import torch

from blueprint.witness import (
    Batch,
    KindWitness,
    Named,
    Rows,
    Tie,
    add_settings,
    add_verdicts,
    block,
    picked,
)
from blueprint.workbooks.reinforce.witness.policies import moved_rows, policy_rows, reused_rows, scores_of, variance

BASELINES = ("leave_one_out", "batch", "expected", "optimal", "typed")


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows."""
    add_settings(batch, rows)
    z, r = batch.typed("policy.logits"), batch.typed("reward.scores")
    for part in (policy_rows(z, r), drawn_rows(batch, z, r)):
        rows.add(part, whole=True)
    drawn = zip(batch.files, rows["draws.token"].long().cpu().numpy(), strict=True)
    rows.add_words("draws.word", [block(file, "vocabulary")[a] for file, a in drawn])
    rows.add(variance_rows(batch, rows, r), whole=True)
    for name in ("without", "with"):
        rows.add(
            estimate_rows(name, rows["draws.reward" if name == "without" else "draws.advantage"], rows["draws.slope"]),
            True,
        )
    rows.add(moved_rows(batch, rows, z, r), whole=True)
    rows.add(reused_rows(rows), whole=True)
    rows.add(chart_rows(batch, rows), whole=True)
    add_verdicts(batch, rows, distances(batch, rows, r))
    return ()


def drawn_rows(batch: Batch, z: torch.Tensor, r: torch.Tensor) -> Named:
    """Returns the tokens drawn, as many sums of probabilities as u is not below, and the gradients of their log-probs."""
    edges = torch.softmax(z, dim=-1).cumsum(dim=-1)[:, :-1].contiguous()
    a = torch.searchsorted(edges, batch.typed("draws.uniform").contiguous(), right=True)
    reward, hot = r.gather(1, a), torch.nn.functional.one_hot(a, z.shape[-1]).to(z.dtype)
    score = scores_of(z).gather(1, a[..., None].expand(*a.shape, z.shape[-1]))
    total, many = reward.sum(dim=-1), torch.full_like(reward[:, 0], reward.shape[-1])
    return {
        "draws.token": a.to(z.dtype), "draws.reward": reward, "draws.is": hot, "draws.slope": score, "draws.count": many,
        "draws.reward_sum": total, "draws.reward_mean": reward.mean(dim=-1),
        "draws.others": (total[:, None] - reward) / (many - 1)[:, None], "draws.share": hot.mean(dim=1),
    }  # fmt: skip


def variance_rows(batch: Batch, rows: Rows, r: torch.Tensor) -> Named:
    """Returns the baseline in use and its variance, and how far an estimate is from the gradient without and with it."""
    J, p, best, mean = rows["expected_reward"], rows["policy.p"], rows["baseline.optimal"], rows["draws.reward_mean"]
    by = batch.option("baseline", BASELINES)[:, 0]
    typed, many = batch.setting("baseline_value")[:, 0, 0], rows["draws.count"]
    b = picked(by[:, 0], [J, J, J, best, typed])
    own, spread = rows["draws.others"], (p * (r - J[:, None]).square()).sum(dim=-1)
    each = picked(by, [own, *(one[:, None].expand_as(own) for one in (mean, J, best, typed))])
    shared, held = (by[:, 0] < 2) * spread / (many - 1), torch.where(by[:, 0] == 1, 1 - 1 / many, 1.0)
    A, away, score = r - b[:, None], r - J[:, None], rows["slope"]
    without = variance(p, r[..., None] * score)
    with_ = held.square() * (variance(p, A[..., None] * score) + shared * rows["slope.square_mean"])
    return {
        "baseline.fixed": b, "baseline.varies": shared, "baseline.keeps": held, "reward.spread": away,
        "reward.spread_weighted": p * away, "reward.square": spread, "advantage": A, "advantage.weighted": p * A,
        "gradient.with": held[:, None] * (p[..., None] * A[..., None] * score).sum(dim=-2), "reward.second": p * r.square(),
        "advantage.second": p * A.square(), "variance.without": without, "variance.with": with_,
        "variance.share": torch.where(without > 0, with_ / torch.where(without > 0, without, 1), 1.0),
        "draws.baseline": each, "draws.advantage": rows["draws.reward"] - each, "advantage.down": A,
    }  # fmt: skip


def estimate_rows(name: str, by: torch.Tensor, score: torch.Tensor) -> Named:
    """Returns the estimate of each draw, of all up to it, and how they spread."""
    each = by[..., None] * score
    counts = torch.arange(1, each.shape[1] + 1, dtype=each.dtype, device=each.device)[:, None]
    mean = each.mean(dim=1)
    return {
        f"{name}.estimate": each, f"{name}.running": torch.cat([torch.zeros_like(each[:, :1]), each.cumsum(dim=1) / counts], dim=1),
        f"{name}.mean": mean, f"{name}.mean_square": mean.square().sum(dim=-1),
        f"{name}.variance": (each - mean[:, None]).square().sum(dim=(1, 2)) / each.shape[1],
    }  # fmt: skip


def chart_rows(batch: Batch, rows: Rows) -> Named:
    """Returns what the charts are drawn from; the variance at a baseline is that of r less it."""
    best, draws, r = rows["baseline.optimal"], rows["draws.reward"], batch.typed("reward.scores")
    reach = best.abs().clamp(min=1)
    b = best[:, None] + batch.typed("chart.share") * reach[:, None]
    known = torch.stack([torch.zeros_like(best), rows["baseline.fixed"]], dim=-1)
    height = {
        name: variance(rows["policy.p"][:, None], (r[:, None] - at[..., None])[..., None] * rows["slope"][:, None])
        for name, at in {"chart.variance": b, "chart.known_variance": known}.items()
    }
    first = {f"chart.{name}": rows[f"{name}.running"][:, 1:, 0] for name in ("without", "with")}
    count = torch.arange(1, draws.shape[1] + 1, dtype=draws.dtype, device=draws.device).expand_as(draws)
    return height | first | {
        "chart.id": torch.zeros_like(best), "chart.draw": count, "chart.exact": rows["gradient"][:, :1].expand_as(draws),
        "chart.reach": reach, "chart.baseline": b, "chart.known": known,
    }  # fmt: skip


def distances(batch: Batch, rows: Rows, r: torch.Tensor) -> Named:
    """Returns how far from 0 is what must be 0."""
    slope, J, whole = rows["gradient"], rows["expected_reward"], rows["variance.without"]
    least = rows["least.variance"] + rows["slope.square_mean"] * rows["baseline.optimal"].square()
    return {
        "check.gradient": (slope - rows["policy.p"] * (r - J[:, None])).abs(), "check.mean": rows["slope.average"].abs(),
        "check.baseline": (rows["gradient.with"] - rows["baseline.keeps"][:, None] * slope).abs(),
        "check.variance": (whole - least).abs() / whole.clamp(min=1), "check.reused": rows["moved.gap"].flatten(1).amax(dim=1),
        "check.settings": batch.outside_all,
    }  # fmt: skip


WITNESS = KindWitness(("draws.uniform",), ("policy.logits",), compute)
