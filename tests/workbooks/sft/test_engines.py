"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from tests.workbooks.apart import apart
from tests.workbooks.engines import TOLERANCE, Presets
from tests.workbooks.sft.recorded import runs

RECORDED = {
    "default": ("trl_1.16.0", "sft/completion_only two_microbatches"),
    "trl_1.16_text": ("trl_1.16.0", "sft/full_sequence two_microbatches"),
    "trl_1.16_dft": ("trl_1.16.0", "sft/dft two_microbatches"),
    "trl_1.16_packed": ("trl_1.16.0", "sft/packing_bfd_full_sequence"),
    "trl_0.24_text": ("trl_0.24.0", "sft/full_sequence two_microbatches"),
    "dpo_original": ("direct_preference_optimization_f8b8c0f", "sft"),
    "nemo_rl": ("nemo_rl_7ea279a", "sft/completion_only__microbatches_2"),
    "halos": ("halos_4831988", "sft/completion_only"),
    "verl_b178a3c": ("verl_volcengine_b178a3c", "sft/completion_only__microbatches_2"),
}
"""Eight presets and the default: library and variant of the run that the preset repeats, on two microbatches."""
PRESETS = Presets("sft-batch", RECORDED, runs, ("sft.microbatches=2",))


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
