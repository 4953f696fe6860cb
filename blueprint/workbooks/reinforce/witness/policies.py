"""Policies over a few tokens by autograd: gradients of log-probs and of what is earned, and how far estimates lie from them.

No gradient and no variance is written out by hand. Axes: F file, V token drawn, J logit, S policy some steps away.
"""

import torch
from torch.func import grad, jacrev, vmap

from blueprint.witness import Batch, Named, Rows, with_start


def soft_rows(name: str, z: torch.Tensor) -> Named:
    """Returns the soft-max of logits over the last axis, and the steps to it."""
    top, logp = z.amax(dim=-1), torch.log_softmax(z, dim=-1)
    return {
        f"{name}.top": top, f"{name}.exponentials": (z - top[..., None]).exp(), f"{name}.logsumexp": z.logsumexp(dim=-1),
        f"{name}.log_p": logp, f"{name}.p": logp.exp(),
    }  # fmt: skip


def scores_of(z: torch.Tensor) -> torch.Tensor:
    """Returns ∂log π(v)/∂z_j by autograd, [..., V, J]."""
    flat = z.reshape(-1, z.shape[-1])
    found: torch.Tensor = vmap(jacrev(lambda one: torch.log_softmax(one, dim=-1)))(flat)
    return found.reshape(*z.shape, z.shape[-1])


def slope_of(z: torch.Tensor, pays: torch.Tensor) -> torch.Tensor:
    """Returns the gradient of what each policy earns on average, by autograd, [..., J]."""
    flat = z.reshape(-1, z.shape[-1])
    found: torch.Tensor = vmap(grad(lambda one, pay: torch.softmax(one, dim=-1) @ pay))(flat, pays.reshape(flat.shape))
    return found.reshape(z.shape)


def variance(p: torch.Tensor, estimate: torch.Tensor) -> torch.Tensor:
    """Returns the mean squared distance of estimates [..., V, J] from their mean, tokens being as likely as p says."""
    mean = (p[..., None] * estimate).sum(dim=-2, keepdim=True)
    return (p * (estimate - mean).square().sum(dim=-1)).sum(dim=-1)


def policy_rows(z: torch.Tensor, r: torch.Tensor) -> Named:
    """Returns the policy, the gradients of its log-probs, of the expected reward, and the baseline of least variance."""
    soft, score = soft_rows("policy", z), scores_of(z)
    p, tokens = soft["policy.p"], torch.arange(z.shape[-1], dtype=z.dtype, device=z.device).expand_as(z)
    J, square, slope = (p * r).sum(dim=-1), score.square().sum(dim=-1), slope_of(z, r)
    mass, paid = (p * square).sum(dim=-1), (p * square * r).sum(dim=-1)
    best = torch.where(mass > 0, paid / torch.where(mass > 0, mass, 1), J)
    less = r - best[:, None]
    return soft | {
        "policy.cumulative": with_start(p.cumsum(dim=-1)), "token.column": tokens,
        "token.row": with_start(tokens + 1) - 1,
        "token.is": torch.eye(z.shape[-1], dtype=z.dtype, device=z.device).expand_as(score), "policy.p_down": p,
        "policy.logits_down": z, "reward.down": r, "policy.log_p_down": soft["policy.log_p"], "slope": score,
        "slope.square": square, "expected_reward": J, "slope.average": (p[..., None] * score).sum(dim=-2), "reward.weighted": p * r,
        "gradient": slope, "gradient.square": slope.square().sum(dim=-1), "slope.square_mean": mass, "slope.square_paid": paid,
        "baseline.optimal": best, "least.advantage": less, "least.weighted": p * less, "least.second": p * less.square(),
        "least.variance": variance(p, less[..., None] * score),
    }  # fmt: skip


def moved_rows(batch: Batch, rows: Rows, z: torch.Tensor, r: torch.Tensor) -> Named:
    """Returns the policies some steps away, and their ratios to the one that drew."""
    steps = batch.typed("moved.step")[..., None] * batch.typed("moved.direction")[:, None]
    far = z[:, None] + steps
    soft = soft_rows("moved", far)
    p, A, old = soft["moved.p"], rows["advantage.down"][:, None], rows["policy.p"][:, None]
    ratio = (soft["moved.log_p"] - rows["policy.log_p"][:, None]).exp()
    return {"moved.logits": far} | soft | {
        "moved.reward": (p * r[:, None]).sum(dim=-1), "moved.ratio": ratio, "moved.ratio_largest": ratio.amax(dim=-1),
        "moved.weighted": old * ratio, "moved.effective": 1 / (old * ratio.square()).sum(dim=-1), "moved.gain": ratio * A,
        "moved.p_square": p.square().sum(dim=-1), "moved.slope_square": scores_of(far).square().sum(dim=-1),
        "fresh.gradient": slope_of(far, A.expand_as(far).contiguous()),
    }  # fmt: skip


def reused_rows(rows: Rows) -> Named:
    """Returns what fresh draws, old ones with and without the ratio, and these very ones say of the policies some steps away."""
    gain, A, p, score = (
        rows["moved.gain"],
        rows["advantage.down"][:, None],
        rows["moved.p"],
        scores_of(rows["moved.logits"]),
    )
    old, seen = rows["policy.p"][:, None].expand_as(p), rows["draws.share"][:, None].expand_as(p)
    made: dict[str, torch.Tensor] = {}
    for name, likely, by in (("fresh", p, A.expand_as(p)), ("reused", old, gain), ("seen", seen, gain)):
        mean = rows["fresh.gradient"] if name == "fresh" else (likely[..., None] * by[..., None] * score).sum(dim=-2)
        made |= {
            f"{name}.weight": likely * by, f"{name}.sum": (likely * by).sum(dim=-1), f"{name}.gradient": mean,
            f"{name}.second": likely * by.square(), f"{name}.square": mean.square().sum(dim=-1),
            f"{name}.variance": variance(likely, by[..., None] * score),
        }  # fmt: skip
    bare, more = old * A, made["reused.variance"] - made["fresh.variance"]
    return made | {
        "bare.weight": bare[:, 0], "bare.sum": bare[:, 0].sum(dim=-1), "bare.gradient": (bare[..., None] * score).sum(dim=-2),
        "reused.adds": more, "moved.gap": (made["fresh.gradient"] - made["reused.gradient"]).abs(),
    }  # fmt: skip
