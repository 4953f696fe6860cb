"""By kind and preset the recorded run that the preset repeats: library and variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.preference_runs import with_loss
from tests.workbooks.grpo import recorded as grpo

_TRL, _VERL, _NEMO = "trl_1.16.0_GRPOTrainer", "verl_0.9.1", "nemo_rl_7ea279a"
GRPO = {
    "default": (_TRL, "default_later_step"), "trl_grpo": (_TRL, "grpo"), "trl_dapo": (_TRL, "default_later_step"),
    "trl_dr_grpo": (_TRL, "dr_grpo_recipe"), "trl_rloo": ("trl_1.16.0_RLOOTrainer", "default"),
    "trl_0.14": ("trl_0.14.0_GRPOTrainer", "default"), "verl_grpo": (_VERL, "grpo_default"), "verl_rloo": (_VERL, "rloo"),
    "verl_remax": (_VERL, "remax"), "verl_rfpp": (_VERL, "reinforce_plus_plus"),
    "verl_gpg": (_VERL, "gpg"), "verl_opo": (_VERL, "opo"),
    "verl_gspo": (_VERL, "gspo_paper_eps"), "verl_cispo": (_VERL, "cispo_default_clip"),
    "openrlhf": ("openrlhf_0.11.2", "group_norm"), "nemo_rl": (_NEMO, "grpo_default"), "nemo_rl_dapo": (_NEMO, "dapo_recipe"),
    "torchtune": ("torchtune_bd2a0fc", "GRPOLoss"), "open_instruct": ("open_instruct_e6c3044", "default"),
    "oat": ("oat_c1a074c_dr_grpo", "drgrpo_default"), "skyrl": ("skyrl_a956457", "grpo_default"),
    "slime": ("slime_624b824", "grpo"), "areal": ("areal_4aef98d", "grpo"), "roll": ("roll_8eb27cc", "grpo_default"),
    "liger": ("liger_kernel_0.8.5", "class_default_beta_0_04"), "unsloth": ("unsloth_zoo_2026.10.9", "dapo"),
    "grpo_paper": ("trl_0.17.0_GRPOTrainer", "grpo"), "dr_grpo_paper": (_TRL, "dr_grpo_recipe"),
    "gspo_paper": (_TRL, "gspo_paper_eps"), "cispo_paper": (_TRL, "cispo_eps_high_5"),
}  # fmt: skip
DPO = {
    "default": ("trl_1.16.0", "dpo/sigmoid"),
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
REWARD_MODEL = {
    "trl_1.16_rm_margin": ("trl_1.16.0", "rm/margin"), "trl_1.16_rm_center": ("trl_1.16.0", "rm/center_.01"),
    "trl_1.16_rm_pad_is_eos": ("trl_1.16.0", "rm/pad_is_eos"), "openrlhf_rm_logexp": ("openrlhf_0.11.2", "rm/logexp"),
    "openrlhf_rm_normalised": ("openrlhf_0.11.2", "rm/sigmoid_normalised_eval"),
    "nemo_rl_rm": ("nemo_rl_7ea279a", "rm/bradley_terry"),
    "deepspeed_chat_rm": ("deepspeed_chat_83757d9", "rm/default"),
    "lm_human_preferences": ("openai_lm_human_preferences_cbfd210", "rm/best_of_2"), "default": ("trl_1.16.0", "rm/default"),
}  # fmt: skip
SFT = {
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
"""On two microbatches."""
RUNS: dict[str, Callable[[], Iterable[Any]]] = {
    "grpo": grpo.runs, "dpo": lambda: with_loss("preference"), "reward_model": lambda: with_loss("reward_model"),
    "sft": lambda: with_loss("sft"),
}  # fmt: skip
"""By kind how its recorded runs are read."""
REPEATED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "grpo": GRPO, "dpo": DPO, "reward_model": REWARD_MODEL, "sft": SFT,
}  # fmt: skip


def run_of(kind: str, preset: str) -> Any:
    """Returns the run that a preset repeats."""
    (run,) = (run for run in RUNS[kind]() if (run.library, run.variant) == REPEATED[kind][preset])
    return run
