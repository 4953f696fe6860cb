"""The steps to the ratio and the loss of each token: GRPO, 2402.03300, eq. 3; GSPO, 2507.18071; the objectives as in `losses`."""

from collections.abc import Callable

import torch
from torch import Tensor

from blueprint.witness import Asked, Held, Named, Nodes
from blueprint.workbooks.grpo.witness.options import either, wide
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.rewards import held_rows


def ratio_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns log-ratio and ratio at every level, [B] and [B, T]."""
    m, new, rollout = rows["mask"], rows["policy.logprobs"], rows["engine.logprobs"]
    r, most = Nodes(rows), use.limit("ratio.sequence_most")
    r["ratio.old_logprobs"] = {"old": rows["old.logprobs"], "new": new.detach(), "rollout": rollout}[
        use.word("ratio.old")
    ]
    r["log_ratio.free"] = m * (new - r["ratio.old_logprobs"])
    r["log_ratio.held"] = use.around(r["log_ratio.free"], "ratio.clamp")
    r["log_ratio"] = r["log_ratio.held" if use.word("ratio.level") == "token" else "log_ratio.free"]
    r["ratio.length"] = length = m.sum(1).clamp(min=1) + use.number("ratio.length_eps")
    r["ratio.sum"] = r["log_ratio"].sum(1)
    r["ratio.mean_of_response"] = r["ratio.sum"] / length
    r["ratio.rollout"] = m * (new - rollout)
    r["ratio.rollout_mean"] = r["ratio.rollout"].sum(1) / length
    r["ratio.own"] = new - new.detach() + wide(r["ratio.mean_of_response"].detach(), m)
    r["ratio.own_held"] = r["ratio.own"] if most is None else r["ratio.own"].clamp(max=most)
    r["ratio.batch"] = r["ratio.sum"].sum()
    ways = {"token": "log_ratio", "response": "ratio.mean_of_response", "own_token": "ratio.own_held", "product": "ratio.sum",
            "rollout": "ratio.rollout_mean", "batch": "ratio.batch"}  # fmt: skip
    level = r[ways[use.word("ratio.level")]]
    r["ratio.level_of"] = wide(level, m) if level.dim() == 1 else level.expand_as(m)
    r["ratio"] = (m * r["ratio.level_of"]).exp()
    return r.written


def objective_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the loss of each token by every objective, and the one in use, [B, T]."""
    A, new, d, r = rows["advantages"], rows["policy.logprobs"], rows["log_ratio.free"], Nodes(rows)
    r.take(held_rows("ratio.clipped", r["ratio"], use, "loss.clip_low", "loss.clip_high", ends=True))
    clip_rows(A, use, r)
    r["sapo.tau"] = either(A > 0, use.number("loss.sapo_good"), use.number("loss.sapo_bad"), A)
    r["sapo.gate"] = torch.sigmoid(r["sapo.tau"] * (r["ratio"] - 1))
    r["sapo.token_loss"] = -2 * 2 * A / r["sapo.tau"] * r["sapo.gate"]
    geometric_rows(d, A, use, r)
    vespo_rows(d.detach(), A, new, use, r)
    ways = {"cispo": -r["ratio.clipped"].detach() * A * new, "reinforce": -A * new, "ratio": -r["ratio"] * A}
    for name, value in ways.items():
        r[f"policy.objective.{name}"] = value
    word = use.word("loss.objective")
    r["policy.objective"] = r[f"policy.objective.{word}" if word in ways else f"{word}.token_loss"]
    r["policy.token_loss"] = rows["mask"] * r["policy.objective"]
    return r.written


def clip_rows(A: Tensor, use: Asked, r: Nodes) -> None:
    """Writes the surrogates, the worse of them, and the one that a dual clip leaves. Where two tie, the free one has the slope."""
    most, dual = use.limit("loss.delta"), use.limit("loss.dual_clip")
    r["ratio.free"] = r["ratio"] if most is None else r["ratio"].clamp(max=most)
    r["surrogate.unclipped"], r["surrogate.clipped"] = r["ratio.free"] * A, r["ratio.clipped"] * A
    r["surrogate.pessimistic"] = first_of(r["surrogate.unclipped"], r["surrogate.clipped"], torch.le)
    worse = r["surrogate.pessimistic"]
    r["surrogate"] = worse if dual is None else first_of(worse, dual * A.clamp(max=0), torch.ge)
    r["clip.token_loss"] = -r["surrogate"]


def geometric_rows(d: Tensor, A: Tensor, use: Asked, r: Nodes) -> None:
    """Writes the steps of GMPO: the geometric mean of the ratios of a response, each the worse of two (2507.20673)."""
    m = r["mask"]
    r.take(held_rows("gmpo.held", d, use, "loss.clip_low", "loss.clip_high", minus=True))
    held = r["gmpo.held"]
    r["gmpo.worse"] = torch.where(A < 0, first_of(d, held, torch.ge), first_of(d, held, torch.le))
    r["gmpo.counts"] = torch.where(A == 0, 0.0, m * r["gmpo.worse"])
    r["gmpo.length"] = length = m.sum(1).clamp(min=1) + use.number("ratio.length_eps")
    r["gmpo.ratio"] = (r["gmpo.counts"].sum(1) / length).exp()
    r["gmpo.advantage"] = (m * A).sum(1) / length
    r["gmpo.token_loss"] = wide(-r["gmpo.ratio"] * r["gmpo.advantage"], m)


def vespo_rows(d: Tensor, A: Tensor, new: Tensor, use: Asked, r: Nodes) -> None:
    """Writes the steps of VESPO: φ(w) = e^λ·w^k·e^(−λw) of the ratio w of the response (TRL 1.16.0, get_gamma_weights)."""
    r["vespo.log_w"] = log_w = d.sum(1).clamp(use.number("vespo.least"), use.number("vespo.most"))
    for name in ("power", "rate"):
        r[f"vespo.{name}"] = either(A < 0, use.number(f"vespo.{name}_bad"), use.number(f"vespo.{name}_good"), A)
    k, rate = r["vespo.power"], r["vespo.rate"]
    r["vespo.phi"] = (rate + k * log_w[:, None] - rate * log_w.exp()[:, None]).exp()
    r["vespo.token_loss"] = -r["vespo.phi"] * A * new


def first_of(one: Tensor, other: Tensor, order: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Returns of two numbers the one that comes first; of two that are equal the one, with the whole slope."""
    return torch.where(order(one, other), one, other)
