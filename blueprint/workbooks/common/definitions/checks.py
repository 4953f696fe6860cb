"""Checks that a workbook makes of itself: how far something is from what it must be, and whether that is near enough."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Max, Operand, Sum, at_most, block, equal, less, maximum, typed, where
from blueprint.workbooks.common.definitions.averages import Counting
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, ROWS, Choices, Row
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


def sums_to_one(name: str, p: Block, use: Choices = ROWS) -> Block:
    """Measures how far the probabilities of a policy are from summing to 1, over the last axis. name: of the policy."""
    *at, v = p.axes
    off = use.along(f"check.sum_{name}", tuple(at))
    off[off.axes] = abs(Sum(v, p[p.axes]) - 1)
    return off


def not_positive(name: str, x: Block, use: Choices = ROWS, m: Row = EVERYWHERE) -> Block:
    """Measures how far a log-probability is above 0. m: 1 where it must not be."""
    above = use.along(f"check.log_{name}", x.axes)
    above[above.axes] = m[m.axes] * maximum(0, x[x.axes])
    return above


def not_negative(name: str, x: Block, use: Choices = ROWS) -> Block:
    """Measures how far something is below 0 that cannot be."""
    below = use.along(f"check.{name}", x.axes)
    below[below.axes] = maximum(0, -x[x.axes])
    return below


def in_range(name: str, x: Block, low: Operand, high: Operand, use: Choices = ROWS) -> Block:
    """Measures how far typed numbers are below the lowest or above the highest that makes sense."""
    outside = use.along(f"check.{name}", x.axes)
    outside[outside.axes] = maximum(0, maximum(low - x[x.axes], x[x.axes] - high))
    return outside


def is_0_or_1(name: str, *typed_: Block, use: Choices = ROWS) -> Block:
    """Measures how far what is typed is from both 0 and 1; several rows together."""
    off = use.along(f"check.{name}", typed_[0].axes)
    apart: list[Arithmetic] = [abs(x[x.axes] * (1 - x[x.axes])) for x in typed_]
    off[off.axes] = sum(apart[1:], start=apart[0])
    return off


def ratio_rests(ratio: Block, update_step: Block, use: Choices = ROWS) -> Block:
    """Measures how far ratios are from 1 when nothing was updated."""
    off = use.along("check.ratio", ratio.axes)
    off[off.axes] = where(equal(update_step, 0), abs(ratio[ratio.axes] - 1), 0)
    return off


def adds_up(A: Block, V: Block, R: Block, use: Choices = ROWS) -> Block:
    """Measures how far returns are from A + V, as a share of these where they are above 1: so far numbers may round."""
    at = A.axes
    off = use.along("check.returns", at)
    off[at] = abs(R[at] - V[at] - A[at]) / maximum(1, abs(A[at]) + abs(V[at]))
    return off


def centred(white: Block, over: Counting, use: Choices = ROWS) -> Block:
    """Measures how far the mean of the whitened advantages is from 0."""
    off = use.one("check.whitened")
    off[off.axes] = abs(Sum(white.axes, white[white.axes]) / over.number)
    return off


def as_built(used: Block, built: Block, use: Choices = ROWS) -> Block:
    """Tells whether a setting asks for something else than that whose rows were built."""
    off = use.one("check.norm")
    off[()] = 1 - equal(used, built)
    return off


def all_in_range(chosen: Settings, use: Choices = ROWS) -> Block:
    """Repeats how far the settings are outside their ranges, all together."""
    off = use.one("check.settings")
    off[()] = chosen.outside if chosen.outside is not None else 0
    return off


def parts_add_up(parts: Iterable[Block], total: Block, use: Choices = ROWS) -> Identity:
    """Measures how far the policy loss and what the others add are from the total, as a share of parts above 1."""
    first, *others = parts
    most, off = use.ones("check.parts_size", "check.parts")
    added: Arithmetic = first
    size: Arithmetic = abs(first)
    for part in others:
        added, size = added + part, size + abs(part)
    most[()] = size
    off[()] = abs(added - total) / maximum(1, most)
    return Identity((most,), off)


def no_gap(is_given: Block, use: Choices = ROWS) -> Block:
    """Finds a given word that comes after an empty cell: a prompt has no gap."""
    n, t = is_given.axes
    gap = use.row("check.prompt")
    gap[n, t] = less(is_given[n, t - 1], is_given[n, t])
    return gap


def not_empty(is_given: Block, use: Choices = ROWS) -> Block:
    """Finds an episode without a prompt: at least its first word must be given, or there is nothing to read."""
    n, t = is_given.axes
    empty = use.each("check.empty")
    empty[n] = 1 - is_given[n, t.first - 1]
    return empty


def shares_add_up(m: Block, share: Block, total: Block, use: Choices = ROWS) -> Identity:
    """Measures how far the words' shares of the loss are from the total, as a share of their sizes where these are above 1."""
    at = share.axes
    size, most, off = use.row("check.share_size"), use.one("check.shares_size"), use.one("check.total")
    size[at] = abs(share[at])
    most[()] = Sum(at, size[at])
    off[()] = abs(Sum(at, m[at] * share[at]) - total) / maximum(1, most)
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
