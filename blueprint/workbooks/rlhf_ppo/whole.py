"""The whole workbook: what stands before and after the steps, the same for every level that has a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Piece, Section, Sheet
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions import checks
from blueprint.workbooks.common.definitions.choices import Choices, fixed, rows
from blueprint.workbooks.common.definitions.gae import with_lambda
from blueprint.workbooks.common.definitions.identities import Identity, identities
from blueprint.workbooks.common.facts import facts_of
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.common.sheets import charts, walk
from blueprint.workbooks.common.sheets.checks import checks_sheet
from blueprint.workbooks.common.sheets.start import Made, start_sheet
from blueprint.workbooks.common.sheets.witness_section import Witnessed, beside
from blueprint.workbooks.rlhf_ppo.sheets import pieces
from blueprint.workbooks.rlhf_ppo.sheets.diagnostics import diagnostics
from blueprint.workbooks.rlhf_ppo.sheets.flow import flow_of_loss
from blueprint.workbooks.rlhf_ppo.steps import Steps


@dataclass(frozen=True)
class Plan:
    """What a workbook is made of; the steps' part comes first, then that of the level on which the numbers begin.

    before, after: sheets before the models, and after the diagnostics. sums: (n, t), 1 where shares of the loss lie.
    use: the conventions by which the steps were made. floor: a smaller variance is rounding.
    walk, metrics: sections of Walk, and more for Diagnostics. first: the decision shown on Walk.
    choices_made, logged: for the first sheet, which PPO it is, and what its library logs instead. facts: what it says of itself.
    checked, checked_too: what must be 0, before and after what always must, and where conventions are live.
    by_name: what is typed, by the names of blocks.
    """

    steps: Steps
    chosen: Settings
    before: tuple[Sheet, ...]
    sums: Block
    vocabulary: Block
    walk: list[Section]
    use: Choices
    floor: Block
    after: tuple[Sheet, ...] = ()
    metrics: tuple[Section, ...] = ()
    choices_made: tuple[Piece, ...] = ()
    logged: Mapping[str, Block] = field(default_factory=dict)
    checked_too: Sequence[Block] = ()
    typed: Mapping[Block, object] = field(default_factory=dict)
    sizes: Mapping[Axis, int] = field(default_factory=dict)
    names: Mapping[Axis, Block | str] = field(default_factory=dict)
    choices: Mapping[Block, Block] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    title: str = ""
    about: str = ""
    level: str = ""
    first: int = 1
    checked: tuple[list[Block], list[Block]] = ([], [])
    by_name: Mapping[str, object] = field(default_factory=dict)
    ranges: Mapping[Block, tuple[float, float]] = field(default_factory=dict)


def whole(plan: Plan, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers if there are any."""
    steps, chosen = plan.steps, plan.chosen
    head, loss = steps.models.head, steps.loss
    watching = diagnostics(
        head, steps.models.texts, steps.signal, steps.flags, steps.policy_kl, plan.floor, plan.use,
        pieces.averaged_rows(steps), plan.metrics,
    )  # fmt: skip
    known = identities(steps.signal.gae, steps.signal.rewards.used, plan.use)
    parts, listed = pieces.parts_of(steps), pieces.pieces_of(steps, watching, plan.logged)
    outside = beside(witnessed, list(dict.fromkeys(piece.shown for piece in (*parts, *listed)))) if witnessed else None
    residuals = [*plan.checked[0], *_residuals(steps, chosen, plan.sums), *plan.checked[1], *plan.checked_too]
    checked, judged, tolerances = checks_sheet(head.on("checks").rows, residuals, known, outside)
    picked, first_choice = walk.choice(episode=1, decision=plan.first)
    pictures, drawn = charts.charts_sheet(_drawn(plan), head.on("charts").rows)
    facts = facts_of(plan.name, plan.level) | dict(plan.facts)
    told = Made(plan.title, plan.about, facts)
    start = start_sheet(told, parts, listed, flow_of_loss(steps), judged.verdict, plan.choices_made)
    walked = walk.walk_sheet(picked, head.rows[:-1], plan.walk)
    blueprint = Blueprint(
        title=plan.title,
        sheets=(start, walked, *plan.before, *steps.sheets(), watching.sheet, *plan.after, checked, pictures),
        sizes=plan.sizes,
        typed=chosen.typed | tolerances | first_choice | drawn | dict(plan.typed),
        names=plan.names,
        choices=chosen.choices | dict(plan.choices),
        ranges=chosen.ranges | walk.ranges(picked) | dict(plan.ranges),
        facts=facts,
        result=loss.total.total,
        parts=loss.total.parts,
        chosen=picked,
        whole="batch",
    )
    return blueprint.with_typed(plan.by_name)


def _residuals(steps: Steps, chosen: Settings, sums: Block) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    m, s, loss = steps.models, steps.signal, steps.loss
    models = {"old_policy": m.old, "reference": m.reference.policy, "new_policy": m.policy.policy}
    rests = [checks.ratio_rests(loss.clip.ratio, chosen.used["update_step"])] if "update_step" in chosen.used else []
    return [
        *(checks.sums_to_one(name, policy.words.p) for name, policy in models.items()),
        *(checks.not_positive(name, policy.logprobs) for name, policy in models.items()),
        checks.not_negative("exact_kl", m.reference.exact),
        checks.not_negative("k3", s.kl.k3),
        checks.adds_up(s.gae.advantages, s.gae.V, s.gae.returns),
        *rests,
        *(checks.shares_add_up(sums, share, loss.total.total) for share in rows(loss.total.share)),
        checks.parts_add_up(loss.total.parts, loss.total.total),
        checks.all_in_range(chosen),
    ]


def _drawn(plan: Plan) -> list[charts.Drawn]:
    """Lists the pictures with the rows from which they are drawn."""
    steps, chosen, fade = plan.steps, plan.chosen, with_lambda(plan.steps.signal.gae, plan.use)
    m, s, loss, run = steps.models, steps.signal, steps.loss, steps.models.texts
    bars = charts.advantage_picture(run.word_written, s.gae.advantages, s.white.used, run.mask)
    points = charts.Points(loss.clip.ratio, s.white.used, loss.clip.smaller, run.word_written, run.mask)
    policies = {"π_old": m.old, "π_ref": m.reference.policy, "π_θ": m.policy.policy}
    added = (*loss.total.parts, loss.total.total)
    return [
        charts.clip_picture(points, fixed(chosen, LIVE)),
        bars.drawn,
        charts.gae_picture(s.gae, bars.words, fade),
        charts.next_word_picture({name: policy.words.p for name, policy in policies.items()}, plan.vocabulary),
        charts.parts_picture(dict(zip(charts.PARTS[len(added)], added, strict=True))),
    ]
