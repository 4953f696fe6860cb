"""Steps of torch.optim on the same pairs, one after the other: each begins at the weights that the one before it made."""

from collections.abc import Callable
from itertools import count

import torch

from blueprint.witness import GRAD, Batch, Named, Stepper
from blueprint.workbooks.dpo.witness.reading import PARTS, with_policy
from blueprint.workbooks.dpo.witness.start import Start

WEIGHTS = tuple(f"policy.{part}" for part in PARTS)


def stepped_rows(batch: Batch, start: Start, first: Named, once: Callable[[Start], Named]) -> Named:
    """Returns the rows of every step and of the passes after the first, as far as the file shows them.

    first: the rows of the first pass. once: returns those of another one.
    """
    file = batch.files[0]
    if "optimiser.lr" not in file or start.policy is None:
        return {}
    stepper = Stepper(file, {name: first[name] for name in WEIGHTS})
    found: Named = {}
    passes: list[Named] = []
    for number in count(1):
        if f"update{number}.{WEIGHTS[0]}" not in file:
            break
        here = first
        if passes:
            weights = {part: stepper.weights[f"policy.{part}"].detach().clone()[None] for part in PARTS}
            here = once(with_policy(start, weights))
            found |= {f"epoch{number}.{name}": each for name, each in here.items()}
        slopes = {name: here[f"{name}{GRAD}"] for name in WEIGHTS}
        shown = stepper.step(slopes) | {f"square.{name}": each.square().sum() for name, each in slopes.items()}
        found |= {f"update{number}.{name}": each for name, each in shown.items()}
        passes.append(here | shown)
    asked = {name: name.removeprefix("epochs.") for name in file if name.startswith("epochs.")}
    beside = {name: torch.stack([each[of] for each in passes]) for name, of in asked.items() if of in passes[0]}
    return {name: each for name, each in found.items() if name in file} | beside
