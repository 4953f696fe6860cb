"""TRL 1.12.0, PPOTrainer: two rollouts of 8 responses, two epochs of two minibatches of two microbatches of two rows.

Its one argument is the dtype of the models.
"""

from __future__ import annotations

import sys

import numpy as np
import tiny
import torch
from datasets import Dataset
from transformers import LlamaForCausalLM, LlamaForSequenceClassification
from trl.experimental.ppo import PPOConfig, PPOTrainer

torch.manual_seed(0)
np.random.seed(0)
dtype = getattr(torch, sys.argv[1])
policy = tiny.lively(LlamaForCausalLM(tiny.config()), dtype)
reference = tiny.near(LlamaForCausalLM(tiny.config()), policy)
critic, judge = (tiny.lively(LlamaForSequenceClassification(tiny.config(num_labels=1)), dtype) for _ in range(2))
data = Dataset.from_dict({"input_ids": tiny.prompts(32)})
settings = PPOConfig(
    output_dir="out", report_to="none", save_strategy="no", disable_tqdm=True, use_cpu=True, bf16=False,
    num_sample_generations=0, per_device_train_batch_size=2, gradient_accumulation_steps=4, num_mini_batches=2,
    num_ppo_epochs=2, total_episodes=16, local_rollout_forward_batch_size=4, response_length=8, stop_token="eos",
    missing_eos_penalty=1.0, temperature=0.9, learning_rate=0.02,
)  # fmt: skip
PPOTrainer(
    settings, processing_class=tiny.tokenizer(), model=policy, ref_model=reference, reward_model=judge,
    value_model=critic, train_dataset=data, eval_dataset=data,
).train()  # fmt: skip
