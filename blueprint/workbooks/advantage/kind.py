"""The record of the advantage: returns, baselines, values and GAE, and the variance of the gradient by each."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the advantage",
    levels={"traces": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:ADVANTAGE",
    saved={"traces": "trace.action"},
    misconceptions="definitions:MISCONCEPTIONS",
)
