"""The workbook of classic PPO: plain formulas, live presets, checks that see mistakes, labels that fit, notes that belong."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.book import Book
from blueprint.page import read as reading
from blueprint.workbooks.classic_ppo.rollout import CLASSIC, classic_presets
from tests.page.finished import Engine
from tests.page.workshop import differing, made
from tests.workbooks.test_classic_golden import RUNS

BUILDS = {"default": (), "torchrl": ("preset=torchrl",)}
BOOKS = {name: made(*overrides, numbers="classic") for name, overrides in BUILDS.items()}
SHEETS = ["Start", "Inputs", "Rollout", "Advantage", "Loss", "Diagnostics", "Checks", "Glossary", "Notes"]


@pytest.fixture(scope="module", params=BOOKS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Path]:
    """Saves one of the workbooks after the other."""
    path = tmp_path_factory.mktemp("classic") / f"{request.param}.xlsx"
    BOOKS[request.param].save(path)
    return BOOKS[request.param], path


class Opened:
    """A workbook in an engine, to be typed into by the names of blocks."""

    def __init__(self, book: Book, folder: Path):
        book.save(folder / "opened.xlsx")
        self.book, self.engine = book, Engine(folder / "opened.xlsx")

    def place(self, name: str, *at: int) -> tuple[str, int, int]:
        """Returns sheet, row and column of a cell, counted from 1."""
        block = self.book.blocks[name]
        row, column = self.book.layout.places[block].cell(block, at)
        return self.book.layout.places[block].sheet, row + 1, column + 1

    def type(self, name: str, value: float | str, *at: int) -> None:
        """Types into a cell and computes everything anew."""
        self.engine.type(*self.place(name, *at), value)
        self.engine.evaluate()

    def says(self, name: str) -> float | str | None:
        """Returns what a single cell comes to."""
        return self.engine.value(*self.place(name))


def test_the_sheets_in_reading_order() -> None:
    assert [sheet.title for sheet in BOOKS["default"].blueprint.sheets] == SHEETS


def test_a_reader_finds_every_block_again(saved: tuple[Book, Path]) -> None:
    assert differing(saved[0], reading.read(saved[1]), tolerance=1e-15) == []


def test_the_preset_is_live(tmp_path: Path) -> None:
    """Typing another preset into Inputs gives that library's loss; the definitions are not asked again."""
    opened = Opened(BOOKS["default"], tmp_path)
    sb3, rlax = RUNS["stable_baselines3_2.9.2_PPO"]["result"], RUNS["rlax_0.1.9"]["result"]
    opened.type("preset", "sb3")
    assert opened.says("total_loss") == pytest.approx(sb3["loss"], rel=0, abs=1e-12)
    assert opened.says("check.master") == "OK"
    opened.type("preset", "rlax")
    theirs = rlax["clipped_surrogate_pg_loss_unnormalised_adv"]
    assert opened.says("total_loss") == pytest.approx(theirs, rel=0, abs=1e-12)
    opened.type("vf_coef.yours", 0.25)
    assert opened.says("vf_coef") == 0.25


def test_another_norm_than_the_one_that_was_built_is_seen(tmp_path: Path) -> None:
    """TorchRL's smooth L1 has other rows: picked in a file built with squares, Checks says LOOK; with yours = l2 not."""
    opened = Opened(BOOKS["default"], tmp_path)
    opened.type("preset", "torchrl")
    assert (opened.says("check.norm.verdict"), opened.says("check.master")) == ("LOOK", "LOOK")
    opened.type("value_norm.yours", "l2")
    assert opened.says("check.master") == "OK"
    assert [b.name for b in BOOKS["default"].blueprint.blocks() if b.name.endswith(".size")] == []
    assert [b.name for b in BOOKS["torchrl"].blueprint.blocks() if b.name.endswith(".size")] == [
        "value.size", "value.clipped.size",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "value", "check"),
    [
        ("actions", 4, "check.actions"),
        ("done", 2, "check.done"),
        ("terminated", 1, "check.terminated"),
        ("gamma.yours", 1.5, "check.settings"),
    ],
)
def test_what_is_typed_wrong_in_the_workbook_is_a_look(tmp_path: Path, block: str, value: float, check: str) -> None:
    opened = Opened(BOOKS["default"], tmp_path)
    opened.type(block, value, *(0 for _ in opened.book.blocks[block].axes))
    assert opened.says(f"{check}.verdict") == "LOOK"
    assert opened.says("check.master") != "OK"


def test_a_value_at_the_edge_of_its_range_is_inside_in_every_program(tmp_path: Path) -> None:
    """0.9 − 0.7 is 0.2 and a rounding error, which numpy sees and a spreadsheet does not; neither counts it."""
    olds, news = ([[number] * 8] * 2 for number in (0.7, 0.9))
    book = made(f"rollout.values_old={olds}", f"rollout.values_new={news}", numbers="classic")
    assert 0.9 - 0.7 > 0.2
    assert float(book.values.cell(book.blocks["value_fraction"])) == 0
    book.save(tmp_path / "a.xlsx")
    assert book.prove(tmp_path / "a.xlsx").failures == []


def test_the_end_column_holds_what_comes_after_the_last_step() -> None:
    book = BOOKS["default"]
    shown = book.show("td_errors", n=1, t=8)
    assert shown.numbers == "(−0.69) + 0.99·(1 − 0)·(−0.02) − (−1.23) = 0.5202"
    assert book.layout.address(book.blocks["values.old"], (0, 8)) == "Rollout!Y15"


def test_every_preset_has_a_value_that_may_stand_there_and_a_name_for_every_setting() -> None:
    catalogue = classic_presets()
    assert list(catalogue.presets) == ["default", "cleanrl", "sb3", "torchrl", "rlax"]
    assert all(setting.symbol and setting.meaning for setting in CLASSIC.values())
    for preset in catalogue.presets.values():
        assert set(preset.values) == set(CLASSIC)
        for key, value in preset.values.items():
            setting = CLASSIC[key]
            assert value in setting.words if setting.words else setting.low <= float(value) <= setting.high, key
    assert catalogue.preset("default").values == catalogue.preset("cleanrl").values
