"""Every preset is a run that was recorded: the library's own code, of that version, has the same loss."""

from __future__ import annotations

import pytest

from blueprint.workbooks.dpo.schema import dpo_presets
from tests.workbooks.dpo.recorded import FRONT
from tests.workbooks.repeats import REPEATED, run_of

PRESETS = dpo_presets().presets
REPEATS = REPEATED["dpo"].keys() - {"default"}
"""The default is nobody's."""
LOGGED = {f"rewards/{of}": f"rewards.{of}" for of in ("chosen", "rejected", "margins", "accuracies")}


def test_every_preset_has_a_run() -> None:
    assert {*REPEATS, "default"} == {*PRESETS}


@pytest.mark.parametrize("preset", sorted(REPEATS))
def test_a_preset_gives_what_its_library_computed(preset: str) -> None:
    """To 1e-12, as all runs; what is logged, too, where it was recorded as one number."""
    run = run_of("dpo", preset)
    values = FRONT.typed_in(PRESETS[preset].values)
    metrics = run.out.get("metrics", {})
    meant = {ours: metrics[theirs] for theirs, ours in LOGGED.items() if isinstance(metrics.get(theirs), float)}
    for name, value in {"total_loss": run.out["loss"], **meant}.items():
        assert abs(float(FRONT.cells(values, name)) - value) <= 1e-12 * max(1.0, abs(value))
