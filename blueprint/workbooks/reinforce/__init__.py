"""REINFORCE: the gradient of the expected reward, estimated from draws, with and without a baseline."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "REINFORCE", "bandit", "draws.uniform")
