"""Causes that are another sum of what several reward functions said of a response: without their weights, with those of others,
their mean, without one of them, or of what each said less its mean over the batch or the group, divided by its deviation.

The definitions begin at the score, which is the sum that TRL has (nansum): a function that did not judge counts 0.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import Settings, Try
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import Fed

Sums = Callable[[Array, Array, Array], Array]
"""Makes the score of each response, [B], of what the functions said, [B, K], NaN where one did not judge, of their weights, [K],
and of the group of each response, [B]."""
EPS = (1e-4, 1e-6, 1e-8, 0.0)
"""What libraries add to a deviation."""


def of_functions(step: GroupedStep, settings: Settings) -> Iterator[Try]:
    """Yields other sums of reward functions; none where there are not several."""
    count = len(step.function_weights)
    if count < 2 or "rewards_per_func" not in step.tensors:
        return
    for says, made in {**_of_weights(count), **_of_each_standardised()}.items():
        yield Try(f"the reward is {says}", settings, {"scored": partial(_scores, made)})


def _scores(made: Sums, step: GroupedStep, of: Fed) -> Array:
    said, weights = np.asarray(step.tensors["rewards_per_func"], np.float64), np.asarray(step.function_weights)
    with np.errstate(all="ignore"):
        return np.nan_to_num(made(said, weights, of["group"]))


def _of_weights(count: int) -> dict[str, Sums]:
    """Returns sums with other weights. count: how many functions there are."""
    found: dict[str, Sums] = {
        "the sum of all reward functions, without their weights": lambda said, weights, group: np.nansum(said, axis=1),
        "the mean of all reward functions, without their weights": lambda said, weights, group: _mean(said),
        "the mean of all reward functions, each times its weight": lambda said, weights, group: _mean(said * weights),
        "the sum of all reward functions with weights that are divided by their sum":
            lambda said, weights, group: np.nansum(said * weights, axis=1) / weights.sum(),
        "the mean of the reward functions that judged, by their weights":
            lambda said, weights, group: np.nansum(said * weights, axis=1) / (np.isfinite(said) * weights).sum(axis=1),
        "the sum of all reward functions with the weights in the reverse order":
            lambda said, weights, group: np.nansum(said * weights[::-1], axis=1),
        "0 where one of the reward functions did not judge": lambda said, weights, group: said @ weights,
    }  # fmt: skip
    for at in range(count):
        found[f"without reward function {at + 1}"] = partial(_without, at)
    for at in range(count) if count > 2 else ():
        found[f"reward function {at + 1} alone"] = partial(_alone, at)
    found["the product of all reward functions"] = lambda said, weights, group: np.nanprod(said, axis=1)
    found["the largest of all reward functions, each times its weight"] = _largest
    return found


def _mean(said: Array) -> Array:
    """Returns the mean of what the functions said that judged."""
    return np.asarray(np.nansum(said, axis=1) / np.maximum(np.isfinite(said).sum(axis=1), 1))


def _without(at: int, said: Array, weights: Array, group: Array) -> Array:
    return np.asarray(np.nansum(np.delete(said * weights, at, axis=1), axis=1))


def _alone(at: int, said: Array, weights: Array, group: Array) -> Array:
    return np.asarray(said[:, at] * weights[at])


def _largest(said: Array, weights: Array, group: Array) -> Array:
    largest = np.max(np.where(np.isfinite(said), said * weights, -np.inf), axis=1)
    return np.where(np.isfinite(largest), largest, 0.0)


def _of_each_standardised() -> dict[str, Sums]:
    """Returns sums of functions of which each is less its mean, and divided by its deviation."""
    found: dict[str, Sums] = {}
    for (where, grouped), (of_n, ddof), (silent, zeros) in product(
        (("over the batch", False), ("within each group", True)),
        (("", 1), (", with n below, not n − 1", 0)),
        (("", False), (", and 0 where it did not judge counts there, too", True)),
    ):
        for eps in EPS:
            with_eps = f" + {eps:g}" if eps else ""
            says = f"the sum of reward functions of which each is whitened {where}, by its deviation{with_eps}{of_n}{silent}"
            found[says] = partial(_standardised, grouped, ddof, eps, zeros)
    return found


def _standardised(
    grouped: bool, ddof: int, eps: float, zeros: bool, said: Array, weights: Array, group: Array
) -> Array:
    said = np.nan_to_num(said) if zeros else said
    made = np.full_like(said, np.nan)
    for rows in [group == each for each in np.unique(group)] if grouped else [np.full(len(said), True)]:
        some = said[rows]
        count = np.isfinite(some).sum(axis=0)
        mean = np.nansum(some, axis=0) / count
        deviation = np.sqrt(np.nansum((some - mean) ** 2, axis=0) / np.maximum(count - ddof, 1))
        made[rows] = (some - mean) / (deviation + eps)
    return np.asarray(np.nansum(made * weights, axis=1))
