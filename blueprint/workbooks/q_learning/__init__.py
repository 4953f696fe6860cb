"""Q-learning on a small grid: every step a column, every move's value after each of them."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "Q-learning", "steps", "step.uniform")
