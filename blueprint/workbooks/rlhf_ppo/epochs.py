"""Several epochs on one rollout: each step takes the weights that the one before it made, and all its sheets stand once more.

Epoch 1 begins at θ_old, so that its ratio is 1. Source: Schulman et al. 2017, Proximal Policy Optimization, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from blueprint.language import Block, again, link, typed
from blueprint.page.outline import Blueprint, Sheet, blocks_on
from blueprint.page.outline.again import sheet_again
from blueprint.workbooks.common import Switch
from blueprint.workbooks.common.definitions.optimiser import START, Slope, step
from blueprint.workbooks.common.definitions.rates import Group, apart, rates
from blueprint.workbooks.common.sheets.backward import with_backward
from blueprint.workbooks.rlhf_ppo.backward import CRITIC, POLICY, WEIGHTS, backward
from blueprint.workbooks.rlhf_ppo.inputs.result import Update
from blueprint.workbooks.rlhf_ppo.inputs.update import RANGES
from blueprint.workbooks.rlhf_ppo.minibatches import TAKEN, Steps
from blueprint.workbooks.rlhf_ppo.sheets.epochs import MARKED, Epoch, epochs_sheet, mark, tokens_sheet, update_sheet

AGAIN = ("Policy", "Critic", "Loss", "Diagnostics")
"""The sheets of an epoch: they hang on the weights."""
BY, JOINT = "optimiser.by", "loss.joint.number"


def with_epochs(outline: Blueprint, update: Update, steps: Steps) -> Blueprint:
    """Adds the gradient, the optimiser's step and more epochs to a workbook whose new weights are the old ones.

    steps: what each sees of the rollout, if there are minibatches.
    """
    rows = {each.name: each for each in outline.blocks()}
    made = backward(rows)
    first = with_backward(outline, made)
    groups = _groups(rows)
    repeated = [sheet for sheet in first.sheets if sheet.title in AGAIN]
    blocks = [each for sheet in repeated for each in blocks_on(sheet)]
    named = {each.name: each for each in blocks}
    epochs: list[Epoch] = []
    state, weights = START, {name: rows[name] for name in WEIGHTS}
    for number in list(steps) or [str(epoch) for epoch in range(1, update.epochs + 1)]:
        called = f"epoch{number}.{{}}".format
        instead = {rows[n]: link(called(n), weights[n]) for n in WEIGHTS}
        instead |= {rows[TAKEN]: steps[number]} if steps else {}
        copies = again(blocks, instead, called) if epochs else {}
        here = {name: copies.get(each, each) for name, each in named.items()}
        for name in MARKED & here.keys() if copies else ():
            mark(here[name], number)
        slopes = {name: Slope(weights[name], copies.get(made[rows[name]], made[rows[name]])) for name in WEIGHTS}
        stepped = step(update.by, slopes, groups, state, f"update{number}")
        sheets = tuple(_again(sheet, copies, number) for sheet in repeated) if copies else ()
        epochs.append(Epoch(number, here, sheets, stepped))
        state, weights = stepped.state, dict(stepped.new)
    return _joined(first, epochs, update, groups)


def _groups(rows: Mapping[str, Block]) -> tuple[Group, ...]:
    """Lists the weights that share a rate and a norm: all, unless conventions may train the critic apart."""
    by = rates()
    if JOINT not in rows:
        return (Group("", WEIGHTS, by),)
    return apart(POLICY, CRITIC, by, Switch(("off", "on"), rows[JOINT]).says("on"), "optimiser.critic")


def _again(sheet: Sheet, copies: Mapping[Block, Block], number: str) -> Sheet:
    return sheet_again(sheet, copies, f"{sheet.title} {number}", f"epoch {number}: {sheet.lead}")


def _joined(first: Blueprint, epochs: list[Epoch], update: Update, groups: tuple[Group, ...]) -> Blueprint:
    """Puts the sheets of all epochs in their order, and behind them those that set them side by side."""
    kind = typed(BY, (), "by", "the optimiser that the formulas are of", text=True)
    of_rates = list(dict.fromkeys(each for group in groups for each in group.rows))
    summary, over = epochs_sheet(epochs)
    sheets: list[Sheet] = []
    for sheet in first.sheets:
        sheets.append(sheet)
        if sheet.title == AGAIN[-1]:
            for epoch in epochs:
                sheets += [*epoch.sheets, update_sheet(epoch, [kind, *of_rates] if epoch is epochs[0] else [])]
            sheets += [summary, tokens_sheet(epochs, sheet)]
    given = {kind: update.by, **{each: update.rates[each.name] for each in of_rates if each.typed}}
    ranges = {each: RANGES[each.name] for each in of_rates if each.name in RANGES}
    # An update has its gradients; those of the libraries come with the key gradients, which a reopened file has again.
    facts = {**first.facts, "gradients": "of the update", "update": update.by, "epochs": str(update.epochs)}
    facts |= {"minibatches": str(update.minibatches), "whiten": update.whiten} if update.order else {}
    return replace(
        first,
        sheets=tuple(sheets),
        typed={**first.typed, **given, **over},
        ranges={**first.ranges, **ranges},
        facts=facts,
    )
