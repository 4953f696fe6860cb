"""TRL 1.16.0, RewardTrainer: two updates of two microbatches of four pairs.

Its one argument is one of VARIANTS: "margin" has a margin for each pair and keeps scores near 0; in "pad_eos" the pad is the end
of a text, and the score is read in front of it.
"""

from __future__ import annotations

import sys
from typing import Any

import tiny
import torch
from datasets import Dataset
from transformers import LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "margin": {"center_rewards_coefficient": 0.01},
    "pad_eos": {},
    "bfloat16": {"bf16": True},
}


def written(words: list[int]) -> str:
    """Returns some words as a text."""
    return " ".join(tiny.WORDS[word] for word in words)


def answer(row: int, step: int) -> list[int]:
    """Returns a response of one to six words, another one for each step."""
    return [2 + (step * row + 3 * word) % 30 for word in range(1 + (row * step) % 6)]


variant = sys.argv[1]
torch.manual_seed(0)
words = tiny.tokenizer()
model = tiny.lively(LlamaForSequenceClassification(tiny.config(num_labels=1)))
if variant == "pad_eos":
    words.pad_token = words.eos_token
    model.config.pad_token_id = tiny.EOS
rows = range(16)
data = Dataset.from_dict({
    "prompt": [f"{written(each)} " for each in tiny.prompts(len(rows))],
    "chosen": [written(answer(row, 5)) for row in rows],
    "rejected": [written(answer(row, 5 if row % 8 == 0 else 7)) for row in rows],
    **({"margin": [0.25 * (row % 4) for row in rows]} if variant == "margin" else {}),
})  # fmt: skip
settings = RewardConfig(**{
    "output_dir": "out", "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "bf16": False,
    "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 2, "learning_rate": 0.02, "logging_steps": 1,
    **VARIANTS[variant],
})  # fmt: skip
RewardTrainer(model, args=settings, train_dataset=data, processing_class=words).train()
