"""A saved workbook becomes a book again: the same numbers, edited or not; and what is refused."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from blueprint import Book
from blueprint.explaining.cells import repeated
from blueprint.notation import NotationError
from blueprint.page.grid import Address
from blueprint.page.layout import Echo, Live
from blueprint.reopening import book_of
from tests.audit import formulas, spoil
from tests.page.basic import Change, edit
from tests.page.workshop import differing, made
from tests.reopening.typing_in import typed_and_saved, typed_into, untouched

SIZES = {
    "default": (),
    "wide": ("sizes.vocabulary=20", "sizes.hidden=12", "sizes.episodes=3"),
    "one": ("sizes.episodes=1", "sizes.prompt=1", "sizes.max_new_tokens=1"),
    "settings": ("ppo.gamma=0", "ppo.kl_estimator=k3", "ppo.whiten_advantages=off"),
}


def arrays(of: Book) -> dict[str, Any]:
    """Returns all blocks by name."""
    return {each.name: array for each, array in of.values.arrays.items()}


@pytest.mark.parametrize("name", SIZES)
def test_a_saved_book_has_every_number_of_the_book(name: str, tmp_path: Path) -> None:
    of = made(*SIZES[name])
    of.save(tmp_path / "book.xlsx")
    assert differing(of, arrays(book_of(tmp_path / "book.xlsx")), 0) == []


def test_so_has_one_of_the_token_level(folder: Path) -> None:
    assert differing(made(numbers="very-very-sleepy"), arrays(untouched(folder / "sleepy.xlsx")), 0) == []


def test_a_saved_book_saves_the_same_formulas_again(folder: Path, tmp_path: Path) -> None:
    untouched(folder / "default.xlsx").save(tmp_path / "again.xlsx")
    assert formulas(tmp_path / "again.xlsx") == formulas(folder / "default.xlsx")


# (block, index, what is typed there, the overrides of a book that says the same)
EDITS: list[tuple[str, tuple[int, ...], object, str]] = [
    ("gamma.yours", (), 0.5, "ppo.gamma=0.5"),
    ("gae_lambda.yours", (), 0, "ppo.gae_lambda=0"),
    ("kl_estimator.yours", (), "k2", "ppo.kl_estimator=k2"),
    ("old_critic.head.b", (), -1.5, "old_critic.b=-1.5"),
    ("reward_model.head.b", (), None, "reward_model.b=0"),
    ("critic.delta.head.b", (), 2, "critic.delta_b=2"),
]


@pytest.mark.parametrize(("name", "at", "value", "override"), EDITS)
def test_what_was_typed_into_the_file_counts(
    folder: Path, tmp_path: Path, name: str, at: tuple[int, ...], value: object, override: str
) -> None:
    edited = book_of(typed_into(folder / "default.xlsx", tmp_path / "edited.xlsx", name, at, value))
    assert differing(made(override), arrays(edited), 0) == []
    assert differing(made(), arrays(edited), 0) != []


def test_a_blank_prompt_cell_and_another_draw_count(folder: Path, tmp_path: Path) -> None:
    shorter = typed_into(folder / "default.xlsx", tmp_path / "shorter.xlsx", "given", (0, 3), None)
    of = book_of(shorter)
    assert of.values.cell(of.blocks["mask"], 0, 2) == 1
    whole = untouched(folder / "default.xlsx")
    assert whole.values.cell(whole.blocks["mask"], 0, 2) == 0
    drawn = book_of(typed_into(folder / "default.xlsx", tmp_path / "drawn.xlsx", "rollout.draw", (0, 3), 0.1))
    assert drawn.values.cell(drawn.blocks["word_written"], 0, 3) == "the"


def test_a_value_of_the_file_that_is_another_is_told(folder: Path, tmp_path: Path) -> None:
    spoil(folder / "default.xlsx", tmp_path / "spoiled.xlsx")
    of = book_of(tmp_path / "spoiled.xlsx")
    told = of.explain("advantages", n=1, t=5)
    assert told.said == 777.25
    assert told.head[-1] == (
        "the file says 777.25, its inputs give 0.3269: "
        "it was saved without recalculation, or a formula on the way was overwritten"
    )
    assert f"A[1, 6] = 0.9767  (advantages, {told.reads[-1].cell})  but the file says 777.25" in str(told)
    assert of.explain("gamma.preset").said is None
    written = told.to_dict()
    assert written["cells"][written["top"]]["said"] == 777.25


def test_a_file_without_numbers_is_told(folder: Path, tmp_path: Path) -> None:
    of = book_of(typed_and_saved(folder / "default.xlsx", tmp_path / "edited.xlsx", "gamma.yours", (), 0.5))
    told = of.explain("advantages", n=1, t=7)
    assert told.head[-1] == "the file says nothing here, its inputs give 1.1689: it was saved without recalculation"
    assert "but the file says" not in str(told)
    assert told.numbers == "1.1689 + 1·0.5·0.8·0 = 1.1689"


def test_a_blank_cell_in_which_one_types_counts_as_0_and_is_told_so(folder: Path, tmp_path: Path) -> None:
    blank = typed_into(folder / "default.xlsx", tmp_path / "blank.xlsx", "reward_model.head.b", (), None)
    told = book_of(blank).explain("reward_model.head.b")
    assert (told.value, told.head[-1]) == (0, "blank, counted as 0")
    for name in ("reward_model.head.b", "gamma.yours"):
        assert "blank, counted" not in str(untouched(folder / "default.xlsx").explain(name).head)


@pytest.mark.parametrize("name", ["default", "sleepy"])
def test_a_file_and_its_book_know_the_same_formulas_and_links(folder: Path, name: str) -> None:
    of = made() if name == "default" else made(numbers="very-very-sleepy")
    file = untouched(folder / f"{name}.xlsx")
    listed: list[Echo | Live] = [*of.layout.echoes, *of.layout.lives]
    own = [Address(each.sheet, each.row + 1, each.column + 1) for each in listed]
    shown = {address: repeated(of.formula(address)) for address in own}
    assert shown == {address: repeated(file.formula(address)) for address in own}
    assert any(shown.values())
    rows = [Address(sheet, row, 1) for sheet in of.sheets for row in range(1, of.layout.end[sheet] + 3)]
    linked = [of.linked(row) for row in rows]
    assert linked == [file.linked(row) for row in rows]
    assert {*linked} == {True, False}


def test_a_formula_of_the_page_leads_to_the_same_cell_with_and_without_a_file(folder: Path) -> None:
    of = made()
    live = next(live for live in of.layout.lives if live.formula == "=kl_coef")
    shown = f"{live.sheet}!{openpyxl.utils.get_column_letter(live.column + 1)}{live.row + 1}"
    assert str(untouched(folder / "default.xlsx").explain(shown)) == str(of.explain(shown))


def test_an_untouched_file_says_what_it_is_computed_to(folder: Path) -> None:
    of = untouched(folder / "default.xlsx")
    told = str(of.explain("total_loss", depth="all"))
    assert "the file says" not in told
    assert told == str(made().explain("total_loss", depth="all"))


@pytest.mark.parametrize("name", ["default", "sleepy"])
def test_every_block_is_found_by_the_address_of_one_of_its_cells(folder: Path, name: str) -> None:
    of = untouched(folder / f"{name}.xlsx")
    sheets = set()
    for i, (block_name, found) in enumerate(of.file.places.items()):
        cells = list(found.cells())
        at, row, column = cells[i * 7 % len(cells)]
        address = f"{found.sheet}!{openpyxl.utils.get_column_letter(column)}{row}"
        told = of.explain(address, depth=1)
        sheets.add(found.sheet)
        value = arrays(of)[block_name][at]
        assert told.value == value or (value != value and told.value != told.value), address
        if of.blocks[block_name].link:
            assert f"{block_name} repeats {told.name}" in told.head
        else:
            assert (told.name, told.cell.replace("'", "")) == (block_name, address)
    assert len(sheets) >= (11 if name == "default" else 4)


@pytest.mark.parametrize(
    "spelled", ["'{sheet}'!{cell}", "{sheet}!{cell}", "{lower}!{small}", "'{lower}'!{dollars}", " {sheet}!{cell} "]
)
def test_an_address_may_be_spelled_in_many_ways(folder: Path, spelled: str) -> None:
    of = untouched(folder / "default.xlsx")
    sheet, _, cell = of.explain("td_errors", n=2, t=4).cell.replace("'", "").partition("!")
    dollars = re.sub(r"([A-Z]+)(\d+)", r"$\1$\2", cell)
    text = spelled.format(sheet=sheet, cell=cell, lower=sheet.lower(), small=cell.lower(), dollars=dollars)
    assert of.explain(text).label == "δ[2, 4]"


def rewritten(path: Path, target: Path, change: Callable[[str], str]) -> Path:
    """Writes a copy of a file with its XML changed."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, change(source.read(name).decode()) if name.endswith(".xml") else source.read(name))
    return target


