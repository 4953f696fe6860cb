"""The page of the optimum: the policies to which both losses lead."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers.optimum import asked, best, divergence, reached, response_logps


def language(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns log-probs of the reference and rewards of nine responses, and all pairs of them."""
    draw = torch.Generator().manual_seed(seed)
    first, second, r = (torch.randn(*size, generator=draw, dtype=torch.float64) for size in ((3,), (3, 3), (9,)))
    tokens = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    return response_logps(first, second, tokens), r, torch.combinations(torch.arange(9))


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_is_that_of_both_losses(seed: int) -> None:
    reference, r, pairs = language(seed)
    optimum, top = best(reference, r, 0.7)
    torch.testing.assert_close(reference.exp().sum(), torch.ones((), dtype=torch.float64))
    torch.testing.assert_close(reached(optimum, reference, r, 0.7).objective, top)
    for slope in (reached(optimum, reference, r, 0.7).gradient, asked(optimum, reference, r, pairs, 0.7).gradient):
        assert float(slope.abs().max()) < 1e-15
    aside = optimum + torch.randn(9, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    below = top - reached(aside, reference, r, 0.7).objective
    torch.testing.assert_close(below, 0.7 * divergence(aside, optimum))
    assert float(asked(aside, reference, r, pairs, 0.7).loss - asked(optimum, reference, r, pairs, 0.7).loss) > 0


def test_a_divergence_stays_finite_where_a_probability_underflows() -> None:
    far = torch.tensor([0.0, -2000.0], dtype=torch.float64)
    assert divergence(torch.zeros_like(far), far).item() == pytest.approx(1000 - np.log(2), abs=1e-9)
    assert divergence(far, torch.zeros_like(far)).item() == pytest.approx(np.log(2), abs=1e-12)
