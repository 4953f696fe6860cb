"""Diagnostics: the metrics of a training step, and the means that the first sheet shows."""

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Row, Section, Sheet, key
from blueprint.workbooks.common import (
    EVERYWHERE,
    Choices,
    Counting,
    Rows,
    any_of,
    below,
    count,
    explained_variance,
    largest,
    mean,
    means_of,
    named,
    per_response,
    residual,
    sheet_of,
    size,
    spread,
)
from blueprint.workbooks.rlhf_ppo.sheets.start import averaged_rows
from blueprint.workbooks.rlhf_ppo.steps import Steps

LEAD = "what one watches while training; none of it enters the loss (no gradient norm: the update is a gradient step, rounded)"


class Inputs(NamedTuple):
    """What metrics are made of: all rows by name. over: the response tokens. each: the responses with a token.

    step: the tokens that the loss counts, which are fewer where there are minibatches. live: whether what a library logs follows.
    """

    rows: Rows
    over: Counting
    step: Counting
    each: Counting
    use: Choices
    live: bool


def diagnostics(steps: Steps, use: Choices) -> Sheet:
    """Defines and outlines the diagnostics, and after them what a library logs."""
    head, length, words = steps.head.on("diagnostics"), steps.rows["response.length"], steps.rows["response.words"]
    wrote = any_of("response.wrote", length[length.axes], use)
    responses = count("response.count", wrote, use)
    over, each = Counting(head.mask, words, words), Counting(EVERYWHERE, responses, responses)
    words = steps.rows.get("minibatch.words", words)
    step = Counting(steps.rows.get("minibatch.mask", head.mask), words, words)
    see = Inputs({**steps.rows, **named(wrote, responses)}, over, step, each, use, bool(steps.metrics))
    means = means_section(means_of(averaged_rows(steps.rows), step))
    return sheet_of("Diagnostics", LEAD, (*(outline(see) for outline in OUTLINE), means, *steps.metrics), head)


def _clip_fractions(see: Inputs) -> Section:
    shares = {"clip_fraction.loss": "clip_fraction.changed", "clip_fraction.ratio": "clip_fraction.outside"}
    return Section("Clip fraction (which tokens: see Loss)", (*_means(see, shares), *_held_values(see)))


def _held_values(see: Inputs) -> tuple[Row | Block, ...]:
    """Flags the tokens whose value the value clip holds, and averages them; a library's own clip fractions have both."""
    if see.live:
        return ()
    held = below("value.held_counts", see.rows["value.square"], see.rows["value.square_clipped"], see.use)
    return held, key(mean("clip_fraction.value", held, see.step, see.use))


def _approximate_kl(see: Inputs) -> Section:
    estimates = {"approx_kl.k1": "policy_kl.k1", "approx_kl.k3": "policy_kl.k3"}
    return Section("Approximate KL of the update", _means(see, estimates))


def _means(see: Inputs, of: dict[str, str]) -> tuple[Row, ...]:
    return tuple(key(mean(name, see.rows[row], see.step, see.use)) for name, row in of.items())


def _per_response(see: Inputs) -> Section:
    rows, use = see.rows, see.use
    linked = {"kl": "kl.used", "score": "score", "penalty": "reward.penalty"}
    kl, score, penalty = (link(f"diagnostics.{name}", rows[row]) for name, row in linked.items())
    total = per_response("kl.response", kl, use, see.over.counted)
    scores, costs = per_response("score.response", score, use), per_response("non_score.response", penalty, use)
    items = (
        (kl, key(mean("kl.per_word", kl, see.over, use))),
        (total, rows["response.wrote"], rows["response.count"], key(mean("kl.per_response", total, see.each, use))),
        (score, scores, key(mean("score.mean", scores, see.each, use))),
        (penalty, costs, key(mean("non_score_reward", costs, see.each, use))),
    )
    return Section("KL to the reference and reward", tuple(item for group in items for item in group))


def _lengths(see: Inputs) -> Section:
    length = see.rows["response.length"]
    average = mean("response.mean_length", length, see.each, see.use)
    return Section("Length of the responses", (average, key(largest("response.longest", length, see.use))))


def _sizes(see: Inputs) -> Section:
    A = link("diagnostics.advantages", see.rows["advantages"])
    sizes = size("advantage.abs", A, see.use)
    return Section("Size of the advantages", (A, sizes, key(mean("advantage.mean_abs", sizes, see.over, see.use))))


def _foreseen(see: Inputs) -> Section:
    V, R = (link(f"diagnostics.{name}", see.rows[name]) for name in ("values", "returns"))
    floor = see.rows["explained_variance.floor"]
    returns, (missed, of_missed) = (
        spread("returns", R, see.over, see.use),
        residual("value.residual", R, V, see.over, see.use),
    )
    share = explained_variance("explained_variance", of_missed.variance, returns.variance, floor, see.use)
    title = "Explained variance: did the old critic foresee the returns?"
    return Section(title, (R, *returns, V, missed, *of_missed, Row(floor, "fixed"), key(share)))


OUTLINE: tuple[Callable[[Inputs], Section], ...] = (
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
    return Section("Means over the response tokens, shown on the first sheet", tuple(means.values()))
