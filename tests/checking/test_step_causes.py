"""A wrong row between the steps of several epochs, or within a minibatch, is named first, with the mistake by which it is so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking.checker import judge
from blueprint.checking.recomputed import OfPage
from blueprint.language import Expr, Operand, Sum, minimum, sqrt
from blueprint.workbooks.common import j, n, t, v
from tests.checking.test_gradient_causes import Bench, saved
from tests.workbooks.test_backward import G


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bench]:
    """Saves two workbooks with minibatches: whitened over the batch, and over each minibatch."""
    return saved(tmp_path_factory.mktemp("causes"), "minibatches", "whitened")


def whitened_over(b: G, mask: str, words: str) -> Expr:
    """Returns the mean that whitening takes from the advantages, over tokens."""
    return Sum((n, t), b[mask][n, t] * b["advantages"][n, t]) / b[words]


def held_alone(b: G) -> Expr:
    """Returns the gradient of W, held by its own norm."""
    norm, i = sqrt(b["update1.1.square.policy.W"]), b["policy.W"].axes[0]
    return minimum(1, b["optimiser.max_norm"] / (norm + b["optimiser.norm_eps"])) * b["policy.W.grad"][i, j]


EPOCHS: dict[str, tuple[str, str, Callable[[G], Operand]]] = {
    "the gradient is held by the norm of this weight alone": ("minibatches", "update1.1.gradient.policy.W", held_alone),
    "β2 stands where β1": (
        "minibatches", "update2.1.m.policy.Y",
        lambda b: b["optimiser.beta2"] * b["update1.2.m.policy.Y"][j, v]
        + (1 - b["optimiser.beta2"]) * b["update2.1.gradient.policy.Y"][j, v],
    ),
    "the bias correction is forgotten": (
        "minibatches", "update1.2.direction.policy.Y",
        lambda b: b["update1.2.m.policy.Y"][j, v] / (sqrt(b["update1.2.v.policy.Y"][j, v]) + b["optimiser.eps"]),
    ),
    "it is that of the first step: the weights are θ_old again": (
        "minibatches", "epoch2.1.policy.Y", lambda b: b["policy.Y"][j, v],
    ),
    "the ratio is to the policy of the step before": (
        "minibatches", "epoch2.1.log_ratio",
        lambda b: b["epoch2.1.loss.logp_new"][n, t] - b["epoch1.2.policy.logprobs"][n, t],
    ),
    "advantages are whitened over the minibatch": (
        "minibatches", "advantage.mean", lambda b: whitened_over(b, "minibatch.mask", "minibatch.words"),
    ),
    "advantages are whitened over the whole batch": (
        "whitened", "advantage.mean", lambda b: whitened_over(b, "mask", "response.words"),
    ),
    "it is divided by the number of tokens of the whole batch": (
        "minibatches", "epoch1.2.policy_loss",
        lambda b: -Sum((n, t), b["epoch1.2.minibatch.mask"][n, t] * b["epoch1.2.surrogate"][n, t]) / b["response.words"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", EPOCHS)
def test_a_wrong_row_of_several_steps_is_named_first_with_its_mistake(benches: dict[str, Bench], said: str) -> None:
    numbers, name, wrong = EPOCHS[said]
    first, *_ = benches[numbers].with_equation(name, wrong).firsts
    assert first.name == name
    assert first.likely.casefold().startswith(said.casefold())


def test_clean_files_are_not_accused(benches: dict[str, Bench]) -> None:
    for bench in benches.values():
        assert judge(bench.file, bench.torch, OfPage(), "float64").firsts == ()
