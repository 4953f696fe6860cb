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
from blueprint.ppo.rollout import DrawRange, Length, Prompts, draw_range, length, prompts
from blueprint.ppo.settings import settings
from blueprint.ppo.sheets import walk
from blueprint.ppo.sheets.beside import Witnessed
from blueprint.ppo.sheets.inputs import inputs_sheet
from blueprint.ppo.steps import Steps, models_of, steps_of
from blueprint.ppo.whole import Plan, whole

NAMES: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
LOWEST_DRAW, HIGHEST_DRAW = 0.01, 0.99


def weights_level(numbers: WeightNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO from prompts, draws, weights and settings; with a witness's numbers if there are any."""
    given, draws, limit = prompts(), draw_range(), length()
    chosen = settings(numbers.ppo)
    steps = steps_of(models_of(given, limit.most, draws, chosen.used["update_step"]), chosen)
    s, mask = steps.signal, steps.models.texts.mask
    plan = Plan(
        name=numbers.name, title=numbers.title, about=numbers.about, level="weights", facts={"seed": str(numbers.seed)},
        first=len(numbers.prompts[0]),
        steps=steps, chosen=chosen, vocabulary=given.vocabulary, sizes=_sizes(numbers), names=NAMES | {v: given.vocabulary},
        before=(inputs_sheet(chosen, given, limit),),
        checked=_checked(steps, given, draws, limit), sums=mask, walk=walk.walk_sections(steps),
        identities=checks.identities(s.gae, s.reward.rewards, s.V, mask, chosen),
        typed={}, by_name=_typed(numbers, draws, limit), choices={given.given: given.vocabulary},
        ranges=_ranges(numbers, steps, limit),
    )  # fmt: skip
    return whole(plan, witnessed)


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
        checks.in_range("check.draws", "draws are within their range", draw, *draws),
        checks.in_range("check.length", "words allowed are within their range", *limit),
    ]


def _texts(numbers: WeightNumbers, decisions: int) -> dict[str, object]:
    """Lays the prompts out: the start column holds the first word, empty cells follow the last."""
    rows = [[*prompt, *[""] * (decisions + 1 - len(prompt))] for prompt in numbers.prompts]
    return {"given": np.array(rows, dtype=object), "vocabulary": list(numbers.vocabulary)}
