"""The record of Q-learning on a grid."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "Q-learning",
    levels={"steps": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"steps": "step.uniform"},
    misconceptions="lesson:MISCONCEPTIONS",
)
