"""The optimum in torch: soft-maxes, KLs of torch.nn.functional, binary cross-entropies, and both gradients by autograd.

Sources: Rafailov et al. 2023, arXiv:2305.18290, eq. 3 to 7. Axes: F file, V token, Y response, Q pair, S step.
"""

from collections.abc import Sequence

import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import kl_div, logsigmoid, softplus

from blueprint.witness import Batch, KindWitness, Named, Rows, Tie, add_settings, add_verdicts, with_start

Tensor = torch.Tensor


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows."""
    add_settings(batch, rows)
    beta, way = (batch.setting(name)[:, 0] for name in ("beta", "way"))
    rows.add(reference_rows(batch), whole=True)
    r, logp = batch.typed("reward.scores"), rows["reference.logp"]
    rows.add(soft_rows("optimum", logp + r / beta), whole=True)
    z = logp + way * r / beta + batch.typed("policy.beside")
    rows.add({"policy.theta": z} | soft_rows("policy", z), whole=True)
    rows.add(objective_rows(rows, r, beta), whole=True)
    rows.add(pair_rows(batch, rows, r, beta), whole=True)
    rows.add(way_rows(batch, rows, r, beta), whole=True)
    add_verdicts(batch, rows, distances(batch, rows, r, beta))
    return ()


def soft_rows(name: str, z: Tensor) -> Named:
    """Returns the soft-max of logits over the last axis, and the steps to it; of the optimum its logits, too."""
    top, logp = z.amax(dim=-1), torch.log_softmax(z, dim=-1)
    made = {
        f"{name}.top": top, f"{name}.exponentials": (z - top[..., None]).exp(), f"{name}.logsumexp": z.logsumexp(dim=-1),
        f"{name}.log_p": logp, f"{name}.p": logp.exp(),
    }  # fmt: skip
    return made | {f"{name}.logits": z} if name in ("optimum", "way") else made


def reference_rows(batch: Batch) -> Named:
    """Returns how likely the reference finds each response: rows of responses follow first tokens, then second ones."""
    z, after = batch.typed("reference.first"), batch.typed("reference.second")
    many = z.shape[-1]
    ids = torch.cartesian_prod(*(torch.arange(many, device=z.device),) * 2)
    one, two = torch.log_softmax(z, dim=-1), torch.log_softmax(after, dim=-1)
    first, second = one[:, ids[:, 0]], two[:, ids[:, 0], ids[:, 1]]
    named = {f"id.{name}": ids[:, place].to(z.dtype).expand_as(first) for place, name in enumerate(("first", "second"))}
    whole = first + second
    of_second = {"second.logits": after[:, ids[:, 0]]} | soft_rows("second", after[:, ids[:, 0]])
    return named | soft_rows("first", z) | of_second | {
        "first.logprobs": first, "second.logprobs": second, "reference.logp": whole, "response.p": whole.exp(),
    }  # fmt: skip


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Returns KL(p‖q) of log-probs over the last axis; none of them is made a probability of 0 that a log would have to take."""
    return kl_div(q, p, reduction="none", log_target=True).sum(dim=-1)


def objective_rows(rows: Rows, r: Tensor, beta: Tensor) -> Named:
    """Returns what PPO climbs, by its own definition, and its gradient by autograd."""
    reference, optimum = rows["reference.logp"], rows["optimum.log_p"]
    z = rows["policy.theta"].detach().clone().requires_grad_()
    with torch.enable_grad():
        logp = torch.log_softmax(z, dim=-1)
        kl = divergence(logp, reference)
        J = (logp.exp() * r).sum(dim=-1) - beta[:, 0] * kl
        (slope,) = torch.autograd.grad(J.sum(), z)
    logp, J, kl = logp.detach(), J.detach(), kl.detach()
    best, drift = beta[:, 0] * rows["optimum.logsumexp"], logp - reference
    return {
        "objective.best": best, "policy.log_ratio": drift, "reward.penalised": r - beta * drift,
        "mean_reward": (logp.exp() * r).sum(dim=-1), "kl.reference": kl, "objective": J, "objective.gradient": slope,
        "policy.away": logp - optimum, "kl.optimum": divergence(logp, optimum), "objective.below": best - J,
    }  # fmt: skip


def signs(name: str, x: Tensor) -> Named:
    """Returns σ of numbers, and the logs of it and of what is left."""
    return {
        f"{name}.p": torch.sigmoid(x), f"{name}.rest": softplus(-x.abs()), f"{name}.log_p": logsigmoid(x),
        f"{name}.log_not": logsigmoid(-x),
    }  # fmt: skip


