"""TRL 1.16.0, GRPOTrainer: two rollouts of 8 responses, two updates of two microbatches each, gone through twice.

Its one argument is one of VARIANTS. "first" updates once per rollout, and has no old log-probs; "functions" has two functions of
reward, one of which does not score every response; "masked" leaves responses out that were cut off, and "cut" has microbatches of
nothing else; "uneven" has microbatches of 3 responses; "quantile" and "bonus" count the tokens of most entropy; "apart" normalises
each function of reward by itself.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tiny
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

VARIANTS: dict[str, dict[str, Any]] = {
    "dapo": {"loss_type": "dapo", "epsilon_high": 0.28},
    "grpo": {"loss_type": "grpo", "beta": 0.04, "use_bias_correction_kl": False},
    "dr_grpo": {
        "loss_type": "dr_grpo",
        "beta": 0.04,
        "use_bias_correction_kl": False,
        "delta": 1.5,
        "scale_rewards": "none",
    },
    "bnpo": {"loss_type": "bnpo", "bf16": True},
    "sequence": {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 3e-4, "beta": 0.04},
    "cispo": {"loss_type": "cispo", "epsilon_high": 1.1, "beta": 0.04},
    "first": {"steps_per_generation": 2, "per_device_train_batch_size": 4, "num_iterations": 1, "max_steps": 2},
    "batch": {"scale_rewards": "batch"},
    "functions": {"loss_type": "grpo", "reward_weights": [1.0, 0.5]},
    "masked": {"mask_truncated_completions": True},
    "cut": {"mask_truncated_completions": True, "per_device_train_batch_size": 1},
    "uneven": {"loss_type": "grpo", "beta": 0.04, "per_device_train_batch_size": 3},
    "quantile": {"loss_type": "grpo", "top_entropy_quantile": 0.5, "beta": 0.04},
    "bonus": {"top_entropy_quantile": 0.7, "entropy_coef": 0.02},
    "apart": {"multi_objective_aggregation": "normalize_then_sum", "reward_weights": [1.0, 0.5]},
}


def judged(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """Scores a response by how many of its words have an even number, less its length."""
    return [sum(word % 2 == 0 for word in words) - 0.3 * len(words) for words in completion_ids]


def formatted(completion_ids: list[list[int]], **_: Any) -> list[float | None]:
    """Scores a response by whether it ends by itself, if its first word has an even number."""
    return [float(words[-1] == tiny.EOS) if words[0] % 2 == 0 else None for words in completion_ids]


variant = sys.argv[1]
torch.manual_seed(0)
np.random.seed(0)
policy = tiny.lively(LlamaForCausalLM(tiny.config()))
tiny.near(LlamaForCausalLM(tiny.config()), policy).save_pretrained("reference")
policy.config._name_or_path = "reference"  # from where TRL loads the reference
data = Dataset.from_dict({"prompt": [" ".join(tiny.WORDS[word] for word in words) for words in tiny.prompts(32)]})
settings = GRPOConfig(**{
    "output_dir": "out", "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "bf16": False,
    "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "steps_per_generation": 4, "num_generations": 4,
    "num_iterations": 2, "max_steps": 8, "max_completion_length": 10, "learning_rate": 0.02, "temperature": 0.9,
    **VARIANTS[variant],
})  # fmt: skip
rewards = [judged, formatted] if variant in ("functions", "apart") else judged
GRPOTrainer(policy, rewards, args=settings, train_dataset=data, processing_class=tiny.tokenizer()).train()
