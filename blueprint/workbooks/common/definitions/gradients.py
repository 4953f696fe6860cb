"""Gradients: derivatives as textbooks write them, each for a group of steps, which tests hold against the steps taken one by one;
and what one sees in a gradient at a glance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import Block, Expr, Sum, at_most, block, equal, exp, less, minimum, sqrt, typed
from blueprint.language.gradient import Adjoint, Declared, OneHot
from blueprint.workbooks.common.definitions.logprobs_and_kl import Distribution
from blueprint.workbooks.common.definitions.writing_rows import EVERYWHERE, Row, defined
from blueprint.workbooks.common.labels import labels


def of_chosen_logprobs(logprobs: Block, made: Distribution, chosen: Block, m: Row) -> Declared:
    """∂L/∂z = ∂L/∂log π·m·(1 for the token chosen − p). Source: Williams 1992, REINFORCE, equation 4 for a soft-max unit."""
    *at, v = made.logits.axes
    return Declared(logprobs, {made.logits: lambda g, hot: g[*at] * m[*at] * (hot(v, chosen[*at]) - made.p[*at, v])})


def of_entropy(entropy: Block, made: Distribution, m: Row = EVERYWHERE) -> Declared:
    """∂L/∂z = −∂L/∂H·m·p·(log p − Σ p log p)."""
    *at, v = made.logits.axes
    return Declared(
        entropy,
        {made.logits: lambda g, _: -(g[*at] * m[*at] * made.p[*at, v] * (made.logp[*at, v] - made.p_log_p[*at]))},
    )


def of_exact_kl(exact: Block, p: Block, new: Distribution, m: Row) -> Declared:
    """∂L/∂z = ∂L/∂KL·m·(p_θ − p), for the KL of a fixed p to a soft-max p_θ."""
    *at, v = new.logits.axes
    return Declared(exact, {new.logits: lambda g, _: g[*at] * m[*at] * (new.p[*at, v] - p[*at, v])})


def of_exact_kl_of_new(exact: Block, new: Distribution, log_q: Block, cross: Block, m: Row) -> Declared:
    """∂L/∂z = ∂L/∂KL·m·p_θ·(log p_θ − log q − KL), for the KL of a soft-max p_θ to a fixed q. cross: Σ p_θ log q."""
    *at, v = new.logits.axes

    def back(g: Adjoint, _: OneHot) -> Expr:
        apart = new.logp[*at, v] - log_q[*at, v] - (new.p_log_p[*at] - cross[*at])
        return g[*at] * m[*at] * new.p[*at, v] * apart

    return Declared(exact, {new.logits: back})


def of_log_sigmoid(made: Block, x: Block) -> Declared:
    """∂L/∂x = ∂L/∂log σ·σ(−x). Source: DPO, 2305.18290, section 4, the gradient's weight σ(r̂_l − r̂_w).

    The steps that keep e^x in range, max(0, −x) and |x|, have a kink at 0 that log σ has not: one by one they would give 1 there
    instead of ½, and there a first step stands, policy and reference being the same.
    """
    at = x.axes
    return Declared(made, {x: lambda g, _: g[at] * (exp(minimum(0, -x[at])) / (1 + exp(-abs(x[at]))))})


def of_sigmoid(made: Block, x: Block) -> Declared:
    """∂L/∂x = ∂L/∂σ·σ·(1 − σ); at 0, too, where the steps have a kink. Source: Rumelhart, Hinton, Williams 1986, equation 4."""
    at = x.axes
    return Declared(made, {x: lambda g, _: g[at] * made[at] * (1 - made[at])})


def of_surrogate(smaller: Block, free: Block, clipped: Block, ratio: Block, A: Block) -> Declared:
    """∂L/∂ρ = ∂L/∂U·Â where the free surrogate is no larger than the clipped one, else 0: a token that is clipped pulls no more.

    At the ends of the range both are the same, and the free one counts, as at the ends of torch.clamp.
    """
    at = ratio.axes
    return Declared(smaller, {ratio: lambda g, _: g[at] * A[at] * at_most(free[at], clipped[at])})


def of_value_loss(loss: Block, error: Block, square: Block, held_square: Block, V: Block, m: Row) -> Declared:
    """∂L/∂V = ∂L/∂l·m·e where the free square is the larger, else 0, for l = ½·m·max(e², e_c²).

    Where the clipped square is the larger, V lies outside of its range, and the clipped value does not move with it.
    """
    at = loss.axes
    return Declared(loss, {V: lambda g, _: g[at] * m[at] * error[at] * at_most(held_square[at], square[at])})


TINY = 1e-12
"""A slope that is smaller is made of rounding, such as that of a whitened advantage which should be 0."""


class Pulls(NamedTuple):
    """1 where a step makes a token likelier, less likely, or where nothing pulls at it; rows. tiny: the typed number."""

    tiny: Block
    up: Block
    down: Block
    still: Block

    @property
    def rows(self) -> tuple[Block, ...]:
        """The rows, in order."""
        return self.up, self.down, self.still


def pulls(g: Block, m: Block) -> Pulls:
    """Tells which way each token is pulled. g: ∂L/∂log π, (n, t). m: 1 on the response, (n, t)."""
    at = g.axes
    tiny = typed("loss.grad.tiny", (), "g_min", "a smaller slope is mere rounding", decimals=12)
    up, down, still = (_labelled(f"loss.grad.{way}", g) for way in ("up", "down", "still"))
    up[at], down[at] = less(g[at], -tiny), less(tiny, g[at])
    still[at] = m[at] * equal(up[at] + down[at], 0)
    return Pulls(tiny, up, down, still)


def counted(flags: Sequence[Block]) -> tuple[Block, ...]:
    """Counts the tokens of each flag."""
    counts = (_labelled(f"{flag.name}.count") for flag in flags)
    return tuple(defined(count, Sum(flag.axes, flag[flag.axes])) for count, flag in zip(counts, flags, strict=True))


def norm(g: Block) -> Block:
    """Measures how long the gradient of a weight is: the root of the sum of its squares."""
    weight = g.symbol.partition("/∂")[2].partition("_")[0]
    made = block(
        f"{g.name}.norm", (), f"|g_{weight}|", f"norm of {g.symbol}", decimals=6 if g.axes else g.about.decimals
    )
    return defined(made, sqrt(Sum(g.axes, g[g.axes] * g[g.axes])) if g.axes else abs(g))


def joint_norm(name: str, norms: Sequence[Block]) -> Block:
    """Measures how long several gradients are together."""
    return defined(_labelled(name), sqrt(reduce(add, (each * each for each in norms))))


def _labelled(name: str, like: Block | None = None) -> Block:
    label = labels("backward").of(name)
    return block(name, like.axes if like is not None else (), label.symbol, label.meaning, decimals=label.decimals)
