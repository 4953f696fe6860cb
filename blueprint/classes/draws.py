"""Draws a variant for each student that is a good exercise, and says what a class would be asked.

A blank is bad where *every* cell of it is: in a row of twenty cells one may be 0. What all variants have alike (a copy is a
copy, whatever is typed) lies in the equations and not in the numbers; no drawing helps, so it is told, and not held against
a variant.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from blueprint.classes import ClassError
from blueprint.classes.assignment import Assignment
from blueprint.classes.key import KeyBlank
from blueprint.classes.variants import NoVariant
from blueprint.language import Cell, Computation, NoNumber, Values
from blueprint.misconceptions import wrong_values
from blueprint.page.outline import Blank, Blueprint
from blueprint.quoting import unquoted
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kind_named
from blueprint.worksheets.choosing import is_one, is_zero, repeats, same, ties, ways_of
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import Search, answers_of
from blueprint.worksheets.making import can_be_checked

RULES = {
    "number": "a computation ends without a number",
    "file": "the numbers are refused as a file, or the sheets would be others",
    "counts": "other columns count: a text has another length",
    "zero": "the answer is 0, as far as the sheet shows it",
    "one": "the answer is 1 or −1, as far as the sheet shows it",
    "repeats": "the answer shows the digits of a number that its equation reads",
    "tie": "both sides of a minimum, maximum or condition are the same",
    "branch": "a minimum, maximum or condition goes the same way in the whole row",
    "alike": "two misconceptions, or one and the right way, give the same number",
    "told": "another number of the file shows the answer",
    "typed": "a number that is typed looks like the answer",
    "check": "the check digits hang on how the answer is rounded",
}
"""Why a variant is drawn again."""
OF_CELLS: dict[str, Callable[[Cell, Values], bool]] = {"zero": is_zero, "one": is_one, "repeats": repeats, "tie": ties}
"""The rules that a blank breaks where every cell of it does."""
RIGHT = "the right way"
SOMETIMES, OFTEN = 1 / 4, 3 / 4
"""In what share of variants two misconceptions, or one and the right way, are alike where that lies in the equations; and a
typed number looks like an answer where that lies in how few digits it has."""


class Finding(NamedTuple):
    """What is bad: a rule, the number of the blank (None: the whole variant), and what of it, for pairs."""

    rule: str
    blank: int | None = None
    of: str = ""


class Screen:
    """Looks at variants of one worksheet.

    blueprint: with its blanks. kind: whose misconceptions are known. shown: cells of rows whose answers stand elsewhere, so
    that their formula is what is asked.
    """

    def __init__(self, blueprint: Blueprint, kind: Kind | None, shown: Collection[Cell] = ()):
        self.blueprint, self.kind, self.shown = blueprint, kind, shown
        self.graph = graph = Graph(blueprint)  # the same in all variants
        self.greys = [sheet.grey for sheet in blueprint.sheets if sheet.grey is not None]  # 0: a column does not count
        needed = graph.above([*(blank.block for blank in blueprint.blanks), *self.greys])
        self.needed = Computation([block for block in graph.blocks if block in needed], blueprint.sizes)
        self.whole = Computation(graph.blocks, blueprint.sizes)
        values = self.whole.values(blueprint.typed)
        self._counted = self.counted(values)
        self._usual = {blank.title: self._wrong(blank, values) for blank in blueprint.blanks}

    def values(self, blueprint: Blueprint) -> Values:
        """Computes what the answers of a variant come from. Raises NoNumber."""
        return self.needed.values(blueprint.typed)

    def quick(self, values: Values) -> set[Finding]:
        """Finds what can be seen in the numbers that the answers come from."""
        found = {Finding("counts")} if self.counted(values) != self._counted else set()
        for number, blank in enumerate(self.blueprint.blanks):
            found |= {Finding(rule, number) for rule in self._rules_broken(blank, values)}
            found |= {
                Finding("branch", number, str(i))
                for i, ways in enumerate(ways_of(blank.block, values))
                if len(ways) < 2
            }
        return found

    def thorough(self, variant: Blueprint) -> set[Finding]:
        """Finds what only all numbers of a variant show. Raises NoNumber."""
        values, found = self.whole.values(variant.typed), set[Finding]()
        for number, blank in enumerate(self.blueprint.blanks):
            found |= {Finding("alike", number, pair) for pair in self._alike(blank, values)}
        numbers = {blank.title: number for number, blank in enumerate(self.blueprint.blanks)}
        leaks = Search(variant, values, shown=self.shown, graph=self.graph).with_all_empty()
        return found | {Finding("typed" if leak.typed else "told", numbers[leak.blank.title]) for leak in leaks}

    def answers(self, values: Values) -> list[list[float]]:
        """Returns what belongs into the cells of each blank."""
        return [answers_of(blank, values) for blank in self.blueprint.blanks]

    def counted(self, values: Values) -> list[bytes]:
        """Returns which columns count."""
        return [(values[block] != 0).tobytes() for block in self.greys]

    def _rules_broken(self, blank: Blank, values: Values) -> Iterator[str]:
        cells = [Cell(blank.block, at) for at in blank.cells]
        yield from (rule for rule, broken in OF_CELLS.items() if all(broken(cell, values) for cell in cells))
        if blank.check is not None and not can_be_checked(answers_of(blank, values)):
            yield "check"

    def _alike(self, blank: Blank, values: Values) -> Iterator[str]:
        """Yields the pairs of misconceptions that give the same number, to the digits that the sheet shows."""
        decimals = blank.block.about.decimals
        known = [(RIGHT, tuple(answers_of(blank, values))), *self._wrong(blank, values)]
        for i, (name, numbers) in enumerate(known):
            for other, others in known[:i]:
                if name != other and all(same(a, b, decimals) for a, b in zip(numbers, others, strict=True)):
                    yield f"{other} / {name}"
        gone = {name for name, _ in self._usual[blank.title]} - {name for name, _ in known}
        yield from (f"{RIGHT} / {name}" for name in gone)

    def _wrong(self, blank: Blank, values: Values) -> list[tuple[str, tuple[float, ...]]]:
        """Returns the misconceptions of a row and what they give; one that gives the right numbers is none."""
        found = wrong_values(self.kind, self.blueprint, values, blank, mechanical=False)
        return [(each.name, each.numbers) for each in found]


def always(findings: Sequence[set[Finding]]) -> set[Finding]:
    """Returns what lies in the equations, and not in the numbers, of variants.

    That is what all of them have, and misconceptions that are alike in many: in one branch of a minimum two mistakes are one.
    """

    def share(finding: Finding) -> float:
        if finding.rule == "alike" and finding.of.startswith(RIGHT):
            return OFTEN
        return SOMETIMES if finding.rule in ("alike", "typed") else 1.0

    times = Counter(each for found in findings for each in found)
    return {each for each, count in times.items() if count >= share(each) * len(findings)}


Refused = Counter[tuple[str, int | None]]
"""How often a draw was refused, by rule and number of the blank; None: of the whole variant."""
UNTOLD = ("branch", "alike", "typed")
"""What is no fault of a blank where all variants have it."""
MOST_ATTEMPTS, PROBES = 200, 12
"""Draws after which a student's variant is given up, and those from which one learns what all variants have alike."""


