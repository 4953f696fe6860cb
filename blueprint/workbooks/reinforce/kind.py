"""The record of REINFORCE."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "REINFORCE", "bandit", "draws.uniform")
