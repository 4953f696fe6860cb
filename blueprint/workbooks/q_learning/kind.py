"""The record of Q-learning on a grid."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "Q-learning",
    levels={"steps": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:SETTINGS",
    saved={"steps": "step.uniform"},
    misconceptions="definitions:MISCONCEPTIONS",
)
