"""The page of the frontier: best-of-n by draws, and no policy above the optimum."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers.frontier import best_of, bound, point, tilted


def language(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns log-probs of the reference, a proxy with ties, and gold, of twelve responses."""
    draw = torch.Generator().manual_seed(seed)
    logits, gold = (torch.randn(12, generator=draw, dtype=torch.float64) for _ in range(2))
    proxy = torch.randint(0, 5, (12,), generator=draw).double()
    return logits.log_softmax(-1), proxy, gold


def test_best_of_n_is_what_many_draws_are() -> None:
    reference, proxy, gold = language(1)
    draw = torch.Generator().manual_seed(2)
    drawn = torch.multinomial(reference.exp(), 4 * 200_000, True, generator=draw).reshape(-1, 4)
    kept = drawn.gather(1, proxy[drawn].argmax(-1, keepdim=True))[:, 0]  # of those that tie the first one
    often = torch.bincount(kept, minlength=12) / len(kept)
    # A share of 200,000 draws is off by 0.0011 (one standard deviation) at most.
    torch.testing.assert_close(best_of(4, reference, proxy, gold).logp.exp(), often.double(), rtol=0, atol=0.005)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_has_a_higher_objective_than_the_optimum(seed: int) -> None:
    reference, proxy, gold = language(seed)
    best = tilted(reference, proxy, gold, 0.7)
    top = float(best.proxy - 0.7 * best.kl)
    assert top == pytest.approx(0.7 * float((reference + proxy / 0.7).logsumexp(-1)), abs=1e-12)
    for n in (1, 2, 8, 64):
        other = best_of(n, reference, proxy, gold)
        assert float(other.proxy - 0.7 * other.kl) <= top + 1e-12
        assert float(other.kl) <= float(bound(torch.tensor(float(n)))) + 1e-12
    aside = point((best.logp + torch.randn(12, dtype=torch.float64)).log_softmax(-1), reference, proxy, gold)
    assert float(aside.proxy - 0.7 * aside.kl) < top
