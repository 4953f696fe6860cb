"""The record of REINFORCE."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "REINFORCE",
    levels={"bandit": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"bandit": "draws.uniform"},
    misconceptions="lesson:MISCONCEPTIONS",
)
