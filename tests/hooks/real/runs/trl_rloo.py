"""TRL 1.16.0, RLOOTrainer: two rollouts of 8 responses, two updates of two microbatches each, gone through twice.

Its one argument is "kl", as TRL does it by default, or "normalized": advantages over the batch, no KL, scores clipped.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tiny
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM
from trl import RLOOConfig, RLOOTrainer

VARIANTS: dict[str, dict[str, Any]] = {
    "kl": {},
    "normalized": {"normalize_advantages": True, "beta": 0.0, "reward_clip_range": (-1.0, 2.0)},
}


def judged(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """Scores a response by how many of its words have an even number, less its length."""
    return [sum(word % 2 == 0 for word in words) - 0.3 * len(words) for words in completion_ids]


torch.manual_seed(0)
np.random.seed(0)
policy = tiny.lively(LlamaForCausalLM(tiny.config()))
tiny.near(LlamaForCausalLM(tiny.config()), policy).save_pretrained("reference")
policy.config._name_or_path = "reference"  # from where TRL loads the reference
data = Dataset.from_dict({"prompt": [" ".join(tiny.WORDS[word] for word in words) for words in tiny.prompts(32)]})
settings = RLOOConfig(**{
    "output_dir": "out", "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "bf16": False,
    "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "steps_per_generation": 4, "num_generations": 4,
    "num_iterations": 2, "max_steps": 8, "max_completion_length": 10, "learning_rate": 0.02, "temperature": 0.9,
    **VARIANTS[sys.argv[1]],
})  # fmt: skip
RLOOTrainer(policy, judged, args=settings, train_dataset=data, processing_class=tiny.tokenizer()).train()
