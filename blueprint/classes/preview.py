"""Before a class is made: which blanks there are, in which order, and how the answers of some students would be spread."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from blueprint.classes.assignment import Assignment
from blueprint.classes.draws import Draws, Refused
from blueprint.classes.key import KeyBlank


@dataclass(frozen=True)
class Answers:
    """A blank, and the answers of the students that were tried.

    least, middle, most: of all its cells. different: how many different answers there are, to the digits that the sheet shows.
    """

    blank: KeyBlank
    least: float
    middle: float
    most: float
    different: int


@dataclass(frozen=True)
class Preview:
    """What a class would be asked. again: draws that were no good exercise, refused: why, by rule and number of the blank."""

    blanks: tuple[Answers, ...]
    varies: tuple[str, ...]
    students: int
    again: int
    refused: Refused
    warnings: tuple[str, ...]


def preview(assignment: Assignment, students: int, progress: Callable[[int], object] = lambda done: None) -> Preview:
    """Draws a variant for each of some students who are not there, and writes nothing.

    students: how many. Raises ClassError where a variant cannot be drawn.
    """
    assignment = assignment.settled()
    draws, drawn = Draws(assignment), []
    for number in range(1, students + 1):
        drawn.append(draws.drawn(f"student {number}"))
        progress(1)
    blanks = []
    for blank in assignment.blanks:
        each = [found.answers[blank.id] for found in drawn]
        numbers = [number for answers in each for number in answers]
        shown = {tuple(round(number, blank.decimals) for number in answers) for answers in each}
        blanks.append(Answers(blank, min(numbers), median(numbers), max(numbers), len(shown)))
    refused = sum((found.refused for found in drawn), Refused())
    again = sum(found.again for found in drawn)
    return Preview(tuple(blanks), (*assignment.variation.keys,), students, again, refused, (*draws.warnings,))
