"""The record of value iteration on a grid."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "value iteration",
    levels={"grid": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"grid": "sweep.number"},
    misconceptions="lesson:MISCONCEPTIONS",
)
