"""A minibatch as a workbook: the numbers of its loss, of classic PPO; and the forward pass of its networks on a sheet.

A whole rollout is typed as it was: rewards, ends, values and logits of N environments in T steps. A part of one is typed as M
episodes of one step, each with its return for a reward, as the lab's own loss is computed: less V it is the advantage. The
networks are not in the workbook: their logits and values are typed, as `blueprint import` does. How these come of observations and
weights is a sheet of its own, for networks of one small hidden layer, such as 4-8-2, whose weights one can look at.
"""

from __future__ import annotations

from math import inf, isclose
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from blueprint.labs.agent_and_rollout import ACTIONS, OBSERVED
from blueprint.labs.settings import LabError
from blueprint.language import Axis, Block, Sum, block, exp, log, tanh, typed

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
        "rollout": {name: each.reshape(rows, columns, *each.shape[1:]).tolist() for name, each in _typed(of).items()}
        | {"next_values": of.rollout.values[:, -1].tolist() if of.whole else [0.0] * rows},
    }


def _typed(of: Moment) -> dict[str, Tensor]:
    """Returns what is typed of every step, [N·T, …] or [M, …]: as it was, or, in a part of a rollout, an episode by itself."""
    rollout, batch, ends = of.rollout, of.batch, torch.ones_like(of.batch.actions)
    steps = {"actions": batch.actions, "rewards": batch.returns, "done": ends, "terminated": ends}
    if of.whole:
        done, over = rollout.done.long(), rollout.terminated.long()
        whole = {"actions": rollout.actions, "rewards": rollout.rewards, "done": done, "terminated": over}
        steps = {name: each.flatten() for name, each in whole.items()}
    said = {"values_old": batch.values, "values_new": of.values, "logits_old": batch.logits, "logits_new": of.logits}
    return steps | said


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


MOST_UNITS = 64
"""Units that a sheet holds."""
WHEN = {"old": "when it acted", "new": "now"}

m = Axis("m", "step", start=1)
d, j, a = Axis("d", "observed", start=1), Axis("j", "unit", start=1), Axis("a", "action")
k = a.alias("k")


class Forward(NamedTuple):
    """Blocks to be laid out, in order, those with numbers, and what they come to."""

    blocks: list[Block]
    numbers: dict[Block, object]


def forward(of: Moment) -> Forward:
    """Returns the blocks of a minibatch's forward pass, across its steps. Raises LabError for networks that are too large."""
    hidden, many = of.use.hidden, len(of.batch.actions)
    if len(hidden) != 1 or hidden[0] > MOST_UNITS:
        raise LabError(
            f"--networks with hidden = {hidden}: a sheet shows one hidden layer of at most {MOST_UNITS} units; write --recipe "
            "by-hand, or --set hidden=[8]"
        )
    if many > MOST_COLUMNS:
        raise LabError(
            f"--networks: found a minibatch of {many:,} steps, and a sheet holds {MOST_COLUMNS}; write --set minibatch=64"
        )
    observations = typed("observations", (m, d), "s", f"what is observed: {', '.join(OBSERVED)}", decimals=4)
    actions = typed("actions", (m,), "a", f"action taken: 0 {ACTIONS[0]}, 1 {ACTIONS[1]}", decimals=0)
    made = Forward(
        [observations, actions],
        {observations: of.batch.observations.numpy(), actions: of.batch.actions.numpy()},
    )
    for name, agent in (("old", of.old), ("new", of.agent)):
        _policy(made, name, agent.policy, observations, actions)
    for name, agent in (("old", of.old), ("new", of.agent)):
        _critic(made, name, agent.critic, observations)
    return made


def _hidden(made: Forward, name: str, of: tuple[torch.Tensor, torch.Tensor], observations: Block, whose: str) -> Block:
    """Adds a hidden layer, h = tanh(W·s + b); of: its weights and biases."""
    W = typed(f"{name}.W", (j, d), "W", f"weights of the hidden layer, {whose}", decimals=4)
    b = typed(f"{name}.b", (j,), "b", f"biases of the hidden layer, {whose}", decimals=4)
    h = block(f"{name}.h", (m, j), "h", f"hidden layer, {whose}", decimals=4)
    h[m, j] = tanh(Sum(d, W[j, d] * observations[m, d]) + b[j])
    made.blocks.extend((W, b, h))
    made.numbers.update({W: _numpy(of[0]), b: _numpy(of[1])})
    return h


def _policy(made: Forward, name: str, net: torch.nn.Sequential, observations: Block, actions: Block) -> None:
    """Adds a policy: logits, the log-prob of the action taken, and the entropy."""
    whose = f"policy {WHEN[name]}"
    *hidden, weights, biases = net.parameters()
    h = _hidden(made, f"{name}.policy", (hidden[0], hidden[1]), observations, whose)
    Y = typed(f"{name}.policy.head", (a, j), "Y", f"weights of the head, {whose}", decimals=4)
    c = typed(f"{name}.policy.head_bias", (a,), "c", f"biases of the head, {whose}", decimals=4)
    z = block(f"{name}.logits", (m, a), "z", f"logits, {whose}", decimals=4)
    z[m, a] = Sum(j, Y[a, j] * h[m, j]) + c[a]
    e = block(f"{name}.exponentials", (m, a), "e^z", f"exponentials of the logits, {whose}", decimals=4)
    e[m, a] = exp(z[m, a])
    logp = block(f"{name}.logp", (m, a), "log π", f"log-prob of each action, {whose}", decimals=4)
    logp[m, a] = z[m, a] - log(Sum(k, e[m, k]))
    p = block(f"{name}.p", (m, a), "π", f"probability of each action, {whose}", decimals=4)
    p[m, a] = exp(logp[m, a])
    taken = block(f"{name}.logprobs", (m,), "log π(a)", f"log-prob of the action taken, {whose}", decimals=4)
    taken[m] = logp[m, actions[m]]
    H = block(f"{name}.entropy", (m,), "H", f"entropy, {whose}", decimals=4, unit="nats")
    H[m] = -Sum(a, p[m, a] * logp[m, a])
    made.blocks.extend((Y, c, z, e, logp, taken, p, H))
    made.numbers.update({Y: _numpy(weights), c: _numpy(biases)})


def _critic(made: Forward, name: str, net: torch.nn.Sequential, observations: Block) -> None:
    """Adds a critic: its value of every step."""
    whose = f"critic {WHEN[name]}"
    *hidden, weights, bias = net.parameters()
    h = _hidden(made, f"{name}.critic", (hidden[0], hidden[1]), observations, whose)
    w = typed(f"{name}.critic.head", (j,), "w", f"weights of the head, {whose}", decimals=4)
    c = typed(f"{name}.critic.head_bias", (), "c", f"bias of the head, {whose}", decimals=4)
    V = block(f"{name}.values", (m,), "V", f"value, {whose}", decimals=4)
    V[m] = Sum(j, w[j] * h[m, j]) + c
    made.blocks.extend((w, c, V))
    made.numbers.update({w: _numpy(weights)[0], c: bias.item()})


def _numpy(tensor: torch.Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
