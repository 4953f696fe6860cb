"""Several epochs on one rollout: each step takes the weights that the one before it made, and all its sheets stand once more.

Epoch 1 begins at θ_old, so that its ratio is 1. Source: Schulman et al. 2017, Proximal Policy Optimization, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blueprint.language import Axis, Block, again, block, link, typed
from blueprint.page.outline import (
    Blueprint,
    Item,
    Line,
    Section,
    Sheet,
    Table,
    blocks_on,
)
from blueprint.page.outline.again import sheet_again
from blueprint.workbooks.common.definitions.optimiser import START, Rates, Slope, Stepped, rates, step
from blueprint.workbooks.common.sheets.backward import with_backward
from blueprint.workbooks.rlhf_ppo.backward import WEIGHTS, backward
from blueprint.workbooks.rlhf_ppo.inputs.result import Update
from blueprint.workbooks.rlhf_ppo.inputs.update import RANGES
from blueprint.workbooks.rlhf_ppo.minibatches import TAKEN, Steps

AGAIN = ("Policy", "Critic", "Loss", "Diagnostics")
"""The sheets of an epoch: they hang on the weights."""
BY = "optimiser.by"
SHOWN = (
    "policy_loss", "value_loss", "entropy", "policy_kl", "total_loss", "clip_fraction.loss", "clip_fraction.ratio",
)  # fmt: skip
"""What the sheet Epochs sets side by side, besides the norm of the gradient."""


@dataclass(frozen=True)
class Epoch:
    """A pass, or a minibatch of it: its blocks by the names that they have in the first one, its sheets, and its step.

    number: 2, or with minibatches 2.1.
    """

    number: str
    rows: Mapping[str, Block]
    sheets: tuple[Sheet, ...]
    stepped: Stepped


def with_epochs(outline: Blueprint, update: Update, steps: Steps) -> Blueprint:
    """Adds the gradient, the optimiser's step and more epochs to a workbook whose new weights are the old ones.

    steps: what each sees of the rollout, if there are minibatches.
    """
    rows = {each.name: each for each in outline.blocks()}
    made = backward(rows)
    first = with_backward(outline, made)
    by = rates()
    repeated = [sheet for sheet in first.sheets if sheet.title in AGAIN]
    blocks = [each for sheet in repeated for each in blocks_on(sheet)]
    named = {each.name: each for each in blocks}
    epochs: list[Epoch] = []
    state, weights = START, {name: rows[name] for name in WEIGHTS}
    numbers = list(steps) or [str(epoch) for epoch in range(1, update.epochs + 1)]
    for number in numbers:
        called = f"epoch{number}.{{}}".format
        instead = {rows[n]: link(called(n), weights[n]) for n in WEIGHTS}
        instead |= {rows[TAKEN]: steps[number]} if steps else {}
        copies = again(blocks, instead, called) if epochs else {}
        here = {name: copies.get(each, each) for name, each in named.items()}
        slopes = {name: Slope(weights[name], copies.get(made[rows[name]], made[rows[name]])) for name in WEIGHTS}
        stepped = step(update.by, slopes, by, state, f"update{number}")
        sheets = [_again(sheet, copies, number) for sheet in repeated] if copies else []
        update_sheet = _update_sheet(stepped, None if epochs else by, number)
        epochs.append(Epoch(number, here, (*sheets, update_sheet), stepped))
        state, weights = stepped.state, dict(stepped.new)
    return _joined(first, epochs, update, by)


def _again(sheet: Sheet, copies: Mapping[Block, Block], number: str) -> Sheet:
    return sheet_again(sheet, copies, f"{sheet.title} {number}", f"epoch {number}: {sheet.lead}")


def _update_sheet(stepped: Stepped, by: Rates | None, number: str) -> Sheet:
    """Outlines a step: the norm of the gradient and its limit, then weight by weight from the gradient to the new weight."""
    singles = [each for each in stepped.rows if not each.axes]
    tables = [each for each in stepped.rows if each.axes]
    sections = [Section("The gradient's norm, and what is left of it", tuple(Line((each,)) for each in singles))]
    if by:
        kind = typed(BY, (), "by", "the optimiser that the formulas are of", text=True)
        sections.insert(0, Section("The optimiser (typed)", (Line((kind,), "fixed"), *(Line((each,)) for each in by))))
    for name in WEIGHTS:
        of = tuple(_laid(each) for each in tables if each.name.endswith(name))
        sections.append(Section(name, of))
    title = "Update" if by else f"Update {number}"
    return Sheet(title, f"epoch {number}: from the gradient to the new weights", tuple(sections))


def _laid(table: Block) -> Item:
    return Table(table, table.axes[1] if len(table.axes) > 1 else None, "plain")


def _joined(first: Blueprint, epochs: list[Epoch], update: Update, by: Rates) -> Blueprint:
    """Puts the sheets of all epochs in their order, and the one that sets them side by side before them."""
    summary = epochs_sheet(epochs)
    sheets: list[Sheet] = []
    for sheet in first.sheets:
        sheets.append(sheet)
        if sheet.title == AGAIN[-1]:
            sheets += [each for epoch in epochs for each in epoch.sheets]
            sheets.append(summary)
    named = {each.name: each for sheet in sheets for each in blocks_on(sheet)}
    given = {**{each: update.rates[each.name] for each in by}, named[BY]: update.by}
    ranges = {each: RANGES[each.name] for each in by if each.name in RANGES}
    # An update has its gradients; those of the libraries come with the key gradients, which a reopened file has again.
    facts = {**first.facts, "gradients": "of the update", "update": update.by, "epochs": str(update.epochs)}
    facts |= {"minibatches": str(update.minibatches), "whiten": update.whiten} if update.order else {}
    return replace(
        first,
        sheets=tuple(sheets),
        typed={**first.typed, **given},
        ranges={**first.ranges, **ranges},
        facts=facts,
    )


def epochs_sheet(epochs: list[Epoch]) -> Sheet:
    """Sets the steps side by side, a column for each: losses, how much is clipped, how far the policy is, the gradient."""
    parts = [Axis(f"e{number}", "epoch", start=number, size=1) for number in range(1, len(epochs) + 1)]
    e = Axis("e", "epoch", start=1, parts=tuple(parts)) if len(parts) > 1 else parts[0]
    rows = [_summary(name, e, parts, epochs) for name in SHOWN]
    norm = block("epochs.norm", (e,), "|g|", "norm of the whole gradient, before it is held")
    for part, epoch in zip(parts, epochs, strict=True):
        norm[part] = epoch.stepped.norm
    lead = "the same rollout, epoch by epoch: the ratio leaves 1, clipping begins to bite, the policy moves away"
    return Sheet("Epochs", lead, (Section("Side by side", (*rows, norm)),), across=(e,))


def _summary(name: str, e: Axis, parts: list[Axis], epochs: list[Epoch]) -> Block:
    """Returns a row with a number of each epoch, by the equation that it has in the first."""
    of = epochs[0].rows[name]
    made = block(f"epochs.{name}", (e,), of.symbol, of.about.meaning, decimals=of.about.decimals)
    for part, epoch in zip(parts, epochs, strict=True):
        made[part] = epoch.rows[name]
    return made
