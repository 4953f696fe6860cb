"""What a class is asked: one worksheet, the numbers it departs from, and the file and the token of each student."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from blueprint.book import Book
from blueprint.classes.key import Key, KeyBlank, KeyStudent, token_of, with_departures
from blueprint.classes.variants import NoVariant, Variation, resolved, variant_id
from blueprint.inputs import load, source_of
from blueprint.language import Block, Cell, Computation, NoNumber, Values
from blueprint.page import formulas, grid
from blueprint.page.blanks import check_of
from blueprint.page.layout import Layout
from blueprint.page.outline import Blueprint
from blueprint.workbooks.registry import level_of
from blueprint.worksheets import Asked, Worksheet, worksheet

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


def _shown(number: float | str, decimals: int) -> float | str:
    """Returns a number to the digits that a sheet shows, or the word of a limit that is off."""
    return number if isinstance(number, str) else round(number, decimals)
