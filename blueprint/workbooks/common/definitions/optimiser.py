"""A step of an optimiser: its typed numbers, which weights share them, the norm at which the gradient is held, and the new weights.

Sources: Kingma and Ba 2015, Adam, algorithm 1; Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization, algorithm 2;
torch 2.13, torch.optim.SGD, Adam, AdamW and torch.nn.utils.clip_grad_norm_. For two optimisers verl 0.9.1, OpenRLHF 0.11.2, NeMo-
Aligner 0.7, NeMo-RL 7ea279a and DeepSpeed-Chat 83757d9, each of which has a rate, a norm and a limit for the policy, and others for
the critic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Sum, at_most, block, exp, log, minimum, sqrt, typed, where
from blueprint.workbooks.common.definitions.writing_rows import defined, limited


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


class Group(NamedTuple):
    """Weights that share a rate and a norm. name: which they are, or nothing where they are all.

    joint: 1 where the norm is that of all weights, 0 where it is their own. own: typed numbers that are used only then.
    """

    name: str
    keys: Sequence[str]
    by: Rates
    joint: Arithmetic | int = 1
    own: tuple[Block, ...] = ()

    @property
    def rows(self) -> tuple[Block, ...]:
        """Every number of it, those of its own first."""
        return (*self.own, *self.by)


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


def apart(keys: Sequence[str], others: Sequence[str], by: Rates, joint: Arithmetic, name: str) -> tuple[Group, Group]:
    """Makes two groups, of which the second has rates of its own where `joint` is 0. name: of its rates, `optimiser.critic`."""
    whose = name.rpartition(".")[2]
    lr = typed(f"{name}_lr", (), f"lr_{whose}", f"learning rate of the {whose}, where it is trained apart", decimals=5)
    most = typed(f"{name}_max_norm", (), f"g_max_{whose}", f"largest norm of the {whose}'s gradient, where it is trained apart",
                 unit="> 0, or off", limit=True)  # fmt: skip
    used = [
        defined(block(f"{own.name}.used", (), f"{own.symbol}′", f"the one that is used: {own.symbol} where it is trained apart",
                      decimals=own.about.decimals), where(joint, shared, own))
        for own, shared in ((lr, by.lr), (most, by.max_norm))
    ]  # fmt: skip
    theirs = by._replace(lr=used[0], max_norm=used[1])
    return Group(keys[0].partition(".")[0], keys, by, joint), Group(whose, others, theirs, joint, (lr, most))


def of_step(symbol: str, number: object = "") -> str:
    """Writes the number of a step behind a symbol, in place of one that is there: E⁽²⁾; without a number, the bare symbol."""
    bare = symbol.partition("⁽")[0]
    return f"{bare}⁽{raised(number)}⁾" if number else bare


def raised(number: object) -> str:
    """Writes a number as an exponent."""
    return str(number).translate(str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹˙"))


SGD, ADAM, ADAMW = "sgd", "adam", "adamw"


class Slope(NamedTuple):
    """A weight and the gradient of the loss by it, over the same axes."""

    weight: Block
    gradient: Block


class Moments(NamedTuple):
    """Mean gradient and mean squared gradient of a weight."""

    m: Block
    v: Block


class State(NamedTuple):
    """What is kept from step to step: how many were taken; of Adam the moments by the weight's name, and powers of β1 and β2.

    before: how many steps were taken before the first one here, as an exponent says it; "" where there was none.
    """

    number: int
    moments: Mapping[str, Moments]
    power1: Arithmetic | int = 1
    power2: Arithmetic | int = 1
    before: str = ""


@dataclass(frozen=True)
class Stepped:
    """New weights by name; the state to go on with; the norm of the gradient of each group; every row, in order."""

    new: Mapping[str, Block]
    state: State
    norms: tuple[Block, ...]
    rows: tuple[Block, ...]


START = State(0, {})
STEPS, KEPT_M, KEPT_V = "optimiser.steps", "optimiser.kept.m.", "optimiser.kept.v."
"""The block in which is typed how many steps Adam took before, and what the names of both means begin with that it kept."""


def resumed(weights: Mapping[str, Block], by: Rates) -> tuple[State, tuple[Block, ...]]:
    """Begins with what Adam kept from steps before: their number and both means of each weight are typed. Returns also all rows."""
    steps = typed(STEPS, (), "s", "steps that were taken before the first one here", decimals=0)
    power1, power2 = (
        defined(
            block(
                f"optimiser.kept.power{at}", (), f"{b.symbol}ˢ", f"{b.symbol} to the power of the number of these steps"
            ),
            where(at_most(b, 0), 1 - minimum(1, steps), exp(steps * log(b))),  # 0 has no logarithm
        )
        for at, b in ((1, by.beta1), (2, by.beta2))
    )
    moments = {key: _kept(key, weight) for key, weight in weights.items()}
    rows = (steps, power1, power2, *(row for pair in moments.values() for row in pair))
    return State(0, moments, power1, power2, "ˢ⁺"), rows


def _kept(key: str, weight: Block) -> Moments:
    symbol = of_step(weight.symbol)
    return Moments(
        typed(f"{KEPT_M}{key}", weight.axes, f"m_{symbol}⁽⁰⁾", f"mean gradient of {symbol} before the first step"),
        typed(f"{KEPT_V}{key}", weight.axes, f"v_{symbol}⁽⁰⁾", f"mean squared gradient of {symbol} before the first step",
              unit="≥ 0", reads="0.0E+00"),
    )  # fmt: skip


def step(
    kind: str, slopes: Mapping[str, Slope], groups: Sequence[Group], before: State = START, name: str = "update"
) -> Stepped:
    """Takes one step.

    kind: sgd, adam or adamw. slopes: weights and their gradients, by names that stay from step to step (`policy.W`).
    groups: which of them share a rate and a norm. before: the state after the step before. name: what the names of all rows
    begin with: `update.policy.W` is the new W. The gradients of a group are scaled down together until their norm is at most
    `max_norm`.
    """
    k = before.number + 1
    first, norms, scaled = _held(slopes, groups, name, k)
    rates = {key: group.by for group in groups for key in group.keys}
    if kind == SGD:
        far = {key: rates[key].lr * _decayed(slope, rates[key]) for key, slope in scaled.items()}
        new = {key: _new(f"{name}.{key}", slope.weight, far[key], k) for key, slope in scaled.items()}
        rows = (row for key, slope in scaled.items() for row in (slope.gradient, new[key]))
        return Stepped(new, State(k, {}), norms, (*first, *rows))
    by = groups[0].by
    power1 = _power(f"{name}.power1", before.power1, by.beta1, before.before + raised(k))
    power2 = _power(f"{name}.power2", before.power2, by.beta2, before.before + raised(k))
    moments = {
        key: _moments(key, _coupled(kind, slope, by), slope.weight, by, before, name) for key, slope in scaled.items()
    }
    after = State(k, moments, power1, power2, before.before)
    ways = {
        key: _direction(f"{name}.direction.{key}", slope.weight, by, after.moments[key], after)
        for key, slope in scaled.items()
    }
    new = {
        key: _new(f"{name}.{key}", slope.weight, rates[key].lr * _with_decay(kind, ways[key], slope, by), k)
        for key, slope in scaled.items()
    }
    rows = (row for key, slope in scaled.items() for row in (slope.gradient, *moments[key], ways[key], new[key]))
    return Stepped(new, after, norms, (*first, power1, power2, *rows))


def _held(
    slopes: Mapping[str, Slope], groups: Sequence[Group], name: str, k: int
) -> tuple[tuple[Block, ...], tuple[Block, ...], dict[str, Slope]]:
    """Scales gradients down to the largest norm of their group; returns the rows to that, the norms, and what is left."""
    squares = {key: _square(f"{name}.square.", key, slope.gradient) for key, slope in slopes.items()}
    held = {group: _held_norm(squares, group, name, k) for group in groups}
    scaled = {
        key: Slope(slopes[key].weight, _scaled(f"{name}.gradient.{key}", slopes[key], scale, k))
        for group, (_, scale) in held.items()
        for key in group.keys
    }
    norms = tuple(norm for norm, _ in held.values())
    return (*squares.values(), *(row for pair in held.values() for row in pair)), norms, scaled


def _square(before: str, key: str, g: Block) -> Block:
    made = block(f"{before}{key}", (), f"|{g.symbol}|²", f"{key}: sum of the squares of its gradient", decimals=7)
    return defined(made, Sum(g.axes, g[g.axes] * g[g.axes]) if g.axes else g * g)


def _held_norm(squares: Mapping[str, Block], group: Group, name: str, k: int) -> tuple[Block, Block]:
    """Measures the norm of a group's gradient, and what it is multiplied by."""
    whose, of = (f".{group.name}", f"_{group.name}") if group.name else ("", "")
    own, others = (
        [square for key, square in squares.items() if (key in group.keys) is inside] for inside in (True, False)
    )
    meaning = f"norm of the gradient of the {group.name}, or of all of it" if whose else "norm of the whole gradient"
    norm = block(f"{name}.norm{whose}", (), of_step(f"|g|{of}", k), meaning, decimals=5)
    defined(norm, sqrt(reduce(add, own) + (group.joint * reduce(add, others) if others else 0)))
    told = "what the gradient is multiplied by, so that its norm is at most g_max"
    scale = block(f"{name}.scale{whose}", (), of_step(f"s_g{of}", k), told)
    held = limited(group.by.max_norm, 1, lambda most: minimum(1, most / (norm + group.by.norm_eps)))
    return norm, defined(scale, held)


