"""The lines of a notebook, each with the front door alone, and each printing what a person reads."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import blueprint as bp
from blueprint import notation
from blueprint.inputs import NumbersError
from blueprint.language import NotationError
from tests.checking.cells import change_sheets
from tests.dumps.batches import batch

MOST = 2000
"""Letters that a line of a notebook prints at most."""
SUMS = [
    {"prompt": "1+1=", "response": "2", "reward": 1.0},
    {"prompt": "1+1=", "response": "3", "reward": 0.0},
    {"prompt": "1+1=", "response": "11", "reward": 0.0},
]


@pytest.fixture(scope="module")
def book() -> bp.Book:
    return bp.build("default")


def test_thirteen_names_are_the_door() -> None:
    assert len(bp.__all__) == 13
    assert all(callable(getattr(bp, name)) for name in bp.__all__)
    assert not {*bp.__all__} & {*notation.__all__}


def test_a_word_of_the_notation_is_found_from_the_door_too() -> None:
    from blueprint import Axis, Sum
    from blueprint import book as made  # type: ignore[attr-defined]

    assert (Axis, Sum, made) == (notation.Axis, notation.Sum, notation.book)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bp.nothing


def test_the_names_of_the_door_stay_when_rooms_are_opened() -> None:
    rooms = "blueprint.comparison, blueprint.worksheets, blueprint.inputs, blueprint.commands.which, blueprint.checking"
    code = f"import blueprint as bp; import {rooms}; print([n for n in bp.__all__ if not callable(getattr(bp, n))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_a_book_shows_a_card(book: bp.Book) -> None:
    first, result, *_, last = repr(book).splitlines()
    assert first.startswith("The old dog is … (numbers default, level weights, preset default")
    assert result.strip().startswith("L = 0.1055  ")
    assert "book['total_loss']" in result
    assert last.strip().startswith(f"{len(book.blocks)} quantities: book[name] for one of kl.used, rewards, td_errors")
    assert len(repr(book)) < MOST


def test_a_card_reads_nothing_as_html() -> None:
    shown = bp.build({"level": "weights", "title": "<b>bold</b>"})._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert "<b>bold</b>" not in shown


def test_the_loss_is_a_number_and_a_symbol_finds_its_row(book: bp.Book) -> None:
    assert book.loss == pytest.approx(0.1055, abs=5e-5)
    assert book["loss"].equals(book["total_loss"])
    assert book["Â"].equals(book["advantages_used"])
    sweep = [bp.build(set={"ppo.gamma": gamma}).loss for gamma in (0.9, 0.95)]
    assert sweep[0] == book.loss != sweep[1]


def test_a_book_that_is_asked_for_numbers_makes_no_notes_and_guides() -> None:
    asked = bp.build("default")
    assert asked.loss == asked.values.cell(asked.blocks["total_loss"])
    assert "blueprint" not in vars(asked)
    assert [sheet.title for sheet in asked.blueprint.sheets if sheet.title in ("First hour", "Notes")]
    assert list(asked.blocks.values()) == asked.blueprint.blocks()


def test_a_book_without_a_result_says_so() -> None:
    t = notation.Axis("t", "day", start=1)
    x, twice = notation.typed("x", (t,)), notation.block("twice", (t,))
    twice[t] = 2 * x[t]
    own = notation.book("Own", [x, twice], t, {x: [1, 2]})
    with pytest.raises(NotationError, match="Own leads to no single number"):
        _ = own.loss
    assert repr(own).startswith("Own\n")
    with pytest.raises(NotationError, match="Own names no steps"):
        own.walk(t=1)


def test_a_book_whose_result_is_a_table_shows_a_card_and_refuses_the_loss() -> None:
    sleepy = bp.build("very-very-sleepy")
    assert "A = a table, 1 × 3  advantage" in repr(sleepy)
    with pytest.raises(NotationError, match=r"one for each episode and position; write book\['advantages'\]"):
        _ = sleepy.loss
    assert sleepy["loss"].equals(sleepy["advantages"])


@pytest.mark.parametrize("name", bp.built_in().index)
def test_each_built_in_book_shows_a_card(name: str) -> None:
    assert repr(bp.build(name)).count("\n") >= 2


def test_a_walk_is_a_row_for_each_step(book: bp.Book) -> None:
    walk = book.walk(n=1, t=5)
    assert walk.loc["td_errors", "numbers"] == "1·(0.02669 + 0.9·0.32238 − 0.6931) = −0.3763"
    assert [*walk.index][-1] == "total_loss"
    assert walk.value.map(float).notna().all()
    shown = walk._repr_html_()
    assert all(escape(text, quote=False) in shown for text in (*walk.equation, *walk.numbers))
    with pytest.raises(NotationError, match="z: no step has such an axis; write one of n, t"):
        book.walk(z=1)


def test_what_there_is_by_name() -> None:
    assert bp.built_in().index[0] == "default"
    assert {"grpo", "dpo", "sft", "classic"} <= {*bp.built_in().index}
    assert bp.presets().loc["verl", "version"]
    assert {"trl_dr_grpo", "verl_gspo"} <= {*bp.presets("grpo").index}
    with pytest.raises(NumbersError, match="kl-controller: this kind of workbook has no presets"):
        bp.presets("kl-controller")


def test_two_libraries_are_compared_on_one_batch() -> None:
    found = bp.which("ten-libraries", "verl", "openrlhf")
    assert [*found.index] == ["default", "verl", "openrlhf"]
    assert found.iloc[0, 0] != found.iloc[1, 0]
    assert found.loc["default", "moved most by"] == ""
    assert found.loc["verl", "moved most by"]
    with pytest.raises(NumbersError, match="libraries can be compared only from weights or logits on"):
        bp.which("very-very-sleepy")


@pytest.mark.parametrize("rows", [SUMS, pd.DataFrame(SUMS), lambda: iter(SUMS)], ids=["dicts", "a table", "one by one"])
def test_rows_of_ones_own_are_a_book(rows: Any) -> None:
    made = bp.build(rows() if callable(rows) else rows, kind="grpo")
    assert made["advantages"].iloc[0, 0] > 0 > made["advantages"].iloc[1, 0]  # right, and wrong
    assert len(made["advantages"]) == len(SUMS)


def test_rows_without_a_kind_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        NumbersError, match="kind: found None, but rows of your own are of a kind: write one of dpo, grpo"
    ):
        bp.build(SUMS)
    with pytest.raises(
        NumbersError, match=r"^rows: no column is called as a chosen is \(nothing\); call one chosen, or"
    ):
        bp.build([{"nothing": 1}], kind="dpo")


@pytest.mark.parametrize(
    ("kind", "row", "says"),
    [
        ("dpo", {"prompt": "p", "chosen": float("nan"), "rejected": "a"}, "there is no chosen response"),
        ("dpo", {"prompt": "p", "chosen": "a", "rejected": float("nan")}, "there is no rejected response"),
        ("sft", {"prompt": "p", "response": float("nan")}, "nothing is to be learned of it"),
        ("grpo", {"prompt": "p", "response": float("nan"), "reward": 1.0}, "found no token in any response"),
    ],
)
def test_a_text_that_a_table_lacks_is_no_token(kind: str, row: dict[str, Any], says: str) -> None:
    """pandas has NaN where a cell is empty; as a text it would be the token nan."""
    for rows in ([row], pd.DataFrame([row]), pd.DataFrame([row]).convert_dtypes()):  # the last has pandas' own NA
        with pytest.raises(NumbersError, match=says):
            bp.build(rows, kind=kind)


def test_a_worksheet_of_a_book(book: bp.Book) -> None:
    made = bp.worksheet(book, 4, topic="gae", seed="7")
    assert len(made.blanks) == 4
    assert {blank.block.name for blank in made.blanks} <= {*book.blueprint.topics["gae"]}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (lambda book, at: book.save(at / "x.txt"), "x.txt does not end in .xlsx, by which programs know a workbook: name it so"),
        (lambda book, at: book.page(at / "x.txt"), "x.txt does not end in .html, by which browsers know a page: name it so"),
        (lambda book, at: book.save(at), "is a directory: give the name of a file, such as"),
        (lambda book, at: book.save("a\0b.xlsx"), "'a\\x00b.xlsx' cannot be written: there is a null byte in the name"),
        (lambda book, at: bp.open("a\0b.xlsx"), "'a\\x00b.xlsx' cannot be opened: embedded null byte"),
        (lambda book, at: bp.check("a\0b.xlsx"), "'a\\x00b.xlsx' cannot be opened: embedded null byte"),
        (lambda book, at: bp.worksheet("default"), "book: found 'default', expected a book, as in bp.worksheet(bp.build("),  # type: ignore[arg-type]
        (lambda book, at: bp.build(3), "numbers: found 3, expected a name, a path, tables, or rows of your own"),
        (lambda book, at: bp.build("default", set={3: 4}), "set: found {3: 4}, expected other values by key: set={"),  # type: ignore[dict-item]
        (lambda book, at: bp.build("default", set={"ppo.gamma": None}), "ppo.gamma: found nothing, expected a number, a word"),
        (lambda book, at: book.explain(None), "None: ask for a block by its name, or for a cell by its address, such as"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_refused_and_writes_nothing(
    book: bp.Book, tmp_path: Path, line: Callable[[bp.Book, Path], object], says: str
) -> None:
    folder = tmp_path / "x.xlsx"  # a folder whose name is a workbook's
    folder.mkdir()
    with pytest.raises((ValueError, OSError)) as refused:
        line(book, folder)
    assert says in str(refused.value)
    assert not [*folder.iterdir()]


RUN = min((Path(__file__).parent / "data" / "real" / "trl_1_12").rglob("*.safetensors"))
A_PATH = "expected the path of a file, as in bp.verify("
REFUSED: list[tuple[Callable[[Any, Any], object], str, str]] = [
    (lambda bp, book: bp.verify(), "MinibatchError", "paths: found (), expected one or more, as in bp.verify("),
    (lambda bp, book: bp.verify(3), "MinibatchError", f"paths: found 3, {A_PATH}"),
    (lambda bp, book: bp.verify([RUN]), "MinibatchError", 'or several, each by itself: bp.verify("run.safetensors", …)'),
    (lambda bp, book: bp.verify(RUN, preset=3), "MinibatchError", "preset: found 3, expected a name: preset='verl'"),
    (lambda bp, book: bp.verify(RUN, set="a=1"), "MinibatchError", "set: found 'a=1', expected other values by key: set={"),
    (lambda bp, book: bp.verify(RUN, tolerance="a"), "MinibatchError", "tolerance: found 'a', expected a factor, 1e-06 or more"),
    (lambda bp, book: bp.verify(RUN, tolerance=-1), "MinibatchError", "tolerance: found -1, expected a factor"),
    (lambda bp, book: bp.verify(RUN, device="gpu"), "MinibatchError", "device gpu: torch cannot compute in float64 there"),
    (lambda bp, book: bp.which(3), "NumbersError", "numbers: found 3, expected a name, a path or tables"),
    (lambda bp, book: bp.which("ten-libraries", ["verl"]), "NumbersError", "presets: found ['verl'], expected names, each by its"),
    (lambda bp, book: bp.which("ten-libraries", set="a"), "NumbersError", "set: found 'a', expected other values by key"),
    (lambda bp, book: bp.which("ten-libraries", set={3: 1}), "NumbersError", "set: found {3: 1}, expected other values by key"),
    (lambda bp, book: bp.presets(["default"]), "NumbersError", "numbers: found ['default'], expected a name, a path or tables"),
    (lambda bp, book: bp.worksheet(book, "12"), "WorksheetError", "blanks: found '12', expected a whole number"),
    (lambda bp, book: bp.worksheet(book, True), "WorksheetError", "blanks: found True, expected a whole number"),
    (lambda bp, book: bp.worksheet(book, 4, level="1"), "WorksheetError", "level: found '1', expected a whole number"),
    (lambda bp, book: bp.worksheet(book, 4, topic=3), "WorksheetError", "topic: found 3, expected a text: topic='gae'"),
    (lambda bp, book: bp.open(None), "ReadError", "path: found None, expected the path of a file, as in bp.open("),
    (lambda bp, book: bp.check(), "ReadError", "paths: found (), expected one or more, as in bp.check("),
    (lambda bp, book: bp.check(["b.xlsx"]), "ReadError", 'or several, each by itself: bp.check("verl.xlsx", …)'),
    (lambda bp, book: bp.compare(3, 4), "MinibatchError", "a: found 3, expected a path, or a list of paths"),
    (lambda bp, book: bp.compare(RUN, RUN, preset=3), "MinibatchError", "preset: found 3, expected a name, or two"),
    (lambda bp, book: bp.compare(RUN, RUN, preset=(3, "verl")), "MinibatchError", "preset: found 3, expected a name"),
    (lambda bp, book: bp.lab(method=None), "LabError", "there is no method None: write one of ppo"),
    (lambda bp, book: bp.lab(set={3: 1}), "LabError", "there is no setting 3: write one of environments"),
    (lambda bp, book: bp.run(3), "NumbersError", "numbers: found 3, expected a name, a path, tables, or the folder of a run"),
    (lambda bp, book: bp.run(set={3: 1}), "NumbersError", "set: found {3: 1}, expected other values by key"),
    (lambda bp, book: bp.run(beta=[]), "NumbersError", "beta: found [], expected a number, or a list of them"),
    (lambda bp, book: bp.run(beta="x"), "NumbersError", "beta: found 'x', expected a number, or a list of them"),
    (lambda bp, book: bp.run(folder=3), "NumbersError", "folder: found 3, expected a path"),
    (lambda bp, book: bp.run(ray=3), "NumbersError", "ray: found 3, expected a name: ray='auto'"),
    (lambda bp, book: bp.build("default", kind="grpo"), "NumbersError", "kind: found 'grpo', but 'default' says its own; leave"),
    (lambda bp, book: bp.build(SUMS, kind=["grpo"]), "NumbersError", "kind: found ['grpo'], but rows of your own are of a kind"),
    (lambda bp, book: bp.build([0, 1], kind="grpo"), "NumbersError", "rows: found 0, expected a dict for each row"),
    (lambda bp, book: bp.build(np.zeros((2, 2)), kind="grpo"), "NumbersError", "rows: found array([0., 0.]), expected a dict"),
    (lambda bp, book: bp.build(pd.Series([1, 2]), kind="grpo"), "NumbersError", "rows: found 1, expected a dict for each row"),
    (lambda bp, book: bp.build(b"default"), "NumbersError", "numbers: found b'default', expected a name, a path, tables"),
    (lambda bp, book: bp.build(gradients="no"), "NumbersError", "gradients: found 'no', expected True or False"),
    (lambda bp, book: book.frames(3), "NotationError", "frames(3): ask for a sheet by its name, as in book.frames('Start')"),
    (lambda bp, book: book.tensors(device="gpu"), "NotationError", "device 'gpu': torch has none of that name here ("),
    (lambda bp, book: book.tensors(dtype="float32"), "NotationError", "dtype float32: without slopes tensors are the book's own"),
    (lambda bp, book: book.tensors(grad=True).slopes(3), "NotationError", "slopes(3): ask by name, as in slopes("),
    (lambda bp, book: book.save(None), "NotationError", "path: found None, expected the path of a file, as in book.save("),
    (lambda bp, book: book.page(3), "NotationError", 'path: found 3, expected the path of a file, as in book.page("page.html")'),
    (lambda bp, book: book.prove(None), "NotationError", "path: found None, expected the path of a file, as in book.prove("),
]  # fmt: skip


@pytest.mark.parametrize(("line", "error", "says"), REFUSED, ids=range(len(REFUSED)))
def test_another_type_than_a_door_takes_is_refused_by_its_own_error(
    book: bp.Book, line: Callable[[Any, bp.Book], object], error: str, says: str
) -> None:
    pytest.importorskip("torch", reason="most of these doors need torch: install the extra [torch]")
    with pytest.raises(Exception, match=re.escape(says)) as refused:
        line(bp, book)
    assert type(refused.value).__name__ == error


def test_verdicts_say_what_deviates_first(book: bp.Book, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="check and verify need torch: install the extra [torch]")
    from blueprint.dumps import save

    path = tmp_path / "x.xlsx"
    book.save(path)
    assert repr(bp.check(path)).startswith(f"<{path}: agrees, ")
    cell = book.spots["td_errors"]
    change_sheets(path, tmp_path / "y.xlsx", {cell.sheet: {"U25": (None, 7.0)}})
    told = repr(bp.check(tmp_path / "y.xlsx"))
    assert ": DIFFERS, " in told
    assert "U25" in told
    save(tmp_path / "run.npz", batch(), {"library": "verl"})
    run = repr(bp.verify(tmp_path / "run.npz", preset="verl"))
    assert run.startswith("<Verdict by ")
    assert max(len(told), len(run)) < MOST
