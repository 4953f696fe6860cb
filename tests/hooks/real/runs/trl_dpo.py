"""TRL 1.16.0, DPOTrainer: two updates of two microbatches of four pairs, from a policy that has left its reference.

Its one argument is one of VARIANTS. "precomputed" has the reference's log-probs of whole responses alone; in "alike" both
responses of some pairs are the same, so that they tie.
"""

from __future__ import annotations

import sys
from typing import Any

import tiny
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM
from trl import DPOConfig, DPOTrainer

VARIANTS: dict[str, dict[str, Any]] = {
    "sigmoid": {},
    "bfloat16": {"bf16": True, "beta": 0.5},
    "ipo": {"loss_type": ["ipo"]},
    "norm": {"loss_type": ["sigmoid_norm"], "beta": 2.0},
    "robust": {"loss_type": ["robust"], "label_smoothing": 0.1, "beta": 0.3},
    "sft": {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.2]},
    "mixed": {"loss_type": ["sigmoid", "bco_pair", "ipo", "sft"], "loss_weights": [0.8, 0.2, 0.3, 1.0], "beta": 0.3},
    "shared": {"ld_alpha": 0.5, "f_divergence_type": "js_divergence"},
    "weighted": {"use_weighting": True},
    "precomputed": {"precompute_ref_log_probs": True, "label_smoothing": 0.1},
    "alike": {"loss_type": ["apo_zero"], "beta": 0.5},
}


def written(words: list[int]) -> str:
    """Returns some words as a text."""
    return " ".join(tiny.WORDS[word] for word in words)


def answer(row: int, step: int) -> list[int]:
    """Returns a response of one to six words, another one for each step."""
    return [2 + (step * row + 3 * word) % 30 for word in range(1 + (row * step) % 6)]


variant = sys.argv[1]
torch.manual_seed(0)
policy = tiny.lively(LlamaForCausalLM(tiny.config()))
reference = tiny.near(LlamaForCausalLM(tiny.config()), policy)
rows = range(16)
data = Dataset.from_dict({
    "prompt": [f"{written(words)} " for words in tiny.prompts(len(rows))],
    "chosen": [written(answer(row, 5)) for row in rows],
    "rejected": [written(answer(row, 5 if variant == "alike" and row % 4 == 0 else 7)) for row in rows],
})  # fmt: skip
settings = DPOConfig(**{
    "output_dir": "out", "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "bf16": False,
    "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 2, "learning_rate": 0.02, "logging_steps": 1,
    **VARIANTS[variant],
})  # fmt: skip
DPOTrainer(policy, reference, args=settings, train_dataset=data, processing_class=tiny.tokenizer()).train()
