"""The steps to the reward of a response: DAPO, 2503.14476, eq. 13; the note of Schulman on k1 to k3."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Held, Named, Nodes, with_weight


def reward_rows(rows: Held, use: Asked) -> Named:
    """Returns score, length and limits on the way to the shaped reward, [B]."""
    buffer, score = use.number("reward.buffer"), rows["score"]
    beyond = (rows["response.length"] - use.number("reward.max_tokens") + buffer) / buffer
    ways = {"off": torch.zeros_like(beyond), "linear": beyond, "capped": beyond.clamp(max=1)}
    counts = ways[use.word("reward.overlong")]
    penalty = use.number("reward.overlong_factor") * counts.clamp(min=0)
    kept, limit = score - penalty, use.limit("reward.truncated")
    cut = kept if limit is None else kept * limit if limit >= 0 else torch.full_like(kept, limit)
    ended = torch.where(rows["truncated"] > 0, cut, kept)
    held = held_rows("reward.held", ended, use, "reward.clip_low", "reward.clip_high")
    shaped = held["reward.held"] if use.word("reward.clip_at") == "before" else ended
    found = {"beyond": beyond, "counts.capped": ways["capped"], "counts": counts, "penalty": penalty}
    return {f"overlong.{name}": each for name, each in found.items()} | {
        "reward.kept": kept, "reward.cut": cut, "reward.ended": ended, **held, "reward.shaped": shaped,
    }  # fmt: skip


def held_rows(name: str, x: Tensor, use: Asked, low: str, high: str, ends: bool = False, minus: bool = False) -> Named:
    """Returns numbers held between two limits, of which the lower comes first.

    ends: they are distances from 1, minus: the lower is one below 0.
    """
    least, most = use.limit(low), use.limit(high)
    if ends:
        least, most = None if least is None else 1 - least, None if most is None else 1 + most
    elif minus:
        least = None if least is None else -least
    r = Nodes({})
    r[f"{name}.raised"] = x if least is None else x.clamp(min=least)
    r[name] = r[f"{name}.raised"] if most is None else r[f"{name}.raised"].clamp(max=most)
    return r.written


def kl_rows(name: str, of: Tensor, rows: Held, use: Asked) -> Named:
    """Returns every estimate of the KL to the reference, [B, T]; of the old policy also what is paid for it in the rewards.

    In the loss an estimate is multiplied before it is clamped (`kl_loss_rows`).
    """
    r = Nodes(rows)
    r[f"{name}.free"] = (of - rows["reference.logprobs"]) * rows["mask"]
    r[f"{name}.k1"] = use.around(r[f"{name}.free"], "kl.clamp_in")
    x = r[f"{name}.k1"]
    ways = {"k2": x.square() / 2, "k3": torch.expm1(-x) + x, "chosen.abs": x.abs()}
    for row, value in ways.items():
        r[f"{name}.{row}"] = value
    r[f"{name}.chosen"] = r[f"{name}.{use.word('kl.estimator').replace('abs', 'chosen.abs')}"]
    if name == "kl_old":
        r["kl_old.used"] = use.around(r["kl_old.chosen"], "kl.clamp_out")
        r["kl_old.paid"] = use.number("kl.coef") * r["kl_old.used"]
        r["kl_old.sum"] = r["kl_old.paid"].sum(1)
        r["kl_old.in_reward"] = of.new_tensor(float(use.word("kl.place") in ("reward", "reward_token")))
        r["reward"] = rows["reward.shaped"] - with_weight(float(r["kl_old.in_reward"]), r["kl_old.sum"])
    return r.written


def named(of: str, found: Held) -> Named:
    """Returns rows by their names in the file."""
    return {f"{of}.{row}": each for row, each in found.items()}
