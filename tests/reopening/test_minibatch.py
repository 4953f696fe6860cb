"""A workbook of a training minibatch becomes a book again, and is rebuilt; its numbers stay those of the dump."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pytest

from blueprint.page.read import ReadError
from blueprint.reopening import book_of, numbers_in
from tests.page.workshop import differing
from tests.reopening.typing_in import all_typed_into, typed_into
from tests.replayed import window_book, with_everything_logged


@pytest.fixture(scope="module")
def minibatch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the workbook of the three worst responses."""
    path = tmp_path_factory.mktemp("minibatch") / "verl.xlsx"
    window_book("verl").save(path)
    return path


@pytest.mark.parametrize("preset", ["verl", "trl_1.12", "nemo_rl", "everything logged"])
def test_a_saved_minibatch_is_the_book_and_rebuilds_byte_for_byte(preset: str, tmp_path: Path) -> None:
    """But for zeros with a sign, which openpyxl reads without it."""
    logged = preset == "everything logged"
    of = window_book(batch=with_everything_logged()) if logged else window_book(preset)
    of.save(tmp_path / "run.xlsx")
    saved = book_of(tmp_path / "run.xlsx")
    assert differing(of, {each.name: array for each, array in saved.values.arrays.items()}, 0) == []
    saved.save(tmp_path / "again.xlsx")
    with zipfile.ZipFile(tmp_path / "run.xlsx") as one, zipfile.ZipFile(tmp_path / "again.xlsx") as two:
        assert one.namelist() == two.namelist()
        for part in one.namelist():
            assert one.read(part).replace(b"<v>-0</v>", b"<v>0</v>") == two.read(part).replace(
                b"<v>-0</v>", b"<v>0</v>"
            ), part


def test_what_was_typed_counts_and_cells_are_explained(minibatch: Path, tmp_path: Path) -> None:
    edited = book_of(
        all_typed_into(minibatch, tmp_path / "edited.xlsx", {"preset": "openrlhf", "old.logprobs": "-1,5"})
    )
    assert float(edited.values.arrays[edited.blocks["old.logprobs"]][0, 0]) == -1.5
    assert edited.explain("preset").value == "openrlhf"
    assert len(edited.remarks()) == 1


def test_a_copy_without_properties_is_known_by_its_blocks(minibatch: Path, tmp_path: Path) -> None:
    copy = openpyxl.load_workbook(minibatch)
    for prop in list(copy.custom_doc_props.props):
        del copy.custom_doc_props[prop.name]
    copy.save(tmp_path / "copy.xlsx")
    assert book_of(tmp_path / "copy.xlsx").blueprint.facts["level"] == "minibatch"


def test_its_numbers_are_not_for_a_numbers_file(minibatch: Path, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"shows a part of a training minibatch, which numbers files do not hold"):
        numbers_in(minibatch)
    with pytest.raises(ReadError, match=r"\(mask\): found 'abc', expected a number$"):
        book_of(typed_into(minibatch, tmp_path / "odd.xlsx", "mask", (0, 0), "abc"))
