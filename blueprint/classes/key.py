"""The key of an assignment: everything by which a class is marked, in one file that only the teacher may read.

Whose a file is says a signed token in which no name stands: `v1.<assignment>.<student>.<variant>.<signature>`.
The student is 8 hex digits of a keyed hash of the id, the signature 8 of
the HMAC-SHA256 (RFC 2104) of what stands before it. Both need the secret of the key: without it nobody can make a token, or
find out by trying ids whose it is.
"""

import hmac
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from math import isinf, isnan
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from blueprint.classes import ClassError, bytes_of, first_fault
from blueprint.files import saved_whole
from blueprint.inputs import load, source_of
from blueprint.language import OFF_WORD, Array, Block
from blueprint.page.outline import Blueprint
from blueprint.quoting import unquoted
from blueprint.workbooks.registry import blueprint_of

OWNER_ALONE = 0o600
"""The mode of a file with answers: nobody but its owner may read it."""
LARGEST = 2**28
"""Bytes of a key beyond which it is none: that of 2,000 students has a few dozen millions."""
Assignment = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Hex8 = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]


class Record(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KeyBlank(Record):
    """A blank, the same for all students.

    Attributes:
        id: `b01`, `b02`, … in the order of the worksheet; the defined name in a file is `blank_01`.
        title: what it is called. block: the block's name. cells: 0-based places of its cells.
        sheet, addresses: where the cells stand, as `N51`, in the order of `cells`.
        decimals: how many the sheet shows. tolerance: the teacher's own; None: half a unit of the last digit shown.
        asks: "formula" where a number alone is not what is asked for.
    """

    id: Annotated[str, Field(pattern=r"^b\d{2,4}$")]
    title: str
    block: str
    cells: Annotated[list[list[int]], Field(min_length=1)]
    sheet: str
    addresses: list[Annotated[str, Field(pattern=r"^[A-Z]{1,3}[1-9][0-9]{0,6}$")]]
    decimals: Annotated[int, Field(ge=0, le=30)]
    weight: Annotated[FiniteFloat, Field(gt=0, le=1e9)] = 1.0
    asks: Literal["number", "formula"] = "number"
    tolerance: Annotated[FiniteFloat, Field(ge=0)] | None = None


class KeyStudent(Record):
    """A student, with what is typed in the student's file, and the answers.

    Attributes:
        id, name, email: as the roster has them. variant, token: see `variants` and `identity`.
        file: the path of the file below the class's folder. sha256: of its bytes.
        typed: what differs from the key's numbers, by the block's name; an empty cell is null, a limit that is off "off".
        answers: for each blank the numbers of its cells, by the blank's id.
    """

    id: str
    name: str = ""
    email: str = ""
    variant: Hex8
    token: str
    file: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    typed: dict[str, Any]
    answers: dict[str, list[FiniteFloat]]


class Key(Record):
    """Everything by which a class is marked.

    Attributes:
        seed: what variants are drawn from, beside a student's id. secret: of the tokens, in hex.
        level: 1 single cells, 2 whole rows, 3 a whole section. kind: of the workbook.
        numbers: a complete numbers file, from which every variant departs. vary: what departs.
        check: whether files hold self-check digits. equations: whether those of blanks are printed beside them.
    """

    version: Literal[1] = 1
    assignment: Assignment
    seed: Annotated[int, Field(ge=0)]
    secret: Annotated[str, Field(pattern=r"^([0-9a-f]{2}){16,64}$", repr=False)]
    level: Literal[1, 2, 3]
    kind: str
    numbers: str
    vary: list[str] = []
    check: bool = False
    equations: bool = True
    blanks: Annotated[list[KeyBlank], Field(min_length=1)]
    students: Annotated[list[KeyStudent], Field(min_length=1)]

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        """Refuses two of one name, and answers that are not those of the blanks."""
        _refuse_twins("blank", [blank.id for blank in self.blanks])
        for what in ("id", "token", "file"):
            _refuse_twins(f"student's {what}", [getattr(student, what) for student in self.students])
        cells = {blank.id: len(blank.cells) for blank in self.blanks}
        if stray := next((blank for blank in self.blanks if len(blank.addresses) != len(blank.cells)), None):
            raise ValueError(f"blank {stray.id}: {len(stray.cells)} cells, but {len(stray.addresses)} addresses")
        for student in self.students:
            if {blank: len(numbers) for blank, numbers in student.answers.items()} != cells:
                raise ValueError(f"student {unquoted(student.id)}: the answers are not those of the blanks")
        return self

    def student(self, id: str) -> KeyStudent:
        """Returns the student of this id. Raises ClassError if there is none."""
        found = next((each for each in self.students if each.id == id), None)
        if found is None:
            known = ", ".join(unquoted(each.id) for each in self.students[:6])
            raise ClassError(f"student {unquoted(id)}: the key has none of that id; write one as {known}")
        return found

    def save(self, path: Path) -> None:
        """Writes the key, whole or not at all, so that its owner alone may read it. Raises SaveError."""
        with saved_whole(path, OWNER_ALONE) as unfinished:
            unfinished.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a key. Raises ClassError, which says what is wrong with it, and where."""
        try:
            return cls.model_validate_json(bytes_of(path, "a key", LARGEST, "give the key.json that class make wrote"))
        except ValidationError as error:
            where, says, _ = first_fault(error)
            raise ClassError(
                f"{path} is not a key that class make wrote: {where}{': ' if where else ''}{says}"
            ) from None


def _refuse_twins(what: str, found: list[str]) -> None:
    if twin := next((each for each, times in Counter(found).items() if times > 1), None):
        raise ValueError(f"{what} {unquoted(twin)} stands there twice")


VERSION, DIGITS = "v1", 8
TOKEN = re.compile(
    rf"{VERSION}\.[A-Za-z0-9_-]{{1,40}}\.[0-9a-f]{{{DIGITS}}}\.[0-9a-f]{{{DIGITS}}}\.[0-9a-f]{{{DIGITS}}}"
)
"""How a token looks, wherever it stands in a text."""


def token_of(student: str, assignment: str, variant: str, secret: str) -> str:
    """Returns the token of a student's file.

    student: the id. variant: 8 hex digits, see `variants`. secret: hex, as a key holds it.
    """
    said = f"{VERSION}.{assignment}.{hashed(secret, 'student', student)}.{variant}"
    return f"{said}.{hashed(secret, 'token', said)}"


def hashed(secret: str, purpose: str, text: str) -> str:
    """Returns the first hex digits of a keyed hash; purpose: so that one hash says nothing about another."""
    return hmac.new(bytes.fromhex(secret), f"{purpose}\0{text}".encode(), sha256).hexdigest()[:DIGITS]


def base_of(key: Key) -> Blueprint:
    """Returns the blueprint of the key's numbers, from which every variant departs; it has no blanks. Raises NumbersError."""
    return blueprint_of(load(source_of(key.numbers, Path(f"{key.assignment}.toml"))))


def with_departures(base: Blueprint, typed: Mapping[str, Any]) -> Blueprint:
    """Returns a blueprint in which other things are typed, as `departures` says them. Raises NotationError."""
    blocks = {block.name: block for block in base.typed}
    return base.with_typed({name: _read(blocks.get(name), cells) for name, cells in typed.items()})


def departures(base: Blueprint, other: Blueprint) -> dict[str, Any]:
    """Returns what one blueprint types otherwise than another of the same blocks, as JSON has it, by the block's name."""
    named = {block.name: np.asarray(cells) for block, cells in other.typed.items()}
    return {
        block.name: _written(named[block.name].tolist())
        for block, cells in base.typed.items()
        if not _same(np.asarray(cells), named[block.name])
    }


def _same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")


def _written(cells: Any) -> Any:
    """Returns cells as JSON has them: null for an empty one, off for a limit that limits nothing."""
    if isinstance(cells, list):
        return [_written(each) for each in cells]
    if isinstance(cells, float) and isnan(cells):
        return None
    return OFF_WORD if isinstance(cells, float) and isinf(cells) else cells


def _read(block: Block | None, cells: Any) -> Any:
    if isinstance(cells, list):
        return [_read(block, each) for each in cells]
    if cells is None:
        return float("nan")
    return float("inf") if cells == OFF_WORD and block is not None and block.limit else cells
