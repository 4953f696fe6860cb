"""A formula that somebody overwrote is seen, and where: whatever else was typed; and nothing else is accused."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle, product
from pathlib import Path

import pytest
from openpyxl import load_workbook
from openpyxl.utils.cell import get_column_letter

from blueprint.page import grid
from blueprint.page.cells import runs
from blueprint.page.formulas import NOT_ALL_SEEN, PROBE_ROW, VERDICT, WATCH, watch_of
from tests.checking.cells import change
from tests.page.soffice import with_libreoffice
from tests.page.watching import CHAIN, KINDS, Spot, Watched, watched
from tests.page.workshop import made

SEEN = "a number or a text stands where a formula was"
ENDED = "no number: what was typed is too large, empty, not in a list, or leads to a division by 0"
UNSEEN = f"{ENDED}; the result does not read it"
UNWATCHED = "the formula in column A, which watches this row, was overwritten"
REPLACED = "other values than delivered, though no input was changed: a formula here, or one that it reads, is another"
FINE = ("same", "")
INPUTS: dict[str, list[tuple[str, tuple[int, ...], str]]] = {
    "default": [("gamma.yours", (), "0.7"), ("old.E", (2, 1), "-0.3"), ("given", (0, 0), "happy")],
    "ten-libraries": [("gamma.yours", (), "0.7"), ("preset", (), "verl"), ("old.logits", (0, 3, 2), "2")],
    "classic": [("gamma.yours", (), "0.7"), ("rewards", (0, 3), "2")],
    "kl-controller": [("responses.kl", (1, 1), "3")],
    "very-very-sleepy": [("gamma.yours", (), "0.7")],
    "a minibatch": [("mask", (0, 1), "0")],
    "somebody's own": [("plan", (1,), "0")],
    "long rows": [("plan", (1,), "0")],
}
"""By kind: inputs, and what is typed there."""
COUNTS = dict.fromkeys(KINDS, 24) | {"default": 80, "ten-libraries": 16, "somebody's own": 8}
"""By kind, how many cells are overwritten, one at a time: 200 in all."""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Returns one kind of workbook after the other."""
    return str(request.param)


@contextmanager
def typed(file: Watched, *inputs: tuple[str, tuple[int, ...], str]) -> Iterator[None]:
    """Types into inputs, and types the delivered values again at the end."""
    spots = [(file.of(name, *at), text) for name, at, text in inputs]
    before = [(spot, file.value(spot)) for spot, _ in spots]
    for spot, text in spots:
        file.type(spot, text)
    try:
        yield
    finally:
        for spot, value in before:
            file.type(spot, "" if value is None else str(value))


def place(spot: Spot) -> str:
    """Returns how the sentence begins that names a cell's row."""
    return f"{spot[0]}, row {spot[1]}: "


def another(file: Watched, spot: Spot) -> str:
    """Returns another formula of another value than the one of a cell."""
    formula = str(file.formula(spot))
    return f'{formula}&"x"' if isinstance(file.value(spot), str) else f"=0.0137+1.0031*({formula[1:]})"


def test_an_untouched_workbook_is_not_accused(kind: str) -> None:
    assert watched(kind).says() == FINE
    assert watched(kind).on_start() in (("OK", ""), FINE)


def test_changed_inputs_are_not_accused(kind: str) -> None:
    with typed(watched(kind), *INPUTS[kind]):
        assert watched(kind).says() == FINE


@pytest.mark.parametrize(
    ("kind", "name", "at", "text", "first"),
    [
        ("default", "old.E", (2, 1), "word", "policy.E"),  # SUMPRODUCT takes a word for 0
        ("default", "vocabulary", (3,), "", "given_id"),
        ("very-very-sleepy", "old.logprobs", (0, 1), "-800", "kl.k3"),
    ],
    indirect=["kind"],
)
def test_where_what_is_typed_leads_to_no_number_the_first_row_is_named(
    kind: str, name: str, at: tuple[int, ...], text: str, first: str
) -> None:
    """The formulas are whole, so none is accused; the errors stay visible, and Start says where they begin.

    (In the loop of drawing, where every row is before every other one, it is the uppermost on the sheet.)
    """
    file = watched(kind)
    with typed(file, (name, at, text)):
        sheet, row, _ = file.of(first, *[0] * len(file.book.blocks[first].axes))
        verdict, said = file.on_start()
        place, _, why = str(said).partition(": ")
        assert verdict == "LOOK"  # of kl.k3 a check has no number any more
        assert why == (UNSEEN if first == "kl.k3" else ENDED)
        assert place in {f"{sheet}, row {row + each}" for each in range(len(file.book.values[file.book.blocks[first]]))}


