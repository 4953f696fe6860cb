"""The record of the adaptive KL controller."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the adaptive KL controller",
    levels={"controller": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"controller": "responses.kl"},
    misconceptions="lesson:MISCONCEPTIONS",
)
