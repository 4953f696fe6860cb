"""A minibatch as the numbers of a workbook of classic PPO.

A whole rollout is typed as it was: rewards, ends, values and logits of N environments in T steps. A part of one is typed as M
episodes of one step, each with its return for a reward, as the lab's own loss is computed: less V it is the advantage. The
networks are not in the workbook: their logits and values are typed, as `blueprint import` does.
"""

from __future__ import annotations

from math import inf, isclose
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from blueprint.labs.settings import LabError

if TYPE_CHECKING:
    from blueprint.labs.cart_pole import Moment

MOST_ROWS, MOST_COLUMNS = 64, 500
"""Environments and steps that a workbook holds."""
FEW_ROWS = 8
"""Rows in which a part of a rollout stands, where that is enough: so many are easy to read."""
IDLE_CLIP = 0.2
"""What is typed for a clip that is off, where every ratio is 1: there it does nothing."""


def workbook_numbers(of: Moment) -> dict[str, Any]:
    """Returns the tables of a numbers file for a minibatch. Raises LabError for what a workbook does not hold, in a sentence."""
    rows, columns = _shape(of)
    method, seed = of.use.method.upper(), of.use.seed
    shown = (
        "the whole rollout"
        if of.whole
        else f"{len(of.batch.actions)} steps of {int(of.rollout.counts.sum()):,}, in the order drawn"
    )
    return {
        "level": "classic",
        "title": f"Cart-pole: {method}, iteration {of.iteration}, minibatch {of.number}",
        "about": (
            f"Seed {seed}, {shown}; actions: 0 pushes left, 1 right. "
            + (
                "The reward is 1 a step; at a time limit γ·V of what would have come is added."
                if of.whole
                else "Each step is an episode by itself: its reward is its return as GAE has it, so less V it is the advantage."
            )
        ),
        "ppo": _settings(of),
        "rollout": {
            name: each.reshape(rows, columns, *each.shape[1:]).tolist()
            for name, each in (_whole(of) if of.whole else _part(of)).items()
        }
        | {"next_values": of.rollout.values[:, -1].tolist() if of.whole else [0.0] * rows},
    }


def _whole(of: Moment) -> dict[str, Tensor]:
    """Returns what is typed of every step of a rollout, [N·T, …]."""
    rollout = of.rollout
    return {
        "actions": rollout.actions.flatten(),
        "rewards": rollout.rewards.flatten(),
        "done": rollout.done.flatten().long(),
        "terminated": rollout.terminated.flatten().long(),
        **_said(of),
    }


def _part(of: Moment) -> dict[str, Tensor]:
    """Returns what is typed of every step of a minibatch, [M, …]: an episode by itself."""
    ends = torch.ones_like(of.batch.actions)
    return {"actions": of.batch.actions, "rewards": of.batch.returns, "done": ends, "terminated": ends, **_said(of)}


def _said(of: Moment) -> dict[str, Tensor]:
    """Returns what the networks said when they acted, and what they say now."""
    return {
        "values_old": of.batch.values,
        "values_new": of.values,
        "logits_old": of.batch.logits,
        "logits_new": of.logits,
    }


def _shape(of: Moment) -> tuple[int, int]:
    """Returns rows and columns in which the steps stand. Raises LabError where a workbook has no room for them."""
    many = len(of.batch.actions)
    if of.whole:
        rows, columns = of.rollout.actions.shape
    else:
        # At least two columns: of a single one *One page* cannot choose.
        fitting = [each for each in range(1, MOST_ROWS + 1) if many % each == 0 and each < many]
        few = [each for each in fitting if each <= FEW_ROWS]
        rows = max(few) if many // max(few) <= MOST_COLUMNS else max(fitting)
        columns = many // rows
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise LabError(
            f"{_named(of)} as a workbook: found {many:,} steps in {rows} rows of {columns:,}, and a workbook holds "
            f"{MOST_ROWS} rows of {MOST_COLUMNS}; make the minibatch smaller, as with --set minibatch=64"
        )
    return rows, columns


def _named(of: Moment) -> str:
    return f"iteration {of.iteration}, minibatch {of.number}"


def _settings(of: Moment) -> dict[str, Any]:
    """Returns the settings under the workbook's names; ε is that of the iteration."""
    use, clip = of.use, of.clip
    if clip == inf:
        if not all(isclose(each, 1, abs_tol=1e-9) for each in of.found.ratio.flatten().tolist()):
            raise LabError(
                f"{_named(of)} as a workbook: the clip is off and ratios are not 1, and a workbook of classic PPO always clips; "
                "take minibatch 1, or a run with --set clip_range=0.2"
            )
        clip = IDLE_CLIP
    return {
        "gamma": use.gamma,
        "gae_lambda": use.gae_lambda,
        "clip_range": clip,
        "value_clip_range": use.value_clip_range,
        "value_factor": 0.5,
        "vf_coef": use.vf_coef,
        "ent_coef": use.ent_coef,
    }
