"""One iteration of a run for others to read: as the numbers of a workbook, and its last step as a trainer would dump it.

The workbook computes the iteration again from its definitions, so its last weights are the run's next ones. An iteration of PPO
is a workbook of RLHF PPO, one of GRPO a workbook of GRPO, and one of rejection sampling a workbook of fine-tuning on the best.
Tensors of a dump have the neutral names of `docs/minibatch.md`; its metadata says the settings, and what the run computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from blueprint.training.folder import RunError
from blueprint.training.iteration import LastStep
from blueprint.training.run_toml import Arrays, RunNumbers

MOST_EPISODES, MOST_EPOCHS, MOST_STEPS = 64, 8, 12
"""What a workbook holds: responses, passes over them, and steps of the optimiser."""
Weights = dict[str, NDArray[np.float64]]
Tables = dict[str, Any]


@dataclass(frozen=True)
class Moment:
    """One iteration of one run, whole: the models before it, what was sampled, and the weights after it; numpy arrays by name.

    tokens, mask: [B, T]. scores: [B], less a length penalty. kl_coef: β in this iteration. adam_steps, adam_m, adam_v: what Adam
    kept of the iterations before, by weight (`policy.E`); 0 and nothing where it begins anew.
    """

    iteration: int
    seed: int
    beta: float
    kl_coef: float
    policy: Weights
    critic: Weights
    reference: Weights
    reward_model: Weights
    tokens: NDArray[np.int64]
    mask: NDArray[np.bool_]
    scores: NDArray[np.float64]
    next_policy: Weights
    next_critic: Weights
    adam_steps: int
    adam_m: Weights
    adam_v: Weights


def workbook_numbers(numbers: RunNumbers, of: Moment) -> Tables:
    """Returns the tables of a numbers file for an iteration. Raises RunError for what a workbook does not hold, in a sentence."""
    if reason := too_large(numbers):
        raise RunError(
            f"iteration {of.iteration} as a workbook: {reason}; its last step is a dump: --iteration {of.iteration} -o FILE.npz, or"
            " run.dump"
        )
    made = {"ppo": _of_ppo, "grpo": _of_grpo, "rejection": _of_rejection}[numbers.update.method](numbers, of)
    return {
        "title": f"{numbers.title}: iteration {of.iteration}, β = {of.kl_coef:g}",
        "about": f"Iteration {of.iteration} of the run with seed {of.seed} and β = {of.beta:g}, as blueprint run computed it.",
        **made,
    }


def _of_ppo(numbers: RunNumbers, of: Moment) -> Tables:
    """Returns the tables of RLHF PPO, level weights."""
    update, vocabulary = numbers.update, numbers.text.vocabulary
    each = update.responses // len(numbers.text.prompts)
    models = {"old": of.policy, "reference": of.reference, "old_critic": of.critic, "reward_model": of.reward_model}
    return {
        "level": "weights",
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
        "rollout": {"responses": _responses(numbers, of)},
        "update": {
            **_update(numbers, of),
            **({"minibatches": update.minibatches, "whiten": "batch"} if update.minibatches > 1 else {}),
        },
        **_settings(numbers, of.kl_coef),
        **({"reward": numbers.reward.model_dump()} if numbers.reward.length_penalty else {}),
        **_listed(models),
    }


def _settings(numbers: RunNumbers, kl_coef: float) -> Tables:
    """Returns the settings of the loss, table by table, as a numbers file has them; kl_coef: β in this iteration."""
    if numbers.update.method == "ppo":
        return {"ppo": {**numbers.ppo.model_dump(), "kl_coef": kl_coef}}
    clip = numbers.ppo.clip_range
    return {
        "kl": {"place": "loss", "coef": kl_coef},
        "group": {"std": "group" if numbers.grpo.scale else "none"},
        "loss": {"aggregation": "seq_mean_token_mean", "clip_low": clip, "clip_high": clip},
    }


def _of_grpo(numbers: RunNumbers, of: Moment) -> Tables:
    """Returns the tables of GRPO, level prompts; a score with a length penalty is typed, for no reward model gives it."""
    text, (B, T) = numbers.text, of.tokens.shape
    typed, settings = bool(numbers.reward.length_penalty), _settings(numbers, of.kl_coef)
    models = {"old": of.policy, "reference": of.reference, "reward_model": of.reward_model}
    return {
        "level": "prompts",
        "sizes": {"max_new_tokens": T},
        "text": {"vocabulary": text.vocabulary, "prompts": text.prompts, "answers": text.vocabulary[-1:] * len(text.prompts)},
        "rollout": {"responses": _responses(numbers, of), "draws": np.full((B, T), 0.5).tolist()},
        "engine": {"off": np.zeros((B, T)).tolist()},
        "update": _update(numbers, of),
        "reward": {
            "from": "typed" if typed else "model",
            "scores": of.scores.tolist(),
            "greedy": [0.0] * len(text.prompts),
        },
        **settings,
        "kl": {**settings["kl"], "estimator": "k3"},
        **_listed(models),
    }  # fmt: skip


def _of_rejection(numbers: RunNumbers, of: Moment) -> Tables:
    """Returns the tables of fine-tuning, level demonstrations: the best response to each prompt, the first where several are."""
    text, T = numbers.text, numbers.text.max_new_tokens
    each = len(of.scores) // len(text.prompts)
    best = [at * each + int(np.argmax(of.scores[at * each : (at + 1) * each])) for at in range(len(text.prompts))]
    before = len(text.prompts[0].split()) - 1
    written = [[text.vocabulary[token] for token in of.tokens[at]] for at in best]
    response = [[0] * before + of.mask[at].astype(int).tolist() for at in best]
    return {
        "level": "demonstrations",
        "about": f"Iteration {of.iteration} of the run with seed {of.seed}: the best of {each} responses to each prompt, by score.",
        "text": {
            "vocabulary": text.vocabulary,
            "end_word": text.vocabulary[0],
            "texts": [prompt.split() + row for prompt, row in zip(text.prompts, written, strict=True)],
            "response": response,
            "there": [[1] * before + row[-T:] for row in response],
        },
        "update": _update(numbers, of),
        **_listed({"policy": of.policy}),
    }


def _update(numbers: RunNumbers, of: Moment) -> Tables:
    """Returns the table of the optimiser: its rates, and what Adam kept."""
    update = numbers.update
    kept = {
        f"{letter}_{name.replace('.', '_')}": mean.tolist()
        for letter, means in (("m", of.adam_m), ("v", of.adam_v))
        for name, mean in means.items()
    }
    steps = {"steps": of.adam_steps} if of.adam_steps else {}
    return {"by": "adam", "epochs": update.epochs, "lr": update.lr, "max_norm": update.max_norm, **steps, **kept}


def _responses(numbers: RunNumbers, of: Moment) -> list[str]:
    return [
        " ".join(numbers.text.vocabulary[token] for token, here in zip(row, mask, strict=True) if here)
        for row, mask in zip(of.tokens.tolist(), of.mask.tolist(), strict=True)
    ]


def _listed(models: Mapping[str, Weights]) -> Tables:
    return {name: {key: array.tolist() for key, array in model.items()} for name, model in models.items()}


def next_weights(numbers: RunNumbers, of: Moment) -> dict[str, Any]:
    """Returns the run's weights after the iteration by the names of a workbook's blocks, without `update4.`: `critic.head.w`."""
    found = {f"policy.{name}": array for name, array in of.next_policy.items()}
    heads = {"w": "head.w", "b": "head.b"}
    critic = {f"critic.{heads.get(name, name)}": array for name, array in of.next_critic.items()}
    return found | critic if numbers.update.method == "ppo" else found


def farthest(numbers: RunNumbers, of: Moment, blocks: Mapping[str, Any]) -> float:
    """Returns the largest difference between a workbook's last weights and the run's next ones. blocks: arrays by name."""
    update = numbers.update
    last = f"update{update.epochs}" + (f".{update.minibatches}" if update.minibatches > 1 else "")
    return max(
        float(np.abs(np.asarray(blocks[f"{last}.{name}"]) - array).max())
        for name, array in next_weights(numbers, of).items()
    )


def group_too_large(numbers: RunNumbers) -> str:
    """Says why no workbook shows some responses either, where whole groups are shown; "" where one does."""
    each = numbers.update.responses // len(numbers.text.prompts)
    if numbers.update.method != "grpo" or each <= MOST_EPISODES:
        return ""
    found = f"found {each} responses to each prompt"
    return f"{found}, a workbook of GRPO shows whole groups, and holds at most {MOST_EPISODES} responses"


def too_large(numbers: RunNumbers) -> str:
    """Says why no workbook holds a whole iteration; "" where one does."""
    update = numbers.update
    if update.responses > MOST_EPISODES and update.method != "rejection":
        return f"found {update.responses} responses, and a workbook holds at most {MOST_EPISODES}"
    if update.epochs > MOST_EPOCHS or update.epochs * update.minibatches > MOST_STEPS:
        found = f"found {update.epochs} epochs of {update.minibatches} steps"
        return f"{found}, and a workbook holds at most {MOST_EPOCHS} epochs and {MOST_STEPS} steps"
    return ""


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
    rows = slice(update.responses - update.responses // update.minibatches, update.responses)  # the last minibatch
    tensors = {name: each[r].cpu().numpy()[rows] for name, each in _tensors(numbers, step).items()}
    each = update.responses // len(numbers.text.prompts)
    group = np.arange(update.responses)[rows] // each
    prompts = np.array([numbers.ids(prompt) for prompt in numbers.text.prompts])
    tensors |= {"prompt_ids": prompts[group], "row_index": np.arange(update.responses)[rows]}
    logged = OF_PPO if update.method == "ppo" else LOGGED
    settings = _settings(numbers, kl_coef).items()
    metadata = {
        "preset": "default",
        "layout": "response",
        "step": iteration,
        "epoch": update.epochs - 1,
        "epochs": update.epochs,
        "optimizer_step": update.epochs * update.minibatches - 1,
        "logprobs_old_from": "trainer",
        "forward_dtype": "float64",
        "hyperparameters": {f"{table}.{key}": value for table, values in settings for key, value in values.items()},
        "logged": {name: float(getattr(step.loss, of)[r]) for name, of in logged.items()},
    }
    return Dump(tensors | ({"group": group} if update.method == "grpo" else {}), metadata)


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
