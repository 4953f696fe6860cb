"""One iteration of a run as the numbers of a workbook: the models before it, the responses as sampled, and Adam's steps.

The workbook computes the iteration again from its definitions, so its last weights are the run's next ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.training.folder import RunError
from blueprint.training.numbers import RunNumbers

MOST_EPISODES, MOST_EPOCHS, MOST_STEPS = 64, 8, 12
"""What a workbook holds: responses, passes over them, and steps of the optimiser."""


@dataclass(frozen=True)
class Moment:
    """One iteration of one run, whole: the models before it, what was sampled, and the weights after it; numpy arrays by name.

    tokens, mask: [B, T]. kl_coef: β in this iteration.
    """

    iteration: int
    seed: int
    beta: float
    kl_coef: float
    policy: dict[str, NDArray[np.float64]]
    critic: dict[str, NDArray[np.float64]]
    reference: dict[str, NDArray[np.float64]]
    reward_model: dict[str, NDArray[np.float64]]
    tokens: NDArray[np.int64]
    mask: NDArray[np.bool_]
    next_policy: dict[str, NDArray[np.float64]]
    next_critic: dict[str, NDArray[np.float64]]


def workbook_numbers(numbers: RunNumbers, of: Moment) -> dict[str, Any]:
    """Returns the tables of a numbers file for an iteration. Raises RunError for what a workbook does not hold, in a sentence."""
    _refuse(numbers, of)
    update, use, vocabulary = numbers.update, numbers.ppo, numbers.text.vocabulary
    responses = [
        " ".join(vocabulary[token] for token, here in zip(row, mask, strict=True) if here)
        for row, mask in zip(of.tokens.tolist(), of.mask.tolist(), strict=True)
    ]
    each = update.responses // len(numbers.text.prompts)
    models = {"old": of.policy, "reference": of.reference, "old_critic": of.critic, "reward_model": of.reward_model}
    return {
        "level": "weights",
        "title": f"{numbers.title}: iteration {of.iteration}, β = {of.kl_coef:g}",
        "about": f"Iteration {of.iteration} of the run with seed {of.seed} and β = {of.beta:g}, as blueprint run computed it.",
        "seed": of.seed,
        "sizes": {
            "vocabulary": len(vocabulary),
            "embedding": numbers.network.embedding,
            "hidden": numbers.network.hidden,
            "episodes": update.responses,
            "prompt": len(numbers.text.prompts[0].split()),
            "max_new_tokens": numbers.text.max_new_tokens,
        },
        "text": {"vocabulary": vocabulary, "prompts": [text for text in numbers.text.prompts for _ in range(each)]},
        "rollout": {"responses": responses},
        "update": {
            "by": "adam",
            "epochs": update.epochs,
            "lr": update.lr,
            "max_norm": update.max_norm,
            **({"minibatches": update.minibatches, "whiten": "batch"} if update.minibatches > 1 else {}),
        },
        "ppo": {
            "gamma": use.gamma,
            "gae_lambda": use.gae_lambda,
            "kl_coef": of.kl_coef,
            "clip_range": use.clip_range,
            "value_clip_range": use.value_clip_range,
            "vf_coef": use.vf_coef,
            "ent_coef": use.ent_coef,
        },
        **{name: {key: array.tolist() for key, array in model.items()} for name, model in models.items()},
    }


def next_weights(of: Moment) -> dict[str, Any]:
    """Returns the run's weights after the iteration by the names of a workbook's blocks, without `update4.`: `critic.head.w`."""
    found = {f"policy.{name}": array for name, array in of.next_policy.items()}
    heads = {"w": "head.w", "b": "head.b"}
    return found | {f"critic.{heads.get(name, name)}": array for name, array in of.next_critic.items()}


def last_step(numbers: RunNumbers) -> str:
    """Names the last step of an iteration as a workbook's blocks do: `update4`, or `update4.2` with two minibatches."""
    update = numbers.update
    return f"update{update.epochs}" + (f".{update.minibatches}" if update.minibatches > 1 else "")


def farthest(numbers: RunNumbers, of: Moment, blocks: Mapping[str, Any]) -> float:
    """Returns the largest difference between a workbook's last weights and the run's next ones. blocks: arrays by name."""
    step = last_step(numbers)
    return max(
        float(np.abs(np.asarray(blocks[f"{step}.{name}"]) - array).max()) for name, array in next_weights(of).items()
    )


def _refuse(numbers: RunNumbers, of: Moment) -> None:
    update, what = numbers.update, f"iteration {of.iteration} as a workbook"
    if update.method != "ppo":
        raise RunError(
            f"{what}: the run's method is {update.method}, and the workbook with an optimiser's steps is PPO's"
        )
    if numbers.reward.length_penalty:
        raise RunError(
            f"{what}: the run takes a length penalty of {numbers.reward.length_penalty:g} from the score, which the workbook's"
            " reward model does not know; run it with reward.length_penalty=0"
        )
    if update.responses > MOST_EPISODES:
        raise RunError(f"{what}: found {update.responses} responses, and a workbook holds at most {MOST_EPISODES}")
    if update.epochs > MOST_EPOCHS or update.epochs * update.minibatches > MOST_STEPS:
        raise RunError(
            f"{what}: found {update.epochs} epochs of {update.minibatches} steps, and a workbook holds at most {MOST_EPOCHS} epochs"
            f" and {MOST_STEPS} steps"
        )
