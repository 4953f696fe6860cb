"""Checks that a workbook makes of itself: how far something is from what it must be, and whether that is near enough; identities
of the recursion among them. Then their sheet, each with its distance, its tolerance and a verdict in words; and the numbers of an
outside witness, typed where the workbook's own stand.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import (
    Arithmetic,
    Block,
    Max,
    Operand,
    Sum,
    at_most,
    block,
    changes,
    constant,
    equal,
    less,
    link,
    maximum,
    typed,
    where,
)
from blueprint.page.outline import Item, Line, Note, Section, Sheet, Unchanged
from blueprint.workbooks.common.definitions.rewards_and_gae import Counting, Gae, discounted_sum, td_errors
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Settings
from blueprint.workbooks.common.definitions.writing_rows import EVERYWHERE, ROWS, Choices, Row, defined, n, rows, t

ZERO, ONE = constant(0), constant(1)
"""Written out, for they are what is tried; a 0 or 1 of Python's would vanish from the equation."""


class Identity(NamedTuple):
    """Rows that a distance needs beside what is there, such as a definition run where its result is known; and the distance."""

    rows: tuple[Block, ...]
    residual: Block

    @property
    def listed(self) -> tuple[Block, ...]:
        """The rows, and then the distance."""
        return (*self.rows, self.residual)


def identities(made: Gae, r: Block, use: Choices) -> list[Identity]:
    """Runs the recursion of the advantage at the ends of λ and γ."""
    return [lambda_0(made, use), lambda_1(made, r, use), gamma_0(made, r, use)]


def lambda_0(made: Gae, use: Choices) -> Identity:
    """With λ = 0 no later TD error counts: A is δ, but where it is passed over."""
    row, delta = (use.n, use.t), made.td_errors
    A = discounted_sum(use.row("identity.lambda_0"), delta, made.reach, use, use.used["gamma"], ZERO)
    return Identity((A,), use.row("check.lambda_0", (1 - made.reach.over[row]) * abs(A[row] - delta[row])))


def lambda_1(made: Gae, r: Block, use: Choices) -> Identity:
    """With λ = 1 the values in between cancel: A + V is the discounted reward to go, up to the end of an episode."""
    n, t = row = (use.n, use.t)
    (here, over, stop, done), gamma, V, G = made.reach, use.used["gamma"], made.ahead, use.row("identity.to_go")
    A = discounted_sum(use.row("identity.lambda_1"), made.td_errors, made.reach, use, gamma, ONE)
    G[n, t.last + 1] = V[n, t.last + 1]
    ended = where(equal(done[row], 1), (1 - stop[row]) * V[n, t + 1], G[n, t + 1])
    after = use.step(isinstance(done, Block), "identity.after", ended if isinstance(done, Block) else G[n, t + 1])
    here_counts, following = here[row] - over[row], r[row] + gamma * after.cell
    if isinstance(here_counts, Arithmetic):  # else it is 1 everywhere
        otherwise = over[row] * G[n, t + 1] if isinstance(over, Block) else V[row]
        following = where(equal(here_counts, 1), following, otherwise)
    G[row] = following
    sizes = use.row("identity.sizes", abs(A[row]) + abs(made.td_errors[row]) + abs(V[row]))
    largest = use.one("identity.largest", Max(row, sizes[row]))
    counted = here if isinstance(over, Block) else EVERYWHERE
    distance = counted[row] * abs(A[row] + V[row] - G[row]) / maximum(1, largest)  # what cancels rounds by its size
    return Identity(rows(A, after, G, sizes, largest), use.row("check.lambda_1", distance))


def gamma_0(made: Gae, r: Block, use: Choices) -> Identity:
    """With γ = 0 nothing later counts, whatever λ is: A is r − V, but where it is passed over."""
    row, (here, over, _, _) = (use.n, use.t), made.reach
    delta = td_errors("identity.gamma_0_td", r, made.V, made.ahead, made.reach, use, ZERO)
    A = discounted_sum(use.row("identity.gamma_0"), delta, made.reach, use, ZERO, use.used["gae_lambda"])
    distance = abs(A[row] - (here[row] - over[row]) * (r[row] - made.V[row]))
    return Identity((delta, A), use.row("check.gamma_0", (1 - over[row]) * distance))


TOLERANCE = 1e-9


class Check(NamedTuple):
    """The largest distance, what is allowed, OK or LOOK, and how many checks have failed up to this one."""

    worst: Block
    tolerance: Block
    verdict: Block
    failed: Block


def sums_to_one(name: str, p: Block, use: Choices = ROWS) -> Block:
    """Measures how far the probabilities of a policy are from summing to 1, over the last axis. name: of the policy."""
    *at, v = p.axes
    return use.along(f"check.sum_{name}", tuple(at), abs(Sum(v, p[p.axes]) - 1))


