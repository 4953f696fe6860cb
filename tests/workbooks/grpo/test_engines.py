"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import NoNumber
from blueprint.workbooks import blueprint_of
from tests.audit import spoil
from tests.page.basic import Change, edit
from tests.page.workshop import Array, made
from tests.workbooks.grpo.apart import apart, distance
from tests.workbooks.grpo.recorded import runs
from tests.workbooks.switched import Switchboard, blocks_of_tables, types

RECORDED = {
    "trl_grpo": ("trl_1.16.0_GRPOTrainer", "grpo"), "trl_rloo": ("trl_1.16.0_RLOOTrainer", "default"),
    "trl_0.14": ("trl_0.14.0_GRPOTrainer", "default"), "verl_grpo": ("verl_0.9.1", "grpo_default"),
    "verl_rfpp": ("verl_0.9.1", "reinforce_plus_plus"), "verl_gspo": ("verl_0.9.1", "gspo_paper_eps"),
    "verl_cispo": ("verl_0.9.1", "cispo_default_clip"), "openrlhf": ("openrlhf_0.11.2", "group_norm"),
    "nemo_rl": ("nemo_rl_7ea279a", "grpo_default"), "open_instruct": ("open_instruct_e6c3044", "default"),
    "default": ("trl_1.16.0_GRPOTrainer", "default_later_step"),
}  # fmt: skip
"""Ten presets and the default: library and variant of the run that the preset repeats."""
# Both compute in double precision, and sum in an order of their own; LibreOffice writes 15 digits.
TOLERANCE = 1e-12


@cache
def book(preset: str) -> Book:
    return made(f"preset={preset}", numbers="grpo-batch")


@pytest.fixture(scope="module")
def board() -> Switchboard:
    return Switchboard(book("default"))


def wrong(preset: str, found: dict[str, Array]) -> list[str]:
    """Lists the formulas that an engine computed to something else than the definitions, with the preset chosen before."""
    ours = {block.name: array for block, array in book(preset).values.arrays.items() if not block.typed}
    return [name for name, each in ours.items() if not distance(each, found[name]) <= TOLERANCE]


def loss(preset: str) -> float:
    """Returns the loss that the library's own code computed."""
    (run,) = (run for run in runs() if (run.library, run.variant) == RECORDED[preset])
    return float(run.out["loss"])


@pytest.mark.parametrize("preset", RECORDED)
def test_ironcalc_and_torch_have_the_numbers_of_the_definitions(board: Switchboard, preset: str) -> None:
    found = board.switched(preset, {})
    assert wrong(preset, found) == []
    assert found["total_loss"].item() == pytest.approx(loss(preset), abs=TOLERANCE)
    assert apart(book(preset)) == {}


def test_an_overflow_is_a_sentence_in_python() -> None:
    base = load("grpo-batch")
    far = np.array(base["old.logits"])
    far[1, 0] -= 900 * (np.array(base["text.vocabulary"]) == base["text.responses"][1][0])
    with pytest.raises(
        NoNumber, match=r"kl_old.k3 \(n = 2, t = 1, Rewards!\w+\) has no number: exp\(900.324\) is beyond"
    ):
        Book(blueprint_of(replace(base, parts={**base.parts, "old.logits": far})))


def test_an_overflow_is_a_sentence_in_the_sheet(board: Switchboard) -> None:
    place, start = board.places["old.logits"], board.engine.sheets["Start"]
    written = int(board.book.values[board.book.blocks["rollout.written"]][1, 0])
    (row, column) = next((row, column) for at, row, column in place.cells() if at == (1, 0, written))
    before = board.engine.value(place.sheet, row, column)
    board.engine.type(place.sheet, row, column, -900.0)
    board.engine.evaluate()
    cells = (board.engine.model.get_cell_value(start, *at) for at in product(range(10, 16), range(1, 20)))
    assert any("no number: what was typed is too large" in str(each) for each in cells)
    board.engine.type(place.sheet, row, column, before)


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_has_the_numbers_of_the_definitions(board: Switchboard, tmp_path: Path) -> None:
    """One file, in which every number is spoiled, is opened once; each preset is typed, and all computed anew."""
    source, presets = tmp_path / "spoiled.xlsx", list(RECORDED)
    spoil(board.path, source)
    lines = {preset: [types(board, "preset", preset), "book.calculateAll()"] for preset in presets}
    again = [types(board, "preset", "default")]
    edit(
        [Change(source, tmp_path / f"{place}.csv", lines[preset], again if place < len(presets) - 1 else ())
         for place, preset in enumerate(presets)],
        tmp_path,
    )  # fmt: skip
    for place, preset in enumerate(presets):
        found = blocks_of_tables(tmp_path / f"{place}.csv", board.places)
        assert wrong(preset, found) == [], preset
        assert found["total_loss"].item() == pytest.approx(loss(preset), abs=TOLERANCE), preset
