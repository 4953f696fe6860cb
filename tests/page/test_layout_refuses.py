"""What has no room on a page, no name or no place of its own is refused in a sentence before anything is written."""

from pathlib import Path

import pytest

from blueprint.book import Book, book
from blueprint.language import Axis, Block, NotationError, block, typed
from blueprint.page.outline import Blueprint, Section, Sheet
from tests.audit import formulas, watches
from tests.page.workshop import made

t = Axis("t", "day", start=1)
n = Axis("n", "week", start=1)
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