def test_a_sheet_that_was_renamed_is_found_by_its_new_name(folder: Path, tmp_path: Path) -> None:
    def rename(xml: str) -> str:
        return xml.replace('name="Loss"', 'name="My loss"').replace("Loss!", "'My loss'!")

    of = book_of(rewritten(folder / "default.xlsx", tmp_path / "renamed.xlsx", rename))
    told = of.explain("total_loss")
    assert told.cell.startswith("'My loss'!")
    assert of.explain(told.cell.lower()).name == "total_loss"
    with pytest.raises(NotationError, match=r"^there is no sheet Loss: "):
        of.explain(told.cell.replace("'My loss'", "Loss"))


def test_the_first_sheet_leads_to_what_it_shows(folder: Path) -> None:
    of = untouched(folder / "default.xlsx")
    echo = next(echo for echo in of.layout.echoes if echo.block.name == "total_loss")
    told = of.explain(f"{echo.sheet}!{openpyxl.utils.get_column_letter(echo.column + 1)}{echo.row + 1}")
    assert told.name == "total_loss"
    assert told.head[-1].endswith(f" shows {told.cell}")


@pytest.mark.usefixtures("needs_libreoffice")
def test_rows_that_were_moved_and_recalculated_have_their_new_addresses(folder: Path, tmp_path: Path) -> None:
    lines = [
        'book.Sheets.getByName("Loss").Rows.insertByIndex(2, 3)',
        'book.Sheets.getByName("Loss").Name = "Moved"',
        "book.calculateAll()",
    ]
    edit([Change(folder / "default.xlsx", tmp_path / "moved.xlsx", lines)], tmp_path)
    of, before = book_of(tmp_path / "moved.xlsx"), made().show("ratio", n=1, t=4).cell
    row, after = int(re.sub(r".*\D", "", before)), of.explain("ratio", n=1, t=4)
    assert after.cell == before.replace("Loss", "Moved").replace(str(row), str(row + 3))
    assert of.explain(after.cell).label == "ρ[1, 4]"
    assert after.said is None
