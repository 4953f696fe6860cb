"""Nothing on a sheet is clipped and nothing shows ####, in the built-in workbooks and in larger ones."""

from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook

from tests.page.fits import clipped, shown
from tests.page.workshop import MAINS, SLOPED, save_made
from tests.replayed import window_book, with_everything_logged

BUILDS = {
    "default": ((), "default"),
    "very-very-sleepy": ((), "very-very-sleepy"),
    "larger": (("sizes.vocabulary=20", "sizes.hidden=8", "sizes.episodes=4"), "default"),
    "largest words": (("sizes.vocabulary=64", "sizes.hidden=32", "sizes.embedding=31", "sizes.max_new_tokens=2"), "default"),
    "large numbers": (("ppo.kl_coef=100", "ppo.update_step=-10", "ppo.vf_coef=100", "ppo.whiten_eps=0.000000000001"), "default"),
    **{name: ((), name) for name in MAINS.values() if name not in SLOPED and name != "q-learning"},
    "q-learning-path": ((), "q-learning-path"),
}  # fmt: skip

# Not measured here: pages whose columns are not made for long words of conventions and limits that are off.
ELSEWHERE = ("Walk", "Delivered", "Contents")
OTHERS = {
    "ten-libraries": ((), "ten-libraries"),
    "live default": (("conventions=live",), "default"),
    "classic": ((), "classic"),
    "smooth": (("preset=torchrl",), "classic"),
    "gradients": (("gradients=on",), "default"),
}


@pytest.mark.parametrize("name", BUILDS)
def test_every_number_and_every_label_has_room(tmp_path: Path, name: str) -> None:
    overrides, numbers = BUILDS[name]
    save_made(tmp_path / "a.xlsx", *overrides, numbers=numbers)
    assert list(clipped(tmp_path / "a.xlsx")) == []


@pytest.mark.parametrize("name", OTHERS)
def test_every_row_of_live_conventions_has_room(tmp_path: Path, name: str) -> None:
    overrides, numbers = OTHERS[name]
    save_made(tmp_path / "a.xlsx", *overrides, numbers=numbers)
    assert [each for each in clipped(tmp_path / "a.xlsx") if each.sheet not in ELSEWHERE] == []


def test_weights_after_a_step_have_room_for_their_digits(tmp_path: Path) -> None:
    """They have more decimals than weights that are typed; a number without room shows ####."""
    save_made(tmp_path / "a.xlsx", "update.epochs=2", numbers="epochs")
    found = [each for each in clipped(tmp_path / "a.xlsx") if each.sheet not in ELSEWHERE]
    assert [each for each in found if each.text.strip("−-0123456789.E+") == ""] == []


def test_every_row_of_a_minibatch_has_room(tmp_path: Path) -> None:
    window_book(columns=64, batch=with_everything_logged()).save(tmp_path / "a.xlsx")
    assert [each for each in clipped(tmp_path / "a.xlsx") if each.sheet not in ELSEWHERE] == []


def test_a_narrow_column_is_seen(tmp_path: Path) -> None:
    save_made(tmp_path / "a.xlsx")
    book = load_workbook(tmp_path / "a.xlsx", data_only=True)
    book["Loss"].column_dimensions["T"].width = 4
    book["Loss"][
        "B11"
    ].value = "a heading that is far too long for the two columns in which it stands alone, and for more"
    book["Loss"]["D11"].value = "equation"
    book.save(tmp_path / "b.xlsx")
    found = [each.cell for each in clipped(tmp_path / "b.xlsx") if each.sheet == "Loss"]
    assert "B11" in found
    assert any(cell.startswith("T") for cell in found)


@pytest.mark.parametrize(
    ("value", "code", "width"), [(-10.0, "0.0000", 6.0), (123456.0, "0.000", 8.0), (0.25, "0.0##", 2.5)]
)
def test_a_number_is_measured_as_it_is_shown(tmp_path: Path, value: float, code: str, width: float) -> None:
    book = Workbook()
    page = book.active
    page["A1"].value, page["A1"].number_format = value, code
    page.column_dimensions["A"].width = width
    book.save(tmp_path / "a.xlsx")
    assert [each.cell for each in clipped(tmp_path / "a.xlsx")] == ["A1"]
    page.column_dimensions["A"].width = 2 * width
    book.save(tmp_path / "a.xlsx")
    assert not list(clipped(tmp_path / "a.xlsx"))


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (1.0, '"differs";;"·"', "differs"),
        (0.0, '"differs";;"·"', "·"),
    ],
)
def test_a_number_that_reads_as_a_word_is_measured_as_the_word(value: float, code: str, text: str) -> None:
    page = Workbook().active
    page["A1"].value, page["A1"].number_format = value, code
    assert shown(page["A1"]) == text
