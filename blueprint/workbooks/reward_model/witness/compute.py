"""A saved file of a reward model, computed again in torch: every row by its name, from what is typed."""

from collections.abc import Sequence
from itertools import count

import torch

from blueprint.witness import (
    GRAD,
    Asked,
    Batch,
    File,
    Held,
    Named,
    Rows,
    Stepper,
    Tie,
    add_settings,
    add_verdicts,
    log_sigmoid,
    shown_slopes,
)
from blueprint.workbooks.reward_model.witness.once import steps
from blueprint.workbooks.reward_model.witness.places import SIDES, Places
from blueprint.workbooks.reward_model.witness.start import MODEL, Start, begun, weight_rows, with_weights

WEIGHTS = tuple(f"reward_model.{part}" for part in MODEL)


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of a file. Raises WitnessError for a token, or a response, that there is not."""
    add_settings(batch, rows)
    use = Asked({key: each.lower() if isinstance(each, str) else each for key, each in batch.settings[0].items()})
    start = begun(batch)
    places = Places.of(start.given)
    found = once(batch, start, places, use)
    found |= stepped_rows(batch, start, found, places, use)
    found |= shown_rows(batch, found, start.given)
    rows.add({name: each[None].to(batch.dtype) for name, each in found.items()}, whole=True)
    add_verdicts(batch, rows, distances(batch, rows, start.given))
    return ()


def once(batch: Batch, start: Start, places: Places, use: Asked) -> Named:
    """Returns every row of one pass: to the loss, and back where the file shows gradients."""
    known = start.given | start.rows
    found = start.rows | steps(known, places, use)
    return found | slopes(batch, start, places, use) if any(name.endswith(GRAD) for name in batch.files[0]) else found


def slopes(batch: Batch, start: Start, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x by `x.grad` for every row x of which the file shows one."""
    with torch.enable_grad():
        head = start.given["head"].detach().requires_grad_()
        made = steps(start.given | start.rows | {"head": head}, places, use)
        called = "head.score" if start.read is None else "reward_model.out"
        found = shown_slopes(batch, {**made, called: head})
    turned = {
        f"{name}{GRAD}.transposed": made[name].T
        for name in ("pair.same", "pair.of_ranking", "chosen.is", "rejected.is")
    }
    if start.read is not None and start.weights is not None:
        turned |= weight_rows(start.read, found[f"{called}{GRAD}"], start.weights)
    return found | {name: each for name, each in turned.items() if name in batch.files[0]}


def stepped_rows(batch: Batch, start: Start, first: Named, places: Places, use: Asked) -> Named:
    """Returns the rows of every step of an optimiser, and of the passes after the first, as far as the file shows them."""
    file = batch.files[0]
    if "optimiser.lr" not in file or start.weights is None:
        return {}
    stepper = Stepper(file, {f"reward_model.{part}": each[0] for part, each in start.weights.items()})
    found: Named = {}
    passes: list[Named] = []
    for number in count(1):
        if f"update{number}.{WEIGHTS[0]}" not in file:
            break
        here = first
        if number > 1:
            weights = {part: stepper.weights[f"reward_model.{part}"].detach().clone()[None] for part in MODEL}
            here = once(batch, with_weights(start, weights), places, use)
            found |= {f"epoch{number}.{name}": each for name, each in here.items()}
        of = {name: here[f"{name}{GRAD}"] for name in WEIGHTS}
        shown = stepper.step(of) | {f"square.{name}": each.square().sum() for name, each in of.items()}
        found |= {f"update{number}.{name}": each for name, each in shown.items()}
        passes.append(here | shown)
    asked = {name: name.removeprefix("epochs.") for name in file if name.startswith("epochs.")}
    beside = {name: torch.stack([each[of] for each in passes]) for name, of in asked.items() if of in passes[0]}
    return {name: each for name, each in found.items() if name in file} | beside


def shown_rows(batch: Batch, found: Held, given: Held) -> Named:
    """Returns the rows of the sheet on overflow, and the curves of the charts."""
    x, at = batch.typed("overflow.x")[0], batch.typed("curve.difference")[0]
    held = torch.minimum(-x, given["overflow.sheet"])
    likely = 1 / (1 + held.exp())
    stable = -log_sigmoid(x)
    return {
        "overflow.held": held, "overflow.exponential": held.exp(), "overflow.sigmoid": likely, "overflow.naive": -likely.log(),
        "overflow.right": -stable, "overflow.stable": stable, "overflow.lost": -likely.log() - stable,
        "overflow.in_sheet": (-x > given["overflow.sheet"]).to(x), "overflow.in_float32": (-x > given["overflow.float32"]).to(x),
        "curve.probability": at.sigmoid(), "curve.loss": -log_sigmoid(at),
    }  # fmt: skip


def distances(batch: Batch, rows: Rows, given: Held) -> Named:
    """Returns how far places, masks, the shift, the sum of the parts and the settings are from what they must be."""
    parts = torch.stack([rows["preference_loss"], rows["adds.center"], rows["adds.l2"]])
    rows.add({"check.parts_size": parts.abs().sum(0)})
    counts, apart = given["pair.counts"][None], rows["difference"]
    return {
        "check.places": torch.stack([(rows[f"{side}.is"].sum(-1) - 1).abs() for side in SIDES]).sum(0),
        "check.counts": (counts * (1 - counts)).abs(),
        "check.shift": (rows["shifted.difference"] - apart).abs() / apart.abs().clamp(min=1),
        "check.parts": (parts.sum(0) - rows["total_loss"]).abs() / rows["check.parts_size"].clamp(min=1),
        "check.settings": batch.outside_all,
    }


def group_key(file: File) -> object:
    """Returns what only the same object has: conventions are words here, so no two files go together."""
    return id(file)
