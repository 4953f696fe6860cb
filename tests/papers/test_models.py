"""The pages of networks and metrics against torch's own: RNN, Categorical, optimisers written out, and what the words mean."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages are torch: install the extra [torch]")

import torch
from torch import Tensor
from torch.distributions import Categorical, kl_divergence

from blueprint.papers import metrics, models
from blueprint.papers.models import Optimiser, Rnn, distribution


def drawn(seed: int, *shape: int) -> Tensor:
    """Returns normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def model(seed: int) -> Rnn:
    """Returns a network over five tokens with both tops."""
    return Rnn(
        drawn(seed, 5, 3), drawn(seed + 1, 8, 4), drawn(seed + 2, 4, 5), drawn(seed + 3, 4), drawn(seed + 4, 1)[0]
    )


def test_the_network_is_torchs_rnn() -> None:
    ours, read = model(1), torch.tensor([[0, 3, 4, 1], [2, 2, 0, 0]])
    theirs: Any = torch.nn.RNN(3, 4, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.W[:3].T)
        theirs.weight_hh_l0.copy_(ours.W[3:7].T)
        theirs.bias_ih_l0.copy_(ours.W[7])
        theirs.bias_hh_l0.zero_()
    hidden, _ = theirs(ours.E[read])
    torch.testing.assert_close(models.memories(ours, read), hidden)
    assert ours.Y is not None
    assert ours.w is not None
    assert ours.b is not None
    torch.testing.assert_close(models.logits(ours, read), hidden @ ours.Y)
    torch.testing.assert_close(models.numbers(ours, read), hidden @ ours.w + ours.b)


def test_what_logits_say_is_what_categorical_says() -> None:
    z, other, written = drawn(1, 2, 3, 5), drawn(2, 2, 3, 5), torch.tensor([[0, 4, 2], [1, 1, 3]])
    for temperature in (1.0, 0.7):
        found, far = (distribution(each, written, temperature) for each in (z, other))
        said: list[Any] = [Categorical(logits=each / temperature) for each in (z, other)]
        p, q = said
        torch.testing.assert_close(found.logp, p.log_prob(written))
        torch.testing.assert_close(found.entropy, p.entropy())
        torch.testing.assert_close(models.kl(found, far), kl_divergence(p, q))


def test_a_draw_takes_the_first_token_whose_cumulative_probability_is_above_it() -> None:
    z = torch.tensor([[0.25, 0.5, 0.25]], dtype=torch.float64).log()
    for u, token in ((0.0, 0), (0.24, 0), (0.25, 1), (0.74, 1), (0.75, 2), (1.0, 2), (7.0, 2)):
        assert models.drawn(z, torch.tensor([u], dtype=torch.float64)).tolist() == [token], u


def test_a_text_goes_on_until_its_end_or_its_longest() -> None:
    prompt = torch.tensor([[1, 2, -1, -1, -1, -1], [3, -1, -1, -1, -1, -1]])
    typed = torch.tensor([[-1, 4, 0, 3, 3], [2, 3, 4, 1, 1]])
    text, response = models.continued(model(1), prompt, torch.full((2, 5), 0.5).double(), 3, typed=typed)
    assert text.tolist() == [[1, 2, 4, 0, 0, 0], [3, 2, 3, 4, 0, 0]]
    assert response.tolist() == [[False, False, True, True, False, False], [False, True, True, True, False, False]]


