"""Saved workbooks of DPO and its relatives against torch: as they are, with conventions typed by hand, and with a wrong number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint import Book
from blueprint.checking.causes import Cause
from blueprint.cli import main
from blueprint.inputs import load
from blueprint.reopening import back_from
from blueprint.witness.raw import Raw
from blueprint.workbooks import blueprint_of
from tests.checking.cells import Edits, change, change_sheets
from tests.checking.running import judged
from tests.checking.test_check_live import cell_of
from tests.page.workshop import located, made, save_made
from tests.papers.pages import typed_alone
from tests.reopening.alike import fields_that_differ
from tests.workbooks.apart import NEAR, apart, page_of

TYPED: dict[str, tuple[tuple[int, ...], float | str]] = {
    "policy.logits": ((4, 3, 1), 0.25), "loss.form.yours": ((), "ipo"), "beta.yours": ((), 0.3),
}  # fmt: skip
"""What is typed by hand: the place in a block, and what stands there then."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook with gradients."""
    return save_made(tmp_path_factory.mktemp("dpo") / "dpo.xlsx", "gradients=on", numbers="dpo-batch")


def test_every_quantity_and_every_slope_of_the_default_agrees(plain: Path) -> None:
    verdict = judged(plain)
    computed = {each for each, found in located(plain).items() if found.kind != "typed"}
    assert {line.name for line in verdict.lines} == computed
    assert verdict.agrees
    assert sum(name.endswith(".grad") for name in computed) > 100


@pytest.mark.parametrize(("block", "at"), [("chosen.ratio", (1,)), ("policy.weighed", (0, 3)), ("margin.grad", (2,))])
def test_a_number_typed_over_a_formula_is_named_first(
    plain: Path, tmp_path: Path, block: str, at: tuple[int, ...]
) -> None:
    found = located(plain)[block]
    cell = cell_of(plain, found, at)
    change(plain, tmp_path / "a.xlsx", found.sheet, {cell: (None, 0.3751)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.sheet, first.cause) == (block, f"{found.sheet}!{cell}", 0.3751, Cause.FORMULA)


@pytest.fixture(scope="module")
def typed_into(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Types something into a saved workbook; what its formulas came to stays as it was."""
    path, edits = (
        tmp_path_factory.mktemp("typed") / "a.xlsx",
        dict[str, dict[str, tuple[str | None, float | str | None]]](),
    )
    for block, (at, value) in TYPED.items():
        found = located(plain)[block]
        row, column = next((r, c) for index, r, c in found.cells() if index == at)
        edits.setdefault(found.sheet, {})[f"{openpyxl.utils.get_column_letter(column)}{row}"] = (None, value)
    change_sheets(plain, path, dict[str, Edits](edits))
    return path


def test_what_was_typed_by_hand_is_stale_and_builds_a_workbook_that_agrees(typed_into: Path) -> None:
    assert judged(typed_into).firsts[0].cause is Cause.STALE
    back = back_from(typed_into)
    assert (back.unheld, back.remarks) == ([], [])
    assert len(fields_that_differ(load("dpo-batch", ("gradients=on",)), back.numbers)) == len(TYPED)
    assert apart(Book(blueprint_of(back.numbers))) == {}


def test_the_numbers_come_back(tmp_path: Path) -> None:
    path, overrides = tmp_path / "a.xlsx", ("preset=openrlhf", "dpo.beta=0.07", "logp.alpha=0.5")
    made(*overrides, numbers="dpo-batch").save(path)
    back = back_from(path)
    assert fields_that_differ(load("dpo-batch", overrides), back.numbers) == []
    assert (back.unheld, back.remarks) == ([], [])


def test_pairs_may_stand_in_any_order_and_in_any_column() -> None:
    """Responses of a pair apart, rejected ones first; and its column another one than its number.

    Sorted margins belong to no pair: the page has their losses in the order of columns, the workbook in that of numbers.
    """
    base = load("dpo-batch", ("gradients=on", "loss.form=aot", "logp.ld=both", "logp.ld_alpha=0.5"))
    order = {"text.pair": np.array([3.0, 1, 4, 2, 1, 3, 2, 4]), "text.chosen": np.array([1.0, 1, 0, 0, 0, 0, 1, 1])}
    mixed = blueprint_of(replace(base, parts={**base.parts, **order})).with_typed(
        {"pair.column": np.array([3.0, 1, 4, 2])}
    )
    book = Book(mixed)
    assert apart(book).keys() == {"page: loss.weighed"}
    losses = page_of(book).results(Raw(typed_alone(book)))["loss.weighed"].sort().values.numpy()
    assert losses == pytest.approx(np.sort(np.asarray(book.values[book.blocks["loss.weighed"]], float)), abs=NEAR)


def test_explain_and_diff_take_a_workbook_of_the_kind(plain: Path, typed_into: Path) -> None:
    explained = CliRunner().invoke(main, ["explain", str(plain), "total_loss"])
    assert (explained.exit_code, "preference_loss" in explained.output) == (0, True)
    told = CliRunner().invoke(main, ["diff", str(plain), str(typed_into)])
    assert (told.exit_code, "beta" in told.output) == (1, True)
