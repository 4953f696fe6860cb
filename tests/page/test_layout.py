"""Where the layout puts things, and what it refuses to put anywhere."""

import re
from collections import Counter
from pathlib import Path

import pytest

from blueprint.book import Book, book
from blueprint.language import Axis, Block, NotationError, Sum, block, typed
from blueprint.page import grid
from blueprint.page.engine import with_ironcalc
from blueprint.page.outline import Blueprint, Section, Sheet
from blueprint.page.read import Found, read
from tests.audit import formulas, spoil, watches
from tests.page.workshop import differing, located, made, opened

t = Axis("t", "day", start=1)
n = Axis("n", "week", start=1)
FILES = ["default", "very-very-sleepy", "wide"]
OF_THE_PAGE = re.compile(
    r"""('[^']+'!|\w+!)?[A-Z]+\d+|INDEX\('?[\w &]+'?![$A-Z\d:]+,1,chosen_place\)|IF\(changed_inputs=0,"same","changed"\)"""
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Book, Path]]:
    """Saves the built-in workbooks and one whose weights move to a sheet of their own."""
    books = {name: made(numbers=name) for name in FILES[:2]} | {"wide": made("sizes.vocabulary=11")}
    folder = tmp_path_factory.mktemp("layout")
    for name, each in books.items():
        each.save(folder / f"{name}.xlsx")
    return {name: (each, folder / f"{name}.xlsx") for name, each in books.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_block_has_one_name_and_no_two_share_a_cell(saved: dict[str, tuple[Book, Path]], name: str) -> None:
    made_book, path = saved[name]
    names = opened(path, formulas=True).defined_names
    # And the table of contents, where the chosen column is, what was changed (in two ways), the first formula that was, and
    # whether the text of a formula can be read.
    assert len(names) == len(made_book.values.arrays) + 6
    assert all(len(list(each.destinations)) == 1 for each in names.values())
    cells = Counter((found.sheet, row, column) for found in located(path).values() for _, row, column in found.cells())
    assert [cell for cell, blocks in cells.items() if blocks > 1] == []


@pytest.mark.parametrize("name", FILES)
def test_every_formula_belongs_to_a_block_or_to_a_view(saved: dict[str, tuple[Book, Path]], name: str) -> None:
    _, path = saved[name]
    sheets = opened(path, formulas=True)
    cells = {(found.sheet, row, column) for found in located(path).values() for _, row, column in found.cells()}
    for (sheet, cell), formula in formulas(path).items():
        place = sheets[sheet][cell]
        if (sheet, place.row, place.column) not in cells and not watches(sheet, cell, formula):
            assert OF_THE_PAGE.fullmatch(formula) or sheet in ("One page", "Walk", "Delivered"), (
                f"{sheet}!{cell}: {formula}"
            )


@pytest.mark.parametrize("name", FILES)
def test_names_mean_nothing_else_in_any_program(saved: dict[str, tuple[Book, Path]], name: str) -> None:
    """A name of letters, digits and low lines, beginning with none of the digits, and neither A1 nor R1C1 nor a dot."""
    _, path = saved[name]
    names = list(opened(path, formulas=True).defined_names)
    assert len({each.lower() for each in names}) == len(names)  # a sheet does not tell w from W
    assert [each for each in names if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", each)] == []
    assert [each for each in names if re.fullmatch(r"(?i)[A-Z]{1,3}[0-9]+|R[0-9]*(C[0-9]*)?|C[0-9]*", each)] == []
    assert {"GAMMA", "SUM", "MAX", "TRUE"}.isdisjoint(each.upper() for each in names)


@pytest.mark.parametrize("name", ["LAM1", "eps2", "R", "c", "r1c1", "R2", "XFD1", "gamma", "Sum", "1st", "a.b", "x-y"])
def test_a_number_by_any_name_is_read_by_its_formulas(tmp_path: Path, name: str) -> None:
    """Engines take some names for cells or functions and come to 0 or to an error; the file must avoid them."""
    number, x, y = typed(name), typed("x", (t,)), block("y", (t,))
    y[t] = x[t] * number
    days = book("Days", [number, x, y], t, {number: 2.5, x: [1.0, 3.0]})
    days.save(tmp_path / "days.xlsx")
    spoil(tmp_path / "days.xlsx", tmp_path / "spoiled.xlsx")
    found = with_ironcalc(tmp_path / "spoiled.xlsx")
    assert [value for (sheet, _), value in found.items() if sheet == "Days" and value != ""] == [2.5, 7.5]


def columns(found: Found) -> dict[tuple[int, ...], int]:
    """Returns the column of each episode's decision; the start column is decision 0."""
    first = [not along.start for along in found.shape]
    return {tuple(i + f for i, f in zip(at, first, strict=True)): column for at, _, column in found.cells()}


@pytest.mark.parametrize("name", FILES)
def test_a_column_is_the_same_decision_on_every_sheet(saved: dict[str, tuple[Book, Path]], name: str) -> None:
    _, path = saved[name]
    sheets = opened(path, formulas=True)
    seen: dict[tuple[int, ...], int] = {}
    rows = [found for found in located(path).values() if [along.letter for along in found.shape] == ["n", "t"]]
    for found in rows:
        for at, column in columns(found).items():
            assert seen.setdefault(at, column) == column, f"{found.name} {at}"
    assert len(seen) == len(set(seen.values()))
    decisions = rows[0].shape[1].size
    for sheet in {found.sheet for found in rows}:
        for (_, number), column in seen.items():
            heading = "start" if number == 0 else "end" if number > decisions else number
            assert sheets[sheet].cell(grid.NUMBER_ROW + 1, column).value == heading, f"{sheet} {column}"


def test_a_row_may_read_its_own_episodes_number(tmp_path: Path) -> None:
    """A cell of a group reads the Σ column of that group, whichever it is; the same formula serves every group."""
    x, total, share = typed("x", (n, t)), block("total", (n,)), block("share", (n, t))
    total[n] = Sum(t, x[n, t])
    share[n, t] = x[n, t] / total[n]
    sheet = Sheet("Weeks", "", (Section("All", (x, total, share)),), (n, t))
    weeks = Book(Blueprint("Weeks", (sheet,), {n: 3, t: 2}, {x: [[1, 3], [2, 6], [5, 5]]}))
    weeks.save(tmp_path / "weeks.xlsx")
    assert weeks.prove(tmp_path / "weeks.xlsx").failures == []
    assert weeks.values[share].tolist() == [[0.25, 0.75], [0.25, 0.75], [0.5, 0.5]]
    assert differing(weeks, read(tmp_path / "weeks.xlsx"), 0) == []


# What has no room on a page, no name or no place of its own is refused in a sentence before anything is written.


v = Axis("v", "word")


def doubled(name: str, of: Block) -> Block:
    """Makes a block that doubles another."""
    twice = block(name, of.axes)
    twice[of.axes] = of[of.axes] * 2
    return twice


def refusal(tmp_path: Path, title: str, blocks: list[Block], numbers: dict[Block, object]) -> str:
    """Returns the sentence with which a book is refused; nothing may have been written."""
    with pytest.raises(NotationError) as caught:
        book(title, blocks, t, numbers).save(tmp_path / "book.xlsx")
    assert list(tmp_path.iterdir()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_too_many_columns(tmp_path: Path) -> None:
    x = typed("x", (n, t))
    sheet = Sheet("Weeks", "", (Section("All", (x, doubled("y", x))),), (n, t))
    weeks = Book(Blueprint("Weeks", (sheet,), {n: 55, t: 294}, {x: [[0.0] * 294] * 55}))
    with pytest.raises(NotationError) as caught:
        weeks.save(tmp_path / "book.xlsx")
    assert str(caught.value) == (
        "55 weeks of 294 days need 16,405 columns, a sheet has 16,384: at most 54 weeks of this length fit"
    )
    assert list(tmp_path.iterdir()) == []


def test_too_many_columns_without_groups(tmp_path: Path) -> None:
    x = typed("x", (t,))
    assert refusal(tmp_path, "Days", [x, doubled("y", x)], {x: [0.0] * 16_366}) == (
        "16366 days need 16,385 columns, a sheet has 16,384: at most 16,365 days fit"
    )


def test_too_many_cells_of_one_formula_below_each_other(tmp_path: Path) -> None:
    x = typed("x", (v, t))
    assert refusal(tmp_path, "Words", [doubled("y", x), x], {x: [[0.0]] * 65}) == (
        "y would have 65 cells of one formula below each other (word); above about 100 LibreOffice computes wrong numbers "
        "without a word, so at most 64 are written"
    )
    book("Words", [doubled("y", x), x], t, {x: [[0.0]] * 64}).save(tmp_path / "book.xlsx")
    written = [key for key, formula in formulas(tmp_path / "book.xlsx").items() if not watches(*key, formula)]
    assert sum(sheet == "Words" for sheet, _ in written) == 64


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [("a.b", "a_b", "a_b"), ("w", "W", "w"), ("x y", "x-y", "x_y"), ("gamma", "gamma_", "gamma_")],
)
def test_two_blocks_of_one_name(tmp_path: Path, one: str, other: str, name: str) -> None:
    first, second = typed(one, (t,)), typed(other, (t,))
    assert refusal(tmp_path, "Two", [first, second], {first: [1.0], second: [2.0]}) == (
        f"{one} and {other} would both be called {name} in a sheet: rename one"
    )


def test_a_block_that_stands_twice(tmp_path: Path) -> None:
    x = typed("x", (t,))
    assert refusal(tmp_path, "Days", [x, x], {x: [1.0]}) == (
        "x stands on Days and again on Days: use link(…) for the second"
    )


def test_a_block_that_is_read_but_stands_nowhere(tmp_path: Path) -> None:
    x = typed("x", (t,))
    y = doubled("y", x)
    sentence = refusal(tmp_path, "Days", [doubled("z", y)], {x: [1.0]})
    assert [word for word in ("z", "y", "stands") if word not in sentence] == []


@pytest.mark.parametrize("title", ["a/b", "thirty-two letters are too many …", "contents", "'quoted'"])
def test_a_title_that_no_sheet_may_have(tmp_path: Path, title: str) -> None:
    x = typed("x", (t,))
    assert title in refusal(tmp_path, title, [x], {x: [1.0]})


def test_the_name_of_the_table_of_contents_is_taken(tmp_path: Path) -> None:
    x = typed("blueprint.contents", (t,))
    assert "blueprint_contents" in refusal(tmp_path, "Days", [x], {x: [1.0]})


LIMITS = {
    "a text of 500 words": (
        "sizes.vocabulary=2", "sizes.hidden=1", "sizes.embedding=1", "sizes.episodes=1", "sizes.prompt=4",
        "sizes.max_new_tokens=496",
    ),
    "64 episodes": (
        "sizes.vocabulary=2", "sizes.hidden=1", "sizes.embedding=1", "sizes.episodes=64", "sizes.prompt=1",
        "sizes.max_new_tokens=1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_sizes_at_the_limits_work(tmp_path: Path, name: str) -> None:
    """The largest vocabulary and models are built and recalculated in `test_recalculation.py`."""
    largest = made(*LIMITS[name])
    formulas = largest.save(tmp_path / "book.xlsx")
    proof = largest.prove(tmp_path / "book.xlsx")
    assert (proof.total, proof.agreeing) == (formulas, formulas)
