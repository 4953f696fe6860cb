"""Workbooks that LibreOffice has saved: values typed, drop-downs changed, sheets renamed and moved, rows inserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.reopening import back_from, back_of
from tests.page.basic import Change, edit
from tests.page.workshop import differing
from tests.reopening.alike import fields_that_differ
from tests.reopening.kinds import KINDS, book_of_kind
from tests.reopening.typing_in import places, untouched

FIFTEEN_DIGITS = 1e-13
"""LibreOffice writes 15 significant digits of what it computed; typed numbers have no more of them."""

MOVE = [
    "For i = 0 To book.Sheets.Count - 1",
    "  book.Sheets.getByIndex(i).Rows.insertByIndex(2, 3)",
    "  book.Sheets.getByIndex(i).Columns.getByIndex(5).Width = 6000",
    "Next",
    'book.Sheets.getByName("Inputs").Name = "My numbers"',
    'book.Sheets.getByName("Start").Name = "Here"',
    'book.Sheets.moveByName("Contents", 0)',
    "book.calculateAll()",
]


def types(source: Path, name: str, at: tuple[int, ...], what: str) -> str:
    """Returns the line of Basic that types into a cell of a block: `.Value = 1`, `.String = "k2"`, `.Formula = "=1/2"`."""
    found = places(source)[name]
    row, column = found.address(at)
    return f'book.Sheets.getByName("{found.sheet}").getCellByPosition({column - 1}, {row - 1}){what}'


@pytest.fixture(scope="module")
def edited(needs_libreoffice: None, folder: Path, kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Edits, in one run of LibreOffice, the default workbook and one of every other kind."""
    room = tmp_path_factory.mktemp("libreoffice")
    default, sleepy, live = folder / "default.xlsx", folder / "sleepy.xlsx", kinds / "live.xlsx"
    typing = [
        types(default, "gamma.yours", (), ".Value = 0.5"),
        types(default, "gae_lambda.yours", (), '.String = "0,7"'),
        types(default, "kl_coef.yours", (), '.Formula = "=1/4"'),
        types(default, "kl_estimator.yours", (), '.String = "k2"'),
        types(default, "rollout.draw", (0, 3), ".Value = 0.1"),
        types(default, "old.E", (2, 1), ".Value = -0.3"),
    ]
    chosen = [types(live, "preset", (), '.String = "openrlhf"'), types(live, "gamma.yours", (), ".Value = 0.25")]
    changes = [
        Change(default, room / "typed.xlsx", [*typing, *MOVE]),
        Change(default, room / "default.xlsx", MOVE),
        Change(sleepy, room / "sleepy.xlsx", MOVE),
        Change(live, room / "chosen.xlsx", [*chosen, *MOVE]),
        *(Change(kinds / f"{kind}.xlsx", room / f"{kind}.xlsx", MOVE) for kind in KINDS),
    ]
    edit(changes, room)
    return room


@pytest.mark.parametrize("kind", ["default", "sleepy", *KINDS])
def test_an_unedited_copy_holds_the_same_numbers(edited: Path, kind: str) -> None:
    name, *overrides = KINDS.get(kind, ("very-very-sleepy" if kind == "sleepy" else "default",))
    back = back_of(untouched(edited / f"{kind}.xlsx"))
    assert fields_that_differ(load(name, overrides), back.numbers) == []
    assert (back.unheld, back.remarks) == ([], [])


def test_what_was_typed_there_comes_back_and_nothing_else(edited: Path) -> None:
    same = ["ppo.gamma=0.5", "ppo.gae_lambda=0.7", "ppo.kl_coef=0.25", "ppo.kl_estimator=k2"]
    back = back_from(edited / "typed.xlsx")
    assert fields_that_differ(load("default", same), back.numbers) == ["draws", "weights.old.E"]
    assert back.numbers.draws[0, 3] == 0.1  # type: ignore[attr-defined]
    assert back.numbers.weights["old.E"][2, 1] == -0.3  # type: ignore[attr-defined]
    assert back.unheld == []
    assert [line.partition("typed as ")[2] for line in back.remarks] == [
        "text '0,7', counted as 0.7; to the sheet itself it is no number",
        "the formula =1/4, of which the saved value counts",
    ]


def test_changed_drop_downs_come_back(edited: Path) -> None:
    name, *overrides = KINDS["live"]
    back = back_from(edited / "chosen.xlsx")
    assert fields_that_differ(load(name, [*overrides, "preset=openrlhf", "ppo.gamma=0.25"]), back.numbers) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_shows_what_its_inputs_give(edited: Path, kind: str) -> None:
    from blueprint.differing import stale

    of = untouched(edited / f"{kind}.xlsx")
    assert stale(of) is None
    arrays = {each.name: array for each, array in of.values.arrays.items()}
    assert differing(book_of_kind(kind), arrays, FIFTEEN_DIGITS) == []
