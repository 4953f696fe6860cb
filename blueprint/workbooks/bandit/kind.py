"""The record of the bandit."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the bandit",
    levels={"pulls": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"pulls": "arm.mean"},
    misconceptions="lesson:MISCONCEPTIONS",
)
