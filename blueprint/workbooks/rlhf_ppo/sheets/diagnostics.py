"""Diagnostics: what one watches while training, and the means that the first sheet shows."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Row, Section, Sheet, key
from blueprint.workbooks.common import sources
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.loss import mean_over_words
from blueprint.workbooks.common.definitions.metrics import (
    Explained,
    Responses,
    explained_variance,
    mean_abs,
    means_of,
    responses,
)
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.common.signal import Whole
from blueprint.workbooks.rlhf_ppo.sheets.loss import Loss
from blueprint.workbooks.rlhf_ppo.texts import Texts

LEAD = (
    "what one watches while training; none of it enters the loss (no gradient norm: the update is typed, not computed)"
)


class Diagnostics(NamedTuple):
    """The sheet and what others read from it; `means` holds the mean over the response words of each row asked for."""

    sheet: Sheet
    approx_kl: tuple[Block, Block]
    kl_per_word: Block
    per_response: Responses
    explained: Explained
    means: dict[str, Block]


def diagnostics(
    old_head: InView,
    run: Texts,
    signal: Whole,
    loss: Loss,
    rows: list[Block],
    floor: Block,
    more: tuple[Section, ...] = (),
) -> Diagnostics:
    """Defines and outlines the diagnostics.

    rows: those whose mean the first sheet shows. floor: a smaller variance of returns is rounding. more: what follows.
    """
    head = old_head.on("diagnostics")
    m, words = head.mask, run.words
    fractions = (key(loss.by_loss.fraction), key(loss.by_ratio.fraction))
    approx, k1, k3 = _approximate_kl(loss, m, words)
    drifted, kl_word, per = _per_response(signal, run, m, words)
    A = link("diagnostics.advantages", signal.gae.advantages)
    size, mean_size = mean_abs(A, m, words)
    foreseen_section, foreseen = _foreseen(signal, m, words, floor)
    means = means_of(rows, m, words)
    sections = (
        Section("Clip fraction (which words: see Loss)", fractions),
        approx,
        drifted,
        Section("Length of the responses", (per.mean_length, key(per.longest))),
        Section("Size of the advantages", (A, size, key(mean_size))),
        foreseen_section,
        means_section(means),
        *more,
    )
    sheet = Sheet("Diagnostics", LEAD, sections, (n, t), head.rows, head.mask)
    return Diagnostics(sheet, (k1, k3), kl_word, per, foreseen, means)


def _approximate_kl(loss: Loss, m: Block, words: Block) -> tuple[Section, Block, Block]:
    rows, told = loss.policy_kl, "approximate KL: mean of"
    k1 = mean_over_words("approx_kl.k1", "aKL_k1", f"{told} −d", rows.k1, m, words, sources.APPROX_KL_K1)
    k3 = mean_over_words("approx_kl.k3", "aKL_k3", f"{told} e^d − 1 − d", rows.k3, m, words, sources.APPROX_KL_K3)
    return Section("Approximate KL of the update", (key(k1), key(k3))), k1, k3


def _per_response(signal: Whole, run: Texts, m: Block, words: Block) -> tuple[Section, Block, Responses]:
    kl, score = link("diagnostics.kl", signal.kl.used), link("diagnostics.score", signal.placed)
    penalty = link("diagnostics.penalty", signal.paid.penalty)
    kl_word = mean_over_words("kl.per_word", "KL_word", "KL to the reference per word", kl, m, words)
    per = responses(m, run.length, kl, score, penalty)
    drift = (kl, key(kl_word), per.kl, per.wrote, per.responses, key(per.kl_mean))
    scores = (score, per.score, key(per.score_mean), penalty, per.non_score, key(per.non_score_mean))
    return Section("KL to the reference and reward", (*drift, *scores)), kl_word, per


def _foreseen(signal: Whole, m: Block, words: Block, floor: Block) -> tuple[Section, Explained]:
    V, R = link("diagnostics.values", signal.gae.V), link("diagnostics.returns", signal.gae.returns)
    x = explained_variance(V, R, m, words, floor)
    returns = (R, x.mean_return, x.centred_return, x.return_variance)
    errors = (V, x.error, x.mean_error, x.centred_error, x.error_variance)
    title = "Explained variance: did the old critic foresee the returns?"
    return Section(title, (*returns, *errors, Row(x.floor, "fixed"), key(x.explained))), x


def means_section(means: dict[str, Block]) -> Section:
    """Outlines means for the first sheet."""
    return Section("Means over the response words, shown on the first sheet", tuple(means.values()))
