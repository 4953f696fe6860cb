"""The per-token level: log-probs, values and scores are given, no model is run; and the clip over given cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from blueprint.language import Block, Sum, block, link, typed
from blueprint.numbers import TokenNumbers
from blueprint.page.outline import Blueprint, Piece, Section, Sheet, key
from blueprint.ppo import checks
from blueprint.ppo.axes import case, n, t
from blueprint.ppo.loss import surrogate
from blueprint.ppo.settings import Settings, settings
from blueprint.ppo.sheets.checks import checks_sheet
from blueprint.ppo.sheets.diagnostics import means_of, means_section
from blueprint.ppo.sheets.inputs import settings_sections
from blueprint.ppo.sheets.signal import Given, Signal, signal
from blueprint.ppo.sheets.start import start_sheet

LEAD = "the settings; everything else that is typed stands where it is used"
TITLES = ("reference KL", "augmented reward", "TD errors", "GAE advantage estimation", "value targets")
KEYS = ("gamma", "gae_lambda", "kl_coef", "clip_range", "whiten_eps", "kl_estimator", "whiten_advantages")


def token_level(numbers: TokenNumbers) -> Blueprint:
    """Makes the blueprint that begins at log-probs, values and scores."""
    chosen = settings(numbers.ppo, KEYS)
    writes = typed("word_written", (n, t), "writes", "writes the word", text=True)
    mask = typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0)
    words = block("response.words", (), "N", "response words of the whole batch", decimals=0)
    words[()] = Sum((n, t), mask[n, t])
    made = signal((writes, mask), mask, _given(), words, chosen)
    shown = [made.kl.used, made.reward.rewards, made.gae.td_errors, made.gae.advantages, made.gae.returns]
    means = means_of(shown, mask, words)
    checked, judged, tolerances = checks_sheet(
        (link("checks.writes", writes), link("checks.mask", mask)), _residuals(made)
    )
    pieces = [Piece(title, means[row.name], row) for title, row in zip(TITLES, shown, strict=True)]
    more = (Section("5  Length", (words,)), means_section("6", means))
    sheets = (
        start_sheet(numbers.title, numbers.about, [], pieces, judged.verdict),
        Sheet("Inputs", LEAD, tuple(settings_sections(chosen))),
        replace(made.sheet, sections=(*made.sheet.sections, *more)),
        _clip_sheet(chosen),
        checked,
    )
    sizes = {n: len(numbers.words), t: max(map(len, numbers.words)), case: len(numbers.case_ratios)}
    facts = {"numbers": numbers.name, "preset": "default"}
    blueprint = Blueprint(numbers.title, sizes=sizes, sheets=sheets, typed=chosen.typed | tolerances, facts=facts)
    blueprint = replace(blueprint, choices=chosen.choices, ranges=chosen.ranges, result=made.gae.advantages)
    return blueprint.with_typed(_typed(numbers, sizes[t]))


def _residuals(made: Signal) -> list[Block]:
    """Lists what must be 0 in every workbook."""
    return [
        checks.not_negative("k3", "k3 is never negative", made.kl.k3),
        checks.adds_up(made.gae.advantages, made.V, made.gae.returns),
    ]


def _given() -> Given:
    return Given(
        typed("old.logprobs", (n, t), "log π_old", "log-probability under the old policy", unit="≤ 0"),
        typed("reference.logprobs", (n, t), "log π_ref", "log-probability under the reference", unit="≤ 0"),
        typed("reward.score", (n, t), "score", "reward model's score, on the last word"),
        typed("old_critic.values", (n, t), "V_old", "value of the state before the word", edges=(t.last + 1,)),
    )


def _clip_sheet(chosen: Settings) -> Sheet:
    """Outlines the clip over given advantages and ratios, one case per column, by the same definition as the loss."""
    ratio = typed("case.ratio", (case,), "ρ", "ratio of the case", unit="> 0")
    advantage = typed("case.advantage", (case,), "Â", "advantage of the case")
    clip = surrogate(ratio, advantage, chosen.used["clip_range"])
    loss = block("case.loss", (case,), "loss", "loss of the case: minus U_min")
    loss[case] = -clip.smaller[case]
    rows = (advantage, ratio, clip.unclipped, clip.clipped_ratio, clip.clipped, key(clip.smaller), key(loss))
    section = Section("1  The clipped surrogate, case by case", rows)
    return Sheet(
        "Clip table", "what the clip does with a good and a bad word, near and far", (section,), across=(case,)
    )


def _typed(numbers: TokenNumbers, longest: int) -> dict[str, object]:
    """Lays ragged rows out side by side: what lies behind a response is empty or 0, its mask too."""

    def padded(rows: Sequence[Sequence[float]], width: int = longest) -> np.ndarray:
        return np.array([[*row, *[0.0] * (width - len(row))] for row in rows])

    return {
        "word_written": np.array([[*row, *[""] * (longest - len(row))] for row in numbers.words], dtype=object),
        "mask": padded([[1.0] * len(row) for row in numbers.words]),
        "old.logprobs": padded(numbers.logprobs_old),
        "reference.logprobs": padded(numbers.logprobs_ref),
        "reward.score": padded(numbers.scores),
        "old_critic.values": padded(numbers.values, longest + 1),
        "case.advantage": numbers.case_advantages,
        "case.ratio": numbers.case_ratios,
    }
