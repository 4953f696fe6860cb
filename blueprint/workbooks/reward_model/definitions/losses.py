"""From the scores of both responses of a pair to the loss: −log σ of their difference, its relatives, and what is added."""

from typing import NamedTuple

from blueprint.language import Sum, exp, log, maximum, minimum
from blueprint.workbooks.reward_model.definitions.axes import p, q
from blueprint.workbooks.reward_model.definitions.rankings import Weights
from blueprint.workbooks.reward_model.definitions.steps import Given, Row, Sides, Steps

SIDES = "The scores of both responses, and how far they are apart"
MARGIN = "How far they are meant to be apart"
LOSS = "The loss of each pair"
WHOLE = "The loss of the batch"
ONLY = "Only differences count: add a number to every score, or multiply them"


class Compared(NamedTuple):
    """The scores of both sides of each pair, and their difference, (p)."""

    score: Sides
    difference: Row


class Total(NamedTuple):
    """The loss, and the parts that add up to it."""

    total: Row
    parts: tuple[Row, ...]


def compared(score: Row, s: Steps) -> Compared:
    """Sets the scores of responses, (n), side by side. Source: Bradley and Terry 1952: the log-odds are the difference."""
    s.on("Pairs", SIDES)
    sides = s.sides("score", score)
    apart = s.pair("difference", sides.chosen[p] - sides.rejected[p])
    s.sigmoid("probability", apart)
    return Compared(sides, apart)


def losses(of: Compared, margin: Given, limit: Given, by_position: Row, best: Row, s: Steps) -> Row:
    """Makes the loss of each pair, (p). limit: beyond it a sheet has no e^x. by_position: (o), the mean over positions.

    best: the loss of the soft-max over the ranking of the pair.
    """
    s.on("Pairs", MARGIN)
    asked = s.pick("margin.used", (p,), "loss.margin", off=0, typed=margin[p])
    x = s.pair("argument", of.difference[p] - asked[p])
    s.on("Pairs", LOSS)
    right = s.log_sigmoid("argument.right", x)
    stable = s.pair("loss.logsigmoid", -right[p])
    held = s.pair("log_exp.held", minimum(-of.difference[p], limit))
    plain = s.pair("loss.log_exp", log(1 + exp(held[p])))
    each = s.across("loss.per_position", by_position)
    return s.pick(
        "loss.pair", (p,), "loss.form", logsigmoid=stable[p], log_exp=plain[p], per_position=each[p], softmax_best=best[p],
    )  # fmt: skip


def total(loss: Row, of: Compared, by: Weights, counts: Given, s: Steps) -> Total:
    """Adds up the losses of all pairs, each with its weight, and what scores cost that are far from 0."""
    s.on("Pairs", WHOLE)
    used, w = s.use.used, by.pair
    kept = s.pair("pair.kept", counts[p] * loss[p])
    s.ranked("ranking.mean", Sum(p, s.places.ranking[q, p] * kept[p]) / maximum(1, by.sizes[q]))
    mean = s.one("preference_loss", Sum(p, w[p] * loss[p]))
    both = s.pair("center.sum", of.score.chosen[p] + of.score.rejected[p])
    square = s.pair("center.square", both[p] * both[p])
    centred = s.one("adds.center", used["center"] * s.one("center.mean", Sum(p, w[p] * square[p])))
    size = s.pair(
        "l2.of_pair",
        (of.score.chosen[p] * of.score.chosen[p] + of.score.rejected[p] * of.score.rejected[p]) / 2,
    )
    small = s.one("adds.l2", used["l2"] * s.one("l2.mean", Sum(p, w[p] * size[p])))
    return Total(s.one("total_loss", mean + centred + small), (mean, centred, small))


def moved(of: Compared, shift: Given, scale: Given, s: Steps) -> Row:
    """Adds one number to every score, and multiplies all by another: returns the difference after the shift, (p)."""
    s.on("Pairs", ONLY)
    chosen, rejected = (
        s.pair(f"shifted.{side}", each[p] + shift) for side, each in zip(Sides._fields, of.score, strict=True)
    )
    shifted = s.pair("shifted.difference", chosen[p] - rejected[p])
    s.sigmoid("scaled.probability", s.pair("scaled.difference", scale * of.difference[p]))
    return shifted
