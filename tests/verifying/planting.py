"""Planted faults, as data: what a library did otherwise than its preset says, and what `verify` must then find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.settings import Setting, laid_over
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from tests.verifying.dumps import FIRST, as_dtype, dump, settings

ROWS = {"rewards": "rewards", "advantages": "advantages_used", "returns": "returns"}
NUMBERS = (
    "policy_loss",
    "value_loss",
    "entropy",
    "total_loss",
    "clip_fraction.used",
    "approx_kl.used",
    "kl.statistic",
    "ev.used",
)


@dataclass(frozen=True)
class Fault:
    """library: whose preset the file is held against. changes: conventions that its run had otherwise.

    altered: tensors that its run had otherwise, made of those of the file. quantity: what goes wrong first. cause: words of
    the cause that must be among those named.
    """

    library: str
    quantity: str
    cause: str
    changes: Mapping[str, Setting] = field(default_factory=dict)
    altered: Callable[[Minibatch], Minibatch] | None = None
    without: tuple[str, ...] = ()


def with_tensors(batch: Minibatch, **tensors: Array) -> Minibatch:
    """Returns a dump with other tensors."""
    return replace(batch, tensors={**batch.tensors, **tensors})


def moved(name: str, by: int) -> Callable[[Minibatch], Minibatch]:
    """Returns how a tensor is read from the slot before (by 1) or behind (by −1); at the edge stands 0."""

    def change(batch: Minibatch) -> Minibatch:
        after = np.roll(batch.tensors[name], by, axis=1)
        after[:, 0 if by > 0 else -1] = 0
        return with_tensors(batch, **{name: after})

    return change


def swapped(one: str, other: str) -> Callable[[Minibatch], Minibatch]:
    """Returns how two tensors are taken for each other."""
    return lambda batch: with_tensors(batch, **{one: batch.tensors[other], other: batch.tensors[one]})


FAULTS = (
    Fault("verl", "advantages", "advantage.ddof = 0", {"advantage.ddof": 0}),
    Fault("openai", "rewards", "advantage.ddof = 1", {"advantage.ddof": 1}),
    Fault("trl_0.11.4", "rewards", "reward.score_slot = one_past", {"reward.score_slot": "one_past"}),
    Fault("openrlhf", "advantages", "gamma = 0.99", {"gamma": 0.99}),
    Fault("openrlhf", "advantages", "gae_lambda = 0.95", {"gae_lambda": 0.95}),
    Fault("trl_0.11.4", "rewards", "kl_coef = 0.0537 (fitted", {"kl_coef": 0.0537}),
    Fault("trl_1.12", "rewards", "reward.kl_in = none", {"reward.kl_in": "none"}),
    Fault("trl_0.11.4", "rewards", "kl_estimator = k3", {"kl_estimator": "k3"}),
    Fault("openrlhf", "rewards", "reward.score_clip = 5", {"reward.score_clip": 5}),
    Fault("trl_0.11.4", "rewards", "reward.missing_eos_value = -1",
          {"reward.missing_eos": "set", "reward.missing_eos_value": -1}),
    Fault("openai", "rewards", "reward.whiten = off", {"reward.whiten": "off"}),
    Fault("verl", "advantages", "whiten_advantages = off", {"whiten_advantages": "off"}),
    Fault("torchtune", "advantages", "whiten_advantages = on", {"whiten_advantages": "on"}),
    Fault("trlx", "advantages", "advantage.stats = mask", {"advantage.stats": "mask"}),
    Fault("dschat", "advantages", "advantage.tail_slots = 0", {"advantage.tail_slots": 0}),
    Fault("nemo_aligner", "advantages", "advantage.tail_slots = 1", {"advantage.tail_slots": 1}),
    Fault("nemo_rl", "policy_loss", "loss.aggregation = seq-mean-token-mean", {"loss.aggregation": "seq-mean-token-mean"}),
    Fault("verl", "policy_loss", "loss.dual_clip = off", {"loss.dual_clip": "off"}),
    Fault("nemo_aligner", "policy_loss", "loss.sample_filter = none", {"loss.sample_filter": "none"}),
    Fault("trl_1.12", "value_loss", "value.tail = 0", {"value.tail": 0}),
    Fault("openrlhf", "value_loss", "value_clip_range = 0.2", {"value_clip_range": 0.2}),
    Fault("trl_0.11.4", "value_loss", "value.factor = 0.37 (fitted", {"value.factor": 0.37}),
    Fault("trl_0.11.4", "total_loss", "vf_coef = 0.3 (fitted", {"vf_coef": 0.3}),
    Fault("trl_1.12", "approx_kl.used", "metrics.over = mask", {"metrics.over": "mask"}),
    Fault("trl_0.11.4", "rewards", "preset trl_1.12 altogether", {"kl_coef": 0.05, "reward.score_slot": "one_past",
          "advantage.tail_slots": 1, "value.tail": 1, "metrics.over": "all", "loss.ratio_threshold": "off",
          "reward.whiten_rezero": "on", "metrics.explained": "var_old"}),
    Fault("trl_0.11.4", "advantages", "values_old of the position before", altered=moved("values_old", 1)),
    Fault("trl_0.11.4", "advantages", "values_old of the position behind", altered=moved("values_old", -1)),
    Fault("verl", "policy_loss", "logprobs_new of the position before",
          altered=moved("logprobs_new", 1), without=("approx_kl.used",)),
    Fault("verl", "policy_loss", "the ratio is inverted", altered=swapped("logprobs_old", "logprobs_new"),
          without=("approx_kl.used", "kl.statistic")),
    Fault("trl_0.11.4", "rewards", "logprobs_ref of the position behind", altered=moved("logprobs_ref", -1)),
)  # fmt: skip


def planted(fault: Fault, dtype: str = "float64") -> Minibatch:
    """Returns the file of a run that did otherwise: the inputs as they are, and what its own pipeline made of them."""
    batch = dump(FIRST[fault.library])
    inputs = {name: each for name, each in batch.tensors.items() if name not in ROWS}
    before = replace(batch, tensors=inputs)
    run = replay(
        fault.altered(before) if fault.altered else before, laid_over(settings(FIRST[fault.library]), fault.changes)
    )
    rows, slots = run.rows(range(len(batch.slots))), batch.mask.shape[1]
    tensors = inputs | {name: rows[row][:, :slots] for name, row in ROWS.items()}
    rounded = {name: as_dtype(each, dtype) if each.dtype.kind == "f" else each for name, each in tensors.items()}
    logged = {name: run.whole[name] for name in NUMBERS if name not in fault.without}
    return replace(batch, tensors=rounded, logged=logged, dtypes=dict.fromkeys(rounded, dtype))
