"""The last step of an iteration as a dump, as a trainer would write it: for `verify`, and for workbooks of large batches.

Tensors have the neutral names of `docs/minibatch.md`, and the metadata says the settings, and what the run computed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from blueprint.training.folder import RunError
from blueprint.training.iteration import LastStep
from blueprint.training.numbers import RunNumbers

Arrays = dict[str, NDArray[Any]]
LOGGED = {"total_loss": "total", "policy_loss": "policy_loss"}
OF_PPO = {
    **LOGGED,
    "value_loss": "value_loss",
    "entropy": "entropy",
    "clip_fraction.used": "clip_fraction",
    "approx_kl.used": "approx_kl",
}
"""By name in a dump, the result of the page that was logged."""


class Dump(NamedTuple):
    """Tensors by neutral name, and metadata."""

    tensors: Arrays
    metadata: dict[str, Any]


def dump_of(numbers: RunNumbers, step: LastStep, r: int, iteration: int, kl_coef: float) -> Dump:
    """Returns the step of a run, by its place among all. Raises RunError where there is no such dump, in a sentence."""
    update = numbers.update
    if update.method == "rejection":
        raise RunError(
            f"iteration {iteration} as a dump: rejection sampling learns from the best responses alone, as fine-tuning does;"
            " write it as a workbook"
        )
    rows = _rows(numbers)
    tensors = {name: each[r].cpu().numpy()[rows] for name, each in _tensors(numbers, step).items()}
    each = update.responses // len(numbers.text.prompts)
    group = np.arange(update.responses)[rows] // each
    prompts = np.array([numbers.ids(prompt) for prompt in numbers.text.prompts])
    tensors |= {"prompt_ids": prompts[group], "row_index": np.arange(update.responses)[rows]}
    logged = {name: float(getattr(step.loss, of)[r]) for name, of in _logged(numbers).items()}
    metadata = {
        "preset": "default",
        "layout": "response",
        "step": iteration,
        "epoch": update.epochs - 1,
        "epochs": update.epochs,
        "optimizer_step": update.epochs * update.minibatches - 1,
        "logprobs_old_from": "trainer",
        "forward_dtype": "float64",
        "hyperparameters": (_of_grpo if update.method == "grpo" else _of_ppo)(numbers, kl_coef),
        "logged": logged,
    }
    return Dump(tensors | ({"group": group} if update.method == "grpo" else {}), metadata)


def _rows(numbers: RunNumbers) -> slice:
    """Returns the responses of the last minibatch."""
    update = numbers.update
    return slice(update.responses - update.responses // update.minibatches, update.responses)


def _logged(numbers: RunNumbers) -> dict[str, str]:
    return OF_PPO if numbers.update.method == "ppo" else LOGGED


def _tensors(numbers: RunNumbers, step: LastStep) -> dict[str, Tensor]:
    """Returns what a trainer has in hand; of one of several minibatches not the scores, for it is whitened over the whole batch."""
    rollout = step.rollout
    found = {
        "response_ids": rollout.tokens,
        "response_mask": rollout.mask.to(step.logp.dtype),
        "logprobs_old": rollout.logp_old,
        "logprobs_ref": rollout.logp_ref,
        "logprobs_new": step.logp,
        "entropy": step.entropy,
    }
    if numbers.update.method == "grpo":
        return found | {"scores": rollout.scores}
    found |= {"values_old": rollout.values, "values_new": step.values}
    whole = numbers.update.minibatches == 1
    return found | ({"scores": rollout.scores} if whole else {"advantages": step.advantages, "returns": step.returns})


def _of_ppo(numbers: RunNumbers, kl_coef: float) -> dict[str, Any]:
    use = numbers.ppo
    return {
        "ppo.gamma": use.gamma,
        "ppo.gae_lambda": use.gae_lambda,
        "ppo.kl_coef": kl_coef,
        "ppo.clip_range": use.clip_range,
        "ppo.value_clip_range": use.value_clip_range,
        "ppo.vf_coef": use.vf_coef,
        "ppo.ent_coef": use.ent_coef,
    }


def _of_grpo(numbers: RunNumbers, kl_coef: float) -> dict[str, Any]:
    return {
        "kl.place": "loss",
        "kl.coef": kl_coef,
        "group.std": "group" if numbers.grpo.scale else "none",
        "loss.aggregation": "seq_mean_token_mean",
        "loss.clip_low": numbers.ppo.clip_range,
        "loss.clip_high": numbers.ppo.clip_range,
    }
