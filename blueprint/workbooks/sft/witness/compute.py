"""A saved file of fine-tuning, computed again in torch: every row by its name, from what is typed, and every step of its optimiser.
Each file is computed by itself."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from blueprint.witness import GRAD, Asked, Batch, File, Named, Rows, Stepper, Tie, add_settings, add_verdicts
from blueprint.workbooks.sft.witness.policy import every_row, policy_in, run
from blueprint.workbooks.sft.witness.seen import add_words, chart_rows
from blueprint.workbooks.sft.witness.texts import WEIGHTS, Texts, label_rows, texts_in

BESIDE, STEP = "epochs.", "update{}.{}"


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of a file. Raises WitnessError for a token that there is not."""
    add_settings(batch, rows)
    use = Asked({key: each.lower() if isinstance(each, str) else each for key, each in batch.settings[0].items()})
    of = texts_in(batch)
    label = label_rows(of, use)
    found = label | every_row(batch, of, label, policy_in(batch, of), use)
    if "optimiser.by" in batch.files[0]:
        found |= epoch_rows(batch, of, label, found, use)
    found |= chart_rows(batch, found)
    add_words(batch, rows, found["label.counts"])
    rows.add({name: each[None].to(batch.dtype) for name, each in found.items()}, whole=True)
    masks = [batch.typed(name)[0] for name in ("mask", "text.mask")]
    off = {
        "check.mask": sum(((each * (1 - each)).abs() for each in masks), torch.zeros_like(masks[0])),
        "check.sum_policy": (found["policy.p"].sum(-1) - 1).abs(),
        "check.log_policy": found["policy.logprobs"].clamp(min=0),
    }
    add_verdicts(batch, rows, {name: each[None] for name, each in off.items()} | {"check.settings": batch.outside_all})
    return ()


def epoch_rows(batch: Batch, of: Texts, label: Named, first: Named, use: Asked) -> Named:
    """Returns every step of the optimiser, all rows of the steps after the first, and those that stand side by side."""
    file, found, seen = batch.files[0], dict[str, Tensor](), [first]
    names = [f"policy.{part}" for part in WEIGHTS]
    stepper = Stepper(file, {name: batch.typed(name)[0] for name in names})
    norms: list[Tensor] = []
    while f"update{len(norms) + 1}.norm" in file:
        number, here = len(norms) + 1, seen[-1]
        slopes = {name: here[f"{name}{GRAD}"] for name in names}
        squares = {f"square.{name}": each.square().sum() for name, each in slopes.items()}
        made = stepper.step(slopes) | squares
        found |= {STEP.format(number, name): each for name, each in made.items()}
        norms.append(made["norm"])
        weights = {part: made[f"policy.{part}"][None] for part in WEIGHTS}
        then = every_row(batch, of, label, run(weights, of), use)
        seen.append(then | {f"policy.{part}": each[0] for part, each in weights.items()})
        found |= {f"epoch{number + 1}.{name}": each for name, each in seen[-1].items()}
    return {name: each for name, each in (found | _beside(file, seen[:-1], norms)).items() if name in file}


def _beside(file: Mapping[str, object], seen: list[Named], norms: list[Tensor]) -> Named:
    """Returns the rows in which a number of each step stands."""
    every = [{**each, "norm": norm} for each, norm in zip(seen, norms, strict=True)]
    names = (name.removeprefix(BESIDE) for name in file if name.startswith(BESIDE))
    return {f"{BESIDE}{name}": torch.stack([each[name] for each in every]) for name in names if name in every[0]}


def group_key(file: File) -> object:
    """Returns what only the same object has: each file is a computation by itself."""
    return id(file)
