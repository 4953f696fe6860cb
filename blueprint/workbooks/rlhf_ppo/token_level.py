"""The per-token level: log-probs, values and scores are given, no model is run; and the clip over given cases."""

from dataclasses import replace
from pathlib import Path

from blueprint.inputs import Numbers
from blueprint.language import Block, block, link, typed
from blueprint.page.outline import Blueprint, Section, Sheet, key
from blueprint.workbooks.common import (
    LIVE,
    PRESET_DEFAULT,
    ROWS,
    SIGNAL_LEAD,
    SIGNAL_TITLE,
    Choices,
    Counting,
    Made,
    Witnessed,
    case,
    charts,
    checks,
    checks_sheet,
    count,
    defined,
    facts_of,
    fixed,
    identities,
    kept_values,
    lowest_ratio,
    means_of,
    n,
    named,
    rows_on,
    settings,
    settings_sections,
    signal,
    signal_sections,
    start_sheet,
    surrogate,
    t,
    walk,
    with_lambda,
)
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.rlhf_ppo.schema import PER_TOKEN
from blueprint.workbooks.rlhf_ppo.sheets import means_section, walk_sections_of_signal

LEAD = "the settings; everything else that is typed stands where it is used"
KEYS = ("gamma", "gae_lambda", "kl_coef", "clip_range", "whiten_eps", "kl_estimator", "whiten_advantages")


def token_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint that begins at log-probs, values and scores; with a witness's numbers if there are any."""
    chosen = settings(numbers.ppo, {key: PRESET_DEFAULT[key] for key in KEYS})
    use = fixed(chosen, LIVE)
    writes = typed("word_written", (n, t), "writes", "writes the token", text=True)
    mask = typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0)
    words = count("response.words", mask, use)
    made = signal(_given(mask, words), use)
    gae = made.estimates
    outline = Sheet(SIGNAL_TITLE, SIGNAL_LEAD, tuple(signal_sections(made)), (n, t), (writes, mask), mask)
    rows = rows_on(outline) | {"score": made.given["score.placed"], "values": gae.V}
    opening = opening_in(Path(__file__).parent, "start_tokens.toml")
    means = means_of([rows[name] for _, _, name in opening.pieces], Counting(mask, words, words))
    residuals = [checks.all_in_range(chosen), checks.not_negative("k3", rows["kl.k3"])]
    residuals.append(checks.adds_up(gae.advantages, gae.V, gae.returns))
    known, shown = identities(gae, rows["rewards"], use), list(means.values())
    checked, verdict, tolerances = checks_sheet(_head("checks", writes, mask), residuals, known, witnessed, shown)
    table, points = _clip_table(use) if "cases.ratios" in numbers.parts else (None, None)
    within = charts.Within((mask,))
    bars, below = charts.advantage_picture(writes, gae.advantages, rows["advantages_used"], mask, within)
    clip = [charts.clip_picture(points, use)] if points else []
    drawn = [*clip, bars, charts.gae_picture(gae, below, with_lambda(gae, use), within)]
    pictures, in_pictures = charts.charts_sheet(drawn, _head("charts", writes, mask))
    picked, first_choice = walk.choice(episode=1, decision=1)
    facts = facts_of(numbers.name, "tokens")
    along, counted = {"episode": n, "token": t, "case": case}, PER_TOKEN.sizes(numbers)
    sizes = {along[name]: count for name, count in counted.items()}
    pieces = opening.listed(opening.pieces, rows | {mean.name: mean for mean in means.values()})
    sheets = (
        start_sheet(Made(numbers.title, numbers.about, facts), [], pieces, opening.map(rows), verdict),
        walk.walk_sheet(picked, (writes,), walk_sections_of_signal(rows)),
        Sheet("Inputs", LEAD, tuple(settings_sections(chosen)), widths=(9,) * 8),
        replace(outline, sections=(*outline.sections, Section("Length", (words,)), means_section(means))),
        *([table] if table else []), checked, pictures,
    )  # fmt: skip
    return Blueprint(
        numbers.title, sheets, sizes, chosen.typed | tolerances | first_choice | in_pictures,
        choices=chosen.choices, ranges=chosen.ranges | walk.ranges(picked) | {mask: (0, 1)}, facts=facts,
        result=gae.advantages, chosen=picked, whole="batch",
    ).with_typed(PER_TOKEN.typed(numbers))  # fmt: skip


def _head(sheet: str, writes: Block, mask: Block) -> tuple[Block, Block]:
    """Repeats the rows that stay in view."""
    return link(f"{sheet}.writes", writes), link(f"{sheet}.mask", mask)


def _given(mask: Block, words: Block) -> dict[str, Block]:
    """Types what the numbers give: log-probs, scores and values."""
    values = typed("old_critic.values", (n, t), "v", "value of the state before the token", edges=(t.last + 1,))
    return named(mask, values, kept_values(ROWS.row("values.masked"), values, mask, values[n, t.last + 1])) | {
        "response.words": words,
        "old.logprobs": typed("old.logprobs", (n, t), "log π_old", "log-probability under the old policy", unit="≤ 0"),
        "reference.logprobs": typed(
            "reference.logprobs", (n, t), "log π_ref", "log-probability under the reference", unit="≤ 0"
        ),
        "score.placed": typed("reward.score", (n, t), "score", "reward model's score, on the last token"),
    }


def _clip_table(use: Choices) -> tuple[Sheet, charts.Points]:
    """Outlines the clip over given advantages and ratios, one case per column, by the same definition as the loss."""
    ratio = typed("case.ratio", (case,), "ρ", "ratio of the case", unit="> 0")
    advantage = typed("case.advantage", (case,), "Â", "advantage of the case")
    clip = surrogate(ratio, advantage, lowest_ratio(use), use)
    loss = defined(block("case.loss", (case,), "loss", "loss of the case: minus U_min"), -clip.smaller[case])
    rows = (advantage, ratio, clip.unclipped, clip.clipped_ratio, clip.clipped, key(clip.smaller), key(loss))
    section = Section("The clipped surrogate, case by case", rows)
    lead = "what the clip does with a good and a bad token, near and far"
    return Sheet("Clip table", lead, (section,), across=(case,)), charts.Points(ratio, advantage, clip.smaller, None)
