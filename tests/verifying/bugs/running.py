"""A training step of each library on made-up numbers: what its own code makes of them, as its hook would write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional
from torch import Tensor

from blueprint.dumps import Minibatch
from blueprint.verifying.settings import Setting, laid_over
from blueprint.workbooks.common.conventions import rlhf
from tests.verifying.bugs.source import Source

RESPONSES, SLOTS = 12, 16
PAD_LOGPROB = 1.0
"""INVALID_LOGPROB of TRL."""

CHOSEN: Mapping[str, float] = {"gamma": 0.97, "gae_lambda": 0.9, "kl_coef": 0.1, "value_clip_range": 0.3}
RANGES = {"low": 0.2, "high": 0.28}
OF_LIBRARY: Mapping[str, dict[str, Setting]] = {
    "verl": {
        "clip_range": RANGES["low"],
        "loss.clip_range_high": RANGES["high"],
        "reward.kl_in": "reward",
        "vf_coef": 0.5,
    },
    "openrlhf": {"clip_range": RANGES["low"], "loss.clip_range_high": RANGES["high"]},
    "trl": {"vf_coef": 0.3, "clip_range": 0.25, "loss.clip_range_high": 0.25},
}
PRESETS = {"verl": "verl", "openrlhf": "openrlhf", "trl": "trl_1.12"}
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Step:
    """What a library was given and made: tensors [B, T] by neutral names, and what it logged."""

    tensors: Mapping[str, Tensor]
    logged: Mapping[str, float]


def inputs(seed: int) -> Tensors:
    """Returns made-up numbers in float32: log-probs, values, entropy, scores, and a mask of responses of all lengths."""
    drawn = torch.Generator().manual_seed(seed)
    shape = (RESPONSES, SLOTS)

    def normal(size: float, *of: int) -> Tensor:
        return size * torch.randn(*(of or shape), generator=drawn)

    old = -torch.rand(shape, generator=drawn) * 3 - 0.02
    values = normal(1.0)
    length = torch.randint(2, SLOTS + 1, (RESPONSES,), generator=drawn)
    length[:2] = torch.tensor([SLOTS, 3])
    return {
        "logprobs_old": old,
        "logprobs_ref": (old + normal(0.4)).clamp(max=-1e-3),
        "logprobs_new": (old + normal(0.3)).clamp(max=-1e-3),
        "values_old": values,
        "values_new": values + normal(0.5),
        "entropy": torch.rand(shape, generator=drawn) * 2 + 0.1,
        "scores": normal(3.0, RESPONSES),
        "length": length,
        "response_mask": torch.arange(SLOTS) < length[:, None],
    }


def settings(library: str) -> dict[str, Setting]:
    """Returns the conventions of a library as it is run here."""
    return laid_over(rlhf().preset(PRESETS[library]).values, CHOSEN, OF_LIBRARY[library])


def verl(source: Source, given: Tensors) -> Step:
    """Runs verl's functions as its trainer and its workers call them."""
    known: dict[str, Any] = {"torch": torch, "AlgoConfig": type(None)}
    known["verl_F"] = SimpleNamespace(
        **source.names(
            "verl functional",
            ("masked_sum", "masked_mean", "masked_var", "masked_whiten", "clip_by_value"),
            {"torch": torch},
        )
    )
    names = (
        "compute_gae_advantage_return",
        "agg_loss",
        "compute_policy_loss_vanilla",
        "compute_value_loss",
        "kl_penalty_forward",
    )
    its: Any = SimpleNamespace(**source.names("verl core", names, known))
    mask = given["response_mask"].float()
    scores = torch.zeros_like(mask).scatter(1, given["length"][:, None] - 1, given["scores"][:, None])
    kl = its.kl_penalty_forward(given["logprobs_old"], given["logprobs_ref"], "k1") * mask
    rewards = scores - CHOSEN["kl_coef"] * kl
    advantages, returns = its.compute_gae_advantage_return(
        rewards, given["values_old"], mask, CHOSEN["gamma"], CHOSEN["gae_lambda"]
    )
    config = _Config(clip_ratio=0.2, clip_ratio_low=RANGES["low"], clip_ratio_high=RANGES["high"], global_batch_info={})
    policy, metrics = its.compute_policy_loss_vanilla(
        given["logprobs_old"], given["logprobs_new"], advantages, mask, "token-mean", config
    )
    value, _ = its.compute_value_loss(
        given["values_new"], returns, given["values_old"], mask, CHOSEN["value_clip_range"]
    )
    entropy = its.agg_loss(loss_mat=given["entropy"], loss_mask=mask, loss_agg_mode="token-mean")
    logged = {"policy_loss": policy, "value_loss": value, "entropy": entropy}
    logged |= {"approx_kl": metrics["actor/ppo_kl"], "clip_fraction": metrics["actor/pg_clipfrac"]}
    return _step(given, {"scores": scores, "rewards": rewards, "advantages": advantages, "returns": returns}, logged)