class Drawn(NamedTuple):
    """What a student gets: typed inputs by block, answers by blank's id.

    refused: why draws were refused, by rule and blank. again: how many were.
    """

    student: str
    typed: dict[str, Any]
    answers: dict[str, list[float]]
    refused: Counter[tuple[str, int | None]]
    again: int


class Draws:
    """Draws variants of an assignment.

    known: what all its variants have alike, where that was found before.
    """

    def __init__(self, assignment: Assignment, known: set[Finding] | None = None):
        self.assignment, self.known = assignment, known

    @cached_property
    def screen(self) -> Screen:
        """What tells good variants from bad ones."""
        made, kind = self.assignment.worksheet, kind_named(self.assignment.variation.numbers.kind)
        return Screen(made.blueprint, kind, made.shown)

    @cached_property
    def always(self) -> set[Finding]:
        """What the numbers themselves and a few variants have alike, so that no drawing helps.

        Raises ClassError where hardly a draw is a variant at all, and for a blank of which the answer is always 0.
        """
        if self.known is not None:
            return self.known
        found = always(self._probes())
        if zero := next((each for each in found if each.rule == "zero"), None):
            raise ClassError(
                f"{self._which(zero.blank)}{RULES['zero']}, in every variant: ask for another blank, or vary something else"
            )
        return found

    def _probes(self) -> list[set[Finding]]:
        found, variation = [self._found(self.assignment.worksheet.blueprint)], self.assignment.variation
        for attempt in range(MOST_ATTEMPTS):
            with suppress(NoVariant, NoNumber):
                found.append(self._found(self.assignment.blueprint(variation.typed("\0probe", attempt))))
            if len(found) > PROBES:
                return found
        raise ClassError(
            f"--vary {','.join(variation.keys)}: of {MOST_ATTEMPTS} variants hardly one has the sheets of the numbers file, and "
            "a number in every cell: vary less"
        )

    @cached_property
    def warnings(self) -> list[str]:
        """What all variants have alike, a line for each blank: it may be meant so, and no drawing helps."""
        told = sorted(
            {(each.blank, each.rule) for each in self.always if each.blank is not None and each.rule not in UNTOLD}
        )
        return [f"{self._which(blank)}in every variant {RULES[rule]}" for blank, rule in told]

    def _found(self, variant: Blueprint) -> set[Finding]:
        return self.screen.quick(self.screen.values(variant)) | self.screen.thorough(variant)

    def drawn(self, student: str) -> Drawn:
        """Draws the variant of a student. Raises ClassError, which names the blank, where no draw is a good exercise."""
        refused: Refused = Counter()
        for attempt in range(MOST_ATTEMPTS):
            try:
                typed = self.assignment.variation.typed(student, attempt)
                variant = self.assignment.blueprint(typed)
                values = self.screen.values(variant)
                found = self.screen.quick(values) - self.always or self.screen.thorough(variant) - self.always
            except NoVariant:
                found = {Finding("file")}
            except NoNumber:
                found = {Finding("number")}
            if not found:
                answers = dict(zip(self.assignment.ids, self.screen.answers(values), strict=True))
                return Drawn(student, typed, answers, refused, attempt)
            refused.update({(each.rule, each.blank) for each in found})
        (rule, blank), times = refused.most_common(1)[0]
        raise ClassError(
            f"{self._which(blank)}{RULES[rule]}, in {times} of {MOST_ATTEMPTS} variants drawn for student {unquoted(student)}; "
            "nothing was written: ask for another blank, or vary something else"
        )

    def _which(self, blank: int | None) -> str:
        """Names a blank; the empty text, where the whole variant is meant."""
        return (
            "" if blank is None else f"{self.assignment.ids[blank]} ({self.assignment.worksheet.blanks[blank].title}): "
        )


