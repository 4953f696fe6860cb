"""The forward pass of the networks as a workbook: from observations and every weight to log-probs, entropies and values.

It is for a minibatch, and for networks of one small hidden layer, such as 4-8-2, whose weights one can look at. What it comes to
stands typed in the workbook of the loss: the logits of the policy that acted and of the policy now, and the values of both critics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from blueprint.labs.rollout import ACTIONS, OBSERVED
from blueprint.labs.settings import LabError
from blueprint.language import Axis, Block, Sum, block, exp, log, tanh, typed

if TYPE_CHECKING:
    import torch

    from blueprint.labs.cart_pole import Moment

MOST_UNITS, MOST_STEPS = 64, 500
"""Units and steps that a sheet holds."""
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
    _refuse(of)
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


def _refuse(of: Moment) -> None:
    hidden, many = of.use.hidden, len(of.batch.actions)
    if len(hidden) != 1 or hidden[0] > MOST_UNITS:
        raise LabError(
            f"--networks with hidden = {hidden}: a sheet shows one hidden layer of at most {MOST_UNITS} units; write --recipe "
            "by-hand, or --set hidden=[8]"
        )
    if many > MOST_STEPS:
        raise LabError(
            f"--networks: found a minibatch of {many:,} steps, and a sheet holds {MOST_STEPS}; write --set minibatch=64"
        )
