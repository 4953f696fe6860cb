"""The record of the advantage: returns, baselines, values and GAE, and the variance of the gradient by each."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the advantage",
    levels={"traces": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"traces": "trace.action"},
    misconceptions="lesson:MISCONCEPTIONS",
)
