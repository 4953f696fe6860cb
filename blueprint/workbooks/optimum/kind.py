"""The record of the optimum that PPO and DPO share."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the optimum of PPO and DPO",
    levels={"enumerated": "lesson:LEVEL"},
    build="lesson:LESSON.blueprint",
    settings="lesson:SETTINGS",
    saved={"enumerated": "way.step"},
    misconceptions="lesson:MISCONCEPTIONS",
)
