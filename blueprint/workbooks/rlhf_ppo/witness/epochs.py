"""Passes over a rollout, one after the other: autograd's gradients, torch.nn.utils.clip_grad_norm_ and the steps of torch.optim."""

from collections.abc import Iterator
from itertools import count

import torch
from torch import Tensor

from blueprint.witness import TABLE, Batch, Held, Named, Rows, Stepper, single, trains_apart
from blueprint.workbooks.rlhf_ppo.witness.backward import GRAD, MODELS, add_critic_loss, gradients_of
from blueprint.workbooks.rlhf_ppo.witness.metrics import add_metrics
from blueprint.workbooks.rlhf_ppo.witness.minibatches import A_GRADIENT, pieces_of, step_rows, taken
from blueprint.workbooks.rlhf_ppo.witness.start import POLICY, Start, add_critic, add_policy, add_update, texts_of

WEIGHTS = tuple(f"{name}.{part}" for name, parts in MODELS.items() for part in parts)
JOINT, APART = ((".policy", "", 0),), ((".policy", "", len(POLICY)), (".critic", "critic_", 0))
"""The groups of weights that share a rate and a norm: all, or those of each model."""


def add_epochs(batch: Batch, rows: Rows, start: Start) -> None:
    """Adds every step of the optimiser, and all rows of the epochs after the first, if the files have an optimiser."""
    if "optimiser.lr" not in batch.files[0]:
        return
    apart = trains_apart(batch.options).tolist()
    steppers = [
        Stepper(file, {name: rows[name][f] for name in WEIGHTS}, APART if apart[f] else JOINT)
        for f, file in enumerate(batch.files)
    ]
    add_critic_rates(batch, rows, apart)
    here = rows
    side_by_side: list[Named] = []
    for number, seen in _steps(batch):
        if side_by_side:
            here = epoch_rows(batch, rows, start, seen | {name: _stacked(steppers, name) for name in WEIGHTS})
            _show(batch, rows, here, f"epoch{number}.")
        shown = [_step(each, {name: here[f"{name}{GRAD}"][f] for name in WEIGHTS}) for f, each in enumerate(steppers)]
        found = {f"update{number}.{name}": torch.stack([each[name] for each in shown]) for name in shown[0]}
        norms = {f"norm{each}": found[f"update{number}.norm{each}"] for each in ("", ".policy", ".critic")}
        found |= {
            f"update{number}.square.{name}": here[f"{name}{GRAD}"].reshape(len(batch.files), -1).square().sum(dim=1)
            for name in WEIGHTS
        }
        rows.add({name: row for name, row in found.items() if name in batch.files[0]}, whole=True)
        far = found_ratios(here)
        rows.add({f"tokens.{name}.{number}": each for name, each in far.items()})
        side_by_side.append({**here, **far, **norms})
    names = [name.removeprefix("epochs.") for name in batch.files[0] if name.startswith("epochs.")]
    seen_by_all = [name for name in names if name in side_by_side[0]]
    rows.add(
        {f"epochs.{name}": torch.stack([each[name] for each in side_by_side], dim=-1) for name in seen_by_all},
        whole=True,
    )


def _step(stepper: Stepper, gradients: Named) -> Named:
    """Takes a step. A critic that has no optimiser of its own has the norm of all, and the last norm is that of all steps."""
    found = stepper.step(gradients)
    for name in ("norm", "scale"):
        critic = found.get(f"{name}.critic", found[f"{name}.policy"])
        found |= {f"{name}.critic": critic, name: critic}
    return found


def add_critic_rates(batch: Batch, rows: Rows, apart: list[bool]) -> None:
    """Adds the rate and the largest norm by which each critic is moved, where it may have its own."""
    for name in ("lr", "max_norm"):
        if f"optimiser.critic_{name}" in batch.files[0]:
            own = [f"optimiser.critic_{name}" if each else f"optimiser.{name}" for each in apart]
            used = [float(single(file, each)) for file, each in zip(batch.files, own, strict=True)]
            rows.add({f"optimiser.critic_{name}.used": batch.filled(used)})


def found_ratios(rows: Held) -> Named:
    """Returns the largest and the smallest ratio of a token, 1 if none is above or below."""
    return {
        "ratio.largest": rows["log_ratio"].amax(dim=(-2, -1)).exp(),
        "ratio.smallest": (-rows["policy_kl.k1"]).amin(dim=(-2, -1)).exp(),
    }


def _steps(batch: Batch) -> Iterator[tuple[str, Named]]:
    """Yields the number of each step of the files, 2 or with minibatches 2.1, and what it sees of the rollout."""
    for epoch in count(1):
        pieces = pieces_of(batch.files[0], epoch)
        if not pieces and f"update{epoch}.{A_GRADIENT}" not in batch.files[0]:
            return
        numbers = [f"{epoch}.{piece}" for piece in range(1, pieces + 1)] or [str(epoch)]
        yield from ((number, taken(batch, epoch, piece)) for piece, number in enumerate(numbers, start=1))


def epoch_rows(batch: Batch, rows: Rows, start: Start, weights: Named) -> Rows:
    """Returns every row of an epoch, under the names of the first, from the weights with which it begins.

    weights: also what it sees of the rollout, where there are minibatches.
    """
    here = Rows(batch)
    here.update(rows)
    here.update(weights)
    models = {name: {part: weights[f"{name}.{part}"] for part in parts} for name, parts in MODELS.items()}
    add_policy(batch, here, "policy", models["policy"])
    add_update(here)
    add_critic(batch, here, "critic", models["critic"])
    here.add(step_rows(batch, here, texts_of(here, start.mask)))
    add_critic_loss(batch, here)
    here.update(gradients_of(batch, here, start.mask, models))
    add_metrics(batch, here, start.mask, "score.placed" if TABLE in batch.files[0] else "reward.score")
    return here


def _show(batch: Batch, rows: Rows, here: Rows, prefix: str) -> None:
    """Adds the rows of an epoch that the files show."""
    shown = {f"{prefix}{name}": each for name, each in here.items() if f"{prefix}{name}" in batch.files[0]}
    on_weights = {
        name for name in shown if name.removeprefix(prefix).startswith(WEIGHTS) or name.endswith(f"{GRAD}.id")
    }
    for name, each in shown.items():
        rows.add({name: each}, whole=name in on_weights)


def _stacked(steppers: list[Stepper], name: str) -> Tensor:
    return torch.stack([each.weights[name].detach() for each in steppers])
