"""The blueprint of value iteration: a map, γ and rewards; what it says, its sheets and its charts stand in `lesson.toml`."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import WithJsonSchema

from blueprint.inputs import Draft, Level, Numbers, Part, Values, settings_in
from blueprint.inputs.entries import Positive, must_be
from blueprint.language import Block, Max, maximum
from blueprint.workbooks.common import Choices, Rows, Settings, all_in_range
from blueprint.workbooks.common.grid_map import ARROWS, Cell, check_start
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.value_iteration.definitions import (
    LABELS,
    d,
    grid,
    i,
    j,
    k,
    policy,
    progress,
    random_policy,
    sweeps,
)

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings
MOST_SWEEPS = 32
Sweeps = Annotated[
    Positive,
    must_be(f"a whole number of at most {MOST_SWEEPS}", lambda number: number <= MOST_SWEEPS),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_SWEEPS}),
]


def _numbers(draft: Draft) -> Numbers:
    parts = draft.fitted()
    check_start(parts["grid.map"])
    return draft.numbers(parts)


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what is typed and not in a file: the numbers of the sweeps, and an arrow for every set of moves."""
    return {"sweep.number": np.arange(1.0, numbers["grid.sweeps"] + 1), "arrows": np.array(ARROWS, dtype=object)}


def _saved(file: Any, parts: Values) -> Values:
    """Return how many sweeps a saved workbook has."""
    return {"grid.sweeps": file.array("sweep.number", 1).size}


LEVEL = Level(
    "value_iteration",
    "grid",
    "a map with walls and a goal",
    parts=(
        Part("grid.map", Cell, ("row", "column"), "S start, G goal, # wall, . free; who walks into a wall stays", noun="cell",
             block="grid.map"),
        Part("grid.sweeps", Sweeps, (), "how often every cell is computed anew, from 0 on"),
    ),
    tables={"value_iteration": "settings; one that is left out is as here", "grid": "the map, and how many sweeps"},
    settings=SETTINGS,
    of_settings="value_iteration",
    limits={"row": (1, 8), "column": (1, 8)},
    make=_numbers,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0.

    A sweep changes no cell by more than γ times the largest change before it, and no policy is worth more than the best one.
    """
    change, gamma = of["progress.change"], use.used["gamma"]
    return [
        use.one("check.map", Max((i, j), of["grid.strange"][i, j])),
        use.along("check.shrinks", (k,), maximum(0, change[k + 1] - gamma * change[k])),
        use.one("check.random", Max(k, of["progress.above"][k])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=k,
    steps=(grid, sweeps, policy, random_policy, progress),
    checks=checks_of,
    sizes={k: "sweep.number", i: "grid.map", j: ("grid.map", 1), d: len(ARROWS)},
)