def _scaled(name: str, slope: Slope, scale: Block, k: int) -> Block:
    at, called = slope.weight.axes, of_step(slope.weight.symbol)
    made = block(name, at, of_step(f"g_{called}", k), f"gradient of {called}, scaled")
    return defined(made, scale * slope.gradient[at])


def _power(name: str, before: Arithmetic | int, beta: Block, exponent: str) -> Block:
    told = f"{beta.symbol} to the power of the number of the step"
    return defined(block(name, (), beta.symbol + exponent, told), before * beta)


def _moments(key: str, gradient: Arithmetic, weight: Block, by: Rates, before: State, name: str) -> Moments:
    """Moves both means towards the gradient and its square; before the first step they are 0, or what was kept."""
    at, symbol, k = weight.axes, of_step(weight.symbol), before.number + 1
    m = block(f"{name}.m.{key}", at, of_step(f"m_{symbol}", k), f"mean gradient of {symbol}")
    v = block(f"{name}.v.{key}", at, of_step(f"v_{symbol}", k), f"mean squared gradient of {symbol}", reads="0.0E+00")
    m_before, v_before = (each[at] for each in before.moments[key]) if key in before.moments else (0, 0)
    return Moments(
        defined(m, by.beta1 * m_before + (1 - by.beta1) * gradient),
        defined(v, by.beta2 * v_before + (1 - by.beta2) * (gradient * gradient)),
    )


