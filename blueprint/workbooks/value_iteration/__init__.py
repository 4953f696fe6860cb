"""Value iteration on a small grid: what each cell is worth, sweep by sweep."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "value iteration", "grid", "sweep.number")
