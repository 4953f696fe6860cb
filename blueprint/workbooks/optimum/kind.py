"""The record of the optimum that PPO and DPO share."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the optimum of PPO and DPO",
    levels={"enumerated": "build:LEVEL"},
    build="build:LESSON.blueprint",
    settings="build:OPTIMUM",
    saved={"enumerated": "way.step"},
    misconceptions="definitions:MISCONCEPTIONS",
)
