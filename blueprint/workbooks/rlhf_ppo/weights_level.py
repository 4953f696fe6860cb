"""The whole blueprint: from words and weights to the total loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common.axes import j, k, n, one, t, v
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions import checks
from blueprint.workbooks.common.definitions.choices import fixed
from blueprint.workbooks.common.definitions.metrics import EQUAL_RETURNS, variance_floor
from blueprint.workbooks.common.settings import settings, settings_sections
from blueprint.workbooks.common.sheets.witness_section import Witnessed
from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers
from blueprint.workbooks.rlhf_ppo.rollout import draw_range, length, prompts
from blueprint.workbooks.rlhf_ppo.sheets.inputs import inputs_sheet
from blueprint.workbooks.rlhf_ppo.sheets.walk import walk_sections
from blueprint.workbooks.rlhf_ppo.steps import Steps, models_of, steps_of
from blueprint.workbooks.rlhf_ppo.texts import DrawRange, Length, Prompts
from blueprint.workbooks.rlhf_ppo.whole import Plan, whole

NAMES: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
LOWEST_DRAW, HIGHEST_DRAW = 0.01, 0.99


def weights_level(numbers: WeightNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO from prompts, draws, weights and settings; with a witness's numbers if there are any."""
    given, draws, limit = prompts(bool(numbers.responses)), draw_range(), length()
    made = _live(numbers, given, limit, draws) if numbers.conventions.live else _plain(numbers, given, limit, draws)
    plan = replace(
        made,
        name=numbers.name, title=numbers.title, about=numbers.about, level="weights", first=len(numbers.prompts[0]),
        facts={"seed": str(numbers.seed)} | dict(made.facts),
        sizes=_sizes(numbers) | dict(made.sizes), names=NAMES | {v: given.vocabulary} | dict(made.names),
        checked=_checked(made.steps, given, draws, limit), by_name=_typed(numbers, draws, limit),
        choices=_choices(given) | dict(made.choices), ranges=_ranges(numbers, made.steps, limit),
    )  # fmt: skip
    return whole(plan, witnessed)


def _plain(numbers: WeightNumbers, given: Prompts, limit: Length, draws: DrawRange) -> Plan:
    """Takes the steps of the plain build."""
    chosen = settings(numbers.ppo)
    steps = steps_of(models_of(given, limit.most, draws, chosen.used["update_step"]), chosen)
    return Plan(
        steps=steps,
        chosen=chosen,
        before=(inputs_sheet(settings_sections(chosen), given, limit),),
        sums=steps.models.texts.mask,
        vocabulary=given.vocabulary,
        walk=walk_sections(steps),
        use=fixed(chosen, LIVE),
        floor=variance_floor(),
    )


def _live(numbers: WeightNumbers, given: Prompts, limit: Length, draws: DrawRange) -> Plan:
    """Takes the steps in which every convention is live."""
    # Imported here, because the plain build, which most people run, needs none of it.
    from blueprint.workbooks.common.conventions.inputs import chosen_of
    from blueprint.workbooks.rlhf_ppo.live.plan import live_plan

    chosen = chosen_of(numbers.ppo, numbers.conventions)
    models = models_of(given, limit.most, draws, chosen.settings.used["update_step"], chosen.temperature)
    return live_plan(models, chosen, numbers.conventions, inputs_sheet([], given, limit), given.vocabulary)


def _choices(given: Prompts) -> dict[Block, Block]:
    """Returns what is chosen from the vocabulary: the words of prompts, and of responses where these are typed."""
    return {each: given.vocabulary for each in (given.given, given.response) if each is not None}


def _ranges(numbers: WeightNumbers, steps: Steps, limit: Length) -> dict[Block, tuple[float, float]]:
    """Returns what may be typed besides the settings."""
    (draw,) = steps.models.texts.how
    return {limit.most: (1, numbers.max_new_tokens), draw: (LOWEST_DRAW, HIGHEST_DRAW)}


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


def _checked(steps: Steps, given: Prompts, draws: DrawRange, limit: Length) -> tuple[list[Block], list[Block]]:
    """Lists what must be 0 where prompts are given and words are drawn, before and after what always must."""
    (draw,) = steps.models.texts.how
    prompts_are_whole = [checks.no_gap(given.is_given), checks.not_empty(given.is_given)]
    return prompts_are_whole, [
        checks.in_range("draws", draw, *draws),
        checks.in_range("length", *limit),
    ]


def _texts(numbers: WeightNumbers, decisions: int) -> dict[str, object]:
    """Lays the prompts out: the start column holds the first word, empty cells follow the last."""
    rows = [[*prompt, *[""] * (decisions + 1 - len(prompt))] for prompt in numbers.prompts]
    texts = {"given": np.array(rows, dtype=object), "vocabulary": list(numbers.vocabulary)}
    return texts | ({"rollout.response": _responses(numbers, decisions)} if numbers.responses else {})


def _responses(numbers: WeightNumbers, decisions: int) -> NDArray[np.object_]:
    """Lays the responses out, (episodes, T): the first word where the last prompt word is read, empty cells elsewhere."""
    rows = np.full((len(numbers.prompts), decisions), "", dtype=object)
    for row, prompt, response in zip(rows, numbers.prompts, numbers.responses, strict=True):
        row[len(prompt) - 1 : len(prompt) - 1 + len(response)] = response
    return rows
