"""The whole blueprint: from words and weights to the total loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from blueprint.language import Axis, Block
from blueprint.numbers import WeightNumbers
from blueprint.page.outline import Blueprint
from blueprint.ppo import checks
from blueprint.ppo.axes import j, k, n, one, t, v
from blueprint.ppo.diagnostics import EQUAL_RETURNS
from blueprint.ppo.facts import facts_of
from blueprint.ppo.rollout import DrawRange, Length, Prompts, draw_range, length, prompts
from blueprint.ppo.settings import Settings, settings
from blueprint.ppo.sheets import charts, flow, pieces, walk
from blueprint.ppo.sheets.beside import Witnessed, beside
from blueprint.ppo.sheets.checks import checks_sheet
from blueprint.ppo.sheets.diagnostics import diagnostics
from blueprint.ppo.sheets.inputs import inputs_sheet
from blueprint.ppo.sheets.start import Made, start_sheet
from blueprint.ppo.steps import Steps, steps_of

NAMES: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
LOWEST_DRAW, HIGHEST_DRAW = 0.01, 0.99


def weights_level(numbers: WeightNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO from prompts, draws, weights and settings; with a witness's numbers if there are any."""
    chosen, given, draws, limit = settings(numbers.ppo), prompts(), draw_range(), length()
    steps = steps_of(given, limit.most, draws, chosen)
    head, s = steps.old.head, steps.signal
    watched = diagnostics(head, steps.old.rollout, s, steps.loss, pieces.watched_rows(steps))
    identities = checks.identities(s.gae, s.reward.rewards, s.V, steps.old.rollout.mask, chosen)
    parts, listed = pieces.parts_of(steps), pieces.pieces_of(steps, watched)
    outside = beside(witnessed, list(dict.fromkeys(piece.shown for piece in (*parts, *listed)))) if witnessed else None
    checked, judged, tolerances = checks_sheet(
        head.on("checks"), _residuals(steps, given, draws, limit, chosen), identities, outside
    )
    picked, first_choice = walk.choice(episode=1, decision=len(numbers.prompts[0]))
    pictures, drawn = charts.charts_sheet(_drawn(steps, given, chosen), head.on("charts"))
    facts = facts_of(numbers.name, "weights") | {"seed": str(numbers.seed)}
    start = start_sheet(
        Made(numbers.title, numbers.about, facts), parts, listed, flow.flow_of_loss(steps), judged.verdict
    )
    told = walk.walk_sheet(picked, (head.reads, head.writes), walk.walk_sections(steps))
    blueprint = Blueprint(
        title=numbers.title,
        sheets=(start, told, inputs_sheet(chosen, given, limit), *steps.sheets(), watched.sheet, checked, pictures),
        sizes=_sizes(numbers),
        typed=chosen.typed | tolerances | first_choice | drawn,
        names=NAMES | {v: given.vocabulary},
        choices=chosen.choices | {given.given: given.vocabulary},
        ranges=chosen.ranges | walk.ranges(picked) | _ranges(numbers, steps, limit),
        facts=facts,
        result=steps.loss.total.total,
        parts=(steps.loss.total.policy_loss, *steps.loss.adds),
        chosen=picked,
    )
    return blueprint.with_typed(_typed(numbers, draws, limit))


def _ranges(numbers: WeightNumbers, steps: Steps, limit: Length) -> dict[Block, tuple[float, float]]:
    """Returns what may be typed besides the settings."""
    return {limit.most: (1, numbers.max_new_tokens), steps.old.rollout.draw: (LOWEST_DRAW, HIGHEST_DRAW)}


def _sizes(numbers: WeightNumbers) -> dict[Axis, int]:
    """Reads how many episodes, decisions, words and dimensions there are."""
    embedding, memory = numbers.weights["old.E"].shape[1], numbers.weights["old.W"].shape[1]
    return {n: len(numbers.prompts), t: numbers.draws.shape[1], v: len(numbers.vocabulary), k: embedding, j: memory}


