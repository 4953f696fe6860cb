"""OpenRLHF 0.11.2, ActorPPOTrainer: a rollout of 8 responses, two updates of two microbatches of two rows, two epochs.

Its one argument is where the KL is paid, "reward" or "loss", or "responses" for losses that are means over responses; or one of
CRITIC_FREE, with four responses to each of two prompts and no critic (openrlhf_grpo.py). What is OpenRLHF's own: rewards,
advantages and their whitening, the actor's forward pass, the windows of an update with their counts, training_step(). Ray,
DeepSpeed and vLLM, which only say where things run, are put aside; the optimiser is a plain one.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace as Space
from unittest.mock import MagicMock

import aside
import tiny
import torch
from transformers import LlamaForCausalLM

aside.put_aside(
    "deepspeed",
    "flash_attn",
    "ray",
    "ring_flash_attn",
    "vllm",
    "optree",
    "bitsandbytes",
    "torchdata",
    "aiohttp",
    "PIL",
    "pylatexenc",
    missing=("flash_attn.ops",),
)

from openrlhf.models import Actor, PolicyLoss  # noqa: E402
from openrlhf.models.utils import compute_approx_kl  # noqa: E402
from openrlhf.trainer.ppo_utils.experience import Experience  # noqa: E402
from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker  # noqa: E402
from openrlhf.trainer.ray.ppo_actor import ActorPPOTrainer  # noqa: E402
from openrlhf.utils.loss_utils import iter_grad_accum_global_norm  # noqa: E402

ROWS, SIZE, GAS, EPOCHS, LONGEST = 8, 2, 2, 2, 8
CRITIC_FREE = {
    "group_norm": "group_norm", "rloo": "rloo", "dr_grpo": "dr_grpo", "whitened": "reinforce_baseline", "gspo": "group_norm",
    "engine": "group_norm",
}  # fmt: skip
"""By argument, the estimator: group_norm pays a KL in the loss, gspo has one ratio for a response, and with engine tokens are
weighted by the gap to an engine, for which noise stands in."""
kind = sys.argv[1]
estimator, samples = CRITIC_FREE.get(kind, "gae"), 4 if kind in CRITIC_FREE else 1
KL = 0.05 if estimator == "gae" or kind == "group_norm" else 0.0
in_loss = kind in ("loss", "group_norm")
torch.manual_seed(0)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29631")
torch.distributed.init_process_group("gloo", rank=0, world_size=1)
policy = tiny.lively(LlamaForCausalLM(tiny.config())).eval()
actor = Actor(policy)
reference = Actor(tiny.near(LlamaForCausalLM(tiny.config()), policy).eval())
actor.packing_samples = reference.packing_samples = False  # said only for models that it loads itself
args = Space(
    actor=Space(
        eps_clip_low_high=(0.2, 0.28), dual_clip=3.0, entropy_coef=0.01, aux_loss_coef=0.0,
        policy_loss_type="gspo" if kind == "gspo" else "ppo",
        loss_agg_mode="seq-mean-token-mean" if kind == "responses" else "token-mean",
    ),
    critic=Space(value_clip=0.5), train=Space(dynamic_batch_enable=False, max_epochs=EPOCHS),
    algo=Space(
        advantage=Space(
            gamma=1.0, lambd=0.95, estimator=estimator, no_std_norm=False,
            is_correction_level="token" if kind == "engine" else "off",
            is_correction_mode="clip", is_correction_gating="ratio", is_correction_threshold=[0.0, 1.05],
        ),
        kl=Space(estimator="k3" if in_loss else "k1", use_loss=in_loss, init_coef=KL, unbiased_gradient=False),
    ),
    reward=Space(clip_range=(-10, 10), overlong_buffer_len=None, stop_properly_penalty_coef=None),
    rollout=Space(n_samples_per_prompt=samples),
)  # fmt: skip


def experienced(words: list[list[int]], index: list[int]) -> Experience:
    """Samples responses to prompts and makes OpenRLHF's record of them, padded at the right."""
    rows = []
    for prompt in words:
        row = policy.generate(torch.tensor([prompt]), do_sample=True, top_k=0, max_new_tokens=LONGEST)
        rows.append(row[0].tolist())
    width = max(map(len, rows))
    sequences = torch.tensor([row + [tiny.PAD] * (width - len(row)) for row in rows])
    place = torch.arange(1, width)
    starts, ends = (torch.tensor([len(row) for row in each])[:, None] for each in (words, rows))
    mask, attention = (place >= starts) & (place < ends), torch.arange(width) < ends
    with torch.no_grad():
        old, base = (each(sequences, mask, attention_mask=attention) for each in (actor, reference))
    kl = torch.zeros_like(old) if in_loss or not KL else compute_approx_kl(old, base, kl_estimator="k1")
    engine = (
        {"rollout_log_probs": (old + 0.03 * torch.randn(old.shape)).clamp(max=0) * mask} if kind == "engine" else {}
    )
    values = {"values": torch.randn(old.shape) * mask} if estimator == "gae" else {}
    return Experience(
        sequences=sequences, attention_mask=attention.long(), action_mask=mask, action_log_probs=old, kl=kl,
        base_action_log_probs=base if in_loss else None, **values, **engine,
        rewards=torch.randn(len(rows)), truncated=ends[:, 0] - starts[:, 0] == LONGEST, index=index, info={},
    )  # fmt: skip


optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
taken = [0]


def stepped(*_: object, **__: object) -> None:
    """Steps after every GAS microbatches, as DeepSpeed does."""
    taken[0] += 1
    if taken[0] % GAS == 0:
        optimizer.step()
        optimizer.zero_grad()


strategy = Space(
    args=args, ring_attn_group=None, accumulated_gradient=GAS, optimizer_step=stepped, ds_device_mesh=None,
    backward=lambda loss, *_: (loss / GAS).backward(), get_grad_norm=lambda _: 0.0,
)  # fmt: skip
maker = RemoteExperienceMaker.__new__(RemoteExperienceMaker)
maker.strategy, maker.kl_ctl, maker.advantage_estimator = strategy, Space(value=KL), estimator
prompts = [prompt for prompt in tiny.prompts(ROWS // samples) for _ in range(samples)]
batches = [experienced(prompts[at : at + SIZE], list(range(at, at + SIZE))) for at in range(0, ROWS, SIZE)]
batches = maker.compute_advantages_and_returns(batches)

trainer = ActorPPOTrainer.__new__(ActorPPOTrainer)
trainer.strategy, trainer.args, trainer.actor, trainer.actor_optim = strategy, args, actor, optimizer
trainer.aux_loss, trainer.ema_model, trainer.max_epochs = False, None, EPOCHS
trainer.actor_scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
correction = {name: each for name, each in vars(args.algo.advantage).items() if name.startswith("is_correction")}
trainer.actor_loss_fn = PolicyLoss(
    0.2,
    0.28,
    args.actor.dual_clip,
    token_level_loss=kind != "responses",
    policy_loss_type=args.actor.policy_loss_type,
    **correction,
)
trainer.replay_buffer = MagicMock(sample_batch_size=SIZE, __len__=lambda _: ROWS)
for _ in range(EPOCHS):
    order = [batches[number] for number in torch.randperm(len(batches))]
    parts = iter_grad_accum_global_norm(order, strategy, GAS, lambda each: each.action_mask)
    for step, (experience, info) in enumerate(parts):
        trainer.training_step(experience, KL, step, info)
torch.distributed.destroy_process_group()