def pair_rows(batch: Batch, rows: Rows, r: Tensor, beta: Tensor) -> Named:
    """Returns every pair's preference and DPO loss, a cross-entropy, and the gradient of their mean by autograd."""
    left, right = (batch.typed(f"pair.{name}").long() - 1 for name in ("left", "right"))
    z = rows["policy.theta"].detach().clone().requires_grad_()
    with torch.enable_grad():
        b = beta * (torch.log_softmax(z, dim=-1) - rows["reference.logp"])
        h = b.gather(1, left) - b.gather(1, right)
        true = r.gather(1, left) - r.gather(1, right)
        P = torch.sigmoid(true)
        loss = cross_entropy(h, P, reduction="none")
        (slope,) = torch.autograd.grad(loss.mean(dim=-1).sum(), z)
    b, h, loss = b.detach(), h.detach(), loss.detach()
    least, count = cross_entropy(true, P, reduction="none"), torch.full_like(h[:, 0], h.shape[1])
    odds = logsigmoid(true) - logsigmoid(-true)
    down = torch.arange(r.shape[1], dtype=r.dtype, device=r.device)
    hot = torch.nn.functional.one_hot(left, r.shape[1]) - torch.nn.functional.one_hot(right, r.shape[1])
    sides = {f"pair.place.{name}": one.to(r.dtype) for name, one in (("left", left), ("right", right))}
    sides |= {f"pair.{name}.{side}": of.gather(1, at) for name, of in (("reward", r), ("implicit", b))
              for side, at in (("left", left), ("right", right))}  # fmt: skip
    return sides | signs("prefers", true) | signs("says", h) | {
        "implicit.reward": b, "implicit.left": r - b, "pair.difference": true, "prefers.not": torch.sigmoid(-true),
        "prefers.log_odds": odds, "prefers.gap": (odds - true).abs(), "pair.margin": h, "pair.loss": loss, "pair.least": least,
        "pair.pull": torch.sigmoid(h) - P, "count.pairs": count, "dpo_loss": loss.mean(dim=-1), "dpo_loss.best": least.mean(dim=-1),
        "dpo_loss.above": (loss - least).mean(dim=-1), "pair.side": hot.to(r.dtype), "dpo.gradient_down": slope,
        "dpo.gradient": slope, "response.place": down.expand_as(r), "response.down": with_start(down.expand_as(r) + 1) - 1,
        "pair.down": with_start(torch.ones_like(h)).cumsum(dim=-1) - 1, "pair.difference_down": true,
        "prefers.p_down": P, "prefers.not_down": torch.sigmoid(-true), "reference.logp_down": rows["reference.logp"],
        "reward.scores_down": r, "optimum.log_p_down": rows["optimum.log_p"],
    }  # fmt: skip


def way_rows(batch: Batch, rows: Rows, r: Tensor, beta: Tensor) -> Named:
    """Returns the policies on the way, and what both losses are away from their best there."""
    step = batch.typed("way.step")[..., None]
    z = rows["reference.logp"][:, None] + step * (r / beta)[:, None]
    soft, true = soft_rows("way", z), rows["pair.difference"][:, None]
    far = divergence(soft["way.log_p"], rows["optimum.log_p"][:, None].expand_as(z))
    h = step * true
    loss = cross_entropy(h, torch.sigmoid(true).expand_as(h), reduction="none")
    said = {name: row for name, row in signs("way.says", h).items() if not name.endswith(".p")}
    return soft | said | {
        "way.away": soft["way.log_p"] - rows["optimum.log_p"][:, None], "way.below": beta * far, "way.margin": h, "way.loss": loss,
        "way.above": loss.mean(dim=-1) - rows["dpo_loss.best"][:, None],
    }  # fmt: skip


def distances(batch: Batch, rows: Rows, r: Tensor, beta: Tensor) -> Named:
    """Returns how far from 0 is what must be 0."""
    best = rows["objective.best"]
    return {
        "check.reference": (rows["response.p"].sum(dim=-1) - 1).abs(),
        "check.below": (rows["objective.below"] - beta[:, 0] * rows["kl.optimum"]).abs(),
        "check.left": (r - beta * (rows["optimum.log_p"] - rows["reference.logp"]) - best[:, None]).abs(),
        "check.odds": rows["prefers.gap"].amax(dim=-1),
        "check.slope": rows["dpo.gradient"].sum(dim=-1).abs(),
        "check.settings": batch.outside_all,
    }  # fmt: skip


WITNESS = KindWitness(("way.step",), ("reward.scores",), compute)
