"""The whole workbook: what stands before and after the steps, the same for every level that has a loss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint.inputs.catalogue import DEFAULT
from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Sheet
from blueprint.workbooks.common import (
    LIVE,
    ROWS,
    Choices,
    Chosen,
    Identity,
    Made,
    Settings,
    Witnessed,
    charts,
    checks,
    checks_sheet,
    conventions_in_use,
    conventions_sheet,
    facts_of,
    fixed,
    identities,
    labels,
    naming,
    presets_sheet,
    rows_on,
    score_stays,
    start_sheet,
    walk,
    with_lambda,
)
from blueprint.workbooks.rlhf_ppo.inputs.result import RlhfNumbers
from blueprint.workbooks.rlhf_ppo.libraries import compared
from blueprint.workbooks.rlhf_ppo.minibatches import Minibatch
from blueprint.workbooks.rlhf_ppo.plain import with_equations_of_the_page
from blueprint.workbooks.rlhf_ppo.sheets.diagnostics import diagnostics
from blueprint.workbooks.rlhf_ppo.sheets.start import flow_of_loss, parts_of, pieces_of
from blueprint.workbooks.rlhf_ppo.sheets.walk import walk_sections
from blueprint.workbooks.rlhf_ppo.steps import Models, Steps, steps_of

POLICIES = {"old_policy": "old", "reference": "reference", "new_policy": "policy"}
SHOWN = {
    "KL estimate": "kl_estimator",
    "the score lands on": "reward.score_slot",
    "whitening of the advantages": "whiten_advantages",
    "dual clip": "loss.dual_clip",
    "tokens are averaged": "loss.aggregation",
}
"""Conventions that the first sheet shows, under the names by which people ask for them."""


@dataclass(frozen=True)
class Start:
    """Where a workbook begins: its numbers, settings and models, and the sheet of what is typed.

    live: the conventions, where they can be chosen. first: the position shown on Walk. checked: what must be 0, before and
    after what always must. minibatch: what the loss looks at. By the names of blocks, typed: what stands in them; ranges:
    what may be typed there; words: those that hold words of the vocabulary.
    """

    numbers: RlhfNumbers
    settings: Settings
    live: Chosen | None
    models: Models
    inputs: Sheet
    sizes: Mapping[Axis, int]
    names: Mapping[Axis, Block | str]
    checked: tuple[list[Block], list[Block]]
    typed: Mapping[str, object]
    ranges: Mapping[str, tuple[float, float]]
    words: Sequence[str]
    first: int = 1
    facts: Mapping[str, str] = field(default_factory=dict)
    minibatch: Minibatch | None = None


def whole(start: Start, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers if there are any."""
    numbers, chosen, live = start.numbers, start.settings, start.live
    use = Choices(chosen.used, chosen.switch, labels=labels("live")) if live else fixed(chosen, LIVE)
    steps = steps_of(start.models, use, start.minibatch)
    rows, head, total = steps.rows, steps.head, steps.loss.total
    metrics = diagnostics(steps, use)
    parts, pieces = parts_of(total), pieces_of({**rows, **rows_on(metrics)})
    known = identities(steps.signal.estimates, rows["rewards"], use)
    checked, verdict, tolerances = checks_sheet(
        head.on("checks").rows, _residuals(start, steps), known, witnessed, [piece.shown for piece in (*parts, *pieces)]
    )
    picked, first_choice = walk.choice(episode=1, decision=start.first)
    pictures, drawn = charts.charts_sheet(_drawn(steps, chosen, use), head.on("charts").rows)
    made, choices = Made(numbers.title, numbers.about, _facts(start)), conventions_in_use(live, SHOWN) if live else ()
    wide = walk.MANY_LINES if live else walk.WIDTHS
    walked = walk.walk_sheet(picked, head.rows[:-1], walk_sections(rows, steps.loss), widths=wide)
    first = start_sheet(made, parts, pieces, flow_of_loss(rows), verdict, choices)
    blueprint = Blueprint(
        title=numbers.title,
        sheets=(first, walked, start.inputs, *steps.sheets, metrics, checked, pictures),
        sizes=start.sizes,
        typed=chosen.typed | tolerances | first_choice | drawn,
        names=start.names,
        choices=chosen.choices | {rows[name]: rows["vocabulary"] for name in start.words},
        ranges=chosen.ranges | walk.ranges(picked) | {rows[name]: ends for name, ends in start.ranges.items()},
        facts=made.facts,
        result=total.total,
        parts=total.parts,
        chosen=picked,
        whole="batch",
    ).with_typed(start.typed)
    if live:
        return _with_conventions(blueprint, steps, live, numbers.conventions.compare)
    return blueprint if start.minibatch else with_equations_of_the_page(blueprint)


