"""The record of value iteration on a grid."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "value iteration", "grid", "sweep.number")
