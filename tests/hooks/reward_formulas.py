"""TRL's formulas of a reward model, 1.16.0, of one file in numpy, in stages of which any can be another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.hooks.dpo_formulas import Array, Use, ahead, averaged, log_sigmoid, same, same_use
from tests.hooks.trl_formulas import Tensors, Written


def last_tokens(t: Tensors, use: Use) -> Array:
    """The column of the rightmost token that is not the pad, as transformers finds it."""
    kept = t["input_ids"] != use["pad_token_id"]
    return np.asarray((kept * np.arange(kept.shape[1])).argmax(1))


def pair_loss(apart: Array, margin: Array) -> Array:
    return -log_sigmoid(apart - margin)


def centred(chosen: Array, rejected: Array) -> Array:
    return np.asarray((chosen + rejected) ** 2)


def plain_margin(chosen: Array, rejected: Array, margin: Array) -> Array:
    return np.asarray(chosen - rejected)


@dataclass(frozen=True)
class Trainer:
    """A trainer's code, stage by stage."""

    given: Callable[[Tensors], Tensors] = same
    settled: Callable[[Use], Use] = same_use
    read: Callable[[Tensors, Use], Array] = last_tokens
    ahead: Callable[[Array, Array], Array] = ahead
    margin: Callable[[Array, Array, Array], Array] = plain_margin
    pair_loss: Callable[[Array, Array], Array] = pair_loss
    centred: Callable[[Array, Array], Array] = centred
    averaged: Callable[[Array], float] = averaged

    def written(self, file: Written) -> Written:
        """Returns what the hook would write: the scores of all positions of a file, and everything that is made of them."""
        t, use = self.given(file.tensors), self.settled(file.settings)
        scores = t["position_scores"][np.arange(len(t["position_scores"])), self.read(t, use)]
        chosen, rejected = scores.reshape(2, -1)
        margin = t.get("margin", np.zeros(len(chosen)))
        loss = self.averaged(self.pair_loss(chosen - rejected, margin))
        loss += (use["center_rewards_coefficient"] or 0) * float(self.centred(chosen, rejected).mean())
        logged = {
            "min_reward": scores.min(), "mean_reward": scores.mean(), "max_reward": scores.max(), "loss": loss,
            "accuracy": self.ahead(chosen, rejected).mean(), "margin": self.margin(chosen, rejected, margin).mean(),
        }  # fmt: skip
        tensors = {**t, "rewards_chosen": chosen, "rewards_rejected": rejected}
        return file._replace(tensors=tensors, logged={name: float(np.float32(each)) for name, each in logged.items()})


TRL = Trainer()


def otherwise(**stages: Any) -> Trainer:
    """Returns the trainer with some stages that do something else."""
    return replace(TRL, **stages)
