"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import NoNumber
from blueprint.workbooks import blueprint_of
from tests.page.finished import Engine
from tests.workbooks.apart import apart
from tests.workbooks.engines import TOLERANCE, Presets
from tests.workbooks.grpo.recorded import runs

RECORDED = {
    "trl_grpo": ("trl_1.16.0_GRPOTrainer", "grpo"), "trl_rloo": ("trl_1.16.0_RLOOTrainer", "default"),
    "trl_0.14": ("trl_0.14.0_GRPOTrainer", "default"), "verl_grpo": ("verl_0.9.1", "grpo_default"),
    "verl_rfpp": ("verl_0.9.1", "reinforce_plus_plus"), "verl_gspo": ("verl_0.9.1", "gspo_paper_eps"),
    "verl_cispo": ("verl_0.9.1", "cispo_default_clip"), "openrlhf": ("openrlhf_0.11.2", "group_norm"),
    "nemo_rl": ("nemo_rl_7ea279a", "grpo_default"), "open_instruct": ("open_instruct_e6c3044", "default"),
    "default": ("trl_1.16.0_GRPOTrainer", "default_later_step"),
}  # fmt: skip
"""Ten presets and the default: library and variant of the run that the preset repeats."""
PRESETS = Presets("grpo-batch", RECORDED, runs)


@pytest.mark.parametrize("preset", RECORDED)
def test_ironcalc_and_torch_have_the_numbers_of_the_definitions(preset: str) -> None:
    found = PRESETS.board.switched(preset, {})
    assert PRESETS.wrong(preset, found) == []
    assert found["total_loss"].item() == pytest.approx(PRESETS.loss(preset), abs=TOLERANCE)
    assert apart(PRESETS.book(preset)) == {}


def test_an_overflow_is_a_sentence_in_python() -> None:
    base = load("grpo-batch")
    far = np.array(base["old.logits"])
    far[1, 0] -= 900 * (np.array(base["text.vocabulary"]) == base["text.responses"][1][0])
    with pytest.raises(NoNumber, match=r"ratio \(n = 2, t = 1, Ratio!\w+\) has no number: exp\(899.9921\) is beyond"):
        Book(blueprint_of(replace(base, parts={**base.parts, "old.logits": far})))


def test_an_overflow_is_a_sentence_in_the_sheet() -> None:
    board = PRESETS.board
    engine = Engine(board.path)  # not the board's, which has only what is compared
    place, start = board.places["old.logits"], engine.sheets["Start"]
    written = int(board.book.values[board.book.blocks["rollout.written"]][1, 0])
    (row, column) = next((row, column) for at, row, column in place.cells() if at == (1, 0, written))
    engine.type(place.sheet, row, column, -900.0)
    engine.evaluate()
    cells = (engine.model.get_cell_value(start, *at) for at in product(range(1, 20), range(1, 20)))
    assert any("no number: what was typed is too large" in str(each) for each in cells)


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_has_the_numbers_of_the_definitions(tmp_path: Path) -> None:
    for preset, found in PRESETS.in_libreoffice(tmp_path):
        assert PRESETS.wrong(preset, found) == [], preset
        assert found["total_loss"].item() == pytest.approx(PRESETS.loss(preset), abs=TOLERANCE), preset
