"""The record of the optimum that PPO and DPO share."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the optimum of PPO and DPO", "enumerated", "way.step")