def not_positive(name: str, x: Block, use: Choices = ROWS, m: Row = EVERYWHERE) -> Block:
    """Measures how far a log-probability is above 0. m: 1 where it must not be."""
    return use.along(f"check.log_{name}", x.axes, m[m.axes] * maximum(0, x[x.axes]))


def not_negative(name: str, x: Block, use: Choices = ROWS) -> Block:
    """Measures how far something is below 0 that cannot be."""
    return use.along(f"check.{name}", x.axes, maximum(0, -x[x.axes]))


def in_range(name: str, x: Block, low: Operand, high: Operand, use: Choices = ROWS) -> Block:
    """Measures how far typed numbers are below the lowest or above the highest that makes sense."""
    return use.along(f"check.{name}", x.axes, maximum(0, maximum(low - x[x.axes], x[x.axes] - high)))


def is_0_or_1(name: str, *typed_: Block, use: Choices = ROWS) -> Block:
    """Measures how far what is typed is from both 0 and 1; several rows together."""
    return use.along(f"check.{name}", typed_[0].axes, reduce(add, (abs(x[x.axes] * (1 - x[x.axes])) for x in typed_)))


def in_one_part(name: str, inside: Row, use: Choices) -> Block:
    """Measures how far the number of parts in which a member lies is from 1. inside: 1 where it does, (part, member)."""
    part, member = inside.axes
    return use.along(f"check.{name}", (member,), abs(Sum(part, inside[part, member]) - 1))


def ratio_rests(ratio: Block, update_step: Block) -> Block:
    """Measures how far ratios are from 1 when nothing was updated."""
    return ROWS.along("check.ratio", ratio.axes, where(equal(update_step, 0), abs(ratio[ratio.axes] - 1), 0))


def adds_up(A: Block, V: Block, R: Block, use: Choices = ROWS) -> Block:
    """Measures how far returns are from A + V, as a share of these where they are above 1: so far numbers may round."""
    at = A.axes
    return use.along("check.returns", at, abs(R[at] - V[at] - A[at]) / maximum(1, abs(A[at]) + abs(V[at])))


def centred(white: Block, over: Counting, use: Choices = ROWS) -> Block:
    """Measures how far the mean of the whitened advantages is from 0."""
    return use.one("check.whitened", abs(Sum(white.axes, white[white.axes]) / over.number))


def as_built(used: Block, built: Block, use: Choices) -> Block:
    """Tells whether a setting asks for something else than that whose rows were built."""
    return use.one("check.norm", 1 - equal(used, built))


def all_in_range(chosen: Settings) -> Block:
    """Repeats how far the settings are outside their ranges, all together."""
    return ROWS.one("check.settings", chosen.outside if chosen.outside is not None else 0)


def parts_add_up(parts: Iterable[Block], total: Block) -> Identity:
    """Measures how far the policy loss and what the others add are from the total, as a share of parts above 1."""
    listed = list(parts)
    most = ROWS.one("check.parts_size", reduce(add, map(abs, listed)))
    return Identity((most,), ROWS.one("check.parts", abs(reduce(add, listed) - total) / maximum(1, most)))


def no_gap(is_given: Block) -> Block:
    """Finds a given word that comes after an empty cell: a prompt has no gap."""
    n, t = is_given.axes
    return ROWS.row("check.prompt", less(is_given[n, t - 1], is_given[n, t]))


def not_empty(is_given: Block) -> Block:
    """Finds an episode without a prompt: at least its first word must be given, or there is nothing to read."""
    n, t = is_given.axes
    return ROWS.each("check.empty", 1 - is_given[n, t.first - 1])


def shares_add_up(m: Block, share: Block, total: Block, use: Choices = ROWS) -> Identity:
    """Measures how far the words' shares of the loss are from the total, as a share of their sizes where these are above 1."""
    at = share.axes
    size = use.row("check.share_size", abs(share[at]))
    most = use.one("check.shares_size", Sum(at, size[at]))
    return Identity((size, most), use.one("check.total", abs(Sum(at, m[at] * share[at]) - total) / maximum(1, most)))


def master(residuals: Iterable[Block]) -> tuple[list[Check], Block]:
    """Holds each residual against a tolerance, one after the other; returns the checks, and one verdict on all."""
    checks: list[Check] = []
    for residual in residuals:
        checks.append(_check(residual, checks[-1].failed if checks else 0))
    verdict = block("check.master", (), "all", "one verdict on all checks")
    return checks, defined(verdict, where(equal(checks[-1].failed, 0), "OK", "LOOK"))


def _check(residual: Block, failed_before: Operand) -> Check:
    name, at = residual.name, residual.axes
    worst = block(f"{name}.worst", (), residual.symbol, residual.about.meaning, decimals=12)
    tolerance = typed(f"{name}.tolerance", (), "tol", "largest distance allowed", decimals=12)
    verdict = block(f"{name}.verdict", (), "verdict", "OK, or LOOK at the rows below")
    failed = block(f"{name}.failed", (), "failed", "checks that failed, up to here", decimals=0)
    return Check(
        defined(worst, Max(at, residual[at]) if at else residual),
        tolerance,
        defined(verdict, where(at_most(worst, tolerance), "OK", "LOOK")),
        defined(failed, failed_before + less(tolerance, worst)),
    )


