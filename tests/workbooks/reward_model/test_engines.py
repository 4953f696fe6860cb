"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from tests.audit import spoil
from tests.page.basic import Change, edit
from tests.page.workshop import Array, made
from tests.workbooks.grpo.apart import apart, distance
from tests.workbooks.reward_model.recorded import runs
from tests.workbooks.switched import Switchboard, blocks_of_tables, types

RECORDED = {
    "trl_1.16_rm_margin": ("trl_1.16.0", "rm/margin"), "trl_1.16_rm_center": ("trl_1.16.0", "rm/center_.01"),
    "trl_1.16_rm_pad_is_eos": ("trl_1.16.0", "rm/pad_is_eos"), "openrlhf_rm_logexp": ("openrlhf_0.11.2", "rm/logexp"),
    "openrlhf_rm_normalised": ("openrlhf_0.11.2", "rm/sigmoid_normalised_eval"),
    "nemo_rl_rm": ("nemo_rl_7ea279a", "rm/bradley_terry"),
    "deepspeed_chat_rm": ("deepspeed_chat_83757d9", "rm/default"),
    "lm_human_preferences": ("openai_lm_human_preferences_cbfd210", "rm/best_of_2"), "default": ("trl_1.16.0", "rm/default"),
}  # fmt: skip
"""Eight presets and the default: library and variant of the run that the preset repeats."""
# Both compute in double precision, and sum in an order of their own; LibreOffice writes 15 digits.
TOLERANCE = 1e-12


@cache
def book(preset: str) -> Book:
    return made(f"preset={preset}", numbers="reward-batch")


@pytest.fixture(scope="module")
def board() -> Switchboard:
    return Switchboard(book("default"))


def wrong(preset: str, found: dict[str, Array]) -> list[str]:
    """Lists the formulas that an engine computed to something else than the definitions, with the preset chosen before."""
    ours = {block.name: array for block, array in book(preset).values.arrays.items() if not block.typed}
    return [name for name, each in ours.items() if not distance(each, found[name]) <= TOLERANCE]


def loss(preset: str) -> float:
    """Returns the loss that the library's own code computed."""
    (run,) = (run for run in runs(False) if (run.library, run.variant) == RECORDED[preset])
    return float(run.out["loss"])


@pytest.mark.parametrize("preset", RECORDED)
def test_ironcalc_and_torch_have_the_numbers_of_the_definitions(board: Switchboard, preset: str) -> None:
    found = board.switched(preset, {})
    assert wrong(preset, found) == []
    assert found["total_loss"].item() == pytest.approx(loss(preset), abs=TOLERANCE)
    assert apart(book(preset), rows=150) == {}


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
