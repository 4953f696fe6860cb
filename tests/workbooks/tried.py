"""What is tried in a workbook's first hour: typed into the file, recalculated, and what one should see then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blueprint.workbooks.common.guides.sheets import Try, tries
from tests.page.finished import Area, Engine, Finished
from tests.workbooks.test_labels import BOOKS

FIRST = 3
"""The column, counted from 0, that writes the first response word of the default example."""


def typed_in(file: Finished, change: Try) -> Engine:
    """Types a change into a workbook and recalculates it."""
    engine = Engine(file.path)
    for name, value in change.type.items():
        place = file.places[name]
        column = place.left + (FIRST if change.first else 0)
        engine.type(place.sheet, place.top, column, value if isinstance(value, str) else float(value))
    engine.evaluate()
    return engine


def row(engine: Engine, place: Area, columns: range) -> np.ndarray:
    """Returns a row of the first episode."""
    return np.array([engine.value(place.sheet, place.top, place.left + column) for column in columns], dtype=float)


DEFAULT = tries(BOOKS["default"].blocks)
RESPONSE = range(FIRST, FIRST + 4)
# What the sentence says besides the number, by the name of what is typed.
Holds = Callable[[Engine, dict[str, Area]], bool]


def agree(a: str, b: str) -> Holds:
    """Says that two rows are the same on the first response; neither has a start column."""
    return lambda engine, at: np.allclose(row(engine, at[a], RESPONSE), row(engine, at[b], RESPONSE), atol=1e-12)


SAYS: dict[str, Holds] = {
    "update_step.yours": lambda engine, at: (
        bool((row(engine, at["ratio"], RESPONSE) == 1).all())
        and abs(float(engine.value(at["policy_loss"].sheet, at["policy_loss"].top, at["policy_loss"].left) or 0))
        < 1e-12
    ),
    "gae_lambda.yours": agree("advantages", "td_errors"),
    "gamma.yours": lambda engine, at: np.allclose(
        row(engine, at["returns"], RESPONSE), np.cumsum(row(engine, at["rewards"], RESPONSE)[::-1])[::-1], atol=1e-12
    ),
    "kl_coef.yours": lambda engine, at: bool((row(engine, at["reward.penalty"], RESPONSE) > 0).any()),
    "kl_estimator.yours": lambda engine, at: bool((row(engine, at["kl.used"], RESPONSE) >= 0).all()),
    "whiten_advantages.yours": agree("advantages_used", "advantages"),
    "clip_range.yours": agree("surrogate.unclipped", "surrogate"),
    "value_clip_range.yours": lambda engine, at: (
        bool((row(engine, at["value.square"], RESPONSE) >= 0).all())
        and np.allclose(
            row(engine, at["value.clipped"], RESPONSE), row(engine, at["critic.values"], RESPONSE), atol=1e-12
        )
    ),
    "reward_model.head.b": lambda engine, at: (
        abs(
            float(
                engine.value(
                    at["mean.advantages_used"].sheet, at["mean.advantages_used"].top, at["mean.advantages_used"].left
                )
                or 0
            )
        )
        < 1e-12
    ),
    "rollout.draw": lambda engine, at: row(engine, at["mask"], range(FIRST + 1, FIRST + 5)).tolist() == [1, 0, 0, 0],
}
