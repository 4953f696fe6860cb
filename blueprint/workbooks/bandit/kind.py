"""The record of the bandit."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the bandit",
    levels={"pulls": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:BANDIT",
    saved={"pulls": "arm.mean"},
    misconceptions="definitions:MISCONCEPTIONS",
)