def _direction(name: str, weight: Block, by: Rates, moments: Moments, after: State) -> Block:
    """Divides the mean gradient by its size, both corrected for their start at 0."""
    at, symbol = weight.axes, of_step(f"step_{of_step(weight.symbol)}", after.number)
    made = block(name, at, symbol, "mean gradient over its size, both corrected for their start at 0")
    return defined(made, moments.m[at] / (1 - after.power1) / (sqrt(moments.v[at] / (1 - after.power2)) + by.eps))


def _decayed(slope: Slope, by: Rates) -> Arithmetic:
    at = slope.weight.axes
    return slope.gradient[at] + by.weight_decay * slope.weight[at]


def _coupled(kind: str, slope: Slope, by: Rates) -> Arithmetic:
    """Returns what the means are taken of: with Adam the weight decay is part of the gradient."""
    return _decayed(slope, by) if kind == ADAM else slope.gradient[slope.weight.axes]


def _with_decay(kind: str, direction: Block, slope: Slope, by: Rates) -> Arithmetic:
    """Returns how far a weight goes: with AdamW the weight decay is apart from the gradient."""
    return _decayed(Slope(slope.weight, direction), by) if kind == ADAMW else direction[slope.weight.axes]


def _new(name: str, weight: Block, step: Arithmetic, k: int) -> Block:
    symbol = of_step(weight.symbol)
    return defined(block(name, weight.axes, of_step(symbol, k), f"{symbol} after step {k}"), weight[weight.axes] - step)