AFTER_A_CHANGE = (
    "They belong to the inputs as delivered and count as long as none is changed. Later: blueprint check FILE"
)
NEAR = 1e-9
WITNESS, NEAREST = "witness.", "witness.near"
"""How the names of a witness's numbers begin, and the one among them that is how far off they may be."""
OWN = ("distance.", "verdict.", "largest.", "check.witness", "inputs.changed")
"""How the names of what is computed from them begin: a witness knows nothing of it."""


class Witnessed(NamedTuple):
    """What a witness computed: single numbers by the names of their blocks, and how it did (device, format, version)."""

    numbers: Mapping[str, float]
    told: str


def _beside(witnessed: Witnessed, shown: Sequence[Block]) -> tuple[Section, Block, dict[Block, object]]:
    """Puts the witness's numbers beside the sheet's; they are counted as long as the inputs are those delivered.

    Returns the section, how far off the farthest number is, and what is typed.
    """
    changed = defined(block("inputs.changed", (), "changed", "inputs that were changed", decimals=0), changes())
    near = typed(NEAREST, (), "near", "largest distance allowed", decimals=12)
    lines, given, largest = [], {near: NEAR}, None
    for own in (each for each in dict.fromkeys(shown) if each.name in witnessed.numbers):
        line, largest = _line(own, near, largest)
        lines.append(Line(line))
        given[line[1]] = witnessed.numbers[own.name]
    agrees = block("check.witness", (), "|sheet−w|", "an outside witness agrees")
    off = defined(agrees, where(equal(changed, 0), largest if largest is not None else 0, 0))
    items: tuple[Item, ...] = (
        Note(f"Computed by {witnessed.told}."),
        Note(AFTER_A_CHANGE),
        Line((changed,)),
        Line((near,)),
        *lines,
    )
    return (
        Section("An outside witness beside the sheet", items, ("sheet", "witness", "distance", "verdict", "largest")),
        off,
        dict(given),
    )


def _line(own: Block, near: Block, before: Block | None) -> tuple[tuple[Block, ...], Block]:
    """Compares one number; returns its cells, and the largest distance up to here, the last of them."""
    name, symbol = own.name, own.symbol
    theirs = typed(f"{WITNESS}{name}", (), f"{symbol}_w", f"torch: {own.about.meaning}")
    off = defined(block(f"distance.{name}", (), "off", "distance from the witness", decimals=12), abs(own - theirs))
    verdict = defined(
        block(f"verdict.{name}", (), "verdict", "OK, or LOOK at the row"), where(at_most(off, near), "OK", "LOOK")
    )
    largest = defined(
        block(f"largest.{name}", (), "largest", "largest distance up to here", decimals=12),
        off if before is None else maximum(before, off),
    )
    return (link(f"checks.{name}", own), theirs, off, verdict, largest), largest


LEAD = "what must hold whatever one types: how far off it is, how far it may be, OK or LOOK; errors such as #N/A also count as LOOK"


def checks_sheet(
    head: tuple[Block, ...],
    residuals: Sequence[Block | Identity],
    identities: list[Identity],
    witnessed: Witnessed | None = None,
    shown: Sequence[Block] = (),
) -> tuple[Sheet, Block, dict[Block, object]]:
    """Outlines the checks; returns the sheet, the one verdict on all, and what is typed there (the tolerances).

    head: rows that stay in view, the last of them the mask. residuals: rows or numbers that must be 0.
    identities: definitions run where their result is known otherwise. witnessed: numbers of an outside witness, to stand beside
    those of the workbook that are shown.
    """
    section, off, typed = _beside(witnessed, shown) if witnessed else (None, None, {})
    residuals = [*residuals, *rows(off)]
    judged, verdict = master(
        each.residual if isinstance(each, Identity) else each for each in (*residuals, *identities)
    )
    needed = [row for each in residuals for row in (each if isinstance(each, Identity) else Identity((), each)).listed]
    sections = [
        Section(
            "The checks",
            (Unchanged("inputs: unchanged since the file was made"), Line((verdict,)), *map(Line, judged)),
            ("distance", "allowed", "verdict", "Σ failed"),
        ),
        Section("Where: the distance in every column", (Note("A number other than 0 is the place to look."), *needed)),
    ]
    if identities:
        listed = tuple(row for identity in identities for row in identity.listed)
        sections.append(Section("Identities: the same recursion where its result is known", listed))
    sections += [section] if section else []
    typed = {check.tolerance: TOLERANCE for check in judged} | typed
    return Sheet("Checks", LEAD, tuple(sections), (n, t), head, head[-1]), verdict, typed
