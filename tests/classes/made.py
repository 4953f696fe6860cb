"""Results of a small class, typed by hand."""

from __future__ import annotations

from blueprint.classes.results import Mark, Marked, Result, Results

RIGHT, WRONG = Mark(points=1, status="right", why="right", given=[0.5]), Mark(points=0, status="wrong", given=[2.5])
EXCUSED = Mark(points=0, status="excused")
BLANKS = [Marked(id="b01", title="delta@episode=1,token=3", sheet="Reward & advantage", cells=["F9"]),
          Marked(id="b02", title="advantages@episode=1,token=2", sheet="Reward & advantage", cells=["E10"], weight=3)]  # fmt: skip


def result(student: str, name: str, total: float | None, *marks: Mark, **more: object) -> Result:
    """Makes a student's result, of marks in the order of the blanks."""
    of = {blank.id: mark for blank, mark in zip(BLANKS, marks, strict=False)}
    return Result.model_validate({"student": student, "name": name, "total": total, "raw": total, "marks": of, **more})


def results(*of: Result, assignment: str = "hw1") -> Results:
    """Makes the results of a class whose blanks are worth 4 points."""
    return Results(assignment=assignment, points=4, blanks=BLANKS, results=[*of])
