"""Several epochs on one rollout: what of `common.epochs` is PPO's own.

Epoch 1 begins at θ_old, so that its ratio is 1. Source: Schulman et al. 2017, Proximal Policy Optimization, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blueprint.language import Block
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import Switch
from blueprint.workbooks.common.definitions.rates import Group, apart, rates
from blueprint.workbooks.common.epochs import Repeated
from blueprint.workbooks.common.epochs import with_epochs as with_steps
from blueprint.workbooks.common.epochs.steps import one_group
from blueprint.workbooks.rlhf_ppo.backward import CRITIC, POLICY, WEIGHTS, backward
from blueprint.workbooks.rlhf_ppo.inputs.result import Update
from blueprint.workbooks.rlhf_ppo.inputs.update import RANGES
from blueprint.workbooks.rlhf_ppo.minibatches import TAKEN, Steps
from blueprint.workbooks.rlhf_ppo.sheets.epochs import MARKED, beside

JOINT = "loss.joint.number"


def with_epochs(outline: Blueprint, update: Update, steps: Steps) -> Blueprint:
    """Adds the gradient, the optimiser's step and more epochs to a workbook whose new weights are the old ones.

    steps: what each sees of the rollout, if there are minibatches.
    """
    return with_steps(outline, update, EPOCHS, {number: {TAKEN: taken} for number, taken in steps.items()})


def _groups(rows: Mapping[str, Block], weights: Sequence[str]) -> tuple[Group, ...]:
    """Lists the weights that share a rate and a norm: all, unless conventions may train the critic apart."""
    if JOINT not in rows:
        return one_group(rows, weights)
    return apart(POLICY, CRITIC, rates(), Switch(("off", "on"), rows[JOINT]).says("on"), "optimiser.critic")


EPOCHS = Repeated(WEIGHTS, ("Policy", "Critic", "Loss", "Diagnostics"), backward, beside, MARKED, _groups, RANGES)
"""The sheets of an epoch hang on the weights."""
