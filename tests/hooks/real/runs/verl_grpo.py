# mypy: disable-error-code="attr-defined, misc"
"""verl 0.9.1, advantages of GRPO and its relatives: 4 responses to each of 3 prompts, apart, scores and log-probs from a generator.

Its one argument is `adv_estimator`; "grpo_without_std" is grpo with `norm_adv_by_std_in_grpo: false`.
"""

from __future__ import annotations

import sys

import aside
import numpy as np
import tiny
import torch

aside.put_aside("wandb", "uvicorn", "fastapi", "PIL", "pylatexenc", "tensorboard")

from omegaconf import OmegaConf  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.trainer.ppo import ray_trainer  # noqa: E402

PROMPTS, SIZE, LONGEST = 3, 4, 7
asked = sys.argv[1]
estimator, divided = ("grpo", False) if asked == "grpo_without_std" else (asked, True)
torch.manual_seed(0)
rows = PROMPTS * SIZE
prompt = torch.randperm(rows) % PROMPTS  # as verl's balance_batch leaves them: those to a prompt are not side by side
lengths = torch.randint(1, LONGEST + 1, (rows,))
mask = (torch.arange(LONGEST) < lengths[:, None]).long()
scores = torch.zeros(rows, LONGEST)
scores[torch.arange(rows), lengths - 1] = (torch.rand(rows) < 0.5).float() + 0.25 * torch.randint(0, 3, (rows,))
old = -torch.randn(rows, LONGEST).exp()
words = torch.tensor([[tiny.PAD] * (5 - len(each)) + each for each in tiny.prompts(PROMPTS)])
tensors = {
    "prompts": words[prompt], "responses": torch.randint(2, 32, (rows, LONGEST)) * mask, "response_mask": mask,
    "old_log_probs": old * mask, "ref_log_prob": (old - 0.1 * torch.randn(rows, LONGEST).abs()) * mask,
    "token_level_scores": scores,
}  # fmt: skip
if estimator == "remax":
    tensors["reward_baselines"] = torch.tensor([0.5, 0.0, 1.0])[prompt]
uid = np.array([f"prompt-{number}" for number in prompt], dtype=object)
data = DataProto.from_dict(tensors=tensors, non_tensors={"uid": uid})
kl = {"use_kl_in_reward": estimator == "rloo", "kl_penalty": "kl", "kl_ctrl": {"type": "fixed", "kl_coef": 0.05}}
config = OmegaConf.create(
    {"gamma": 1.0, "lam": 1.0, "norm_adv_by_std_in_grpo": divided, "adv_estimator": estimator, **kl}
)
if config.use_kl_in_reward:
    data, _ = ray_trainer.apply_kl_penalty(data, ray_trainer.core_algos.FixedKLController(0.05), "kl")
else:
    data.batch["token_level_rewards"] = data.batch["token_level_scores"]
ray_trainer.compute_advantage(
    data, adv_estimator=estimator, gamma=1.0, lam=1.0, norm_adv_by_std_in_grpo=divided, config=config
)
