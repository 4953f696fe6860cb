"""The frontier of proxy, gold and KL on one page of plain torch: every response is listed, and nothing is drawn.

Korbak et al. 2022, arXiv:2205.11275; Rafailov et al. 2023, arXiv:2305.18290, eq. 3 and 4; Gao, Schulman & Hilton 2022,
arXiv:2210.10760. Log-probs, proxy and gold of all responses are [Y].
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Point:
    """A policy on the frontier: its mean proxy and gold, and its KL to the reference in nats."""

    logp: Tensor  # [Y]
    proxy: Tensor
    gold: Tensor
    kl: Tensor


def said(tokens: Tensor, written: Tensor, weights: Tensor) -> Tensor:
    """Returns log π of responses, [Y], from their tokens and which of them are written, [Y, T], and the weights of tokens, [V]."""
    return (weights / weights.sum()).log()[tokens].masked_fill(~written, 0).sum(-1)


def counted(tokens: Tensor, written: Tensor, many: int) -> Tensor:
    """Returns how often each token occurs in each response, [Y, V]."""
    return torch.stack([((tokens == v) & written).sum(-1) for v in range(many)], -1)


def point(logp: Tensor, reference: Tensor, proxy: Tensor, gold: Tensor) -> Point:
    """Returns where a policy stands; a response that it never gives counts nothing."""
    p = logp.exp()
    kl = torch.where(p > 0, p * (logp - reference), 0).sum()
    return Point(logp, p @ proxy, p @ gold, kl)


def tilted(reference: Tensor, proxy: Tensor, gold: Tensor, beta: float) -> Point:
    """Returns the optimum of proxy − β·KL: π_ref·exp(proxy/β)/Z."""
    return point((reference + proxy / beta).log_softmax(-1), reference, proxy, gold)


def best_of(n: float, reference: Tensor, proxy: Tensor, gold: Tensor) -> Point:
    """Returns the best of n draws by the proxy: sorted, F^n less that of the tie below, shared as the draws are."""
    levels, place = torch.unique(proxy, sorted=True, return_inverse=True)
    mass = torch.zeros_like(levels).index_add(0, place, reference.exp())
    up_to = mass.cumsum(0) ** n
    kept = torch.diff(up_to, prepend=torch.zeros_like(up_to[:1]))
    return point(reference + (kept / mass).log()[place], reference, proxy, gold)


def distances(points: list[Point], least: float) -> Tensor:
    """Returns d = √KL of policies, the x of Gao et al.; 0 where the KL is no more than `least`."""
    kl = torch.stack([each.kl for each in points])
    return torch.where(kl > least, kl.clamp(min=0).sqrt(), 0)


def bound(n: Tensor) -> Tensor:
    """Returns what the KL of best-of-n is at most: log n − (n − 1)/n."""
    return n.log() - (n - 1) / n
