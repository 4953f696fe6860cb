"""From judged cells to marks: points, status and a sentence for each blank, without the answer."""

from collections import Counter
from collections.abc import Sequence

from blueprint.classes.key import KeyBlank
from blueprint.classes.marking import Judged, Marking, said
from blueprint.classes.results import Mark, Status
from blueprint.language import Cell

SAYS = {
    "right": "right",
    "empty": "nothing was filled in",
    "carried": "right with the number in {earlier}, which is wrong",
    "wrong": "wrong",
}
CONSTANT = "a number stands where a formula was asked for"


def marks_of(marking: Marking) -> dict[str, Mark]:
    """Returns a mark for each blank of a student, by its id."""
    return {blank.id: mark_of(marking, blank) for blank in marking.course.key.blanks}


def mark_of(marking: Marking, blank: KeyBlank) -> Mark:
    """Marks a blank; of several cells each counts the same."""
    answers, course = marking.answers[blank.id], marking.course
    given = [each.number for each in answers]
    if excused := course.policy.excuses(marking.student.id, blank.id):
        return Mark(points=0, status="excused", why=excused.why or "does not count for you", given=given)
    cells = [Cell(course.blanks[blank.id].block, at) for at in course.blanks[blank.id].cells]
    judged = _counting(marking, cells, [marking.judged(cell) for cell in cells])
    counts = Counter(each.status for each in judged)
    earned = counts["right"] + counts["carried"] * course.policy.carried.cap
    status = _status(counts, len(judged))
    wrong = marking.misconception(blank) if counts["wrong"] else None
    pasted = blank.asks == "formula" and is_constant(marking, blank)
    return Mark(
        points=earned / len(judged) * (course.policy.constants if pasted else 1.0),
        status=status,
        why=_why(status, judged, counts, wrong.says if wrong else "", pasted),
        misconception=wrong.name if wrong else None,
        says=wrong.says if wrong else "",
        given=given,
        right=counts["right"] + counts["carried"],
        came_from=list(dict.fromkeys(id for each in judged if each.status == "carried" for id in each.came_from)),
    )


def _counting(marking: Marking, cells: Sequence[Cell], judged: list[Judged]) -> list[Judged]:
    """Leaves out the cells of a row that stand in grey columns: what is there does not count, filled in or not."""
    if len(cells) == 1 or all(each.status == "right" for each in judged):
        return judged
    graph, values = marking.course.graph, marking.carried
    kept = [each for cell, each in zip(cells, judged, strict=True) if graph.counts(cell.block, cell.places, values)]
    return kept or judged


def is_constant(marking: Marking, blank: KeyBlank) -> bool:
    """Tells whether a number was typed into one of a blank's cells, without a formula."""
    return any(each.number is not None and each.formula is None for each in marking.answers[blank.id])


def _status(counts: Counter[str], cells: int) -> Status:
    whole: tuple[Status, ...] = ("right", "empty", "unreadable")
    if status := next((each for each in whole if counts[each] == cells), None):
        return status
    if counts["right"] + counts["carried"] == cells:
        return "carried"
    return "unreadable" if counts["unreadable"] and not counts["wrong"] else "wrong"


def _why(status: Status, judged: Sequence[Judged], counts: Counter[str], says: str, pasted: bool) -> str:
    """Returns the sentence for a blank."""
    share = f"{counts['right'] + counts['carried']} of {len(judged)} cells are right" if len(judged) > 1 else ""
    ids = dict.fromkeys(id for each in judged if each.status == "carried" for id in each.came_from)
    parts = [SAYS[status].format(earlier=said(ids)) if status in SAYS else "no number"]
    parts += [next((each.why for each in judged if each.why), "")]
    parts += [share] if status not in ("right", "carried", "empty") else []
    parts += [CONSTANT] if pasted else []
    return "; ".join(filter(None, parts)) + (f": {says}" if says else "")
