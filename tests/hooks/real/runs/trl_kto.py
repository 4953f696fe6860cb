"""TRL 1.16.0, KTOTrainer: two updates of two microbatches of four responses, from a policy that has left its reference.

Its one argument is one of VARIANTS. In "one_sided" every response of some microbatches is good, or every one bad; "precomputed"
has the reference's log-probs of whole responses alone.
"""

from __future__ import annotations

import sys
from typing import Any

import tiny
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM
from trl import KTOConfig, KTOTrainer

VARIANTS: dict[str, dict[str, Any]] = {
    "kto": {},
    "weights": {"beta": 0.5, "desirable_weight": 1.33, "undesirable_weight": 0.8},
    "apo": {"loss_type": "apo_zero_unpaired", "beta": 0.3},
    "bfloat16": {"bf16": True, "beta": 0.5},
    "precomputed": {"precompute_ref_log_probs": True},
    "one_sided": {"beta": 1.0},
}


def written(words: list[int]) -> str:
    """Returns some words as a text."""
    return " ".join(tiny.WORDS[word] for word in words)


def answer(row: int) -> list[int]:
    """Returns a response of one to six words."""
    return [2 + (5 * row + 3 * word) % 30 for word in range(1 + (row * 5) % 6)]


variant = sys.argv[1]
torch.manual_seed(0)
policy = tiny.lively(LlamaForCausalLM(tiny.config()))
reference = tiny.near(LlamaForCausalLM(tiny.config()), policy)
rows = range(16)
data = Dataset.from_dict({
    "prompt": [f"{written(words)} " for words in tiny.prompts(len(rows))],
    "completion": [written(answer(row)) for row in rows],
    "label": [row % 8 < 4 if variant == "one_sided" else row % 3 == 0 for row in rows],
})  # fmt: skip
settings = KTOConfig(**{
    "output_dir": "out", "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "bf16": False,
    "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 2, "learning_rate": 0.02, "logging_steps": 1,
    **VARIANTS[variant],
})  # fmt: skip
KTOTrainer(policy, reference, args=settings, train_dataset=data, processing_class=tiny.tokenizer()).train()
