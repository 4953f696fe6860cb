"""The steps within a group.

Sources: DeepSeekMath (2402.03300) on outcome supervision; RLOO, 2402.14740, eq. 4; OPO, 2505.23585; GPG, 2504.02546.
"""

import torch
from torch import Tensor

from blueprint.witness import Asked, Held, Named
from blueprint.workbooks.grpo.witness.advantages import WITHOUT_GROUPS, share_not_zero, spread
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.rewards import held_rows, named


def baseline_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the rewards of each group [Q, I], and every baseline."""
    tables = places.grouped("group.reward", rows["reward"]) | places.grouped("group.length", rows["response.length"])
    r, lengths, size = tables["group.reward"], tables["group.length"], places.size
    total, mean, best = r.sum(1), r.mean(1), r.amax(1)
    is_best = r == best[:, None]
    rest = torch.where(is_best, total[:, None] - (size - 1) * best[:, None], r)
    second = torch.where(is_best.sum(1) > 1, best, rest.amax(1))
    found = {
        "many": r.new_tensor(float(size if use.word("group.of") == "prompt" else 1)),
        "total": total, "mean": mean, "others": (total[:, None] - r) / max(size - 1, 1), "batch_mean": r.mean(),
        "tokens": lengths.sum(1).clamp(min=1), "by_length": (lengths * r).sum(1) / lengths.sum(1).clamp(min=1),
        "best": best, "is_best": is_best.to(r), "rest": rest,
        "tied": is_best.sum(1).to(r), "second": second, "only_best": torch.where(is_best, second[:, None], r),
    }  # fmt: skip
    ways = {
        "mean": mean[:, None], "others": found["others"], "none": r.new_zeros(()), "greedy": rows["greedy"][:, None],
        "batch": r.mean(), "length": found["by_length"][:, None], "second": found["only_best"],
    }  # fmt: skip
    of = ways[use.word("group.baseline")].expand_as(r)
    kept = r.new_tensor(float(use.word("group.baseline") in ("none", *WITHOUT_GROUPS)))
    used = of * (found["many"] + kept > 1)
    found |= {"baseline_of": of, "baseline_alone": kept, "baseline_used": used, "less_baseline": r - used}
    return tables | named("group", found)


def spread_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns every number that rewards less their baselines are divided by, and the one in use, [Q, I]."""
    r, mean = rows["group.reward"], rows["group.mean"]
    ddof, size = int(use.number("group.ddof")), places.size
    centred, square = r - mean[:, None], r.square().mean(1) - mean.square()
    own = torch.arange(1, size + 1)[:, None] - torch.arange(size + 1)
    itself = own[:, 1:] == 0
    top = r[:, None, :].expand(-1, size, -1).masked_fill(itself, -torch.inf).amax(-1) if size > 1 else r
    below = torch.where(itself, 0.0, r[:, None, :] - top[..., None])
    below_mean = below.sum(-1) / max(size - 1, 1)
    away = torch.where(itself, 0.0, below - below_mean[..., None])
    residual = (centred.square().sum() / max(r.numel() - 1, 1)).sqrt()
    found = {
        "centred": centred, "deviation": spread(r, 1, ddof)[:, 0], "square": square,
        "moments": (square.clamp(min=0) * size / max(size - 1, 1)).sqrt(),
        "own": own.to(r).expand(len(r), -1, -1), "away": away, "best_of_others": top, "below": below, "below_mean": below_mean,
        "std_of_others": (away.square().sum(-1) / max(size - 2, 1)).sqrt() * (size > 2), "off_batch": r - r.mean(),
        "batch_std": spread(r.flatten(), 0, ddof)[0], "residual_std": residual,
        **left_rows(rows["group.less_baseline"], ddof), "not_zero": (r != 0).to(r), "share_not_zero": share_not_zero(r),
    }  # fmt: skip
    ways = {
        "none": r.new_ones(()), "group": found["deviation"][:, None], "moments": found["moments"][:, None],
        "others": found["std_of_others"], "batch": found["batch_std"], "residual": residual,
        "group_of_advantages": found["left_std"][:, None], "batch_of_advantages": found["left_batch_std"],
        "mean": mean[:, None], "not_zero": found["share_not_zero"],
    }  # fmt: skip
    picked = ways[use.word("group.std")].expand_as(r)
    kept = r.new_tensor(float(use.word("group.std") in ("none", *WITHOUT_GROUPS)))
    used = torch.where(rows["group.many"] + kept > 1, picked, torch.ones_like(r))
    return named("group", found | {"spread": picked, "spread_alone": kept, "spread_used": used})


def left_rows(left: Tensor, ddof: int) -> Named:
    """Returns the standard deviations of what the baseline left, of each group and of the batch."""
    mean = left.mean(1)
    return {
        "left_mean": mean, "left_centred": left - mean[:, None], "left_std": spread(left, 1, ddof)[:, 0],
        "left_batch_mean": left.mean(), "left_off": left - left.mean(),
        "left_batch_std": spread(left.flatten(), 0, ddof)[0],
    }  # fmt: skip


def advantage_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the steps from what is left to the advantage of each response, [Q, I]."""
    left, used = rows["group.less_baseline"], rows["group.spread_used"]
    divided, zero = used + use.number("group.eps"), (used == 0).to(left)
    skipped = zero if use.word("group.zero_std") == "skip" else torch.zeros_like(zero)
    plain = torch.ones_like(zero) if use.word("group.std") == "none" else skipped
    scaled = torch.where(plain > 0, left, left / divided)
    held = held_rows("held", scaled, use, "reward.clip_low", "reward.clip_high")
    late = held["held"] if use.word("reward.clip_at") == "after" else scaled
    std = (late - late.mean()).square().sum().div(max(late.numel() - 1, 1)).sqrt()
    white = (late - late.mean()) / (std + use.number("advantage.whiten_eps"))
    return named("group", {
        "divided_by": divided, "is_zero": zero, "skipped": skipped, "plain": plain, "scaled": scaled, **held, "late": late,
        "advantage_mean": late.mean(), "advantage_off": late - late.mean(), "advantage_std": std, "whitened": white,
        "advantage": white if use.word("advantage.whiten") == "responses" else late,
    }) | filter_rows(rows["group.reward"], used, use)  # fmt: skip


def filter_rows(r: Tensor, spread: Tensor, use: Asked) -> Named:
    """Returns which groups have equal rewards, and 1 on what is left, [Q, I]."""
    same, mean = (r == r[:, :1]).all(1), r.mean(1)
    found = {"differ": ~same | (r.shape[1] == 1), "between": (mean > 0) & (mean < 1), "has_spread": spread != 0}
    ways = {
        "constant": found["differ"][:, None],
        "zero_spread": found["has_spread"],
        "mean_at_end": found["between"][:, None],
    }
    found["left"] = ways.get(use.word("group.filter"), torch.ones_like(spread, dtype=torch.bool)).expand_as(r)
    numbers = {name: each.to(r) for name, each in (found | {"same": same}).items()}
    return named("group", numbers | {"share_same": numbers["same"].mean()})
