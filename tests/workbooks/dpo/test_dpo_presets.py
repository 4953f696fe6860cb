"""Every preset is a run that was recorded: the library's own code, of that version, has the same loss."""

from __future__ import annotations

import pytest

from blueprint.workbooks.dpo.schema import dpo_presets
from tests.workbooks.dpo.recorded import FRONT, runs

PRESETS = dpo_presets().presets
REPEATS = {
    "trl_1.16": ("trl_1.16.0", "dpo/sigmoid__label_smoothing_0.1"), "trl_1.16_ipo": ("trl_1.16.0", "dpo/ipo"),
    "trl_1.16_norm": ("trl_1.16.0", "dpo/sigmoid_norm"), "trl_1.16_robust": ("trl_1.16.0", "dpo/robust__label_smoothing_0.1"),
    "trl_1.16_sft": ("trl_1.16.0", "dpo/sigmoid+sft"), "trl_1.16_kto": ("trl_1.16.0", "kto/kto"),
    "trl_1.16_orpo": ("trl_1.16.0", "orpo/orpo"), "trl_1.16_cpo": ("trl_1.16.0", "cpo/simpo"),
    "trl_0.24": ("trl_0.24.0", "dpo/sigmoid__label_smoothing_0.1"), "trl_0.24_bco": ("trl_0.24.0", "dpo/bco_pair"),
    "dpo_original": ("direct_preference_optimization_f8b8c0f", "dpo"),
    "dpo_original_ipo": ("direct_preference_optimization_f8b8c0f", "ipo"), "openrlhf": ("openrlhf_0.11.2", "dpo__nll_.2"),
    "torchtune": ("torchtune_0.6.1", "rso_hinge"), "nemo_aligner": ("nemo_aligner_af2b3bd", "dpo__sft_.2"),
    "nemo_aligner_rpo": ("nemo_aligner_af2b3bd", "rpo_bwd_kl"), "nemo_rl": ("nemo_rl_7ea279a", "dpo"),
    "llama_factory": ("llamafactory_0.9.5", "dpo/hinge"), "llama_factory_ipo": ("llamafactory_0.9.5", "dpo/ipo"),
    "llama_factory_bco": ("llamafactory_0.9.5", "dpo/sigmoid__bco_1"), "simpo": ("simpo_1b3e8f3", "simpo"),
    "orpo": ("orpo_208d2d6", "orpo__alpha_.1"), "axolotl_orpo": ("axolotl_0.19.0", "orpo__alpha_.1"),
    "halos_cdpo": ("halos_4831988", "cdpo__eps_.2"), "halos_simpo": ("halos_4831988", "simpo"),
    "open_instruct": ("open_instruct_e6c3044", "dpo_norm"), "open_instruct_simpo": ("open_instruct_e6c3044", "simpo__beta_5"),
    "colossalchat": ("colossalchat_4f9953b", "odds_ratio_loss"),
    "trl_1.16_wpo": ("trl_1.16.0", "dpo/sigmoid__use_weighting_True"),
    "trl_0.24_wpo": ("trl_0.24.0", "dpo/sigmoid__use_weighting_True"),
    "trl_1.16_ld": ("trl_1.16.0", "dpo/sigmoid__ld_alpha_0.5"), "trl_0.24_ld": ("trl_0.24.0", "dpo/sigmoid__ld_alpha_0.5"),
    "trl_0.24_free": ("trl_0.24.0", "dpo/sigmoid__reference_free_True"), "torchtune_main": ("torchtune_bd2a0fc", "dpo__ls_.1"),
    "deepspeed_chat": ("deepspeed_chat_83757d9", "dpo__ls_.1"), "halos_kto": ("halos_4831988", "kto"),
    "llama_factory_trl_0.19": ("llamafactory_0.9.5_with_trl_0.19.1", "dpo/hinge"),
}  # fmt: skip
"""Library and variant of the run that a preset repeats; the default is nobody's."""
LOGGED = {f"rewards/{of}": f"rewards.{of}" for of in ("chosen", "rejected", "margins", "accuracies")}


def test_every_preset_has_a_run() -> None:
    assert {*REPEATS, "default"} == {*PRESETS}


@pytest.mark.parametrize("preset", REPEATS)
def test_a_preset_gives_what_its_library_computed(preset: str) -> None:
    """To 1e-12, as all runs; what is logged, too, where it was recorded as one number."""
    (run,) = (run for run in runs() if (run.library, run.variant) == REPEATS[preset])
    values = FRONT.typed_in(PRESETS[preset].values)
    metrics = run.out.get("metrics", {})
    meant = {ours: metrics[theirs] for theirs, ours in LOGGED.items() if isinstance(metrics.get(theirs), float)}
    for name, value in {"total_loss": run.out["loss"], **meant}.items():
        assert abs(float(FRONT.cells(values, name)) - value) <= 1e-12 * max(1.0, abs(value))
