"""What a class is asked: one worksheet, the numbers it departs from, and a variant for each student that is a good exercise.

A blank is bad where *every* cell of it is: in a row of twenty cells one may be 0. What all variants have alike (a copy is a
copy, whatever is typed) lies in the equations and not in the numbers; no drawing helps, so it is told, and not held against
a variant.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from blueprint.book import Book
from blueprint.classes import ClassError
from blueprint.classes.key import Key, KeyBlank, KeyStudent, token_of, with_departures
from blueprint.classes.variants import NoVariant, Variation, resolved, variant_id
from blueprint.inputs import load, source_of
from blueprint.language import Block, Cell, Computation, NoNumber, Values
from blueprint.misconceptions import wrong_values
from blueprint.page import formulas, grid
from blueprint.page.blanks import check_of
from blueprint.page.layout import Layout
from blueprint.page.outline import Blank, Blueprint
from blueprint.quoting import unquoted
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kind_named, level_of
from blueprint.worksheets import Asked, Worksheet, worksheet
from blueprint.worksheets.choosing import is_one, is_zero, repeats, same, ties, ways_of
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import Search, answers_of
from blueprint.worksheets.making import can_be_checked

ROWS = 2
"""The level at which whole rows are blank."""
COMPARED, MOST_COMPARED, MANY = 6, 50, 1 / 3
"""Variants in which one looks whether everybody has the same answer, draws until there are so many, and the share of them
from which on it seems so."""


@dataclass(frozen=True)
class Assignment:
    """What a class is asked: everything from which the file of each student follows, but for the student.

    Attributes:
        name: of the assignment, as tokens bear it. numbers: a complete numbers file.
        asked: how many blanks are chosen, or which, each with its weight; None: 12, or as many as there can be.
        level: 1 cells, 2 rows, 3 sections.
        vary: what varies, see `variants.resolved`. seed: what variants, and blanks that are chosen, are drawn from.
        check: whether files hold check digits. secret: of the tokens, in hex. rows: whether the blanks asked for are rows,
            into which a section was taken apart. equations: whether those of blanks are printed. topic: of which alone blanks
            are chosen.
    """

    name: str
    numbers: str
    asked: int | tuple[tuple[str, float], ...] | None = 12
    level: int = 1
    vary: tuple[str, ...] = ()
    seed: int = 0
    check: bool = False
    secret: str = field(default="", repr=False)
    rows: bool = False
    equations: bool = True
    topic: str = ""

    @cached_property
    def variation(self) -> Variation:
        """What varies, and how. Raises NumbersError and ClassError."""
        numbers = load(source_of(self.numbers, Path(f"{self.name}.toml")))
        return Variation(numbers, tuple(resolved(level_of(numbers), numbers, self.vary)), self.name, self.seed)

    @cached_property
    def worksheet(self) -> Worksheet:
        """The worksheet of the numbers themselves. Raises WorksheetError."""
        asked = [Asked(*each) for each in self.asked] if isinstance(self.asked, tuple) else self.asked
        level, fixed = ROWS if self.rows else self.level, not self.variation.chooses
        return worksheet(
            self.variation.base,
            asked,
            level,
            self.check,
            str(self.seed),
            fixed,
            self.equations,
            self.topic,
            self.is_alike,
        )

    def is_alike(self, cell: Cell) -> bool:
        """Tells whether a cell shows the same number in many variants, the numbers themselves among them.

        So does the bound that clips a ratio. A variant whose ratio is not clipped is drawn again, since a mistake in the
        clip would not show; so in the end everybody has the same number.
        """
        decimals, block = cell.block.about.decimals, self._named[cell.block.name]
        shown = [_shown(values.cell(block, *cell.places), decimals) for values in self._variants]
        return len(shown) > 1 and max(Counter(shown).values()) >= MANY * len(shown)

    @cached_property
    def _named(self) -> dict[str, Block]:
        return {block.name: block for block in self.variation.base.blocks()}

    @cached_property
    def _variants(self) -> list[Values]:
        """All numbers, and those of some variants; fewer where hardly a draw is one, which is told of for a student's."""
        base = self.variation.base
        whole = Computation([*self._named.values()], base.sizes)
        found = [whole.values(base.typed)]
        for attempt in range(MOST_COMPARED):
            with suppress(NoVariant, NoNumber):
                found.append(whole.values(with_departures(base, self.variation.typed("\0compared", attempt)).typed))
            if len(found) > COMPARED:
                break
        return found

    def settled(self) -> "Assignment":
        """Returns the assignment with its blanks by name, as a key has them; those of a section are its rows."""
        asked = tuple((blank.title, blank.weight) for blank in self.worksheet.blanks)
        return replace(self, asked=asked, rows=self.level > ROWS)

    @classmethod
    def of(cls, key: Key) -> "Assignment":
        """Returns the assignment of a key, from which every file of the class can be made again."""
        asked = tuple((blank.title, blank.weight) for blank in key.blanks)
        given = (key.assignment, key.numbers, asked, key.level, tuple(key.vary), key.seed, key.check, key.secret)
        return cls(*given, rows=key.level > ROWS, equations=key.equations)

    @cached_property
    def ids(self) -> list[str]:
        """The ids of the blanks, `b01`, `b02`, …"""
        return [f"b{number:02}" for number in range(1, len(self.worksheet.blanks) + 1)]

    @cached_property
    def blanks(self) -> list[KeyBlank]:
        """The blanks as a key has them."""
        places = self.worksheet.book.layout.places
        return [
            KeyBlank(
                id=id,
                title=blank.title,
                block=blank.block.name,
                cells=[[*at] for at in blank.cells],
                sheet=places[blank.block].sheet,
                addresses=[grid.address(*places[blank.block].cell(blank.block, at)) for at in blank.cells],
                decimals=blank.block.about.decimals,
                weight=blank.weight,
                asks="formula" if blank.asks == "formula" else "number",
            )
            for id, blank in zip(self.ids, self.worksheet.blanks, strict=True)
        ]

    def blueprint(self, typed: Mapping[str, Any]) -> Blueprint:
        """Returns the worksheet with what a variant types otherwise; what no longer stands there is left out."""
        there = {block.name for block in self.worksheet.blueprint.typed}
        return with_departures(
            self.worksheet.blueprint, {name: cells for name, cells in typed.items() if name in there}
        )

    @cached_property
    def first(self) -> Layout:
        """A file that is nobody's, from which all others take their formulas; they are spelled here."""
        of = self.worksheet
        answers = {id: of.answers[blank.title] for id, blank in zip(self.ids, of.blanks, strict=True)}
        found = Book(self.handed_out("", {}, answers)).layout
        formulas.watch_of(found)
        return found

    def handed_out(self, student: str, typed: Mapping[str, Any], answers: Mapping[str, list[float]]) -> Blueprint:
        """Returns the blueprint of a student's file, which bears the student's token, and check digits of the student's answers."""
        made = self.blueprint(typed)
        blanks = tuple(
            blank if blank.check is None else replace(blank, check=check_of(answers[id]))
            for id, blank in zip(self.ids, made.blanks, strict=True)
        )
        facts = {**made.facts, "token": self.token(student, typed), "worksheet": str(self.level)}
        return replace(made, facts=facts, blanks=blanks)

    def key(self, students: list[KeyStudent]) -> Key:
        """Returns the key of a class."""
        return Key(
            assignment=self.name,
            seed=self.seed,
            secret=self.secret,
            level=self.level,  # type: ignore[arg-type]  # the worksheet has refused others
            kind=self.variation.numbers.kind,
            numbers=self.numbers,
            vary=[*self.variation.keys],
            check=self.check,
            equations=self.equations,
            blanks=self.blanks,
            students=students,
        )

    def token(self, student: str, typed: Mapping[str, Any]) -> str:
        """Returns a student's token."""
        return token_of(student, self.name, variant_id(typed), self.secret)


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


def _shown(number: float | str, decimals: int) -> float | str:
    """Returns a number to the digits that a sheet shows, or the word of a limit that is off."""
    return number if isinstance(number, str) else round(number, decimals)


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
