"""Saved workbooks of GRPO and DPO into which something was typed by hand: stale, explained, compared, and read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint import Book
from blueprint.checking.causes import Cause
from blueprint.inputs import load
from blueprint.reopening import back_from
from blueprint.witness.raw import Raw
from blueprint.workbooks import blueprint_of
from tests.checking.cells import change_sheets
from tests.checking.running import judged
from tests.commands import run_command
from tests.page.workshop import located, save_made
from tests.papers.pages import typed_alone
from tests.reopening.alike import fields_that_differ
from tests.workbooks.apart import NEAR, apart, page_of

At = tuple[int, ...]


class Saved(NamedTuple):
    """A built-in workbook that is saved, and what is done with it.

    typed: what is typed by hand, by block. explained: a row that the explanation of the result names. differs: a word of what
    `diff` prints then.
    """

    numbers: str
    overrides: tuple[str, ...]
    typed: dict[str, tuple[At, float | str]]
    explained: str
    differs: str


SAVED = {
    "grpo": Saved(
        "grpo-batch", (),
        {"score": ((4,), 0.25), "group.std.yours": ((), "others")}, "adds.kl_loss", "score",
    ),
    "dpo": Saved(
        "dpo-batch", ("gradients=on",),
        {"policy.logits": ((4, 3, 1), 0.25), "loss.form.yours": ((), "ipo"), "beta.yours": ((), 0.3)},
        "preference_loss", "beta",
    ),
}  # fmt: skip
Files = Callable[[str], Path]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Saves the workbook of a kind, once."""
    made_in = {kind: tmp_path_factory.mktemp(kind) / f"{kind}.xlsx" for kind in SAVED}

    def of(kind: str) -> Path:
        path, saved = made_in[kind], SAVED[kind]
        return path if path.exists() else save_made(path, *saved.overrides, numbers=saved.numbers)

    return of


@pytest.fixture(scope="module")
def typed_into(plain: Files, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Types something into a saved workbook; what its formulas came to stays as it was."""
    folder = tmp_path_factory.mktemp("typed")

    def of(kind: str) -> Path:
        edits: dict[str, dict[str, tuple[str | None, float | str | None]]] = {}
        for block, (at, value) in SAVED[kind].typed.items():
            found = located(plain(kind))[block]
            row, column = next((r, c) for index, r, c in found.cells() if index == at)
            edits.setdefault(found.sheet, {})[f"{openpyxl.utils.get_column_letter(column)}{row}"] = (None, value)
        change_sheets(plain(kind), folder / f"{kind}.xlsx", edits)
        return folder / f"{kind}.xlsx"

    return of


@pytest.mark.parametrize("kind", SAVED)
def test_what_was_typed_by_hand_is_stale_and_builds_a_workbook_that_agrees(typed_into: Files, kind: str) -> None:
    of, path = SAVED[kind], typed_into(kind)
    assert judged(path).firsts[0].cause is Cause.STALE
    back = back_from(path)
    assert (back.unheld, back.remarks) == ([], [])
    assert len(fields_that_differ(load(of.numbers, of.overrides), back.numbers)) == len(of.typed)
    assert apart(Book(blueprint_of(back.numbers))) == {}


@pytest.mark.parametrize("kind", SAVED)
def test_explain_and_diff_take_a_workbook_of_the_kind(plain: Files, typed_into: Files, kind: str) -> None:
    explained = run_command("explain", plain(kind), "total_loss")
    assert (explained.exit_code, SAVED[kind].explained in explained.output) == (0, True)
    told = run_command("diff", plain(kind), typed_into(kind))
    assert (told.exit_code, SAVED[kind].differs in told.output) == (1, True)


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
