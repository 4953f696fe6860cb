"""Some iterations in a row, from the arrays that are kept before them to those that are kept after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from blueprint.training.before import Models
from blueprint.training.folder import Arrays, Stretch
from blueprint.training.iteration import WATCHED, Kept, Outcome, State, Trainer

Progress = Callable[[int], None]
"""Is told how many iterations more are finished."""
MANY_RUNS = 64
"""Runs from which more than one thread of a processor has enough to do."""
PARTS = ("sft", "reward_model", "report")


def stretch_from(
    trainer: Trainer, before: Arrays | None, first: int, end: int, progress: Progress = lambda done: None
) -> Stretch:
    """Computes iterations, from `first` up to, and without, `end`. before: what is kept of the stretch before, if there is one."""
    state, outcomes = state_in(before, trainer.device) if before else trainer.start(), []
    for iteration in range(first, end):
        outcomes.append(trainer.iterate(state, iteration))
        state = outcomes[-1].after
        progress(1)
    return Stretch(first, end, _arrays(outcomes))


@contextmanager
def threads_for(runs: int) -> Iterator[None]:
    """Lets torch use one thread for few runs: of tensors this small, several threads mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if runs < MANY_RUNS else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def models_in(arrays: Arrays, device: str) -> Models:
    """Returns the models that were learned before, from their arrays."""
    return Models(*(_part(arrays, part, device) for part in PARTS))


def arrays_of_models(models: Models) -> Arrays:
    """Returns the models that were learned before as arrays by name."""
    return {f"{part}.{name}": each.cpu().numpy() for part in PARTS for name, each in getattr(models, part).items()}


def _part(arrays: Arrays, part: str, device: str) -> dict[str, torch.Tensor]:
    """Returns the tensors whose names begin with a part and a dot."""
    begin = f"{part}."
    return {
        name.removeprefix(begin): torch.as_tensor(each, device=device)
        for name, each in arrays.items()
        if name.startswith(begin)
    }


def state_in(arrays: Arrays, device: str) -> State:
    """Returns the state after the iterations of a file."""
    m, v = (_part(arrays, f"adam.{letter}", device) for letter in "mv")
    kept = Kept(int(arrays["adam.steps"]), {name: (m[name], v[name]) for name in m}) if m else None
    return State(
        _part(arrays, "policy", device),
        _part(arrays, "critic", device),
        torch.as_tensor(arrays["next_kl_coef"], device=device),
        kept,
    )


def _arrays(outcomes: list[Outcome]) -> Arrays:
    """Returns what is kept of some iterations: what was watched, the responses, and the state after the last one."""
    after = outcomes[-1].after
    found = {name: torch.stack([each.watched[name] for each in outcomes]) for name in WATCHED}
    found["next_kl_coef"] = after.kl_coef
    for part, weights in (("policy", after.policy), ("critic", after.critic)):
        found |= {f"{part}.{name}": each for name, each in weights.items()}
    for name, (m, v) in after.adam.moments.items() if after.adam else ():
        found |= {f"adam.m.{name}": m, f"adam.v.{name}": v}
    if after.adam:
        found["adam.steps"] = torch.tensor(after.adam.steps)
    tokens = torch.stack([each.tokens for each in outcomes]).to(torch.uint8)
    return {name: each.cpu().numpy() for name, each in found.items()} | {"tokens": tokens.cpu().numpy()}