class _Config(SimpleNamespace):
    def get(self, name: str, default: float) -> float:
        return default


def openrlhf(source: Source, given: Tensors) -> Step:
    """Runs OpenRLHF's functions as its experience maker and its actor and critic call them."""
    known: dict[str, Any] = {"torch": torch, "nn": torch.nn, "Optional": None, "itertools": __import__("itertools")}
    source.names("openrlhf utils", ("masked_mean", "compute_approx_kl", "compute_reward"), known)
    source.names("openrlhf loss", ("aggregate_loss", "PolicyLoss", "ValueLoss"), known)
    source.names("openrlhf maker", ("compute_advantages_and_returns", "get_advantages_and_returns"), known)
    its: Any = SimpleNamespace(**known)
    mask = given["response_mask"]
    kl = its.compute_approx_kl(given["logprobs_old"], given["logprobs_ref"], kl_estimator="k1") * mask
    rows = torch.arange(RESPONSES)
    made = SimpleNamespace(
        rewards=given["scores"], kl=kl, action_mask=mask, values=given["values_old"], index=rows.tolist(), info={}
    )
    kept: list[Tensor] = []
    known["apply_length_penalties"] = lambda experiences, args: None
    reward_of = known["compute_reward"]

    def compute_reward(*args: Any, **more: Any) -> Tensor:
        kept.append(reward_of(*args, **more))
        return kept[-1]

    known["compute_reward"] = compute_reward
    advantage = SimpleNamespace(estimator="gae", gamma=CHOSEN["gamma"], lambd=CHOSEN["gae_lambda"], no_std_norm=False)
    args = SimpleNamespace(
        algo=SimpleNamespace(advantage=advantage), rollout=SimpleNamespace(n_samples_per_prompt=1),
        reward=SimpleNamespace(clip_range=(-10, 10)),
    )  # fmt: skip
    maker = SimpleNamespace(
        strategy=SimpleNamespace(args=args), kl_ctl=SimpleNamespace(value=CHOSEN["kl_coef"]), advantage_estimator="gae"
    )
    maker.get_advantages_and_returns = lambda *args: its.get_advantages_and_returns(maker, *args)
    its.compute_advantages_and_returns(maker, [made])
    policy, clipped, approx, *_ = its.PolicyLoss(RANGES["low"], RANGES["high"])(
        given["logprobs_new"], given["logprobs_old"], made.advantages, mask
    )
    value = its.ValueLoss(CHOSEN["value_clip_range"])(given["values_new"], given["values_old"], made.returns, mask)
    entropy = its.masked_mean(given["entropy"], mask)
    logged = {
        "policy_loss": policy,
        "value_loss": value,
        "entropy": entropy,
        "approx_kl": approx,
        "clip_fraction": clipped,
    }
    return _step(given, {"rewards": kept[0], "advantages": made.advantages, "returns": made.returns}, logged)


