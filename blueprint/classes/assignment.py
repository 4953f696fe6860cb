"""What a class is asked: one worksheet, the numbers it departs from, and what follows from them for each student."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from blueprint.book import Book
from blueprint.classes.identity import token_of
from blueprint.classes.key import Key, KeyBlank, KeyStudent
from blueprint.classes.typed import with_departures
from blueprint.classes.variants import Variation, variant_id
from blueprint.classes.varying import resolved
from blueprint.inputs import load, source_of
from blueprint.page import grid
from blueprint.page.blanks import check_of
from blueprint.page.outline import Blueprint
from blueprint.page.series import Series
from blueprint.workbooks.registry import level_of
from blueprint.worksheets import Asked, Worksheet, worksheet

ROWS = 2
"""The level at which whole rows are blank."""


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
            self.variation.base, asked, level, self.check, str(self.seed), fixed, self.equations, self.topic
        )

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
        return [self._blank(id, number) for number, id in enumerate(self.ids)]

    def _blank(self, id: str, number: int) -> KeyBlank:
        blank = self.worksheet.blanks[number]
        place = self.worksheet.book.layout.places[blank.block]
        return KeyBlank(
            id=id,
            title=blank.title,
            block=blank.block.name,
            cells=[[*at] for at in blank.cells],
            sheet=place.sheet,
            addresses=[grid.address(*place.cell(blank.block, at)) for at in blank.cells],
            decimals=blank.block.about.decimals,
            weight=blank.weight,
            asks="formula" if blank.asks == "formula" else "number",
        )

    def blueprint(self, typed: Mapping[str, Any]) -> Blueprint:
        """Returns the worksheet with what a variant types otherwise; what no longer stands there is left out."""
        there = {block.name for block in self.worksheet.blueprint.typed}
        return with_departures(
            self.worksheet.blueprint, {name: cells for name, cells in typed.items() if name in there}
        )

    @cached_property
    def series(self) -> Series:
        """What writes files, each in a fraction of the time of the first, which is that of nobody."""
        answers = dict(
            zip(self.ids, (self.worksheet.answers[blank.title] for blank in self.worksheet.blanks), strict=True)
        )
        return Series(Book(self.handed_out("", {}, answers)))

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
