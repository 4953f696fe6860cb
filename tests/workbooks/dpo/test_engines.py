"""A preset chosen in the sheet: both engines, definitions and torch have the same numbers, and the loss is the library's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.workbooks.apart import apart, distance
from tests.workbooks.dpo.recorded import runs
from tests.workbooks.engines import TOLERANCE, Presets
from tests.workbooks.switched import Switchboard

RECORDED = {
    "trl_1.16_ipo": ("trl_1.16.0", "dpo/ipo"), "trl_1.16_robust": ("trl_1.16.0", "dpo/robust__label_smoothing_0.1"),
    "trl_1.16_kto": ("trl_1.16.0", "kto/kto"), "trl_1.16_orpo": ("trl_1.16.0", "orpo/orpo"),
    "openrlhf": ("openrlhf_0.11.2", "dpo__nll_.2"), "nemo_aligner_rpo": ("nemo_aligner_af2b3bd", "rpo_bwd_kl"),
    "halos_cdpo": ("halos_4831988", "cdpo__eps_.2"), "simpo": ("simpo_1b3e8f3", "simpo"), "default": ("trl_1.16.0", "dpo/sigmoid"),
}  # fmt: skip
"""Eight presets and the default: library and variant of the run that the preset repeats."""
PRESETS = Presets("dpo-batch", RECORDED, runs)


@pytest.mark.parametrize("preset", RECORDED)
def test_ironcalc_and_torch_have_the_numbers_of_the_definitions(preset: str) -> None:
    found = PRESETS.board.switched(preset, {})
    assert PRESETS.wrong(preset, found) == []
    assert found["total_loss"].item() == pytest.approx(PRESETS.loss(preset), abs=TOLERANCE)
    assert apart(PRESETS.book(preset)) == {}


def test_far_logits_and_a_policy_that_is_the_reference_still() -> None:
    """Log-ratios of hundreds on chosen responses, of 0 on the others: every slope is torch's, and ironcalc has every number."""
    base = load("dpo-batch", ("preset=simpo", "gradients=on"))
    chosen = np.array(base["text.chosen"])[:, None, None]
    logits = np.where(chosen > 0, 300 * np.array(base["policy.logits"]), np.array(base["reference.logits"]))
    far = Book(blueprint_of(replace(base, parts={**base.parts, "policy.logits": logits})))
    arrays = {block.name: array for block, array in far.values.arrays.items()}
    assert np.abs(arrays["chosen.against"]).max() > 500
    assert apart(far) == {}
    assert any(name.endswith(".grad") for name in arrays)
    found = Switchboard(far).switched("simpo", {})
    ours = {block.name: array for block, array in far.values.arrays.items() if not block.typed}
    assert [name for name, each in ours.items() if not distance(each, found[name]) <= TOLERANCE] == []


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_has_the_numbers_of_the_definitions(tmp_path: Path) -> None:
    for preset, found in PRESETS.in_libreoffice(tmp_path):
        assert PRESETS.wrong(preset, found) == [], preset
        assert found["total_loss"].item() == pytest.approx(PRESETS.loss(preset), abs=TOLERANCE), preset
