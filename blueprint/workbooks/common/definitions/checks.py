"""Checks that a workbook makes of itself: how far something is from what it must be, and whether that is near enough."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from blueprint.language import Block, Max, Sum, at_most, block, equal, less, maximum, typed, where
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common.axes import n, t, v
from blueprint.workbooks.common.definitions.identities import Identity
from blueprint.workbooks.common.settings import Settings

TOLERANCE = 1e-9


class Check(NamedTuple):
    """The largest distance, what is allowed, OK or LOOK, and how many checks have failed up to this one."""

    worst: Block
    tolerance: Block
    verdict: Block
    failed: Block


class Master(NamedTuple):
    """All checks, and the one verdict on them."""

    checks: tuple[Check, ...]
    verdict: Block


def sums_to_one(name: str, p: Block) -> Block:
    """Measures how far the probabilities of the next word are from summing to 1, column by column."""
    off = block(f"check.sum {name}".replace(" ", "_"), (n, t), "|Σp−1|", f"probabilities sum to 1: {name}")
    off[n, t] = abs(Sum(v, p[n, t, v]) - 1)
    return off


def not_positive(name: str, logprobs: Block, m: Block | None = None) -> Block:
    """Measures how far a log-probability is above 0. m: (n, t), 1 where it must not be; none: everywhere."""
    above = block(f"check.log {name}".replace(" ", "_"), (n, t), "above 0", f"log-probs are at most 0: {name}")
    above[n, t] = maximum(0, logprobs[n, t]) if m is None else m[n, t] * maximum(0, logprobs[n, t])
    return above


def not_negative(name: str, meaning: str, x: Block) -> Block:
    """Measures how far something is below 0 that cannot be."""
    below = block(f"check.{name}", (n, t), "below 0", meaning)
    below[n, t] = maximum(0, -x[n, t])
    return below


def ratio_rests(ratio: Block, update_step: Block) -> Block:
    """Measures how far ratios are from 1 when nothing was updated."""
    off = block("check.ratio", (n, t), "|ρ−1|", "ratio is 1 where update_step = 0")
    off[n, t] = where(equal(update_step, 0), abs(ratio[n, t] - 1), 0)
    return off


def adds_up(A: Block, V: Block, R: Block) -> Block:
    """Measures how far returns are from A + V, as a share of these where they are above 1: so far numbers may round."""
    off = block("check.returns", (n, t), "|R−V_old−A|", "returns are A + V_old")
    off[n, t] = abs(R[n, t] - V[n, t] - A[n, t]) / maximum(1, abs(A[n, t]) + abs(V[n, t]))
    return off


def in_range(name: str, meaning: str, x: Block, low: Block, high: Block) -> Block:
    """Measures how far typed numbers are below the lowest or above the highest that makes sense."""
    outside = block(name, x.axes, "outside", meaning)
    at = x[x.axes] if x.axes else x
    outside[x.axes] = maximum(0, maximum(low - at, at - high))
    return outside


def is_0_or_1(name: str, meaning: str, x: Block) -> Block:
    """Measures how far what is typed is from both 0 and 1."""
    off = block(name, (n, t), "|m(1−m)|", meaning)
    off[n, t] = abs(x[n, t] * (1 - x[n, t]))
    return off


def all_in_range(chosen: Settings) -> Block:
    """Repeats how far the settings are outside their ranges, all together."""
    off = block("check.settings", (), "outside", "settings are within their ranges")
    off[()] = chosen.outside if chosen.outside is not None else 0
    return off


def parts_add_up(parts: Iterable[Block], total: Block) -> Identity:
    """Measures how far the policy loss and what the others add are from the total, as a share of parts above 1."""
    first, *others = parts
    most = block("check.parts_size", (), "Σ|parts|", "parts of the loss without their signs")
    off = block("check.parts", (), "|Σparts−L|", "parts of the loss add up to the total")
    added: Arithmetic = first
    size: Arithmetic = abs(first)
    for part in others:
        added, size = added + part, size + abs(part)
    most[()] = size
    off[()] = abs(added - total) / maximum(1, most)
    return Identity((most,), off)


def no_gap(is_given: Block) -> Block:
    """Finds a given word that comes after an empty cell: a prompt has no gap."""
    gap = block("check.prompt", (n, t), "gap", "a prompt is given without a gap", decimals=0)
    gap[n, t] = less(is_given[n, t - 1], is_given[n, t])
    return gap


def not_empty(is_given: Block) -> Block:
    """Finds an episode without a prompt: at least its first word must be given, or there is nothing to read."""
    empty = block("check.empty", (n,), "empty", "every prompt has a first word", decimals=0)
    empty[n] = 1 - is_given[n, t.first - 1]
    return empty


def shares_add_up(m: Block, share: Block, total: Block) -> Identity:
    """Measures how far the words' shares of the loss are from the total, as a share of their sizes where these are above 1."""
    size = block("check.share_size", (n, t), "|share|", "size of a word's share of the loss")
    most = block("check.shares_size", (), "Σ|share|", "shares of the loss without their signs")
    off = block("check.total", (), "|Σshare−L|", "the words' shares add up to the total loss")
    size[n, t] = abs(share[n, t])
    most[()] = Sum((n, t), size[n, t])
    off[()] = abs(Sum((n, t), m[n, t] * share[n, t]) - total) / maximum(1, most)
    return Identity((size, most), off)


def master(residuals: Iterable[Block]) -> Master:
    """Holds each residual against a tolerance, one after the other, and gives one verdict on all."""
    checks: list[Check] = []
    for residual in residuals:
        checks.append(_check(residual, checks[-1].failed if checks else None))
    verdict = block("check.master", (), "all", "one verdict on all checks")
    verdict[()] = where(equal(checks[-1].failed, 0), "OK", "LOOK")
    return Master(tuple(checks), verdict)


def _check(residual: Block, failed_before: Block | None) -> Check:
    name = f"{residual.name}.worst"
    worst = block(name, (), residual.symbol, residual.about.meaning, decimals=12)
    tolerance = typed(f"{residual.name}.tolerance", (), "tol", "largest distance allowed", decimals=12)
    verdict = block(f"{residual.name}.verdict", (), "verdict", "OK, or LOOK at the rows below")
    failed = block(f"{residual.name}.failed", (), "failed", "checks that failed, up to here", decimals=0)
    worst[()] = Max(residual.axes, residual[residual.axes]) if residual.axes else residual
    verdict[()] = where(at_most(worst, tolerance), "OK", "LOOK")
    failed[()] = (failed_before if failed_before is not None else 0) + less(tolerance, worst)
    return Check(worst, tolerance, verdict, failed)
