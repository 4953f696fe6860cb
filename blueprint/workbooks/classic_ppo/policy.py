"""From scores of the actions to the log-probability of the action taken."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, typed
from blueprint.workbooks.classic_ppo.axes import a, n, t
from blueprint.workbooks.classic_ppo.use import SHOWN
from blueprint.workbooks.common.definitions.choices import EVERYWHERE
from blueprint.workbooks.common.definitions.distribution import Distribution, chosen_logprobs, softmax


class Policy(NamedTuple):
    """A policy over the actions, (n, t, a), and the log-probability of the action taken (n, t)."""

    over: Distribution
    logprobs: Block


def policy(name: str, whose: str, actions: Block) -> Policy:
    """Makes a soft-max of typed scores. actions: ids (n, t), from 0."""
    over = softmax(name, typed(f"{name}.logits", (n, t, a), "z", f"score of the action, {whose}", decimals=2), SHOWN)
    return Policy(over, chosen_logprobs(name, over.logp, actions, EVERYWHERE, SHOWN))
