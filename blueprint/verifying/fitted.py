"""Causes that the numbers of a file tell: one coefficient, another order of the rows, the mean and deviation of a larger batch.

A coefficient, or a limit of the scores, is found by least squares in a tensor, and named if every token then agrees. One logged
number could be explained by any coefficient; there it must be one that somebody may have typed: of at most three digits.
"""

from collections.abc import Iterator

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.neighbours import Explained, Neighbour
from blueprint.verifying.parts import straight
from blueprint.verifying.recompute import Replay
from blueprint.verifying.settings import number_of

IN_REWARD, IN_LOSS = ("reward", "both"), ("loss", "both")
"""Words of `reward.kl_in` by which the KL is paid there."""

COEFFICIENTS = (("vf_coef", "value_loss", 1.0), ("ent_coef", "entropy", -1.0), ("loss.kl_coef", "kl_loss", 1.0))
"""L = rest + sign·c·part: c is (L − rest) / (sign·part)."""

DIGITS, LARGEST = 3, 100.0
"""A coefficient that somebody typed has at most so many digits, and is at most as large."""


def fitted(local: Replay, name: str, logged: float | None) -> Iterator[Neighbour]:
    """Yields the coefficient that a quantity is linear in, as it would have to be."""
    if name == "rewards":
        yield from _kl_coef(local)
        yield from _score_clip(local)
    elif logged is not None and name == "total_loss":
        for key, part, sign in COEFFICIENTS:
            if local.whole[part] and (key != "loss.kl_coef" or local.options["reward.kl_in"] in IN_LOSS):
                rest = local.whole["total_loss"] - local.whole[f"adds.{part}"]
                yield from _typed(key, (logged - rest) / (sign * local.whole[part]))
    elif logged is not None and name == "value_loss" and (ours := local.number("value_loss")):
        yield from _typed("value.factor", number_of("value.factor", local.options["value.factor"]) * logged / ours)


def _kl_coef(local: Replay) -> Iterator[Neighbour]:
    """r = score − β·kl: β is Σ kl·(score − r) / Σ kl² over the words on which the KL is paid."""
    both = square = 0.0
    for start, rows in local.tiles(("kl.support", "kl.used", "score.placed", "response")):
        theirs = local.batch.tensors["rewards"][start : start + len(rows["response"])].astype(float)
        paid = rows["response"] * rows["kl.used"]
        both += float((paid * (rows["score.placed"] - theirs))[rows["response"] > 0].sum())
        square += float((paid**2).sum())
    if square and local.options["reward.kl_in"] in IN_REWARD:
        yield _said("kl_coef", both / square)


def _score_clip(local: Replay) -> Iterator[Neighbour]:
    """r = score + penalty: where scores were clipped to ±c, c is the largest of |r − penalty| in the slots of the scores."""
    largest = 0.0
    for start, rows in local.tiles(("reward.penalty", "score.place")):
        theirs = local.batch.tensors["rewards"][start : start + len(rows["score.place"])].astype(float)
        score = (theirs - rows["reward.penalty"][:, : theirs.shape[1]])[rows["score.place"][:, : theirs.shape[1]] > 0]
        largest = max(largest, float(np.abs(score).max(initial=0.0)))
    yield from _typed("reward.score_clip", largest)


def _typed(key: str, value: float) -> Iterator[Neighbour]:
    rounded = float(f"{value:.{DIGITS}g}")
    if 0 < rounded <= LARGEST:
        yield _said(key, rounded)


def _said(key: str, value: float) -> Neighbour:
    return Neighbour(f"{key} = {value:.6g} (fitted: the one number that explains it)", {key: value}, rank=1)


FEWEST = 3
"""Responses below which another order says little."""


def permuted(deviation: Deviation) -> Iterator[Explained]:
    """Yields that rows of a tensor, or the scores that rewards were made of, belong to other responses, if all agree then."""
    if deviation.cells is None or len(deviation.cells) < FEWEST:
        return
    name = deviation.compared.name
    theirs = np.nan_to_num(np.asarray(deviation.batch.tensors[name], dtype=np.float64))
    orders = {name: _other_rows(deviation, theirs, deviation.cells)}
    orders |= {"scores": _other_scores(deviation, theirs, deviation.cells)} if name == "rewards" else {}
    for what, (order, apart) in orders.items():
        moved, largest = order != np.arange(len(order)), float(apart.max(initial=0.0))
        if moved.any() and largest <= deviation.allowed:
            first = int(moved.argmax())
            here, there = deviation.batch.file_row(first), deviation.batch.file_row(int(order[first]))
            yield Explained(
                f"{what} of other rows: row {here} has what belongs to row {there}", deviation.explained(largest)
            )


def _other_rows(deviation: Deviation, theirs: Array, cells: Array) -> tuple[Array, Array]:
    """Returns whose row each is, matched by the first token, and how far off tokens then are."""
    ours, whose, some = deviation.local.row(deviation.compared.row), np.arange(len(cells)), np.flatnonzero(cells[:, 0])
    whose[some] = some[_matched(ours[some, 0], theirs[some, 0])]
    return whose, np.abs(theirs - ours[whose])[cells & cells[whose]]


def _other_scores(deviation: Deviation, theirs: Array, cells: Array) -> tuple[Array, Array]:
    """Returns whose score each response has, and how far off rewards then are."""
    names = ("reward.penalty", "score.place", "score.placed")
    tiles = ([rows[name] for name in names] for _, rows in deviation.local.tiles(names))
    penalty, place, placed = map(np.concatenate, zip(*tiles, strict=True))
    left, scores = theirs - penalty[:, : theirs.shape[1]], placed.sum(axis=1)
    order = _matched(scores, (left * place).sum(axis=1))
    return order, np.abs(left - place * scores[order][:, None])[cells]


def _matched(ours: Array, theirs: Array) -> Array:
    """Returns the place of each of their numbers among ours, the smallest being the smallest."""
    order = np.empty(len(ours), dtype=np.int64)
    order[theirs.argsort()] = ours.argsort()
    return order


def whitened_elsewhere(deviation: Deviation) -> Explained | None:
    """Returns the mean and deviation that explain whitened advantages.

    Â = (A − μ)/σ is a straight line of the raw advantages whatever batch μ and σ are of: it is fitted by least squares, and
    named only if every token agrees. None where advantages are not what deviates, or are not whitened.
    """
    if deviation.quantity.name != "advantages" or deviation.settings["whiten_advantages"] != "on":
        return None
    logged = np.asarray(deviation.batch.tensors["advantages"], dtype=np.float64)[deviation.cells]
    raw = deviation.local.row("advantages")[deviation.cells]
    line = straight(raw, logged)
    if line is None or not (largest := line.apart(raw, logged)) <= deviation.allowed:
        return None
    said = f"{line} in the whitening (fitted: those of a larger batch than this file has, or of other tokens)"
    return Explained(said, deviation.explained(largest), Neighbour(said, rank=1, beyond=True))
