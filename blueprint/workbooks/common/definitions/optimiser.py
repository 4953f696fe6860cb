"""A step of an optimiser: from gradients to new weights, with the norm of the whole gradient held at most at a limit.

Sources: Kingma and Ba 2015, Adam, algorithm 1; Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization,
algorithm 2; torch 2.13, torch.optim.SGD, Adam, AdamW and torch.nn.utils.clip_grad_norm_.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Sum, block, minimum, sqrt, typed
from blueprint.workbooks.common.definitions.choices import limited

SGD, ADAM, ADAMW = "sgd", "adam", "adamw"


class Rates(NamedTuple):
    """What is typed of an optimiser.

    norm_eps: what torch adds to the norm of the gradient before it divides by it.
    """

    lr: Block
    beta1: Block
    beta2: Block
    eps: Block
    weight_decay: Block
    max_norm: Block
    norm_eps: Block


class Slope(NamedTuple):
    """A weight and the gradient of the loss by it, over the same axes."""

    weight: Block
    gradient: Block


class Moments(NamedTuple):
    """Mean gradient and mean squared gradient of a weight."""

    m: Block
    v: Block


class State(NamedTuple):
    """What Adam keeps from step to step: the moments by the name of the weight, and the powers of β1 and β2."""

    moments: Mapping[str, Moments]
    power1: Arithmetic | int = 1
    power2: Arithmetic | int = 1


@dataclass(frozen=True)
class Stepped:
    """New weights by name; the state to go on with; the norm of the gradient; every row, in order."""

    new: Mapping[str, Block]
    state: State
    norm: Block
    rows: tuple[Block, ...]


START = State({})


def rates(name: str = "optimiser") -> Rates:
    """Makes the typed numbers of an optimiser."""
    return Rates(
        typed(f"{name}.lr", (), "lr", "learning rate", decimals=5),
        typed(f"{name}.beta1", (), "β1", "how much of the mean gradient is kept from step to step", unit="0 … 1"),
        typed(f"{name}.beta2", (), "β2", "how much of the mean squared gradient is kept", unit="0 … 1"),
        typed(f"{name}.eps", (), "ε_a", "keeps the step from dividing by 0", decimals=10),
        typed(f"{name}.weight_decay", (), "wd", "weight decay", unit="≥ 0"),
        typed(f"{name}.max_norm", (), "g_max", "largest norm of the whole gradient", unit="> 0, or off", limit=True),
        typed(f"{name}.norm_eps", (), "ε_g", "added to the norm before dividing by it", decimals=10),
    )


def step(kind: str, slopes: Mapping[str, Slope], by: Rates, before: State = START, name: str = "update") -> Stepped:
    """Takes one step.

    kind: sgd, adam or adamw. slopes: weights and their gradients, by names that stay from step to step (`policy.W`).
    before: the state after the step before. name: what the names of all rows begin with: `update.policy.W` is the new W.
    The gradients are scaled down together until their norm is at most `max_norm`.
    """
    squares, norm, scale = held_norm({key: slope.gradient for key, slope in slopes.items()}, by, name)
    scaled = {
        key: Slope(slope.weight, _scaled(f"{name}.gradient.{key}", slope, scale)) for key, slope in slopes.items()
    }
    if kind == SGD:
        new = {key: _new(f"{name}.{key}", slope.weight, by.lr * _decayed(slope, by)) for key, slope in scaled.items()}
        rows = (row for key, slope in scaled.items() for row in (slope.gradient, new[key]))
        return Stepped(new, before, norm, (*squares, norm, scale, *rows))
    power1 = _power(f"{name}.power1", before.power1, by.beta1)
    power2 = _power(f"{name}.power2", before.power2, by.beta2)
    moments = {
        key: _moments(key, _coupled(kind, slope, by), slope.weight, by, before, name) for key, slope in scaled.items()
    }
    after = State(moments, power1, power2)
    ways = {
        key: _direction(f"{name}.direction.{key}", slope.weight, by, after.moments[key], after)
        for key, slope in scaled.items()
    }
    new = {
        key: _new(f"{name}.{key}", slope.weight, by.lr * _with_decay(kind, ways[key], slope, by))
        for key, slope in scaled.items()
    }
    rows = (row for key, slope in scaled.items() for row in (slope.gradient, *moments[key], ways[key], new[key]))
    return Stepped(new, after, norm, (*squares, norm, scale, power1, power2, *rows))


def held_norm(gradients: Mapping[str, Block], by: Rates, name: str) -> tuple[tuple[Block, ...], Block, Block]:
    """Measures the norm of a whole gradient: the squares block by block, the norm, and what all of it is multiplied by."""
    squares = tuple(
        block(f"{name}.square.{key}", (), f"|{g.symbol}|²", f"sum of the squares of {g.symbol}")
        for key, g in gradients.items()
    )
    for square, g in zip(squares, gradients.values(), strict=True):
        square[()] = Sum(g.axes, g[g.axes] * g[g.axes]) if g.axes else g * g
    norm = block(f"{name}.norm", (), "|g|", "norm of the whole gradient")
    norm[()] = sqrt(reduce(add, squares))
    scale = block(f"{name}.scale", (), "s_g", "what the gradient is multiplied by, so that its norm is at most g_max")
    scale[()] = limited(by.max_norm, 1, lambda most: minimum(1, most / (norm + by.norm_eps)))
    return squares, norm, scale


def _scaled(name: str, slope: Slope, scale: Block) -> Block:
    weight, gradient = slope
    made = block(name, weight.axes, f"g_{weight.symbol}", f"gradient of {weight.symbol}, scaled")
    made[weight.axes] = scale * gradient[weight.axes]
    return made


def _power(name: str, before: Arithmetic | int, beta: Block) -> Block:
    made = block(name, (), f"{beta.symbol}ᵏ", f"{beta.symbol} to the power of the number of the step")
    made[()] = before * beta
    return made


def _moments(key: str, gradient: Arithmetic, weight: Block, by: Rates, before: State, name: str) -> Moments:
    """Moves both means towards the gradient and its square; before the first step they are 0."""
    at, symbol = weight.axes, weight.symbol
    m = block(f"{name}.m.{key}", at, f"m_{symbol}", f"mean gradient of {symbol}")
    v = block(f"{name}.v.{key}", at, f"v_{symbol}", f"mean squared gradient of {symbol}", reads="0.0E+00")
    m_before, v_before = (each[at] for each in before.moments[key]) if key in before.moments else (0, 0)
    m[at] = by.beta1 * m_before + (1 - by.beta1) * gradient
    v[at] = by.beta2 * v_before + (1 - by.beta2) * (gradient * gradient)
    return Moments(m, v)


def _direction(name: str, weight: Block, by: Rates, moments: Moments, after: State) -> Block:
    """Divides the mean gradient by its size, both corrected for their start at 0."""
    made = block(
        name, weight.axes, f"step_{weight.symbol}", "mean gradient over its size, both corrected for their start at 0"
    )
    at = weight.axes
    made[at] = moments.m[at] / (1 - after.power1) / (sqrt(moments.v[at] / (1 - after.power2)) + by.eps)
    return made


def _decayed(slope: Slope, by: Rates) -> Arithmetic:
    at = slope.weight.axes
    return slope.gradient[at] + by.weight_decay * slope.weight[at]


def _coupled(kind: str, slope: Slope, by: Rates) -> Arithmetic:
    """Returns what the means are taken of: with Adam the weight decay is part of the gradient."""
    return _decayed(slope, by) if kind == ADAM else slope.gradient[slope.weight.axes]


def _with_decay(kind: str, direction: Block, slope: Slope, by: Rates) -> Arithmetic:
    """Returns how far a weight goes: with AdamW the weight decay is apart from the gradient."""
    return _decayed(Slope(slope.weight, direction), by) if kind == ADAMW else direction[slope.weight.axes]


def _new(name: str, weight: Block, step: Arithmetic) -> Block:
    made = block(name, weight.axes, f"{weight.symbol}′", f"{weight.symbol} after the step")
    made[weight.axes] = weight[weight.axes] - step
    return made
