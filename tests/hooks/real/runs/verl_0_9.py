# mypy: disable-error-code="attr-defined, misc, no-any-return, no-untyped-call"
"""verl 0.9.1 on two processes: a rollout of 8 responses, two mini-batches of two microbatches each, gone through twice.

Its one argument is `loss_agg_mode`. verl's own are: advantages (compute_advantage, which both trainers call), the worker's loops
over mini-batches and microbatches, the engine's forward pass, the losses of actor and critic. FSDP, which needs an accelerator,
is not there: each process holds the whole model, and gradients are averaged here.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from types import SimpleNamespace as Space
from typing import Any

import aside
import tiny
import torch

aside.put_aside("wandb", "uvicorn", "fastapi", "PIL", "pylatexenc", "tensorboard")

from omegaconf import OmegaConf  # noqa: E402
from tensordict import TensorDict  # noqa: E402
from transformers import LlamaForCausalLM, LlamaForTokenClassification  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.trainer.ppo import ray_trainer  # noqa: E402
from verl.utils import tensordict_utils as tu  # noqa: E402
from verl.workers import engine_workers  # noqa: E402
from verl.workers.config import ActorConfig, CriticConfig  # noqa: E402
from verl.workers.engine.fsdp import transformer_impl as fsdp  # noqa: E402
from verl.workers.utils import losses  # noqa: E402
from verl.workers.utils.padding import left_right_2_no_padding, no_padding_2_padding  # noqa: E402

ROWS, PROMPT, LONGEST, EPOCHS, RANKS = 8, 5, 8, 2, 2
fsdp.get_device_id = fsdp.get_device_name = lambda: "cpu"


class Whole:
    """What FSDP would do for an engine: nothing is sharded, gradients are averaged."""

    def begun(self, module: torch.nn.Module) -> Any:
        """Gives an engine that was not initialised its model and its settings."""
        self.module, self.scaler, self._qat_enabled, self._autocast_dtype = module, None, False, torch.float32
        self.ulysses_sequence_parallel_size, self.use_ulysses_sp, self.optimizer_config = 1, False, Space(clip_grad=1.0)
        self.engine_config = Space(
            forward_only=False, use_dynamic_bsz=False, max_token_len_per_gpu=1000, micro_batch_size_per_gpu=1,
            use_no_sync_for_gradient_accumulation=False, entropy_checkpointing=False, pad_to_length=False,
            use_fused_kernels=False,
        )  # fmt: skip
        self.optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
        self.lr_scheduler = torch.optim.lr_scheduler.ConstantLR(self.optimizer, factor=1.0)
        self.pad_to_length, self.compute_entropy_from_logits = False, fsdp.verl_F.entropy_from_logits
        return self

    def train_mode(self, **_: Any) -> Any:
        return nullcontext()

    def is_mp_src_rank_with_outputs(self) -> bool:
        return True

    def get_data_parallel_group(self) -> Any:
        return torch.distributed.group.WORLD

    def get_data_parallel_size(self) -> int:
        return RANKS

    def get_data_parallel_rank(self) -> int:
        return torch.distributed.get_rank()

    def optimizer_step(self) -> float:
        for weight in self.module.parameters():
            if weight.grad is not None:
                torch.distributed.all_reduce(weight.grad)
                weight.grad /= RANKS
        return float(super().optimizer_step())


class Actor(Whole, fsdp.FSDPEngineWithLMHead): ...


class Critic(Whole, fsdp.FSDPEngineWithValueHead): ...


class Worker(engine_workers.TrainingWorker):
    """A worker without what Ray and the profiler tell it."""

    def __init__(self, engine: Any, loss: Any) -> None:
        self.engine, self.engine_config, self.loss_fn = engine, engine.engine_config, loss
        self.model_config = {"use_remove_padding": False}
        nothing = engine_workers.DistProfiler(rank=torch.distributed.get_rank(), config=None, tool_config=None)
        engine_workers.DistProfilerExtension.__init__(self, nothing)

    def _postprocess_output(self, output: Any, **_: Any) -> Any:
        return tu.get_tensordict(tensor_dict={}, non_tensor_dict={"metrics": {}})


def batch_of(policy: Any) -> dict[str, torch.Tensor]:
    """Samples responses, padded at both sides as verl has them."""
    prompts = [[tiny.PAD] * (PROMPT - len(words)) + words for words in tiny.prompts(ROWS)]
    ids = torch.tensor(prompts)
    words = policy.generate(
        ids, attention_mask=(ids != tiny.PAD).long(), do_sample=True, top_k=0, max_new_tokens=LONGEST
    )
    words = torch.nn.functional.pad(words, (0, PROMPT + LONGEST - words.shape[1]), value=tiny.PAD)
    responses = words[:, PROMPT:]
    ended = (responses == tiny.EOS).cumsum(1) - (responses == tiny.EOS).long()
    mask = torch.cat([ids != tiny.PAD, ended == 0], 1).long()
    return {
        "prompts": ids, "responses": responses, "input_ids": words, "attention_mask": mask,
        "position_ids": (mask.cumsum(1) - 1).clamp(min=0), "response_mask": mask[:, PROMPT:],
    }  # fmt: skip


def told(batch: dict[str, torch.Tensor], rows: slice, entropy: bool) -> TensorDict:
    """Returns rows of a batch as a trainer hands them to a worker."""
    data = left_right_2_no_padding(
        TensorDict({name: each[rows].clone() for name, each in batch.items()}, batch_size=ROWS // RANKS)
    )
    tu.assign_non_tensor(
        data, calculate_entropy=entropy, global_batch_size=ROWS // 2, mini_batch_size=ROWS // 2, epochs=EPOCHS, seed=1,
        temperature=1.0, use_remove_padding=False, use_dynamic_bsz=False, micro_batch_size_per_gpu=1, use_fused_kernels=False,
        compute_loss=True, dataloader_kwargs={"shuffle": True}, max_token_len_per_gpu=1000,
    )  # fmt: skip
    return data


def of_policy(engine: Any, data: TensorDict) -> torch.Tensor:
    """Returns log-probs or values that the engine computes, of every response in the place of the responses."""
    found = engine.infer_batch(data)["model_output"]
    name = "log_probs" if "log_probs" in found else "values"
    return no_padding_2_padding(found[name], data)


def run(rank: int, mode: str, folder: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29641")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    policy = tiny.lively(LlamaForCausalLM(tiny.config())).eval()
    reference = tiny.near(LlamaForCausalLM(tiny.config()), policy).eval()
    critic = tiny.lively(LlamaForTokenClassification(tiny.config(num_labels=1))).eval()
    batch = batch_of(policy)
    actor_engine, critic_engine = Actor.__new__(Actor).begun(policy), Critic.__new__(Critic).begun(critic)
    reference_engine = Actor.__new__(Actor).begun(reference)
    engines = {"old_log_probs": actor_engine, "ref_log_prob": reference_engine, "values": critic_engine}
    whole = {}
    for name, engine in engines.items():
        parts = [
            of_policy(engine, told(batch, slice(at, at + ROWS // RANKS), False)) for at in range(0, ROWS, ROWS // RANKS)
        ]
        whole[name] = torch.cat(parts).detach()
    batch |= whole
    scores = torch.zeros(ROWS, LONGEST)
    scores[torch.arange(ROWS), batch["response_mask"].sum(1) - 1] = torch.randn(ROWS)
    data = DataProto.from_dict(tensors=batch | {"token_level_scores": scores})
    algorithm = OmegaConf.create(
        {
            "gamma": 1.0,
            "lam": 0.95,
            "use_kl_in_reward": True,
            "kl_penalty": "kl",
            "kl_ctrl": {"type": "fixed", "kl_coef": 0.05},
        }
    )
    controller = ray_trainer.core_algos.FixedKLController(0.05)
    data, _ = ray_trainer.apply_kl_penalty(data, controller, "kl")
    os.chdir(folder if rank == 0 else os.devnull.replace("null", "shm"))
    data = ray_trainer.compute_advantage(data, "gae", gamma=1.0, lam=0.95, config=algorithm)
    os.chdir(folder)
    batch |= {name: data.batch[name] for name in ("advantages", "returns")}
    common = {
        "strategy": "fsdp",
        "ppo_micro_batch_size_per_gpu": 1,
        "loss_agg_mode": mode,
        "ppo_mini_batch_size": ROWS // 2,
    }
    of_actor = ActorConfig(
        **common, rollout_n=1, clip_ratio_high=0.28, entropy_coeff=0.01, use_kl_loss=True, kl_loss_coef=0.05
    )
    of_critic = CriticConfig(**common)
    mine = slice(rank * ROWS // RANKS, (rank + 1) * ROWS // RANKS)
    for engine, config, loss in (
        (actor_engine, of_actor, losses.ppo_loss),
        (critic_engine, of_critic, losses.value_loss),
    ):
        worker = Worker(engine, lambda config=config, loss=loss, **more: loss(config=config, **more))
        worker.train_mini_batch(told(batch, mine, engine is actor_engine))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(run, (sys.argv[1], os.getcwd()), nprocs=RANKS)
