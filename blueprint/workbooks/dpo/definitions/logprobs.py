"""From the log-prob of each token to the margin of a pair: responses, log-ratios, margins; and along what rows lie.

From the log-prob of each token to that of a whole response: a sum, or one of several means.
Sources: DPO, 2305.18290, eq. 7 (the sum); SimPO, 2405.14734, eq. 3 (the mean); LD-DPO, 2409.06411, eq. 8 (tokens beyond the length
of the shorter response count less); AlphaPO, 2501.03884.

How much more the policy prefers a response than the reference does, and by how much more the chosen one than the rejected.
Sources: DPO, 2305.18290, eq. 5 and 7 (β times the log-ratio is the implicit reward); SimPO, 2405.14734, eq. 5 (the margin γ);
f-DPO, 2309.16240 (other divergences).
"""

from typing import NamedTuple

from blueprint.language import (
    Block,
    Expr,
    Operand,
    Sum,
    at_most,
    equal,
    exp,
    less,
    log,
    maximum,
    minimum,
    number,
    where,
)
from blueprint.workbooks.common import Choices, Given, Lined, labels, limited, n, t, v
from blueprint.workbooks.common.preference_pairs import PairSteps, Sides, o, p

__all__ = ["LABELS", "Given", "Places", "Row", "Sides", "Steps", "n", "o", "p", "t", "v"]


LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.dpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Places(NamedTuple):
    """Which response belongs to which pair, 0 or 1: the chosen one, the rejected one, either, (o, n).

    same, before: 1 where a pair is this one, or comes before it, (o, p).
    """

    chosen: Block
    rejected: Block
    either: Block
    same: Block
    before: Block


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses and pairs. pairs: how many there are."""

    def __init__(self, use: Choices, pairs: Block, places: Places):
        super().__init__(use, places)
        self.pairs, self.places = pairs, places

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def of_responses(self, name: str, of: Row) -> Row:
        """Takes a number of each pair, (p), back to both of its responses, (n)."""
        return self.each(name, Sum(o, self.down(f"{name}.column", of)[o] * self.places.either[o, n]))


class Sequences(NamedTuple):
    """Of each pair: the log-prob of both responses under the policy and under the reference; and their lengths."""

    policy: Sides
    reference: Sides
    length: Row


def sequences(logp: Given, logp_ref: Given, m: Given, text: Given, s: Steps) -> Sequences:
    """Adds up log-probs of tokens, (n, t). m: 1 on the response; text: 1 on prompt and response, 1 before the first column."""
    s.under("Which tokens count")
    length = s.each("logp.length", Sum(t, m[n, t]))
    after = s.row("logp.after", text[n, t - 1] * (1 - text[n, t]))
    differs = _differs(logp, logp_ref, m, s)
    by_policy, by_reference = _weights(length, m, s)
    s.under("The log-prob of a whole response")
    least = _least(s)
    policy = _summed("policy", logp, _counted("policy", after, m, s), by_policy, (differs, least), s)
    reference = _summed("reference", logp_ref, _counted("reference", after, m, s), by_reference, (differs, least), s)
    curved = s.each(
        "policy.curved",
        limited(s.use.used["logp.alpha"], policy[n], lambda a: (1 - exp(-(a * policy[n]))) / a),
    )
    s.under("Side by side")
    return Sequences(s.sides("logp", curved), s.sides("logp_ref", reference), length)


def _differs(logp: Given, logp_ref: Given, m: Given, s: Steps) -> Row:
    """Counts the tokens by which HALOs divides: those on which the policy differs from the reference, or, without one, from 1."""
    other = s.pick("logp.compared", (n, t), "reference.used", on=logp_ref[n, t], off=0)
    differs = s.row("logp.differs", where(equal(logp[n, t], other[n, t]), 0, m[n, t]))
    return s.each("logp.differing", Sum(t, differs[n, t]))


def _counted(name: str, after: Row, m: Given, s: Steps) -> Row:
    """Marks the tokens that are added up; the first ORPO adds the pad behind a text."""
    with_pad = m[n, t] + after[n, t]
    return s.pick(
        f"{name}.counted", (n, t), "logp.of", sum=m[n, t], mean=m[n, t], mean_nonzero=m[n, t], mean_with_pad=with_pad
    )


def _least(s: Steps) -> Row:
    """Says by what a sum of no token is divided: 0, which gives no number, but in TRL's DPO, whose means divide by 1 at least."""
    alone = s.pick("mean.least_of_plain", (), "reference.used", on=1, off=0)
    return s.pick("mean.least", (), "logp.of", sum=1, mean=alone, mean_nonzero=0, mean_with_pad=0)


