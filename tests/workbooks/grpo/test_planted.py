"""Mistakes planted in the mathematics of GRPO: check names the row, and says by which misconception it is what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.language import Operand, Sum, exp
from blueprint.workbooks.grpo.definitions.group_advantages import i, n, q, t
from tests.workbooks.planting import Planting, planting_in
from tests.workbooks.test_backward import G

NAMED = (
    ("overlong.beyond", "begins-at-the-limit"), ("overlong.penalty", "short-is-rewarded"), ("group.others", "own-included"),
    ("group.deviation", "n-for-n-minus-one"), ("group.spread", "batch-for-group"), ("group.less_baseline", "baseline-added"),
    ("group.divided_by", "eps-inside"), ("group.scaled", "not-divided"), ("log_ratio.free", "ratio-upside-down"),
    ("ratio.mean_of_response", "sum-for-mean"), ("ratio.clipped", "one-eps-for-both"), ("ratio.clipped", "below-not-clipped"),
    ("surrogate.pessimistic", "max-for-min"), ("surrogate.pessimistic", "larger-for-bad-tokens"),
    ("surrogate", "dual-clip-for-every-token"), ("rollout.log_free", "weight-upside-down"),
    ("rollout.kept", "mask-a-token-short"), ("loss.counted", "cut-responses-counted"), ("weight.policy", "mean-of-means"),
    ("kl_new.chosen", "k1-for-the-estimator"), ("adds.kl_loss", "beta-forgotten"), ("total_loss", "entropy-turned"),
)  # fmt: skip
"""Rows, and misconceptions of the list."""
OTHERS: dict[str, Callable[[G], Operand]] = {
    "group.advantage": lambda b: b["group.late"][q, i] * b["group.late"][q, i],
    "ratio": lambda b: exp(b["log_ratio"][n, t] * 2),
    "policy.counts": lambda b: b["keep"][n, t] * b["policy.token_loss"][n, t],
    "kl_loss": lambda b: Sum((n, t), b["weight.kl.row"][n, t] * b["kl_new.k1"][n, t]),
    "log_ratio.grad": lambda b: b["ratio.level_of.grad"][n, t] * 2,
}  # fmt: skip
"""Rows, and another equation of which nobody has made a sentence."""


@pytest.fixture(scope="module")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Planting:
    return planting_in("grpo", "grpo", tmp_path_factory.mktemp("grpo"))


@pytest.mark.parametrize(("row", "name"), NAMED)
def test_a_planted_misconception_is_named(planting: Planting, row: str, name: str) -> None:
    first = planting.misconception(row, name)
    assert first.name == row
    assert first.likely in planting.says(row, name)


@pytest.mark.parametrize("row", OTHERS)
def test_another_equation_is_seen(planting: Planting, row: str) -> None:
    assert planting.equation(row, OTHERS[row]).name == row


def test_the_workbook_as_it_is_agrees(planting: Planting) -> None:
    verdict = planting.as_it_is("ratio")
    assert verdict.agrees
    assert len(verdict.lines) > 600
