"""The KL in the loss of GRPO where its clamps hold: each library's own expression, in its order, against workbook and page.

The expressions stand here in plain torch, as the libraries write them; log-ratios go to ±690.
NeMo-RL 7ea279a, algorithms/utils.py, calculate_kl; Unsloth zoo 2026.10.9, rl_replacements.py, grpo_compute_loss;
slime 624b824, utils/ppo_utils.py, compute_approx_kl; OpenRLHF 0.11.2, models/utils.py, compute_approx_kl;
TRL 1.16.0, grpo_trainer.py; verl 0.9.1, core_algos.py, kl_penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.workbooks.apart import by_page
from tests.workbooks.grpo.rows_of_one import built, cells, leaves, slope

# Both compute in double precision. Where nothing is clamped, ρ·e^−x goes out of a gradient again, which leaves its rounding.
NEAR = 1e-12
AWAY = (0.0, 0.5, -0.5, 3.0, -2.4, -3.0, 9.9, -15.0, 19.5, -19.5, 21.0, -21.0, 30.0, -30.0, 690.0, -690.0)
"""Log-ratios of the policy to the reference: within every clamp, beyond that of the estimate, beyond that of the log-ratio."""
MOVED = (0.0, 0.1, -2.0, 4.0, -30.0)
"""Log-ratios of the policy to the old one, and to the engine."""


def far() -> dict[str, list[float]]:
    """Returns a token for every pair of them, below 0 as log-probs are."""
    pairs = list(product(AWAY, MOVED))
    new = [-0.7 + min(x, 0.0) + min(d, 0.0) for x, d in pairs]
    return {
        "policy": new,
        "reference": [a - x for a, (x, _) in zip(new, pairs, strict=True)],
        "old": [a - d for a, (_, d) in zip(new, pairs, strict=True)],
        "engine": [a - d for a, (_, d) in zip(new, pairs, strict=True)],
    }


Said = Mapping[str, Tensor]
Way = Callable[[Said], Tensor]


def estimate(log_ratio: Tensor, kind: str) -> Tensor:
    """Schulman's three, of log π − log π_ref."""
    return {"k1": log_ratio, "k2": log_ratio**2 / 2, "k3": torch.exp(-log_ratio) - 1 + log_ratio}[kind]


def nemo_rl(kind: str, on_policy: bool) -> Way:
    """Clamps the log-ratio, keeps the weight's gradient only within that clamp, multiplies, clamps the product."""

    def kl(of: Said) -> Tensor:
        x = of["policy"] - of["reference"]
        weight = torch.exp(of["policy"] - (of["engine"] if on_policy else of["policy"].detach()))
        within = x.clamp(-20.0, 20.0)
        weight = torch.where(x == within, weight, weight.detach())
        return (weight * estimate(within, kind)).clamp(-10.0, 10.0)

    return kl


def unsloth(of: Said) -> Tensor:
    """Multiplies by the ratio before it clamps; the ratio keeps its gradient."""
    x = (of["reference"] - of["policy"]).clamp(-20.0, 20.0)
    return ((torch.expm1(x) - x) * torch.exp(of["policy"] - of["old"])).clamp(-10.0, 10.0)


def slime(of: Said) -> Tensor:
    """Multiplies by the ratio, then clamps; the log-ratio is free."""
    return (torch.exp(of["policy"] - of["old"]) * estimate(of["policy"] - of["reference"], "k3")).clamp(-10.0, 10.0)


def trl(of: Said) -> Tensor:
    """Clamps nothing."""
    return estimate(of["policy"] - of["reference"], "k3") * torch.exp(of["policy"] - of["old"])


def openrlhf(kind: str) -> Way:
    """Takes the value from the estimate, clamped, and the gradient from k2 of the free log-ratio, times at most ten."""

    def kl(of: Said) -> Tensor:
        x = of["policy"] - of["reference"]
        value = estimate(x.clamp(min=-10) if kind == "k3" else x, kind).clamp(-10.0, 10.0)
        moved = (of["policy"] - of["old"]).exp().clamp(max=10.0).detach() * x**2 / 2
        return value.detach() + moved - moved.detach()

    return kl


