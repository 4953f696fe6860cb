"""Grading again: who changes by how much, and why."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from blueprint.classes.results import Mark, Result, Results
from blueprint.quoting import unquoted


class Changed(NamedTuple):
    """A student whose total changed, from and to (None: nothing was marked), and a reason for each blank that did."""

    student: str
    name: str
    before: float | None
    after: float | None
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        who = " ".join(filter(None, (unquoted(self.student), unquoted(self.name))))
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{who}: {_points(self.before)} → {_points(self.after)}{reasons}"

    def data(self) -> dict[str, Any]:
        """Returns the same for programs."""
        return self._asdict() | {"reasons": list(self.reasons)}


def changes(before: Results, after: Results) -> Iterator[Changed]:
    """Yields the students whose total changed, in the order of the key; who is new in it, too."""
    known = {result.student: result for result in before.results}
    heads = _heads(before, after)
    for new in after.results:
        old = known.pop(new.student, Result(student=new.student))
        if old.total != new.total:
            yield Changed(new.student, new.name, old.total, new.total, (*heads, *_reasons(old, new)))
    for gone in known.values():
        if gone.total is not None:
            yield Changed(gone.student, gone.name, gone.total, None, ("is not in the key any more",))


def _heads(before: Results, after: Results) -> list[str]:
    """Says what changed for all: what the whole is worth, and weights."""
    weights = {each.id: each.weight for each in before.blanks}
    said = [f"all is worth {after.points:g}, not {before.points:g}"] if before.points != after.points else []
    moved = [each for each in after.blanks if weights.get(each.id) != each.weight]
    return said + [
        f"{each.id} counts {each.weight:g}, not {weights[each.id]:g}" for each in moved if each.id in weights
    ]


def _reasons(old: Result, new: Result) -> Iterator[str]:
    if old.file != new.file:
        yield f"{unquoted(new.file)} is marked, not {unquoted(old.file)}"
    for id in dict.fromkeys([*old.marks, *new.marks]):
        before, after = old.marks.get(id), new.marks.get(id)
        if (before and before.points) != (after and after.points) or _excused(before) != _excused(after):
            yield f"{id} {_said(before)} → {_said(after)}{f' ({unquoted(after.why, 200)})' if after else ''}"
    if old.penalty != new.penalty:
        yield f"late: {old.penalty:.0%} → {new.penalty:.0%}"


def _excused(mark: Mark | None) -> bool:
    return mark is not None and mark.status == "excused"


def _said(mark: Mark | None) -> str:
    return "none" if mark is None else f"{mark.status} {mark.points:g}"


def _points(total: float | None) -> str:
    return "–" if total is None else f"{total:g}"
