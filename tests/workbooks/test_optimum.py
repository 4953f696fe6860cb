"""The optimum: both objectives climbed by an optimiser arrive at π*, the identities by plain loops, refusals."""

from __future__ import annotations

from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest
import torch

from tests.page.workshop import made, row

EXACT = 1e-12
BOOK = made(numbers="optimum")
FIRST, SECOND = (0.4, 0.2, -0.3), ((0.5, -0.6, 0.0), (0.8, -1.2, 0.6), (1.2, -0.8, -0.2))
REWARDS = (0.5, -1.0, 0.0, 0.2, -0.5, 0.1, 1.5, -0.8, -0.2)


def soft(z: tuple[float, ...]) -> list[float]:
    return [exp(each) / sum(map(exp, z)) for each in z]


def test_the_reference_and_the_optimum_by_plain_loops() -> None:
    reference = [soft(FIRST)[a] * soft(SECOND[a])[b] for a, b in product(range(3), repeat=2)]
    tilted = [p * exp(r / 0.5) for p, r in zip(reference, REWARDS, strict=True)]
    np.testing.assert_allclose(row(BOOK, "response.p"), reference, rtol=0, atol=EXACT)
    np.testing.assert_allclose(row(BOOK, "optimum.p"), [each / sum(tilted) for each in tilted], rtol=0, atol=EXACT)
    assert float(row(BOOK, "objective.best")) == pytest.approx(0.5 * log(sum(tilted)), abs=EXACT)


def objective(z: torch.Tensor, reference: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    logp = z.log_softmax(0)
    return (logp.exp() * (r - 0.5 * (logp - reference))).sum()


def preference(z: torch.Tensor, reference: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """Sums the loss over labels of both kinds, each as often as Bradley and Terry say."""
    b, loss = 0.5 * (z.log_softmax(0) - reference), torch.zeros((), dtype=z.dtype)
    for one, other in combinations(range(len(r)), 2):
        for w, l in ((one, other), (other, one)):  # noqa: E741
            loss = loss - (r[w] - r[l]).sigmoid() * (b[w] - b[l]).sigmoid().log() / 36
    return loss


@pytest.mark.parametrize(("climbed", "sign", "name"), [(objective, -1, "objective"), (preference, 1, "dpo_loss")])
def test_an_optimiser_that_knows_nothing_of_it_arrives_at_the_optimum(climbed, sign: int, name: str) -> None:  # type: ignore[no-untyped-def]
    reference, r = torch.tensor(row(BOOK, "reference.logp")), torch.tensor(REWARDS, dtype=torch.float64)
    z = reference.clone().requires_grad_()
    search = torch.optim.LBFGS(
        [z], max_iter=200, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        search.zero_grad()
        loss: torch.Tensor = sign * climbed(z, reference, r)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    search.step(closure)  # type: ignore[no-untyped-call]
    # A search ends where the slope is about 1e-12; the policy is then off by that over the curvature, some hundredths.
    np.testing.assert_allclose(z.detach().softmax(0), row(BOOK, "optimum.p"), rtol=0, atol=1e-9)
    assert sign * float(closure().detach()) == pytest.approx(float(row(BOOK, f"{name}.best")), abs=1e-12)


def test_both_gradients_are_slopes_and_end_at_the_optimum() -> None:
    z, step = row(BOOK, "policy.theta"), 1e-5
    reference, r = torch.tensor(row(BOOK, "reference.logp")), torch.tensor(REWARDS, dtype=torch.float64)
    for of, name in ((objective, "objective.gradient"), (preference, "dpo.gradient")):
        up, down = ([float(of(torch.tensor(z + sign * step * e), reference, r)) for e in np.eye(9)] for sign in (1, -1))
        np.testing.assert_allclose(row(BOOK, name), (np.array(up) - down) / (2 * step), rtol=0, atol=1e-9)
    there = made("optimum.way=1", "policy.beside=[[0,0,0],[0,0,0],[0,0,0]]", numbers="optimum")
    for name in ("objective.gradient", "dpo.gradient", "objective.below", "dpo_loss.above", "kl.optimum"):
        np.testing.assert_allclose(row(there, name), 0, rtol=0, atol=1e-15)
    assert np.ptp(row(there, "implicit.left")) < 1e-15


def test_a_constant_added_to_all_rewards_moves_only_z() -> None:
    more = made(f"reward.scores={(np.reshape(REWARDS, (3, 3)) + 3).tolist()}", numbers="optimum")
    for name in ("optimum.p", "prefers.p", "dpo_loss", "dpo.gradient", "objective.gradient"):
        np.testing.assert_allclose(row(more, name), row(BOOK, name), rtol=0, atol=EXACT)
    assert float(row(more, "objective.best") - row(BOOK, "objective.best")) == pytest.approx(3, abs=EXACT)


def test_at_the_reference_the_loss_is_ln_2_whatever_the_rewards_are() -> None:
    start = made("optimum.way=0", "policy.beside=[[0,0,0],[0,0,0],[0,0,0]]", numbers="optimum")
    assert float(row(start, "dpo_loss")) == pytest.approx(log(2), abs=EXACT)
    np.testing.assert_allclose(
        row(BOOK, "way.above")[[0, 4]], [log(2) - float(row(BOOK, "dpo_loss.best")), 0], rtol=0, atol=EXACT
    )
