"""Diagnostics: what one watches while training, and the means that the first sheet shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Row, Section, Sheet, key
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices
from blueprint.workbooks.common.definitions.metrics import (
    Flags,
    PolicyKL,
    any_of,
    explained_variance,
    largest,
    means_of,
    per_response,
    residual,
    size,
)
from blueprint.workbooks.common.definitions.whitening import Counting, count, mean, spread
from blueprint.workbooks.common.metrics import by_name
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.common.signal import Whole
from blueprint.workbooks.rlhf_ppo.texts import Texts

LEAD = (
    "what one watches while training; none of it enters the loss (no gradient norm: the update is typed, not computed)"
)


class Inputs(NamedTuple):
    """What is watched. over: the response words. length: of each response (n). floor: a smaller variance is rounding."""

    over: Counting
    length: Block
    signal: Whole
    flags: Flags
    policy_kl: PolicyKL
    floor: Block
    responses: Responses


class Responses(NamedTuple):
    """1 for each response with a word (n), and how many there are."""

    wrote: Block
    number: Block

    @property
    def each(self) -> Counting:
        """What a mean over responses is taken over."""
        return Counting(EVERYWHERE, self.number, self.number)


class Diagnostics(NamedTuple):
    """The sheet, and every number of it by the name of its block."""

    sheet: Sheet
    named: dict[str, Block]


def diagnostics(
    old_head: InView, run: Texts, signal: Whole, flags: Flags, policy_kl: PolicyKL, floor: Block, use: Choices,
    rows: list[Block], more: tuple[Section, ...] = (),
) -> Diagnostics:  # fmt: skip
    """Defines and outlines the diagnostics. rows: those whose mean the first sheet shows. more: what follows."""
    head = old_head.on("diagnostics")
    over = Counting(head.mask, run.words, run.words)
    wrote = any_of("response.wrote", run.length[run.length.axes], use)
    responses = Responses(wrote, count("response.count", wrote, use))
    see = Inputs(over, run.length, signal, flags, policy_kl, floor, responses)
    means = means_section(means_of(rows, over))
    sections = (*(outline(see, use) for outline in OUTLINE), means, *more)
    return Diagnostics(Sheet("Diagnostics", LEAD, sections, (n, t), head.rows, head.mask), by_name(sections))


def _clip_fractions(see: Inputs, use: Choices) -> Section:
    shares = {"clip_fraction.loss": see.flags.by_loss, "clip_fraction.ratio": see.flags.by_ratio}
    return Section("Clip fraction (which words: see Loss)", _means(shares, see.over, use))


def _approximate_kl(see: Inputs, use: Choices) -> Section:
    rows = {"approx_kl.k1": see.policy_kl.k1, "approx_kl.k3": see.policy_kl.k3}
    return Section("Approximate KL of the update", _means(rows, see.over, use))


def _means(rows: dict[str, Block], over: Counting, use: Choices) -> tuple[Row, ...]:
    return tuple(key(mean(name, x, over, use)) for name, x in rows.items())


def _per_response(see: Inputs, use: Choices) -> Section:
    kl, score = link("diagnostics.kl", see.signal.kl.used), link("diagnostics.score", see.signal.placed)
    penalty = link("diagnostics.penalty", see.signal.paid.penalty)
    each = see.responses.each
    drift = per_response("kl.response", kl, use, see.over.counted)
    scores, costs = per_response("score.response", score, use), per_response("non_score.response", penalty, use)
    items = (
        (kl, key(mean("kl.per_word", kl, see.over, use))),
        (drift, *see.responses, key(mean("kl.per_response", drift, each, use))),
        (score, scores, key(mean("score.mean", scores, each, use))),
        (penalty, costs, key(mean("non_score_reward", costs, each, use))),
    )
    return Section("KL to the reference and reward", tuple(item for group in items for item in group))


def _lengths(see: Inputs, use: Choices) -> Section:
    average = mean("response.mean_length", see.length, see.responses.each, use)
    return Section("Length of the responses", (average, key(largest("response.longest", see.length, use))))


def _sizes(see: Inputs, use: Choices) -> Section:
    A = link("diagnostics.advantages", see.signal.gae.advantages)
    sizes = size("advantage.abs", A, use)
    return Section("Size of the advantages", (A, sizes, key(mean("advantage.mean_abs", sizes, see.over, use))))


def _foreseen(see: Inputs, use: Choices) -> Section:
    V, R = link("diagnostics.values", see.signal.gae.V), link("diagnostics.returns", see.signal.gae.returns)
    returns, missed = spread("returns", R, see.over, use), residual("value.residual", R, V, see.over, use)
    share = explained_variance("explained_variance", missed.variance, returns.variance, see.floor, use)
    title = "Explained variance: did the old critic foresee the returns?"
    return Section(title, (R, *returns, V, *missed, Row(see.floor, "fixed"), key(share)))


OUTLINE: tuple[Callable[[Inputs, Choices], Section], ...] = (
    _clip_fractions,
    _approximate_kl,
    _per_response,
    _lengths,
    _sizes,
    _foreseen,
)
"""The sections, in order; what a function of `common/definitions/metrics.py` makes is shown where one of these names it."""


def means_section(means: dict[str, Block]) -> Section:
    """Outlines means for the first sheet."""
    return Section("Means over the response words, shown on the first sheet", tuple(means.values()))
