"""The blueprint of Q-learning: a map, and a draw for every step; what it says, its sheets and its charts stand in `lesson.toml`."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import WithJsonSchema

from blueprint.inputs import Draft, Level, Numbers, NumbersError, Part, Values, settings_in
from blueprint.inputs.entries import Draw, Positive, Text, must_be
from blueprint.language import Block, Sum, equal, where
from blueprint.workbooks.common import Choices, Rows, Settings, all_in_range
from blueprint.workbooks.common.grid_map import ARROWS, DOWNWARDS, MOVES, RIGHTWARDS, Cell, check_start
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.q_learning.definitions import (
    LABELS,
    a,
    as_gae,
    d,
    e,
    episodes,
    i,
    j,
    moves,
    pictures,
    s,
    states,
    steps,
    t,
)

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings
MOST_STATES, MOST_EPISODES, MOST_STEPS = 16, 16, 160
Episodes = Annotated[
    Positive,
    must_be(f"a whole number of at most {MOST_EPISODES}", lambda number: number <= MOST_EPISODES),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_EPISODES}),
]
Move = Annotated[
    Text,
    must_be("up, down, left, right or nothing", lambda text: text in ("", *MOVES)),
    WithJsonSchema({"enum": ["", *MOVES]}),
]


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file. Raises NumbersError if the map has two starts or too many cells."""
    parts = draft.fitted()
    map_ = parts["grid.map"]
    check_start(map_)
    if len(map_) * len(map_[0]) > MOST_STATES:
        raise NumbersError(
            f"grid.map: found {len(map_)} by {len(map_[0])} cells, expected {MOST_STATES} at most, for every step has all of them."
        )
    return draft.numbers(parts)


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what is typed and not in a file: the numbers of states, moves and episodes, and where they are."""
    height, width = len(numbers["grid.map"]), len(numbers["grid.map"][0])
    place = np.arange(float(height * width))
    return {
        "grid.number": place.reshape(height, width),
        "state.number": place,
        "state.row": place // width,
        "state.column": place % width,
        "move.word": np.array(MOVES, dtype=object),
        "move.down": np.array(DOWNWARDS),
        "move.right": np.array(RIGHTWARDS),
        "move.number": np.arange(4.0),
        "move.weight": 2 ** np.arange(4.0),
        "draw.digits": 9.0,
        "arrows": np.array(ARROWS, dtype=object),
        "episode.number": np.arange(1.0, numbers["grid.episodes"] + 1),
    }


def _saved(file: Any, parts: Values) -> Values:
    """Return how many episodes a saved workbook has."""
    return {"grid.episodes": file.array("episode.number", 1).size}


LEVEL = Level(
    "q_learning",
    "steps",
    "a map, and a uniform draw for every step",
    parts=(
        Part("grid.map", Cell, ("row", "column"), "S start, G goal, # wall, . free; who walks into a wall stays", noun="cell",
             block="grid.map"),
        Part("grid.episodes", Episodes, (), "after how many episodes learning ends"),
        Part("steps.uniform", Draw, ("step",), "a number from 0.01 to 0.99 per step: chance, typed", block="step.uniform"),
        Part("steps.moves", Move, ("step",), "up, down, left or right; nothing: as the policy draws", noun="move",
             block="step.typed_move"),
    ),
    tables={"q_learning": "settings; one that is left out is as here", "grid": "the map, and how many episodes",
            "steps": "an entry per step, all episodes one after the other"},
    settings=SETTINGS,
    of_settings="q_learning",
    limits={"row": (1, MOST_STATES), "column": (1, MOST_STATES), "step": (1, MOST_STEPS)},
    make=_numbers,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0: chances add up, a step changes one value, and with λ = 0 GAE is the TD error."""
    lam = use.used["gae_lambda"]
    return [
        use.along("check.chances", (t,), abs(Sum(a, of["step.p"][t, a]) - 1)),
        use.along("check.gae", (t,), where(equal(lam, 0), abs(of["gae.difference"][t]), 0)),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=t,
    steps=(states, moves, steps, as_gae, episodes, pictures),
    checks=checks_of,
    sizes={
        i: "grid.map",
        j: ("grid.map", 1),
        s: "state.number",
        a: "move.number",
        t: "step.uniform",
        e: "episode.number",
        d: "arrows",
    },
    names={a: "move.word"},
)
