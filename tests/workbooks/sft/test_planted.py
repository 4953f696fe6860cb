"""Mistakes planted in the mathematics of fine-tuning: check names the row, and says by which misconception it is what it is."""

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.language import Block, Definition, Operand
from blueprint.language.nodes import wrap
from blueprint.misconceptions import misconceptions_of
from blueprint.page.outline import Blueprint
from blueprint.workbooks.registry import kind_named
from blueprint.workbooks.sft.definitions.axes import b, n, t, v
from tests.checking.test_gradient_causes import Bench, outline, saved
from tests.misconceptions.planting import plant

KIND = kind_named("sft")
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
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return saved(tmp_path_factory.mktemp("sft"), "sft")["sft"]


@pytest.fixture(scope="module")
def fresh() -> Blueprint:
    return outline("sft")


@pytest.mark.parametrize(("row", "name"), NAMED)
def test_a_planted_misconception_is_named(bench: Bench, fresh: Blueprint, row: str, name: str) -> None:
    blocks = {block.name: block for block in fresh.blocks()}
    kept = blocks[row].definitions
    plant(name, row, blocks, KIND)
    (first,) = bench.with_book(Book(fresh), row).firsts
    blocks[row].definitions = kept
    (said,) = {each.says for each in misconceptions_of(KIND) if each.name == name and each.bound(row) is not None}
    assert first.name == row
    assert first.likely == said


@pytest.mark.parametrize("row", OTHERS)
def test_another_equation_is_seen(bench: Bench, fresh: Blueprint, row: str) -> None:
    blocks = {block.name: block for block in fresh.blocks()}
    kept = blocks[row].definitions
    blocks[row].definitions = [Definition(kept[-1].target, wrap(OTHERS[row](blocks)))]
    found = bench.with_book(Book(fresh), row).firsts
    blocks[row].definitions = kept
    assert found[0].name == row


def test_the_workbook_as_it_is_agrees(bench: Bench, fresh: Blueprint) -> None:
    verdict = bench.with_book(Book(fresh), "loss.share")
    assert verdict.agrees
    assert len(verdict.lines) > 100