def _typed(numbers: WeightNumbers, draws: DrawRange, limit: Length) -> Mapping[str, object]:
    """Lists texts, draws and weights by the names of their blocks."""
    weights = {block_name(key): weight for key, weight in numbers.weights.items()}
    most = numbers.max_new_tokens
    ends = {draws.low.name: LOWEST_DRAW, draws.high.name: HIGHEST_DRAW}
    ends |= {limit.most.name: most, limit.low.name: 1, limit.high.name: most}
    others = {"rollout.draw": numbers.draws, "explained_variance.floor": EQUAL_RETURNS}
    return _texts(numbers, numbers.draws.shape[1]) | others | ends | weights


def block_name(key: str) -> str:
    """Returns the block that holds a weight of the numbers file: `critic.delta_w` stands in `critic.delta.head.w`.

    In a sheet upper and lower case are the same, so w and W need names that differ.
    """
    model, part = key.split(".")
    words = ["delta"] if part.startswith("delta_") else []
    part = part.removeprefix("delta_")
    return ".".join([model, *words, *(["head"] if part in ("w", "b") else []), part])


def _residuals(steps: Steps, given: Prompts, draws: DrawRange, limit: Length, chosen: Settings) -> list[Block]:
    """Lists what must be 0 in every workbook."""
    s, loss = steps.signal, steps.loss
    models = {"old policy": steps.old.policy, "reference": steps.reference, "new policy": steps.policy}
    return [
        checks.no_gap(given.is_given),
        checks.not_empty(given.is_given),
        *(checks.sums_to_one(name, policy.words.p) for name, policy in models.items()),
        *(checks.not_positive(name, policy.logprobs) for name, policy in models.items()),
        checks.not_negative("exact_kl", "exact KL to reference is never negative", steps.reference_kl),
        checks.not_negative("k3", "k3 is never negative", s.kl.k3),
        checks.adds_up(s.gae.advantages, s.V, s.gae.returns),
        checks.ratio_rests(loss.ratio, chosen.used["update_step"]),
        checks.shares_add_up(steps.old.rollout.mask, loss.share, loss.total.total),
        checks.parts_add_up((loss.total.policy_loss, *loss.adds), loss.total.total),
        checks.all_in_range(chosen),
        checks.in_range("check.draws", "draws are within their range", steps.old.rollout.draw, *draws),
        checks.in_range("check.length", "words allowed are within their range", *limit),
    ]


def _drawn(steps: Steps, given: Prompts, chosen: Settings) -> list[charts.Drawn]:
    """Lists the pictures with the rows from which they are drawn."""
    s, loss, run = steps.signal, steps.loss, steps.old.rollout
    bars = charts.advantage_picture(2, run.word_written, s.gae.advantages, s.white.used, run.mask)
    points = charts.Points(loss.ratio, s.white.used, loss.clip.smaller, run.word_written, run.mask)
    policies = {"π_old": steps.old.policy, "π_ref": steps.reference, "π_θ": steps.policy}
    added = (loss.total.policy_loss, *loss.adds, loss.total.total)
    return [
        charts.clip_picture(1, points, chosen.used["clip_range"]),
        bars.drawn,
        charts.gae_picture(3, s.gae, run.mask, chosen.used["gamma"], bars.words),
        charts.next_word_picture(4, {name: policy.words.p for name, policy in policies.items()}, given.vocabulary),
        charts.parts_picture(5, dict(zip(charts.PARTS, added, strict=True))),
    ]


def _texts(numbers: WeightNumbers, decisions: int) -> dict[str, object]:
    """Lays the prompts out: the start column holds the first word, empty cells follow the last."""
    rows = [[*prompt, *[""] * (decisions + 1 - len(prompt))] for prompt in numbers.prompts]
    return {"given": np.array(rows, dtype=object), "vocabulary": list(numbers.vocabulary)}
