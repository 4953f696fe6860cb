"""A variant for each student, drawn until it is a good exercise."""

from collections import Counter
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from blueprint.classes.assignment import Assignment
from blueprint.classes.degenerate import RULES, Finding, Screen, always
from blueprint.classes.errors import ClassError
from blueprint.classes.variants import NoVariant
from blueprint.language import NoNumber
from blueprint.page.outline import Blueprint
from blueprint.quoting import unquoted
from blueprint.workbooks.registry import kind_named

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
