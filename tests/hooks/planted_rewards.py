"""Mistakes in a trainer of reward models, as data: what its code does otherwise, and what `verify` must then find."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.hooks.dpo_formulas import Array, Use, sigmoid
from tests.hooks.reward_formulas import Trainer, last_tokens, otherwise, pair_loss
from tests.hooks.trl_formulas import Mistake, Tensors

PLAIN, MARGIN, PAD = (f"trl_reward/{name}" for name in ("plain", "margin", "pad_eos"))


def moved(by: int) -> Trainer:
    return otherwise(read=lambda t, use: last_tokens(t, use) + by)


def last_column(t: Tensors, use: Use) -> Array:
    return np.full(len(t["input_ids"]), t["input_ids"].shape[1] - 1)


def of_mask(t: Tensors, use: Use) -> Array:
    return np.asarray(t["attention_mask"].sum(1).astype(int) - 1)


def first_token(t: Tensors, use: Use) -> Array:
    return np.zeros(len(t["input_ids"]), int)


def overflowing(apart: Array, margin: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-np.log(1 / (1 + np.exp(-(apart - margin).astype(np.float32)))))


def far_apart(t: Tensors) -> Tensors:
    """Scores so far apart that the chosen response of the first pair has a σ of 0 in float32."""
    return {**t, "position_scores": t["position_scores"] * 400}


def with_loss(pair_loss: Callable[[Array, Array], Array]) -> Trainer:
    return otherwise(pair_loss=pair_loss)


def held(centred: Callable[[Array, Array], Array]) -> Trainer:
    return otherwise(centred=centred)


def summed(each: Array) -> float:
    return float(each.sum())


def mean_of_uneven(each: Array) -> float:
    return float((each[:3].mean() + each[3:].mean()) / 2)


MISTAKES = {
    "the last column of a padded batch": Mistake(PLAIN, "chosen.score", "score.read = last_column", otherwise(read=last_column)),
    "one token too early": Mistake(PLAIN, "chosen.score", "score.read = before_end", moved(-1)),
    "one token too late": Mistake(PLAIN, "chosen.score", "the score read one token too late",
                                  otherwise(read=lambda t, use: np.minimum(last_tokens(t, use) + 1, t["input_ids"].shape[1] - 1))),
    "the first token": Mistake(PLAIN, "chosen.score", "the score read at the first token", otherwise(read=first_token)),
    "the end read, though it is the pad": Mistake(PAD, "chosen.score", "score.read = last_token", otherwise(read=of_mask)),
    "a tie is right": Mistake(PLAIN, "accuracy", "two equal scores counted as a success",
                              otherwise(ahead=lambda a, b: np.asarray(a >= b, float))),
    "a tie is half right": Mistake(PLAIN, "accuracy", "half a success",
                                   otherwise(ahead=lambda a, b: np.asarray((a > b) + 0.5 * (a == b)))),
    "a success is a score above 0": Mistake(PLAIN, "accuracy", "", otherwise(ahead=lambda a, b: np.asarray(a > 0, float))),
    "the margin in the logged margin": Mistake(MARGIN, "mean.margin", "subtracted in what is logged",
                                               otherwise(margin=lambda a, b, m: a - b - m)),
    "the logged margin turned": Mistake(PLAIN, "mean.margin", "the opposite sign", otherwise(margin=lambda a, b, m: b - a)),
    "the loss turned": Mistake(PLAIN, "total_loss", "chosen and rejected exchanged", with_loss(lambda x, m: pair_loss(-x, m))),
    "the margin forgotten": Mistake(MARGIN, "total_loss", "loss.margin = off", with_loss(lambda x, m: pair_loss(x, 0 * m))),
    "the margin added": Mistake(MARGIN, "total_loss", "the margin of each pair added", with_loss(lambda x, m: pair_loss(x, -m))),
    "the margin doubled": Mistake(MARGIN, "total_loss", "m_on[p] is doubled", with_loss(lambda x, m: pair_loss(x, 2 * m))),
    "σ without log": Mistake(PLAIN, "total_loss", "1 − σ of the difference", with_loss(lambda x, m: 1 - sigmoid(x - m))),
    "hinge": Mistake(PLAIN, "total_loss", "", with_loss(lambda x, m: np.maximum(0, 1 - x))),
    "−log of a σ that is 0": Mistake(PLAIN, "total_loss", "which is infinite", otherwise(given=far_apart, pair_loss=overflowing)),
    "a sum over the pairs": Mistake(PLAIN, "total_loss", "a sum over the pairs", otherwise(averaged=summed)),
    "divided by accumulation once more": Mistake(PLAIN, "total_loss", "everything divided by 2",
                                                 otherwise(averaged=lambda each: float(each.mean() / 2))),
    "uneven microbatches averaged alike": Mistake(PLAIN, "total_loss", "", otherwise(averaged=mean_of_uneven)),
    "centring forgotten": Mistake(MARGIN, "total_loss", "reward.center = 0", otherwise(centred=lambda a, b: 0 * a)),
    "ten times the centring": Mistake(MARGIN, "total_loss", "reward.center = 0.1", held(lambda a, b: 10 * (a + b) ** 2)),
    "a centring that nobody uses": Mistake(PLAIN, "total_loss", "reward.center = 0.037",
                                           otherwise(settled=lambda use: {**use, "center_rewards_coefficient": 0.037})),
    "centring of the difference": Mistake(MARGIN, "total_loss", "the difference of the scores held near 0",
                                          otherwise(centred=lambda a, b: (a - b) ** 2)),
    "centring of the mean": Mistake(MARGIN, "total_loss", "the mean of the scores held near 0",
                                    otherwise(centred=lambda a, b: ((a + b) / 2) ** 2)),
}  # fmt: skip