def _facts(start: Start) -> dict[str, str]:
    """Returns what the workbook says of its own making."""
    numbers = start.numbers
    live = {"preset": numbers.conventions.preset, "conventions": "live"} if start.live else {}
    return facts_of(numbers.name, numbers.level) | dict(start.facts) | live


def _with_conventions(made: Blueprint, steps: Steps, live: Chosen, compare: tuple[str, ...]) -> Blueprint:
    """Adds the sheets of conventions and presets, and those that set libraries side by side. compare: their presets, else all."""
    libraries, which, like = compared(steps, live)
    names = compare or tuple(name for name in live.catalogue.presets if name != DEFAULT)
    start, walked, *sheets, checked, pictures = made.sheets
    before, after = (conventions_sheet(live), presets_sheet(live)), (libraries, which)
    shown = (start, walked, *before, *sheets, *after, checked, pictures)
    return naming(replace(made, sheets=shown), like, live, names)


def _residuals(start: Start, steps: Steps) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook, and what in this one."""
    rows, total, chosen, made = steps.rows, steps.loss.total, start.settings, steps.signal
    first, last = start.checked
    summed = rows["slots"] if "slots" in rows else rows["mask"]
    rests = [checks.ratio_rests(rows["ratio"], chosen.used["update_step"])] if "update_step" in chosen.used else []
    return [
        *first,
        *(checks.sums_to_one(name, rows[f"{policy}.p"]) for name, policy in POLICIES.items()),
        *(checks.not_positive(name, rows[f"{policy}.logprobs"]) for name, policy in POLICIES.items()),
        checks.not_negative("exact_kl", rows["kl.exact"]),
        checks.not_negative("k3", rows["kl.k3"]),
        checks.adds_up(rows["advantages"], rows["values"], rows["returns"]),
        *rests,
        *([checks.shares_add_up(summed, total.share, total.total)] if total.share is not None else []),
        checks.parts_add_up(total.parts, total.total),
        checks.all_in_range(chosen),
        *last,
        *([score_stays(made.counted.kept, made.scored, ROWS)] if made.scored else []),
    ]


def _drawn(steps: Steps, chosen: Settings, use: Choices) -> list[charts.Drawn]:
    """Lists the pictures with the rows from which they are drawn."""
    rows, total, gae = steps.rows, steps.loss.total, steps.signal.estimates
    within = charts.Within.of(rows)
    words, mask, used = rows["word_written"], rows["mask"], rows["advantages_used"]
    bars, below = charts.advantage_picture(words, rows["advantages"], used, mask, within)
    policies = {"π_old": rows["old.p"], "π_ref": rows["reference.p"], "π_θ": rows["policy.p"]}
    added = (*total.parts, total.total)
    return [
        charts.clip_picture(charts.Points(rows["ratio"], used, rows["surrogate"], words, mask), fixed(chosen, LIVE)),
        bars,
        charts.gae_picture(gae, below, with_lambda(gae, use), within),
        charts.next_word_picture(policies, rows["vocabulary"]),
        charts.parts_picture(dict(zip(charts.PARTS[len(added)], added, strict=True))),
    ]
