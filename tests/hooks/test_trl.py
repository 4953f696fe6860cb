"""The hook for TRL, run among the variables of its training loop; and that every hook is short."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from blueprint.dumps import Place
from tests.hooks.page import HOOKS, Hook
from tests.hooks.running import MASK, PROMPT, ROWS, SLOTS, noise, run, same

ARGS = SimpleNamespace(
    gamma=1.0, lam=0.95, cliprange=0.2, cliprange_value=0.3, vf_coef=0.1, kl_coef=0.05, kl_estimator="k3",
    whiten_rewards=True, temperature=0.7, num_ppo_epochs=1, num_mini_batches=2, local_mini_batch_size=9,
    per_device_train_batch_size=4, bf16=True, fp16=False,
)  # fmt: skip
SETTINGS = {
    "ppo.gamma": 1.0, "ppo.gae_lambda": 0.95, "ppo.clip_range": 0.2, "loss.clip_range_high": 0.2, "ppo.vf_coef": 0.1,
    "ppo.value_clip_range": 0.3, "ppo.kl_coef": 0.05, "ppo.kl_estimator": "k3", "reward.whiten": "on",
    "batch.temperature": 0.7,
}  # fmt: skip
"""What a file must say of ARGS."""


def test_the_page_has_a_hook_for_each_library() -> None:
    assert list(HOOKS) == [
        "TRL", "TRL GRPO, rewards", "TRL GRPO", "TRL RLOO, rewards", "TRL RLOO", "TRL DPO", "TRL reward", "TRL KTO", "TRL SFT",
        "TRL 0.11", "OpenRLHF", "OpenRLHF, groups",
        "verl", "verl, on a worker", "verl, which minibatch", "verl, which microbatch",
        "SB3, buffer", "SB3, time limits", "SB3", "CleanRL",
    ]  # fmt: skip
    assert all(len(ast.parse(hook.code).body) <= 25 for hook in HOOKS.values())


def test_trl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """trl/experimental/ppo/ppo_trainer.py, train(), 1.12.0: pads have log-prob 1.0, values end one slot behind the last word."""
    rows = np.array([2, 0, 3, 1])
    back = np.argsort(rows)
    batch = {name: noise(ROWS, SLOTS)[back] for name in ("rewards", "advantages", "returns", "values")}
    logprobs, ref_logprobs, new_logprobs = (torch.where(MASK, -noise(ROWS, SLOTS).exp(), 1.0) for _ in range(3))
    difference = new_logprobs - logprobs
    scalars = {name: noise(1)[0] for name in ("loss", "pg_loss", "vf_loss", "pg_clipfrac", "vf_clipfrac")}
    entropy, vpred, responses = noise(ROWS, SLOTS).exp(), noise(ROWS, SLOTS), torch.randint(1, 90, (ROWS, SLOTS))
    queries, scores = torch.randint(1, 90, (ROWS, PROMPT)), noise(ROWS)
    found = run(
        "TRL", tmp_path, monkeypatch, "1.12.0",
        args=ARGS, micro_batch_inds=rows, ppo_epoch_idx=0, minibatch_idx=1, gradient_accumulation_idx=2,
        self=SimpleNamespace(state=SimpleNamespace(global_step=17), updates=3), torch=torch,
        accelerator=SimpleNamespace(process_index=1, num_processes=2, sync_gradients=True),
        queries=queries[back], padding_mask=~MASK[back], ref_logprobs=ref_logprobs[back], scores=scores[back],
        rewards=batch["rewards"], mb_responses=responses, mb_logprobs=logprobs, new_logprobs=new_logprobs, vpred=vpred,
        mb_values=batch["values"][rows], mb_advantage=batch["advantages"][rows], mb_return=batch["returns"][rows],
        entropy=entropy, ratio=difference.exp(), approxkl=0.5 * (difference**2).mean(), **scalars,
    )  # fmt: skip
    same(found, logprobs_old=logprobs, logprobs_ref=ref_logprobs, logprobs_new=new_logprobs, entropy=entropy)
    same(found, scores=scores, values_new=vpred, values_old=batch["values"][rows], response_ids=responses)
    same(found, **{name: batch[name][rows] for name in ("rewards", "advantages", "returns")})
    assert np.array_equal(found.mask, MASK.numpy())
    assert np.array_equal(found.tensors["prompt_ids"], queries.numpy())
    assert (found.library, found.version, found.preset, found.step) == ("trl", "1.12.0", "trl_1.12", 17)
    assert found.place == Place(
        rank=1,
        world_size=2,
        epoch=0,
        epochs=1,
        minibatch=1,
        minibatches=2,
        microbatch=2,
        microbatches=3,
        optimizer_step=3,
    )
    assert found.forward_dtype == "bfloat16"
    assert found.hyperparameters == SETTINGS
    assert found.logged == {
        "total_loss": scalars["loss"].item(), "policy_loss": scalars["pg_loss"].item(), "value_loss": scalars["vf_loss"].item(),
        "clip_fraction.used": scalars["pg_clipfrac"].item(), "clip_fraction.value": scalars["vf_clipfrac"].item(),
        "approx_kl.used": (0.5 * (difference**2).mean()).item(), "entropy.watched": entropy.mean().item(),
        "ratio.mean": difference.exp().mean().item(),
    }  # fmt: skip


@pytest.mark.parametrize("hook", HOOKS.values(), ids=list(HOOKS))
def test_a_hook_is_pasted_at_the_depth_of_its_anchor(hook: Hook) -> None:
    """The page says where; tests/hooks/real does the same in the library's own source."""
    under = "            pass\n" if hook.anchor.endswith(":") else ""
    under += "        )\n" * (
        hook.anchor.count("(") - hook.anchor.count(")")
    )  # a call that goes on behind its first line
    source = f"def f():\n    if True:\n        {hook.anchor or 'pass'}\n{under}        pass\n"
    pasted = hook.pasted(source)
    ast.parse(pasted)
    assert indent(hook.code, "        " if hook.anchor else "") in pasted
    assert (pasted.index(hook.anchor) < pasted.index(hook.code.splitlines()[0])) == (hook.behind or not hook.anchor)


def test_a_hook_without_its_anchor_is_not_pasted() -> None:
    with pytest.raises(ValueError, match="stands there 0 times, expected once"):
        HOOKS["TRL"].pasted("pass\n")