def _weights(length: Row, m: Given, s: Steps) -> tuple[Row, Row]:
    """Weighs the tokens beyond the length of the shorter response of the pair: of the policy, and of the reference."""
    both = s.sides("length", length)
    shorter = s.pair("logp.shorter", minimum(both.chosen[p], both.rejected[p]))
    shared = s.of_responses("logp.shared", shorter)
    place = s.row("logp.place")
    place[n, t.first - 1] = 0
    place[n, t] = place[n, t - 1] + m[n, t]
    alpha = s.use.used["logp.ld_alpha"]
    beyond = s.row("logp.beyond", where(at_most(place[n, t], shared[n]), 1, alpha))
    at = s.row("logp.column", number(t))
    cut = s.row("logp.cut", where(less(at[n, t], length[n]), alpha, 0))
    from_row = s.row("logp.from_row", where(less(at[n, t], shared[n]), 1, cut[n, t]))
    far = s.pick("logp.far", (n, t), "logp.ld_from", response=beyond[n, t], row=from_row[n, t])
    x = far[n, t]
    return (
        s.pick("policy.ld", (n, t), "logp.ld", off=1, policy=x, both=x),
        s.pick("reference.ld", (n, t), "logp.ld", off=1, policy=1, both=x),
    )


def _summed(name: str, logp: Given, counted: Row, by: Row, divided: tuple[Row, Row], s: Steps) -> Row:
    """Adds up, and divides by the tokens that count where a mean is asked for.

    divided: how many HALOs counts; the least by which it is divided.
    """
    weighed = s.row(f"{name}.weighed", counted[n, t] * by[n, t])
    total = s.each(f"{name}.sum", Sum(t, weighed[n, t] * logp[n, t]))
    differing, least = divided
    added = s.each(f"{name}.added", Sum(t, counted[n, t]))
    x = added[n]
    count = s.pick(f"{name}.count", (n,), "logp.of", sum=x, mean=x, mean_nonzero=differing[n], mean_with_pad=x)
    mean = s.each(f"{name}.mean", total[n] / s.each(f"{name}.over", maximum(count[n], least))[n])
    x = mean[n]
    return s.pick(f"{name}.logp", (n,), "logp.of", sum=total[n], mean=x, mean_nonzero=x, mean_with_pad=x)


class Margins(NamedTuple):
    """Of each pair: both log-ratios, their difference h, βh, and u = βh − γ with log σ of u and of −u."""

    ratio: Sides
    difference: Row
    scaled: Row
    argument: Row
    right: Row
    wrong: Row


def margins(of: Sequences, s: Steps) -> Margins:
    """Compares the chosen response with the rejected one."""
    s.under("The margin of a pair")
    used = s.use.used
    ratio = Sides(*(_ratio(side, s, *pair) for side, *pair in zip(Sides._fields, of.policy, of.reference, strict=True)))
    shaped = Sides(*(_shaped(side, each, s) for side, each in zip(Sides._fields, ratio, strict=True)))
    h = s.pair("margin", shaped.chosen[p] - shaped.rejected[p])
    scaled = s.pair("margin.scaled", used["beta"] * h[p])
    u = s.pair("margin.argument", scaled[p] - used["loss.gamma"])
    turned = s.pair("margin.turned", -u[p])
    return Margins(ratio, h, scaled, u, s.log_sigmoid("margin.right", u), s.log_sigmoid("margin.wrong", turned))


def _ratio(side: str, s: Steps, policy: Row, reference: Row) -> Row:
    """Takes the log-ratio of a response; without a reference it is the log-prob itself."""
    against = s.pair(f"{side}.against", policy[p] - reference[p])
    return s.pick(f"{side}.ratio", (p,), "reference.used", on=against[p], off=policy[p])


def _shaped(side: str, x: Row, s: Steps) -> Row:
    """Shapes a log-ratio by the divergence in use: 1 − e^−x, which is beyond every number for x < −709, or log 2 + log σ(x)."""
    asked = s.use.switch["margin.divergence"].says("forward_kl")
    moved = 1 - exp(-x[p])
    # Where libraries stand side by side and none has the word, it is the number 0, and no condition.
    forward = s.pair(f"{side}.forward", where(asked, moved, 0) if isinstance(asked, Expr) else asked * moved)
    mixed = s.pair(f"{side}.mixed", log(2) + s.log_sigmoid(f"{side}.log_sigmoid", x)[p])
    return s.pick(f"{side}.shaped", (p,), "margin.divergence", reverse_kl=x[p], forward_kl=forward[p], js=mixed[p])
