"""Students who fill worksheets in: what each of them writes into the blanks, and what a fair grader must find.

Of ten, four do everything right, four hold a misconception in one step, one makes a mistake and goes on rightly with it, and
one writes nonsense. What a misconception gives comes from the list beside the definitions, as every planted mistake does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from blueprint.book import Book
from blueprint.classes.key import Key, KeyBlank, KeyStudent, base_of, with_departures
from blueprint.language import Block
from blueprint.misconceptions import Wrong, wrong_values
from blueprint.page.outline import Blank
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kind_named

Does = Literal["right", "misconception", "carried", "nonsense"]
OF_TEN: tuple[Does, ...] = ("right", "misconception", "right", "carried", "misconception", "right", "misconception", "nonsense",
                            "misconception", "right")  # fmt: skip
"""What each of ten students does, so that also of a small class someone does each."""
NONSENSE: tuple[Any, ...] = (
    None,
    "no idea",
    "=1/0",
    "=NA()",
    1e300,
    -7e7,
    "x²+y²",
    "12.3.4",
    "'",
    "𝛾·λ",
    True,
    "=SUM(",
    31337,
)
FIRST = (
    "Åsa",
    "Bo",
    "Çelik",
    "Đorđe",
    "Éva",
    "=Franz",
    "Gül",
    "Hoàng",
    "Íñigo",
    "Jane",
    "Łucja",
    "🙂 Mo",
    "O'Neil",
    "-Pia",
    "@Quý",
)
LAST = ("Ångström", "Doe, Jr.", 'van "Dyk"', "González_Ruiz", "Smith-Jones", "Öz", "Ng", "=cmd|x", "al/Din", "Żak")


@dataclass
class Filled:
    """What a student does, writes (blank id → a value for each cell), and must get: "right", "carried" or "wrong".

    Of what is not in `expects` nothing is claimed. named: the misconception that was planted, by the blank's id.
    """

    does: Does
    writes: dict[str, list[Any]]
    expects: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)


def name_of(number: int) -> str:
    """Makes a name that no spreadsheet, page or folder likes."""
    return f"{FIRST[number % len(FIRST)]} {LAST[number % len(LAST)]} {number}"


class Class:
    """All students of a key, who know the workbook."""

    def __init__(self, key: Key, seed: int = 1, of: Sequence[Does] = OF_TEN):
        """of: what the students do, in the key's order, from the beginning again after the last."""
        self.key = key
        self.base = base_of(key)
        self.kind: Kind = kind_named(key.kind)
        self.blocks: dict[str, Block] = {block.name: block for block in self.base.blocks()}
        self.seed, self.of = seed, of

    def fills_in(self, number: int) -> Filled:
        """Returns what the student of a place in the key's list writes."""
        student, does = self.key.students[number], self.of[number % len(self.of)]
        dice = random.Random(f"{self.seed}/{student.id}")
        true = student.answers
        filled = {
            "right": self._right, "misconception": self._misled, "carried": self._carrying, "nonsense": self._guessing,
        }[does](student, dice)  # fmt: skip
        for blank in self.key.blanks:
            if blank.id not in filled.writes:
                filled.writes[blank.id], filled.expects[blank.id] = [*true[blank.id]], "right"
            numbers = filled.writes[blank.id]
            style = dice.choice(("full", "shown", "comma", "formula")) if blank.asks == "number" else "full"
            filled.writes[blank.id] = [styled(each, blank, style) for each in numbers]
        return filled

    def _right(self, student: KeyStudent, dice: random.Random) -> Filled:
        return Filled("right", {})

    def _misled(self, student: KeyStudent, dice: random.Random) -> Filled:
        """Holds one misconception, in a step where it makes a difference that one can see."""
        values = Book(with_departures(self.base, student.typed)).values
        found = Filled("misconception", {})
        for blank in dice.sample(self.key.blanks, len(self.key.blanks)):
            wrong = [each for each in self._wrong(student, blank, values) if self._is_seen(each, student, blank)]
            if wrong:
                chosen = dice.choice(wrong)
                found.writes[blank.id], found.named[blank.id] = [*chosen.numbers], chosen.name
                found.expects[blank.id] = "wrong"
                return found
        return found

    def _wrong(self, student: KeyStudent, blank: KeyBlank, values: Any) -> Sequence[Wrong]:
        asked = Blank(blank.title, self.blocks[blank.block], tuple(map(tuple, blank.cells)))
        return [
            each
            for each in wrong_values(self.kind, with_departures(self.base, student.typed), values, asked)
            if each.written
        ]

    def _is_seen(self, wrong: Wrong, student: KeyStudent, blank: KeyBlank) -> bool:
        unit = 2 * (blank.tolerance or 0.5 * 10.0**-blank.decimals)
        return any(abs(a - b) > unit for a, b in zip(wrong.numbers, student.answers[blank.id], strict=True))

    def _carrying(self, student: KeyStudent, dice: random.Random) -> Filled:
        """Slips in one blank, by no known misconception, and goes on with that number; what changes is carried."""
        early = self.key.blanks[: max(1, len(self.key.blanks) // 2)]
        blank = dice.choice(early)
        slipped = [each * 1.31 + 0.0173 for each in student.answers[blank.id]]
        places = dict(zip(map(tuple, blank.cells), slipped, strict=True))
        try:
            values = Book(with_departures(self.base, student.typed), held={self.blocks[blank.block]: places}).values
        except ValueError:  # the slip leads to no number
            return Filled("carried", {})
        found = Filled("carried", {blank.id: slipped}, {blank.id: "wrong"})
        for other in self.key.blanks:
            if other.id == blank.id:
                continue
            block = self.blocks[other.block]
            own = [float(values[block][tuple(place)]) for place in other.cells]
            shifts = [abs(a - b) for a, b in zip(own, student.answers[other.id], strict=True)]
            if max(shifts) > 2 * (other.tolerance or 0.5 * 10.0**-other.decimals):
                found.writes[other.id], found.expects[other.id] = own, "carried"
        return found

    def _guessing(self, student: KeyStudent, dice: random.Random) -> Filled:
        """Writes what is no answer; which may be nothing at all."""
        found = Filled("nonsense", {})
        for blank in self.key.blanks:
            found.writes[blank.id] = [dice.choice(NONSENSE) for _ in blank.cells]
            found.expects[blank.id] = "wrong"
        return found


def styled(value: Any, blank: KeyBlank, style: str) -> Any:
    """Writes a number as people do: in full, as the sheet shows it, with a decimal comma as text, or as a formula."""
    if not isinstance(value, float) or not math.isfinite(value) or abs(value) > 1e6:
        return value
    shown = round(value, blank.decimals)
    return {
        "full": value,
        "shown": shown,
        "comma": f"{shown:.{blank.decimals}f}".replace(".", ","),
        "formula": f"={value!r}*1",
    }[style]


def found_otherwise(expects: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Lists the blanks whose mark is not the one that was expected; empty and unreadable are wrong."""
    same = {"empty": "wrong", "unreadable": "wrong"}
    return [blank for blank, status in expects.items() if same.get(found[blank], found[blank]) != status]
