"""Mistakes planted in the mathematics of fine-tuning: check names the row, and says by which misconception it is what it is."""

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.language import Block, Operand
from blueprint.workbooks.sft.definitions import b, n, t, v
from tests.workbooks.planting import Planting, planting_in

NAMED = (
    ("label.id", "shift-forgotten"), ("label.counts", "prompt-counted"), ("label.counts", "end-token-out"),
    ("label.counts", "everything-counts"), ("loss.share", "mean-of-means"), ("loss.share", "texts-alike"),
    ("loss.share", "texts-for-tokens"), ("label.weight", "not-masked"), ("loss.of_token", "probability-for-log-prob"),
    ("nll", "mean-over-texts"), ("perplexity", "upside-down"), ("watch.hit", "not-masked"),
)  # fmt: skip
"""Rows, and misconceptions of the list."""
OTHERS: dict[str, Callable[[dict[str, Block]], Operand]] = {
    "microbatch.loss": lambda rows: rows["microbatch.tokens"][b] * rows["microbatch.share"][b],
    "watch.entropy_of_token": lambda rows: rows["policy.entropy"][n, t] * rows["label.weight"][n, t],
    "policy.logits.grad": lambda rows: rows["policy.p"][n, t, v] * rows["policy.logprobs.grad"][n, t],
}
"""Rows, and another equation: of the last, a slope that has forgotten the one-hot."""


@pytest.fixture(scope="module")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Planting:
    return planting_in("sft", "sft", tmp_path_factory.mktemp("sft"))


@pytest.mark.parametrize(("row", "name"), NAMED)
def test_a_planted_misconception_is_named(planting: Planting, row: str, name: str) -> None:
    first = planting.misconception(row, name)
    assert first.name == row
    assert first.likely in planting.says(row, name)


@pytest.mark.parametrize("row", OTHERS)
def test_another_equation_is_seen(planting: Planting, row: str) -> None:
    assert planting.equation(row, OTHERS[row]).name == row


def test_the_workbook_as_it_is_agrees(planting: Planting) -> None:
    verdict = planting.as_it_is("loss.share")
    assert verdict.agrees
    assert len(verdict.lines) > 100
