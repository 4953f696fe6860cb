"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from tests.workbooks.apart import apart
from tests.workbooks.engines import TOLERANCE, Presets
from tests.workbooks.reward_model.recorded import runs

RECORDED = {
    "trl_1.16_rm_margin": ("trl_1.16.0", "rm/margin"), "trl_1.16_rm_center": ("trl_1.16.0", "rm/center_.01"),
    "trl_1.16_rm_pad_is_eos": ("trl_1.16.0", "rm/pad_is_eos"), "openrlhf_rm_logexp": ("openrlhf_0.11.2", "rm/logexp"),
    "openrlhf_rm_normalised": ("openrlhf_0.11.2", "rm/sigmoid_normalised_eval"),
    "nemo_rl_rm": ("nemo_rl_7ea279a", "rm/bradley_terry"),
    "deepspeed_chat_rm": ("deepspeed_chat_83757d9", "rm/default"),
    "lm_human_preferences": ("openai_lm_human_preferences_cbfd210", "rm/best_of_2"), "default": ("trl_1.16.0", "rm/default"),
}  # fmt: skip
"""Eight presets and the default: library and variant of the run that the preset repeats."""
PRESETS = Presets("reward-batch", RECORDED, lambda: runs(False))


@pytest.mark.parametrize("preset", RECORDED)
def test_ironcalc_and_torch_have_the_numbers_of_the_definitions(preset: str) -> None:
    found = PRESETS.board.switched(preset, {})
    assert PRESETS.wrong(preset, found) == []
    assert found["total_loss"].item() == pytest.approx(PRESETS.loss(preset), abs=TOLERANCE)
    assert apart(PRESETS.book(preset)) == {}


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_has_the_numbers_of_the_definitions(tmp_path: Path) -> None:
    for preset, found in PRESETS.in_libreoffice(tmp_path):
        assert PRESETS.wrong(preset, found) == [], preset
        assert found["total_loss"].item() == pytest.approx(PRESETS.loss(preset), abs=TOLERANCE), preset
