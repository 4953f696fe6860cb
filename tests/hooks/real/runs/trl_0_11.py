"""TRL 0.11.4, the old PPOTrainer: two steps of 8 responses, two epochs of two minibatches of two microbatches of two rows.

Its one argument is the dtype of the models.
"""

from __future__ import annotations

import sys

import numpy as np
import tiny
import torch
from transformers import LlamaForCausalLM
from trl import AutoModelForCausalLMWithValueHead, PPOConfig, PPOTrainer

torch.manual_seed(0)
np.random.seed(0)
dtype = getattr(torch, sys.argv[1])
policy = tiny.lively(LlamaForCausalLM(tiny.config()))
reference = tiny.near(LlamaForCausalLM(tiny.config()), policy)
model, fixed = (AutoModelForCausalLMWithValueHead.from_pretrained(each).to(dtype) for each in (policy, reference))
settings = PPOConfig(
    batch_size=8, mini_batch_size=2, gradient_accumulation_steps=2, ppo_epochs=2, learning_rate=0.02, seed=0,
    init_kl_coef=0.2, whiten_rewards=False,
)  # fmt: skip
trainer = PPOTrainer(settings, model, fixed, tiny.tokenizer())
for _ in range(2):
    queries = [torch.tensor(words) for words in tiny.prompts(8)]
    responses = trainer.generate(
        queries,
        return_prompt=False,
        do_sample=True,
        top_k=0,
        max_new_tokens=8,
        pad_token_id=tiny.PAD,
        eos_token_id=tiny.EOS,
    )
    trainer.step(queries, responses, [torch.tensor(float(len(set(words.tolist())) % 3 - 1)) for words in responses])
