"""The per-token level: log-probs, values and scores are given, no model is run; and the clip over given cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis, Block, block, link, typed
from blueprint.page.outline import Blueprint, Piece, Section, Sheet, key
from blueprint.workbooks.common.axes import case, n, t
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT
from blueprint.workbooks.common.definitions import checks
from blueprint.workbooks.common.definitions.choices import ROWS, Choices, fixed
from blueprint.workbooks.common.definitions.gae import kept_values, with_lambda
from blueprint.workbooks.common.definitions.identities import identities
from blueprint.workbooks.common.definitions.losses import Surrogate, lowest_ratio, surrogate
from blueprint.workbooks.common.definitions.metrics import means_of
from blueprint.workbooks.common.definitions.whitening import Counting, count
from blueprint.workbooks.common.facts import facts_of
from blueprint.workbooks.common.settings import INPUT_WIDTHS, Settings, settings, settings_sections
from blueprint.workbooks.common.sheets import charts, walk
from blueprint.workbooks.common.sheets.checks import checks_sheet
from blueprint.workbooks.common.sheets.signal import LEAD as SIGNAL_LEAD
from blueprint.workbooks.common.sheets.signal import TITLE, sections
from blueprint.workbooks.common.sheets.start import Made, start_sheet
from blueprint.workbooks.common.sheets.witness_section import Witnessed, beside
from blueprint.workbooks.common.signal import Given, Whole, signal
from blueprint.workbooks.rlhf_ppo.sheets.diagnostics import means_section
from blueprint.workbooks.rlhf_ppo.sheets.flow import flow_of_signal
from blueprint.workbooks.rlhf_ppo.sheets.walk import walk_sections_of_signal

LEAD = "the settings; everything else that is typed stands where it is used"
TITLES = (
    "reference KL",
    "KL penalty",
    "reward-model coupling",
    "augmented reward",
    "TD errors",
    "GAE advantage estimation",
    "value targets",
)
KEYS = ("gamma", "gae_lambda", "kl_coef", "clip_range", "whiten_eps", "kl_estimator", "whiten_advantages")


def token_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint that begins at log-probs, values and scores; with a witness's numbers if there are any."""
    chosen = settings(numbers.ppo, {key: PRESET_DEFAULT[key] for key in KEYS})
    writes = typed("word_written", (n, t), "writes", "writes the word", text=True)
    mask = typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0)
    use = fixed(chosen, LIVE)
    words = count("response.words", mask, use)
    found = signal(_given(mask, words), use)
    made = found.whole
    shown = _shown(made)
    means = means_of(shown, Counting(mask, words, words))
    known = identities(made.gae, made.rewards.used, use)
    outside = beside(witnessed, list(means.values())) if witnessed else None
    checked, judged, tolerances = checks_sheet(_head("checks", writes, mask), _residuals(made, chosen), known, outside)
    table = _clip_table(use) if "cases.ratios" in numbers.parts else None
    picked, first_choice = walk.choice(episode=1, decision=1)
    pictures, drawn = charts.charts_sheet(_drawn(made, writes, mask, table, use), _head("charts", writes, mask))
    facts = facts_of(numbers.name, "tokens")
    pieces = [Piece(title, means[row.name], row) for title, row in zip(TITLES, shown, strict=True)]
    start = start_sheet(Made(numbers.title, numbers.about, facts), [], pieces, flow_of_signal(made), judged.verdict)
    more = (Section("Length", (words,)), means_section(means))
    sheets = (
        start, walk.walk_sheet(picked, (writes,), walk_sections_of_signal(made, mask)),
        Sheet("Inputs", LEAD, tuple(settings_sections(chosen)), widths=INPUT_WIDTHS),
        Sheet(TITLE, SIGNAL_LEAD, (*sections(found), *more), (n, t), (writes, mask), mask),
        *([table.sheet] if table else []), checked, pictures,
    )  # fmt: skip
    blueprint = Blueprint(
        numbers.title, sheets, _sizes(numbers), chosen.typed | tolerances | first_choice | drawn,
        choices=chosen.choices, ranges=chosen.ranges | walk.ranges(picked) | {mask: (0, 1)}, facts=facts,
        result=made.gae.advantages, chosen=picked, whole="batch",
    )  # fmt: skip
    return blueprint.with_typed(_typed(numbers, max(map(len, numbers["per_token.words"]))))


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Reads how many episodes, decisions and cases there are."""
    sizes = {n: len(numbers["per_token.words"]), t: max(map(len, numbers["per_token.words"]))}
    return sizes | ({case: len(numbers["cases.ratios"])} if "cases.ratios" in numbers.parts else {})


class ClipTable(NamedTuple):
    """The sheet of given cases, and what of it is drawn."""

    sheet: Sheet
    ratio: Block
    advantage: Block
    clip: Surrogate


def _head(sheet: str, writes: Block, mask: Block) -> tuple[Block, Block]:
    """Repeats the rows that stay in view."""
    return link(f"{sheet}.writes", writes), link(f"{sheet}.mask", mask)


def _shown(made: Whole) -> list[Block]:
    """Lists the rows whose mean over the response the first sheet shows, under `TITLES`."""
    gae = made.gae
    return [made.kl.used, made.paid.penalty, made.placed, made.rewards.used, gae.td_errors, gae.advantages, gae.returns]


def _drawn(made: Whole, writes: Block, mask: Block, table: ClipTable | None, use: Choices) -> list[charts.Drawn]:
    """Lists the pictures with the rows from which they are drawn; that of the clip needs cases."""
    drawn = []
    if table is not None:
        points = charts.Points(table.ratio, table.advantage, table.clip.smaller, None)
        drawn.append(charts.clip_picture(points, use))
    bars = charts.advantage_picture(writes, made.gae.advantages, made.white.used, mask)
    fading = charts.gae_picture(made.gae, bars.words, with_lambda(made.gae, use))
    return [*drawn, bars.drawn, fading]


def _residuals(made: Whole, chosen: Settings) -> list[Block]:
    """Lists what must be 0 in every workbook."""
    return [
        checks.all_in_range(chosen),
        checks.not_negative("k3", made.kl.k3),
        checks.adds_up(made.gae.advantages, made.gae.V, made.gae.returns),
    ]


def _given(mask: Block, words: Block) -> Given:
    """Types what the numbers give: log-probs, scores and values."""
    values = typed("old_critic.values", (n, t), "v", "value of the state before the word", edges=(t.last + 1,))
    kept = kept_values(ROWS.row("values.masked"), values, mask, values[n, t.last + 1])
    return Given(
        m=mask,
        logp_old=typed("old.logprobs", (n, t), "log π_old", "log-probability under the old policy", unit="≤ 0"),
        logp_ref=typed("reference.logprobs", (n, t), "log π_ref", "log-probability under the reference", unit="≤ 0"),
        words=words,
        values=kept,
        placed=typed("reward.score", (n, t), "score", "reward model's score, on the last word"),
        before=(values,),
    )


def _clip_table(use: Choices) -> ClipTable:
    """Outlines the clip over given advantages and ratios, one case per column, by the same definition as the loss."""
    ratio = typed("case.ratio", (case,), "ρ", "ratio of the case", unit="> 0")
    advantage = typed("case.advantage", (case,), "Â", "advantage of the case")
    clip = surrogate(ratio, advantage, lowest_ratio(use), use)
    loss = block("case.loss", (case,), "loss", "loss of the case: minus U_min")
    loss[case] = -clip.smaller[case]
    rows = (advantage, ratio, clip.unclipped, clip.clipped_ratio, clip.clipped, key(clip.smaller), key(loss))
    section = Section("The clipped surrogate, case by case", rows)
    lead = "what the clip does with a good and a bad word, near and far"
    return ClipTable(Sheet("Clip table", lead, (section,), across=(case,)), ratio, advantage, clip)


CASES = {"case.advantage": "cases.advantages", "case.ratio": "cases.ratios"}


def _typed(numbers: Numbers, longest: int) -> dict[str, object]:
    """Lays ragged rows out side by side: what lies behind a response is empty or 0, its mask too."""

    def padded(rows: Sequence[Sequence[float]], width: int = longest) -> np.ndarray:
        return np.array([[*row, *[0.0] * (width - len(row))] for row in rows])

    return {
        "word_written": np.array(
            [[*row, *[""] * (longest - len(row))] for row in numbers["per_token.words"]], dtype=object
        ),
        "mask": padded([[1.0] * len(row) for row in numbers["per_token.words"]]),
        "old.logprobs": padded(numbers["per_token.logprobs_old"]),
        "reference.logprobs": padded(numbers["per_token.logprobs_ref"]),
        "reward.score": padded(numbers["per_token.scores"]),
        "old_critic.values": padded(numbers["per_token.values"], longest + 1),
        **{block: numbers[key] for block, key in CASES.items() if key in numbers.parts},
    }