def trl(source: Source, given: Tensors) -> Step:
    """Runs the lines of TRL's PPOTrainer.train between the forwards and the backward."""
    known: dict[str, Any] = {"torch": torch, "np": np, "empty_cache": lambda: None}
    source.names("trl", ("masked_mean", "masked_var", "masked_whiten"), known)
    length = given["length"] - 1
    columns = torch.arange(SLOTS).repeat(RESPONSES, 1)
    pads, pads_p1 = columns > length[:, None], columns > length[:, None] + 1
    held = {
        name: given[name].masked_fill(pads, PAD_LOGPROB) for name in ("logprobs_old", "logprobs_ref", "logprobs_new")
    }
    held |= {name: given[name].masked_fill(pads_p1, 0) for name in ("values_old", "values_new")}
    known |= {
        "args": SimpleNamespace(
            kl_estimator="k1", kl_coef=CHOSEN["kl_coef"], whiten_rewards=False, gamma=CHOSEN["gamma"], lam=CHOSEN["gae_lambda"],
            cliprange_value=CHOSEN["value_clip_range"], cliprange=0.25, vf_coef=OF_LIBRARY["trl"]["vf_coef"],
        ),
        "logprobs": held["logprobs_old"], "ref_logprobs": held["logprobs_ref"], "values": held["values_old"],
        "scores": given["scores"], "responses": given["entropy"], "padding_mask": pads, "padding_mask_p1": pads_p1,
        "sequence_lengths": length, "sequence_lengths_p1": length + 1,
    }  # fmt: skip
    exec(
        source.lines(
            "trl", "logr = ref_logprobs - logprobs", "advantages = torch.masked_fill(advantages, padding_mask, 0)"
        ),
        known,
    )
    known |= {
        "micro_batch_inds": torch.arange(RESPONSES),
        "mb_advantage": known["advantages"],
        "mb_return": known["returns"],
    }
    known |= {"mb_values": held["values_old"], "mb_logprobs": held["logprobs_old"], "vpred": held["values_new"]}
    known |= {"new_logprobs": held["logprobs_new"], "mb_ref": held["logprobs_ref"]}
    exec(source.lines("trl", "vpredclipped = torch.clamp(", "loss = pg_loss"), known)
    exec(source.lines("trl", "pg_clipfrac = masked_mean(", "                                )"), known)
    exec(source.lines("trl", "approxkl =", "approxkl ="), known)
    logged = {"policy_loss": known["pg_loss"], "value_loss": known["vf_loss"], "total_loss": known["loss"]}
    logged |= {
        "clip_fraction": known["pg_clipfrac"],
        "approx_kl": known["approxkl"],
        "entropy": given["entropy"].mean(),
    }
    logged |= {"ratio": known["ratio"].mean(), "kl": known["kl"].sum(1).mean()}
    made = {name: known[name] for name in ("rewards", "advantages", "returns")}
    return _step({**given, **held}, made, logged)


RUN: Mapping[str, Callable[[Source, Tensors], Step]] = {"verl": verl, "openrlhf": openrlhf, "trl": trl}


def _step(given: Tensors, made: Tensors, logged: Mapping[str, Any]) -> Step:
    tensors = {name: each for name, each in given.items() if name != "length"} | made
    return Step(tensors, {name: float(each) for name, each in logged.items()})


def dump(library: str, step: Step) -> Minibatch:
    """Returns a step as a file of it is read."""
    tensors = {name: each.numpy() for name, each in step.tensors.items()}
    slots, first = np.full(RESPONSES, SLOTS), np.zeros(RESPONSES, dtype=np.int64)
    dtypes = {name: str(each.dtype) for name, each in tensors.items()}
    called = {name: name for name in tensors}
    return Minibatch(
        f"{library}.npz", tensors, dtypes, called, slots, first, preset=PRESETS[library], logged=dict(step.logged)
    )
