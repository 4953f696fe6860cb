"""TRL 1.16.0, SFTTrainer: two updates of two microbatches of four texts.

Its one argument is one of VARIANTS: what is learned (the response alone, or the whole text), the loss, and how texts share rows.
"""

from __future__ import annotations

import sys
from typing import Any

import tiny
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

VARIANTS: dict[str, dict[str, Any]] = {
    "completion": {},
    "text": {"completion_only_loss": False},
    "dft": {"loss_type": "dft"},
    "packed": {"packing": True, "max_length": 24, "padding_free": False},
    "padding_free": {"padding_free": True, "max_length": None},
    "smoothed": {"loss_type": "nll", "label_smoothing_factor": 0.1},
    "bfloat16": {"bf16": True},
}


def written(words: list[int]) -> str:
    """Returns some words as a text."""
    return " ".join(tiny.WORDS[word] for word in words)


def answer(row: int) -> list[int]:
    """Returns a response of one to six words."""
    return [2 + (5 * row + 3 * word) % 30 for word in range(1 + (row * 5) % 6)]


variant = sys.argv[1]
torch.manual_seed(0)
model = tiny.lively(LlamaForCausalLM(tiny.config()))
rows = range(48 if variant == "packed" else 16)
data = Dataset.from_dict({
    "prompt": [f"{written(words)} " for words in tiny.prompts(len(rows))],
    "completion": [written(answer(row)) for row in rows],
})  # fmt: skip
settings = SFTConfig(**{
    "output_dir": "out", "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "bf16": False,
    "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 2, "learning_rate": 0.02, "logging_steps": 1,
    **VARIANTS[variant],
})  # fmt: skip
SFTTrainer(model, args=settings, train_dataset=data, processing_class=tiny.tokenizer()).train()
