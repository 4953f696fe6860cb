"""The record of value iteration on a grid."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "value iteration",
    levels={"grid": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:SETTINGS",
    saved={"grid": "sweep.number"},
    misconceptions="definitions:MISCONCEPTIONS",
)