def verl_plus(of: Said) -> Tensor:
    """Takes the value of k3, clamped twice, and the gradient of k2."""
    x = of["policy"] - of["reference"]
    value = estimate(x.clamp(-20.0, 20.0), "k3").clamp(-10.0, 10.0)
    return x**2 / 2 - (x**2 / 2).detach() + value.detach()


IN_LOSS = {"kl.place": "loss", "kl.coef": 0.5}
BOTH = {"kl.clamp_in": 20, "kl.clamp_out": 10}
CASES: dict[str, tuple[Way, str | None, dict[str, Any]]] = {
    "nemo_rl": (nemo_rl("k3", False), "nemo_rl", {}),
    "nemo_rl k1": (nemo_rl("k1", False), "nemo_rl", {"kl.estimator": "k1"}),
    "nemo_rl k2": (nemo_rl("k2", False), "nemo_rl", {"kl.estimator": "k2"}),
    "nemo_rl on policy": (nemo_rl("k3", True), "nemo_rl", {"kl.weight": "rollout"}),
    "nemo_rl on policy, k1": (nemo_rl("k1", True), "nemo_rl", {"kl.weight": "rollout", "kl.estimator": "k1"}),
    "nemo_rl on policy, k2": (nemo_rl("k2", True), "nemo_rl", {"kl.weight": "rollout", "kl.estimator": "k2"}),
    "unsloth": (unsloth, "unsloth", {"kl.weight": "ratio", **BOTH}),
    "slime": (slime, "slime", {"kl.weight": "ratio", "kl.clamp_out": 10}),
    "trl": (trl, "trl_grpo", {"kl.weight": "ratio"}),
    "openrlhf k1": (openrlhf("k1"), "openrlhf", {"kl.gradient": "k2_is", "kl.reach": 10}),
    "openrlhf k2": (openrlhf("k2"), "openrlhf", {"kl.gradient": "k2_is", "kl.reach": 10, "kl.estimator": "k2"}),
    "openrlhf k3": (openrlhf("k3"), "openrlhf", {"kl.gradient": "k2_is", "kl.reach": 10, "kl.estimator": "k3"}),
    "verl k3+": (verl_plus, "verl_grpo", {"kl.gradient": "k2", **BOTH}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_weight_and_clamps_come_in_the_order_of_the_library(name: str) -> None:
    kl, preset, settings = CASES[name]
    book, of = built(far(), {**IN_LOSS, **settings}, preset=preset), leaves(far())
    tokens = kl(of)
    assert cells(book, "kl_new.counts") == pytest.approx(tokens.detach().numpy(), rel=NEAR, abs=NEAR)
    weight = torch.tensor(cells(book, "weight.kl.row"))
    assert cells(book, "kl_loss") == pytest.approx((weight * tokens).sum().item(), rel=NEAR, abs=NEAR)
    theirs = slope(0.5 * (weight * tokens).sum(), of["policy"])
    off = np.abs(cells(book, "policy.logprobs.grad") - theirs)
    lost = np.exp(cells(book, "kl_new.log_weight") - cells(book, "kl_new.free")) if name == "trl" else 0
    assert np.all(off <= NEAR * (1 + np.abs(theirs) + lost))
    page = by_page(book)
    assert len(page) > 20
    assert {row: each for row, each in page.items() if not each <= NEAR} == {}


@pytest.mark.parametrize("name", ["nemo_rl on policy", "unsloth", "openrlhf k3"])
def test_the_recalculated_workbook_says_the_same(name: str, tmp_path: Path) -> None:
    _, preset, settings = CASES[name]
    book = built(far(), {**IN_LOSS, **settings}, preset=preset)
    book.save(tmp_path / "far.xlsx")
    assert book.prove(tmp_path / "far.xlsx").failures == []
