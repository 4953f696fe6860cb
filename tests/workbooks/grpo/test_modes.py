"""Settings that a library has in one mode alone: the clamp of ±20 is one of token ratios, and GSPO's and GMPO's have none.

The libraries' expressions in plain torch: OpenRLHF 0.11.2, models/loss.py, PolicyLoss; verl 0.9.1, core_algos.py,
compute_policy_loss_gspo, compute_policy_loss_geo_mean and compute_policy_loss_vanilla. Log-ratios go to ±60 a token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from blueprint.workbooks.grpo.sheets import silent
from blueprint.workbooks.registry import kind_named
from tests.workbooks.apart import apart
from tests.workbooks.grpo.rows_of_one import built, cells, leaves, slope

NEAR = 1e-12
MOVED = ((-60.0, 1.0, 0.5), (60.0, -41.0, 0.1), (-21.0, 25.0, 30.0), (0.3, -0.2, 0.1))
"""Log-ratios of three tokens of four responses; their means are −19.5, 6.4, 11.3 and 0.07."""
SCORES = (1.0, 0.0, 0.25, 0.75)


def said() -> dict[str, list[float]]:
    """Returns log-probs below 0 that are as far apart."""
    new = [-0.2 + min(d, 0.0) for row in MOVED for d in row]
    return {"policy": new, "old": [a - d for a, row in zip(new, np.ravel(MOVED), strict=True) for d in [row]]}


Way = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From log-ratios and advantages, [4, 3], the ratio and the loss of each token."""


def clipped(ratio: Tensor, A: Tensor, low: float = 0.2, high: float = 0.2) -> Tensor:
    """The worse of the free and the clipped outcome."""
    return -torch.min(ratio * A, ratio.clamp(1 - low, 1 + high) * A)


def openrlhf_ppo(d: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    ratio = d.clamp(-20.0, 20.0).exp()
    return ratio, clipped(ratio, A)


def openrlhf_gspo(d: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    ratio = (d.sum(-1) / 3).exp().unsqueeze(-1).expand_as(d)
    return ratio, clipped(ratio, A)


def verl_gspo(d: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    log = d - d.detach() + (d.sum(-1) / 3).detach().unsqueeze(-1)
    ratio = log.clamp(max=10.0).exp()
    return ratio, clipped(ratio, A)


def verl_geo_mean(d: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    sign = A.sign()
    worse = sign * torch.min(sign * d, sign * d.clamp(-0.2, 0.2))
    ratio = (worse.sum(-1) / (3 + 1e-8)).exp()
    loss = -(A.sum(-1) / (3 + 1e-8)) * ratio
    return ratio.unsqueeze(-1).expand_as(d), loss.unsqueeze(-1).expand_as(d)


def verl_vanilla(d: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    ratio = d.clamp(-20.0, 20.0).exp()
    worse = clipped(ratio, A)
    return ratio, torch.where(A < 0, torch.min(worse, -3.0 * A), worse)


MEANS = {"loss.aggregation": "seq_mean_token_mean"}
CASES: dict[str, tuple[Way, str, dict[str, Any]]] = {
    "OpenRLHF, ppo": (openrlhf_ppo, "openrlhf", {}),
    "OpenRLHF, gspo": (openrlhf_gspo, "openrlhf", {"ratio.level": "response", **MEANS, "loss.length_eps": 1e-8}),
    "verl, vanilla": (verl_vanilla, "verl_grpo", {}),
    "verl, gspo": (verl_gspo, "verl_grpo", {
        "ratio.level": "own_token", "ratio.sequence_most": 10, "loss.dual_clip": "off", **MEANS}),
    "verl, geo_mean": (verl_geo_mean, "verl_grpo", {"loss.objective": "gmpo", "ratio.length_eps": 1e-8, **MEANS}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_clamp_of_the_log_ratio_is_where_the_library_has_it(name: str) -> None:
    way, preset, settings = CASES[name]
    book, of = built(said(), settings, preset=preset, size=4, scores=SCORES), leaves(said())
    A = torch.tensor(cells(book, "advantages")).reshape(4, 3)
    d = (of["policy"] - of["old"]).reshape(4, 3)
    ratio, loss = way(d, A)
    row = "gmpo.ratio" if "geo" in name else "ratio"
    theirs = ratio.detach().numpy()
    assert cells(book, row) == pytest.approx((theirs[:, 0] if "geo" in name else theirs.ravel()), rel=NEAR)
    assert cells(book, "policy.token_loss") == pytest.approx(loss.detach().numpy().ravel(), rel=NEAR)
    weight = torch.tensor(cells(book, "weight.policy.row")).reshape(4, 3)
    expected = slope((weight * loss).sum(), of["policy"])
    assert cells(book, "policy.logprobs.grad") == pytest.approx(expected, rel=1e-10, abs=NEAR)
    assert apart(book) == {}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, True), ({"ratio.level": "response"}, False), ({"ratio.level": "own_token"}, False),
        ({"loss.objective": "gmpo"}, False), ({"loss.objective": "reinforce"}, False), ({"loss.objective": "cispo"}, True),
    ],
)  # fmt: skip
def test_a_clamp_that_holds_nothing_says_nothing(changed: Mapping[str, str], says: bool) -> None:
    values = {key: setting.value for key, setting in kind_named("grpo").part("settings").items()}
    values |= kind_named("grpo").part("presets")().presets["openrlhf"].values
    assert ("ratio.clamp" in silent({**values, **changed})) != says
