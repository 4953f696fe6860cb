"""SGD, Adam and AdamW with a held norm, several steps one after the other, against torch.optim."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness of the optimisers is torch.optim: install the extra [torch]")

import torch

from blueprint.language import Axis, Block, Sum, again, block, compute, tanh, typed
from blueprint.language.gradient import gradient
from blueprint.workbooks.common.definitions.optimiser import START, Group, Rates, Slope, rates, step

n, i, j = Axis("n", "case"), Axis("i", "input"), Axis("j", "unit")
SIZES = {n: 5, i: 3, j: 2}
STEPS = 4
OFF = np.inf
TORCH = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
RANDOM = np.random.default_rng(11)
X, TARGET = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(5, 2))
W0, B0 = RANDOM.normal(size=(3, 2)), 0.3


class Model:
    """A small network in the notation: x (n, i) times W, plus b, through tanh, squared distance to a target."""

    def __init__(self) -> None:
        self.x, self.target = typed("x", (n, i)), typed("target", (n, j))
        self.W, self.b = typed("W", (i, j)), typed("b", ())
        y, e, self.loss = block("y", (n, j)), block("e", (n, j)), block("loss", (), "L")
        y[n, j] = tanh(Sum(i, self.W[i, j] * self.x[n, i]) + self.b)
        e[n, j] = y[n, j] - self.target[n, j]
        self.loss[()] = Sum((n, j), e[n, j] * e[n, j])
        self.forward = [y, e, self.loss]

    def typed(self, by: Rates, numbers: tuple[float, ...]) -> dict[Block, object]:
        """Returns every typed number."""
        return {self.x: X, self.target: TARGET, self.W: W0, self.b: B0, **dict(zip(by, numbers, strict=True))}


def by_hand(kind: str, numbers: tuple[float, ...]) -> list[tuple[np.ndarray, float, float]]:
    """Takes the steps in the notation; returns W, b and the norm of each."""
    model, by = Model(), rates()
    made = gradient(model.loss, [model.W, model.b])
    one_step = [*model.forward, *made.blocks]
    blocks: list[Block] = [*model.typed(by, numbers), *one_step]
    weights, state, taken = {"W": model.W, "b": model.b}, START, []
    for number in range(1, STEPS + 1):
        copies = {model.W: weights["W"], model.b: weights["b"]}
        if number > 1:
            copies = again(one_step, copies, f"step{number}.{{}}".format)
            blocks += [copies[each] for each in one_step]
        slopes = {
            key: Slope(weights[key], copies.get(made[old], made[old])) for key, old in (("W", model.W), ("b", model.b))
        }
        stepped = step(kind, slopes, [Group("", tuple(slopes), by)], state, f"update{number}")
        weights, state = dict(stepped.new), stepped.state
        blocks += stepped.rows
        taken.append((weights["W"], weights["b"], stepped.norms[0]))
    values = compute(blocks, SIZES, model.typed(by, numbers))
    return [(values[W], float(values[b]), float(values[norm])) for W, b, norm in taken]


def by_torch(kind: str, numbers: tuple[float, ...]) -> list[tuple[np.ndarray, float, float]]:
    """Takes the same steps with torch.optim and clip_grad_norm_."""
    lr, beta1, beta2, eps, decay, most, _ = numbers
    x, target = torch.tensor(X), torch.tensor(TARGET)
    W, b = torch.tensor(W0, requires_grad=True), torch.tensor(B0, dtype=torch.float64, requires_grad=True)
    more = {} if kind == "sgd" else {"betas": (beta1, beta2), "eps": eps}
    optimiser = TORCH[kind]([W, b], lr=lr, weight_decay=decay, **more)
    taken = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        ((torch.tanh(x @ W + b) - target) ** 2).sum().backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_([W, b], most)
        optimiser.step()
        taken.append((W.detach().numpy().copy(), float(b.detach()), float(norm)))
    return taken


@pytest.mark.parametrize("kind", TORCH)
@pytest.mark.parametrize(("most", "decay"), [(OFF, 0.0), (0.5, 0.0), (1.0, 0.1), (1e9, 0.3)])
def test_several_steps_are_those_of_torch(kind: str, most: float, decay: float) -> None:
    numbers = (0.05, 0.9, 0.999, 1e-8, decay, most, 1e-6)
    ours, theirs = by_hand(kind, numbers), by_torch(kind, numbers)
    for (W, b, norm), (W_torch, b_torch, norm_torch) in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(W, W_torch, rtol=0, atol=1e-12)
        assert abs(b - b_torch) <= 1e-12
        assert abs(norm - norm_torch) <= 1e-12 * norm_torch
    assert np.abs(ours[0][0] - W0).max() > 1e-3


@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_eps_stands_outside_of_the_root(eps: float) -> None:
    numbers = (0.1, 0.8, 0.9, eps, 0.0, OFF, 1e-6)
    for ours, theirs in zip(by_hand("adamw", numbers), by_torch("adamw", numbers), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=1e-12)
