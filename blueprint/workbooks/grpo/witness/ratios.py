"""The steps to the ratio and the loss of each token: GRPO, 2402.03300, eq. 3; GSPO, 2507.18071; the objectives as in `losses`."""

import torch
from torch import Tensor

from blueprint.witness import Held, Named
from blueprint.workbooks.grpo.witness.options import Asked, either, wide
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.rewards import held_rows, named


def ratio_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns log-ratio and ratio at every level, [B] and [B, T]."""
    m, new, rollout = rows["mask"], rows["policy.logprobs"], rows["engine.logprobs"]
    old = {"old": rows["old.logprobs"], "new": new, "rollout": rollout}[use.word("ratio.old")]
    free = m * (new - old)
    d = use.around(free, "ratio.clamp")
    length, total, apart = m.sum(1).clamp(min=1) + use.number("ratio.length_eps"), d.sum(1), m * (new - rollout)
    mean, most = total / length, use.limit("ratio.sequence_most")
    own = wide(mean, m)
    held = own if most is None else own.clamp(max=most)
    ways = {
        "token": d, "response": own, "own_token": held, "product": wide(total, m), "rollout": wide(apart.sum(1) / length, m),
        "batch": total.sum().expand_as(m),
    }  # fmt: skip
    level = ways[use.word("ratio.level")]
    return {
        "ratio.old_logprobs": old, "log_ratio.free": free, "log_ratio": d, "ratio.length": length, "ratio.sum": total,
        "ratio.mean_of_response": mean, "ratio.rollout": apart, "ratio.rollout_mean": apart.sum(1) / length, "ratio.own": own,
        "ratio.own_held": held, "ratio.batch": total.sum(), "ratio.level_of": level, "ratio": (m * level).exp(),
    }  # fmt: skip


def objective_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the loss of each token by every objective, and the one in use, [B, T]."""
    A, new, ratio, d = (rows[name] for name in ("advantages", "policy.logprobs", "ratio", "log_ratio"))
    near = held_rows("ratio.clipped", ratio, use, "loss.clip_low", "loss.clip_high", ends=True)
    found = near | clip_rows(ratio, near["ratio.clipped"], A, use)
    tau = either(A > 0, use.number("loss.sapo_good"), use.number("loss.sapo_bad"), A)
    gate = torch.sigmoid(tau * (ratio - 1))
    found |= {"sapo.tau": tau, "sapo.gate": gate, "sapo.token_loss": -2 * 2 * A / tau * gate}
    found |= geometric_rows(d, A, rows["mask"], use) | vespo_rows(d, A, new, use)
    ways = {
        "clip": found["clip.token_loss"], "cispo": -near["ratio.clipped"] * A * new, "reinforce": -A * new, "ratio": -ratio * A,
        **{name: found[f"{name}.token_loss"] for name in ("sapo", "gmpo", "vespo")},
    }  # fmt: skip
    picked = ways[use.word("loss.objective")]
    found |= {f"policy.objective.{name}": ways[name] for name in ("cispo", "reinforce", "ratio")}
    return found | {"policy.objective": picked, "policy.token_loss": rows["mask"] * picked}


def clip_rows(ratio: Tensor, near: Tensor, A: Tensor, use: Asked) -> Named:
    """Returns the surrogates, the worse of them, and the one that a dual clip leaves."""
    most, dual = use.limit("loss.delta"), use.limit("loss.dual_clip")
    free = ratio if most is None else ratio.clamp(max=most)
    worse = torch.minimum(free * A, near * A)
    kept = worse if dual is None else torch.where(A < 0, worse.maximum(dual * A), worse.clamp(min=0))
    found = {"unclipped": free * A, "clipped": near * A, "pessimistic": worse}
    return {"ratio.free": free} | named("surrogate", found) | {"surrogate": kept, "clip.token_loss": -kept}


def geometric_rows(d: Tensor, A: Tensor, m: Tensor, use: Asked) -> Named:
    """Returns the steps of GMPO: the geometric mean of the ratios of a response, each the worse of two (2507.20673)."""
    held = held_rows("held", d, use, "loss.clip_low", "loss.clip_high", minus=True)
    worse = torch.where(A < 0, d.maximum(held["held"]), d.minimum(held["held"]))
    counts, length = torch.where(A == 0, 0.0, m * worse), m.sum(1) + use.number("ratio.length_eps")
    ratio, mean = (counts.sum(1) / length).exp(), (m * A).sum(1) / length
    return named("gmpo", held | {
        "worse": worse, "counts": counts, "length": length, "ratio": ratio, "advantage": mean,
        "token_loss": wide(-ratio * mean, m),
    })  # fmt: skip


def vespo_rows(d: Tensor, A: Tensor, new: Tensor, use: Asked) -> Named:
    """Returns the steps of VESPO: φ(w) = e^λ·w^k·e^(−λw) of the ratio w of the response (TRL 1.16.0, get_gamma_weights)."""
    log_w = d.sum(1).clamp(use.number("vespo.least"), use.number("vespo.most"))
    k, rate = (
        either(A < 0, use.number(f"vespo.{name}_bad"), use.number(f"vespo.{name}_good"), A)
        for name in ("power", "rate")
    )
    phi = (rate + k * log_w[:, None] - rate * log_w.exp()[:, None]).exp()
    return named("vespo", {"log_w": log_w, "power": k, "rate": rate, "phi": phi, "token_loss": -phi * A * new})
