"""The record of Q-learning on a grid."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "Q-learning", "steps", "step.uniform")
