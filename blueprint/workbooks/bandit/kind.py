"""The record of the bandit."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the bandit", "pulls", "arm.mean")