def test_a_constant_is_always_seen_and_its_row_is_named(kind: str) -> None:
    file = watched(kind)
    ways = product(([], INPUTS[kind]), ("0.5", "=0.5"))
    missed = []
    for spot, (changes, text) in zip(file.some(COUNTS[kind], seed=1), cycle(ways), strict=False):
        with typed(file, *changes), file.overwritten(spot, text):
            if file.on_start() != ("LOOK", place(spot) + SEEN):
                missed.append((spot, changes, text, file.on_start()))
    assert missed == []


def test_another_formula_is_seen_while_the_inputs_are_as_delivered(kind: str) -> None:
    file = watched(kind)
    missed = []
    for spot in file.some(COUNTS[kind] // 3, seed=2):
        with file.overwritten(spot, another(file, spot)):
            verdict, said = file.on_start()
        if verdict != "LOOK" or not str(said).endswith(REPLACED):
            missed.append((spot, said))
    assert missed == []


def test_what_the_page_itself_picks_and_prints_is_seen_whatever_is_typed() -> None:
    file = watched("default")
    with typed(file, *INPUTS["default"]):
        on_walk = [spot for spot in file.formulas if spot[0] == "Walk"]
        for spot in (*on_walk[:: len(on_walk) // 5], file.of("word_read", 0, 3)):
            with file.overwritten(spot, another(file, spot)):
                assert file.on_start() == ("LOOK", place(spot) + REPLACED)


@pytest.mark.parametrize("text", ["0", "word", "=-0.5", "=+0.5", "=(1/2)", "=50%", "=1E-3", '="word"', "=TRUE", "=2*3"])
def test_every_way_to_write_a_constant_is_seen(text: str) -> None:
    file = watched("very-very-sleepy")
    for spot in (file.of("td_errors", 0, 1), file.of("gamma"), next(s for s in file.formulas if s[0] == "Walk")):
        with file.overwritten(spot, text):
            verdict, said = file.on_start()
        assert (verdict, str(said).startswith(place(spot))) == ("LOOK", True), spot


def test_the_value_that_stood_there_is_seen_as_well() -> None:
    file = watched("default")
    spot = file.of("td_errors", 0, 5)
    for text in (repr(file.value(spot)), f"={file.value(spot)!r}"):
        with file.overwritten(spot, text):
            assert file.on_start() == ("LOOK", place(spot) + SEEN)


def test_another_column_may_be_shown() -> None:
    file = watched("default")
    choice = [block.name for block in file.book.blueprint.looks]
    assert len(choice) == 3
    for name in choice:
        with typed(file, (name, (), "2")):
            assert file.says() == FINE, name
        for text in ("99", "word"):  # no decision, so the rows that show it have no number, or clip it
            with typed(file, (name, (), text)):
                verdict, said = file.says()
                assert verdict == "same" or (verdict == "remark" and str(said).endswith(UNSEEN)), (name, text)


def test_every_formula_but_the_chain_is_watched(kind: str) -> None:
    file = watched(kind)
    asked = re.compile(r"(?:FORMULATEXT|ISFORMULA)\((\w+)\)")
    margin = ((sheet, file.formula((sheet, row, 1))) for sheet in file.sheets for row in range(1, 1100))
    seen = {(sheet, cell) for sheet, formula in margin for cell in asked.findall(formula or "") if sheet != "Contents"}
    assert seen == {(sheet, f"{get_column_letter(column)}{row}") for sheet, row, column in file.formulas}


def marks(file: Watched) -> list[Spot]:
    """Returns the watches of a workbook, those below a sheet of rows that are too long for one among them."""
    return [
        (live.sheet, live.row + 1, live.column + 1) for live in watch_of(file.book.layout).lives if live.style == WATCH
    ]


def row_of(file: Watched, mark: Spot) -> list[Spot]:
    """Returns the formulas of the row that a watch belongs to; none of one that stands below a sheet."""
    return [spot for spot in file.formulas if spot[:2] == mark[:2]]


@pytest.mark.parametrize("text", ["", "0", '=""', "=B1", "same"])
def test_a_watch_that_is_cleared_or_overwritten_is_seen_and_its_row_named(kind: str, text: str) -> None:
    file = watched(kind)
    for mark in random.Random(text).sample(marks(file), 4):
        with file.overwritten(mark, text):
            assert file.on_start() == ("LOOK", place(mark) + UNWATCHED), (mark, text)


def test_a_watch_and_a_formula_of_its_row_overwritten_together_are_seen(kind: str) -> None:
    """Whatever is typed elsewhere: a constant or another formula in the row, the watch cleared or overwritten."""
    file, drawn = watched(kind), random.Random(15)
    pairs = [(mark, drawn.choice(row)) for mark in marks(file) if (row := row_of(file, mark))]
    ways = product(([], INPUTS[kind]), ("", "0", '=""'), ("0.5", "=0.5", None))
    for (mark, spot), (changes, cleared, text) in zip(
        drawn.sample(pairs, min(9, len(pairs))), cycle(ways), strict=False
    ):
        with (
            typed(file, *changes),
            file.overwritten(spot, text or another(file, spot)),
            file.overwritten(mark, cleared),
        ):
            assert file.on_start()[0] == "LOOK", (mark, spot, cleared, text)


def test_every_watch_of_a_long_row_and_the_one_on_them_are_watched() -> None:
    file = watched("long rows")
    below = [mark for mark in marks(file) if not row_of(file, mark)]
    summed = [mark for mark in marks(file) if row_of(file, mark)]
    assert below
    for one, other in ((below[0], summed[0]), (below[-1], below[0]), (summed[0], summed[-1])):
        with file.overwritten(one, ""), file.overwritten(other, ""):
            assert file.on_start()[0] == "LOOK", (one, other)


def test_all_watches_of_a_sheet_cleared_are_seen() -> None:
    file = watched("very-very-sleepy")
    with ExitStack() as stack:
        for mark in marks(file):
            if mark[0] == "Walk":
                stack.enter_context(file.overwritten(mark, ""))
        assert file.on_start() == ("LOOK", f"Walk, row {max(m[1] for m in marks(file) if m[0] == 'Walk')}: {UNWATCHED}")


def test_a_line_of_the_sheet_formulas_cleared_is_seen() -> None:
    file = watched("very-very-sleepy")
    line = next(row for row in range(10, 60) if file.value(("Formulas", row, 2)) == "Walk")
    with file.overwritten(("Formulas", line, 4), ""):
        assert file.on_start()[0] == "LOOK"


def test_a_long_row_has_several_watches_and_no_formula_is_too_long() -> None:
    file = watched("long rows")
    lives = [live for live in watch_of(file.book.layout).lives if live.sheet == "Savings" and live.column == 0]
    assert len(lives) > len({spot[1] for spot in file.formulas if spot[0] == "Savings"})
    for kind in KINDS:
        assert max(len(live.formula) for live in watch_of(watched(kind).book.layout).lives) < 8_192


def test_a_number_that_is_off_is_a_word_and_watched_as_one() -> None:
    layout = made(numbers="ten-libraries").layout
    words = [run for run in runs(layout) if run.formulas is not None and not run.block.text and "off" in run.values]
    assert words
    assert len(watch_of(layout).lives) > 100


def test_a_copy_saved_by_openpyxl_is_not_accused(tmp_path: Path) -> None:
    file = watched("very-very-sleepy")
    load_workbook(file.path).save(tmp_path / "a.xlsx")
    assert Watched(tmp_path / "a.xlsx", file.book).on_start() == ("OK", "")


def test_libreoffice_sees_it_as_well(needs_libreoffice: None, tmp_path: Path) -> None:
    file = watched("very-very-sleepy")
    ways: list[tuple[str | None, float]] = [(None, 0.5), ("0.5", 0.5)]
    spots = [spot for spot in file.some(40, seed=3) if not isinstance(file.value(spot), str)][:6]
    copies = [tmp_path / f"{number}.xlsx" for number, _ in enumerate(spots)]
    for copy, (sheet, row, column), way in zip(copies, spots, cycle(ways), strict=False):
        change(file.path, copy, sheet, {f"{get_column_letter(column)}{row}": way})
    untouched, *found = with_libreoffice([file.path, *copies])
    assert (untouched["Formulas", "D4"], untouched["Formulas", "E4"] or "") == FINE
    for spot, cells in zip(spots, found, strict=True):
        assert (cells["Formulas", "D4"], cells["Formulas", "E4"]) == ("LOOK", place(spot) + SEEN)


def test_where_a_formula_s_text_cannot_be_read_nothing_is_called_overwritten_and_a_line_says_so() -> None:
    """As in Gnumeric, which has no FORMULATEXT: a cell that is none of its own values is seen all the same."""
    file = watched("very-very-sleepy")
    probe, spot = (CHAIN, PROBE_ROW + 1, VERDICT + 1), file.of("td_errors", 0, 1)
    assert file.value(probe) == 1
    with file.overwritten(probe, "0"):
        assert file.on_start() == ("OK", NOT_ALL_SEEN)
        with file.overwritten(spot, repr(file.value(spot))):
            assert file.on_start() == ("OK", NOT_ALL_SEEN)
        with file.overwritten(spot, "0.5"):
            assert file.on_start() == ("LOOK", place(spot) + REPLACED)


def test_in_how_many_parts_one_page_is_watched_is_no_other_formula() -> None:
    """It hangs on the numbers; what is largest of another range, or of more than one, stays as it is."""
    assert grid.with_one_part("=MAX(J58:K58)") == grid.with_one_part("=MAX(J58)") == "=MAX(J58)"
    for other in ("MAX(J58,K58)", "=MAX($J$58:$K$58)", "=MAX(J58:K58)+1", "=SUM(J58:K58)"):
        assert grid.with_one_part(other) == other