@dataclass(frozen=True)
class Answers:
    """A blank, and the answers of some students.

    least, middle, most: of all its cells. different: how many different answers there are, to the digits that the sheet shows.
    """

    blank: KeyBlank
    least: float
    middle: float
    most: float
    different: int

    @classmethod
    def of(cls, blank: KeyBlank, answers: Sequence[Sequence[float]]) -> "Answers":
        """Sums up what the cells of a blank hold, student by student."""
        numbers = [number for cells in answers for number in cells]
        shown = {tuple(round(number, blank.decimals) for number in cells) for cells in answers}
        return cls(blank, min(numbers), median(numbers), max(numbers), len(shown))


def same_for_all(blanks: Sequence[KeyBlank], answers: Sequence[Mapping[str, list[float]]]) -> list[str]:
    """Says of which blanks everybody in a class of several has the same answer, a line for each.

    answers: of each student, by the blank's id.
    """
    return [
        f"{blank.id} ({blank.title}): every student has the same answer"
        for blank in blanks
        if len(answers) > 1 and Answers.of(blank, [of[blank.id] for of in answers]).different == 1
    ]


@dataclass(frozen=True)
class Preview:
    """What a class would be asked. again: draws that were no good exercise, refused: why, by rule and number of the blank."""

    blanks: tuple[Answers, ...]
    varies: tuple[str, ...]
    students: int
    again: int
    refused: Refused
    warnings: tuple[str, ...]


def preview(assignment: Assignment, students: int, progress: Callable[[int], object]) -> Preview:
    """Draws a variant for each of some students who are not there, and writes nothing.

    students: how many. Raises ClassError where a variant cannot be drawn.
    """
    assignment = assignment.settled()
    draws, drawn = Draws(assignment), []
    for number in range(1, students + 1):
        drawn.append(draws.drawn(f"student {number}"))
        progress(1)
    blanks = [Answers.of(blank, [found.answers[blank.id] for found in drawn]) for blank in assignment.blanks]
    refused = sum((found.refused for found in drawn), Refused())
    again = sum(found.again for found in drawn)
    warnings = *draws.warnings, *same_for_all(assignment.blanks, [found.answers for found in drawn])
    return Preview(tuple(blanks), (*assignment.variation.keys,), students, again, refused, warnings)