def test_a_drawn_text_is_what_the_logits_say() -> None:
    policy, u = model(3), torch.rand(3, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    prompt = torch.tensor([[1, -1, -1, -1, -1, -1, -1], [2, 3, -1, -1, -1, -1, -1], [4, 4, 4, -1, -1, -1, -1]])
    text, response = models.continued(policy, prompt, u, 9)
    says = models.logits(policy, text[:, :-1])
    again = torch.stack([models.drawn(says[:, t], u[:, t]) for t in range(6)], 1)
    assert torch.equal(again[response[:, 1:]], text[:, 1:][response[:, 1:]])
    assert not response[:, -1].any()  # the last column writes nothing


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_a_step_is_the_papers(kind: str) -> None:
    """Adam: Kingma & Ba 2015, algorithm 1; AdamW: Loshchilov & Hutter 2019, algorithm 2; the norm is held first."""
    start, target = drawn(1, 4), drawn(2, 4)
    weight = start.clone().requires_grad_()
    optimiser = Optimiser(
        kind,
        0.1,
        (0.8, 0.9),
        1e-6,
        0.05,
    ).of([weight])
    m = v = torch.zeros_like(start)
    ours = start.clone()
    for number in (1, 2, 3):
        norm = models.take_step(optimiser, ((weight - target) ** 2).sum(), 0.5)
        slope = 2 * (ours - target)
        assert math.isclose(float(norm), float(slope.norm()))
        slope = slope * min(1.0, 0.5 / (float(norm) + 1e-6))
        if kind != "adamw":
            slope = slope + 0.05 * ours
        m, v = 0.8 * m + 0.2 * slope, 0.9 * v + 0.1 * slope**2
        adam = m / (1 - 0.8**number) / ((v / (1 - 0.9**number)).sqrt() + 1e-6)
        decayed = ours * (1 - 0.1 * 0.05) if kind == "adamw" else ours
        ours = decayed - 0.1 * (slope if kind == "sgd" else adam)
        torch.testing.assert_close(weight.detach(), ours)


def test_metrics_mean_what_they_say() -> None:
    d, counted = drawn(1, 3, 4), torch.tensor([[True, True, False, False], [False] * 4, [True] * 4])
    found = metrics.approx_kls(d, counted)
    kept = d[counted]
    assert [float(found.k1), float(found.k2), float(found.k3)] == pytest.approx(
        [float(-kept.mean()), float((kept**2).mean() / 2), float((kept.exp() - 1 - kept).mean())], rel=1e-14
    )
    assert float(metrics.mean(d, counted, 6.0)) == pytest.approx(float(kept.sum()) / 12)
    assert float(metrics.of_responses(d, counted)) == pytest.approx(float(kept.sum()) / 2)
    means = [d[0, :2].mean(), d[2].mean()]
    assert float(metrics.means_of_responses(d, counted)) == pytest.approx(float(sum(means)) / 2)
    assert [float(each) for each in metrics.lengths(counted, torch.float64)] == [3, 4]
    ratio = torch.tensor([[0.5, 0.8, 1.0, 1.2, 1.3]])
    every = torch.ones_like(ratio, dtype=torch.bool)
    assert float(metrics.outside_fraction(ratio, 0.8, 1.2, every)) == pytest.approx(0.4)
    # A token is clipped by its loss only where that grows: never more often than by its ratio.
    loss, clipped = -ratio * -1, -ratio.clamp(0.8, 1.2) * -1
    assert float(metrics.changed_fraction(loss, clipped, every)) == pytest.approx(0.2)
    assert float(metrics.grad_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])) == 5


def test_three_explained_variances() -> None:
    """A perfect critic explains all; one that is off by a constant is blamed by the squares alone; equal returns give no number."""
    returns, every = drawn(1, 2, 5), torch.ones(2, 5, dtype=torch.bool)
    assert float(metrics.explained_variance(returns, returns, every)) == 1
    assert float(metrics.explained_variance(returns + 3, returns, every)) == pytest.approx(1)
    off = 1 - 9 / float(returns.var(correction=0))
    assert float(metrics.explained_by_squares(returns + 3, returns, every)) == pytest.approx(off)
    assert math.isnan(float(metrics.explained_variance(every.double(), every.double(), every)))


def test_the_effective_share_of_equal_ratios_is_1_and_does_not_overflow() -> None:
    assert float(metrics.effective_share(torch.full((2, 3), 700.0).double())) == pytest.approx(1)
    one = torch.tensor([0.0, -900.0, -900.0, -900.0]).double()
    assert float(metrics.effective_share(one)) == pytest.approx(0.25)
