"""Misconceptions in an optimiser's step, and between the steps of several epochs; see `backward`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from blueprint.misconceptions import Misconception
from blueprint.workbooks.common.misconceptions.backward import FACTORS, LOGITS, LOSS, MODELS, Array, Made
from blueprint.workbooks.common.misconceptions.rows import WEIGHTS


def _weight(r: Any) -> Array:
    """Returns a weight before the step."""
    later = "epoch{step}.{weight}"
    return np.asarray(r[later if later in r else "{weight}"])


def _held_alone(r: Any) -> Array:
    """Returns the gradient of a weight, held at the limit by its own norm."""
    raw = r.meant / r["update{step}.scale"]
    norm = np.sqrt(r["update{step}.square.{weight}"]) + r["optimiser.norm_eps"]
    return np.asarray(raw * np.minimum(1, r["optimiser.max_norm"] / norm))


def _logprobs_before(r: Any) -> Array:
    before = r.before("epoch{step}.loss.logp_new", "step")
    return np.asarray(r["loss.logp_new"] if before is None else before)


def _mean_over(r: Any, mask: str, words: str) -> Array:
    """Returns the mean of the advantages over tokens."""
    return np.asarray((r[mask] * r["advantages"]).sum() / r[words])


def _gradient(r: Any) -> Array:
    return np.asarray(r["update{step}.gradient.{weight}"])


def _decayed(r: Any) -> Array:
    return np.asarray(_gradient(r) + r["optimiser.weight_decay"] * _weight(r))


def _mean(r: Any, name: str, beta: str, of: Array) -> Array:
    """Returns a mean moved towards numbers; before the first step it is 0."""
    kept, before = r[f"optimiser.{beta}"], r.before(f"update{{step}}.{name}.{{weight}}", "step")
    return np.asarray((0 if before is None else kept * before) + (1 - kept) * of)


def _way(r: Any, first: bool = True, second: bool = True, inside: bool = False) -> Array:
    """Returns the direction, with or without the corrections of both means, and ε inside the root."""
    m, v = r["update{step}.m.{weight}"], r["update{step}.v.{weight}"]
    m = m / (1 - r["update{step}.power1"]) if first else m
    v = v / (1 - r["update{step}.power2"]) if second else v
    eps = r["optimiser.eps"]
    return np.asarray(m / (np.sqrt(v + eps) if inside else np.sqrt(v) + eps))


def _new(r: Any, decay: float = 1.0, rate: float = 1.0) -> Array:
    """Returns a new weight, with other parts of decay and learning rate."""
    lr, held = r["optimiser.lr"], r["optimiser.weight_decay"] * _weight(r)
    return np.asarray(_weight(r) - rate * lr * r["update{step}.direction.{weight}"] - decay * held)


STEPS: tuple[Made, ...] = (
    ("update{step}.norm", "root-forgotten",
     "The root is forgotten: |g| is the root of the sum of all squares.", lambda r: r.meant**2),
    ("update{step}.gradient.{weight}", "not-held", "The gradient is not held: it is not multiplied by what its norm leaves of it.",
     lambda r: r.meant / r["update{step}.scale"]),
    ("update{step}.m.{weight}", "decay-coupled",
     "The weight decay is coupled: it is part of the gradient that the means are taken of, as in Adam.",
     lambda r: _mean(r, "m", "beta1", _decayed(r))),
    ("update{step}.v.{weight}", "decay-coupled",
     "The weight decay is coupled: it is part of the gradient that the means are taken of, as in Adam.",
     lambda r: _mean(r, "v", "beta2", _decayed(r) ** 2)),
    ("update{step}.m.{weight}", "decay-decoupled",
     "The weight decay is left out of the mean, as in AdamW: Adam takes it for a part of the gradient.",
     lambda r: _mean(r, "m", "beta1", _gradient(r))),
    ("update{step}.m.{weight}", "beta2-for-beta1", "β2 stands where β1 should.", lambda r: _mean(r, "m", "beta2", _gradient(r))),
    ("update{step}.v.{weight}", "beta1-for-beta2",
     "β1 stands where β2 should.", lambda r: _mean(r, "v", "beta1", _gradient(r) ** 2)),
    ("update{step}.v.{weight}", "not-squared", "The gradient is not squared.", lambda r: _mean(r, "v", "beta2", _gradient(r))),
    ("update{step}.power1", "power-forgotten", "The power is not that of the number of the step.", lambda r: r["optimiser.beta1"]),
    ("update{step}.power2", "power-forgotten", "The power is not that of the number of the step.", lambda r: r["optimiser.beta2"]),
    ("update{step}.direction.{weight}", "bias-corrections-forgotten",
     "The bias correction is forgotten: both means begin at 0, and are divided by 1 − βᵏ.",
     lambda r: _way(r, first=False, second=False)),
    ("update{step}.direction.{weight}", "first-correction-forgotten",
     "The bias correction of the mean gradient is forgotten.", lambda r: _way(r, first=False)),
    ("update{step}.direction.{weight}", "second-correction-forgotten",
     "The bias correction of the mean square is forgotten.", lambda r: _way(r, second=False)),
    ("update{step}.direction.{weight}", "eps-inside-the-root",
     "ε stands inside the root: it is added to it.", lambda r: _way(r, inside=True)),
    ("update{step}.{weight}", "decay-forgotten", "The weight decay is left out.", lambda r: _new(r, decay=0)),
    ("update{step}.{weight}", "decay-without-the-rate",
     "The weight decay is not multiplied by the learning rate.", lambda r: _new(r)),
    ("update{step}.{weight}", "uphill", "The step goes up the slope: its sign is turned.",
     lambda r: _new(r, decay=-r["optimiser.lr"], rate=-1)),
)  # fmt: skip
"""From the gradients to the new weights."""


def _of_the_first_step(weight: str, r: Any) -> Array:
    return np.asarray(r[weight])


MEANS = ("policy_loss", "value_loss", "entropy", "policy_kl")
EPOCHS: tuple[Made, ...] = (
    ("update{step}.gradient.{weight}", "held-by-its-own-norm",
     "The gradient is held by the norm of this weight alone, not by that of the whole gradient.",
     _held_alone),
    ("epoch{step}.log_ratio", "ratio-to-the-step-before",
     "The ratio is to the policy of the step before, not to the one that wrote the responses.",
     lambda r: r["epoch{step}.policy.logprobs"] - _logprobs_before(r)),
    *((f"epoch{{step}}.{weight}", "weights-of-the-first-step",
       "It is that of the first step: the weights are θ_old again, not those after the step before.",
       partial(_of_the_first_step, weight)) for weight in WEIGHTS),
    ("advantage.mean", "whitened-over-the-batch", "Advantages are whitened over the whole batch, not over the minibatch.",
     lambda r: _mean_over(r, "mask", "response.words")),
    ("advantage.mean", "whitened-over-the-minibatch", "Advantages are whitened over the minibatch, not over the whole batch.",
     lambda r: _mean_over(r, "minibatch.mask", "minibatch.words")),
    *((mean, "tokens-of-the-whole-batch", "It is divided by the number of tokens of the whole batch, not of the minibatch.",
       lambda r: r.meant * r["minibatch.words"] / r["response.words"]) for mean in MEANS),
)  # fmt: skip
"""Between the steps of several epochs, and within a minibatch."""

BACKWARD = tuple(
    Misconception(row, name, says, made=made)
    for row, name, says, made in (*LOSS, *LOGITS, *MODELS, *STEPS, *EPOCHS, *FACTORS)
)
