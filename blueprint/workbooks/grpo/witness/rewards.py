"""The steps to the reward of a response: DAPO, 2503.14476, eq. 13; the note of Schulman on k1 to k3."""

import torch
from torch import Tensor

from blueprint.witness import Held, Named
from blueprint.workbooks.grpo.witness.options import Asked


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
    raised = x if least is None else x.clamp(min=least)
    return {f"{name}.raised": raised, name: raised if most is None else raised.clamp(max=most)}


def kl_rows(name: str, of: Tensor, rows: Held, use: Asked) -> Named:
    """Returns every estimate of the KL to the reference, [B, T]; of the old policy also what is paid for it in the rewards."""
    free = (of - rows["reference.logprobs"]) * rows["mask"]
    x = use.around(free, "kl.clamp_in")
    ways = {"k1": x, "k2": x.square() / 2, "k3": torch.expm1(-x) + x, "abs": x.abs()}
    chosen = ways[use.word("kl.estimator")]
    found = {"free": free, "k1": x, "k2": ways["k2"], "k3": ways["k3"], "chosen.abs": ways["abs"], "chosen": chosen}
    found["used"] = use.around(chosen, "kl.clamp_out")
    if name == "kl_old":
        found["paid"] = use.number("kl.coef") * found["used"]
        found["sum"] = found["paid"].sum(1)
        found["in_reward"] = free.new_tensor(float(use.word("kl.place") in ("reward", "reward_token")))
        return named(name, found) | {"reward": rows["reward.shaped"] - found["in_reward"] * found["sum"]}
    return named(name, found)


def named(of: str, found: Held) -> Named:
    """Returns rows by their names in the file."""
    return {f"{of}.{row}": each for row, each in found.items()}
