"""One file of a student: whose it is, and what stands in its blanks; also what stands where nothing was to be typed."""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from blueprint.classes.identity import TOKEN
from blueprint.classes.key import Key, KeyBlank
from blueprint.classes.package import Area, Package, Shown
from blueprint.page import archive, grid, parse_cell
from blueprint.page.apart import recalculated_apart, slimmed
from blueprint.page.formula_parts import cell_at
from blueprint.page.read import ReadError
from blueprint.quoting import quoted

TOKEN_NAME, TOKEN_PROPERTY = "blueprint_token", "blueprint token"
_PERCENT = re.compile(r"(.+?)\s*%")


class Given(NamedTuple):
    """What stands in one cell of a blank: a number, or why there is none ("" for an empty cell), and its formula."""

    number: float | None
    problem: str = ""
    formula: str | None = None


@dataclass(frozen=True)
class Submission:
    """A file as it was read.

    Attributes:
        tokens: by where it stands (cell, name, property), the token that stands there.
        answers: by the id of a blank, what stands in its cells. saved_by: who made the file, and who saved it last.
        locked: by name of a block, what its cells show where the file still has them all; see `locked_in`.
        refused: why the file is not marked; "" if it is.
    """

    tokens: dict[str, str]
    answers: dict[str, tuple[Given, ...]] = field(default_factory=dict)
    saved_by: tuple[str, str] = ("", "")
    locked: dict[str, list[Shown]] = field(default_factory=dict)
    refused: str = ""


def read_submission(path: Path, key: Key, blocks: Iterable["Lying"] = ()) -> Submission:
    """Reads a student's file; blocks: those whose cells are to be held against what they should be.

    What is wrong with a file is said in the submission; nothing is raised for any content.
    """
    tokens: dict[str, str] = {}
    try:
        with closing(Package(path)) as package:
            tokens = tokens_in(package)
            package.refuse_hostile()
            answers = {blank.id: _answer(package, blank) for blank in key.blanks}
            if any(each.problem == UNSAVED for given in answers.values() for each in given):
                answers = _recalculated(package, key.blanks, answers)
            return Submission(tokens, answers, package.saved_by, locked_in(package, blocks))
    except ReadError as error:
        return Submission(tokens, refused=str(error).replace(str(path), "the file"))


def tokens_in(package: Package) -> dict[str, str]:
    """Returns the tokens of a file by the place where each stands; every place is lost by some program."""
    area = package.area(TOKEN_NAME)
    named = package.shown(area.sheet, grid.address(area.row, area.column)).value if area else None
    first = next(iter(package.sheets), None)
    shown = (package.shown(first, address).value for address in package.cells(first)) if first is not None else ()
    said = {
        "property": package.properties.get(TOKEN_PROPERTY),
        "name": named if named is not None else package.names.get(TOKEN_NAME),
        "cell": next((text for text in shown if isinstance(text, str) and TOKEN.search(text)), None),
    }
    found = {place: TOKEN.search(text) for place, text in said.items() if isinstance(text, str)}
    return {place: match[0] for place, match in found.items() if match}


UNSAVED = "a formula that was saved without its value"


def _answer(package: Package, blank: KeyBlank) -> tuple[Given, ...]:
    """Reads the cells of a blank where its name says that they stand now, or else where they were."""
    return tuple(given_in(package.shown(sheet, address)) for sheet, address in _stand(package, blank))


def _stand(package: Package, blank: KeyBlank) -> list[tuple[str, str]]:
    """Returns sheet and address of each cell of a blank. Raises ReadError where rows or columns inside it are gone."""
    delivered = [cell_at(address) for address in blank.addresses]
    top, left = (min(cell[i] for cell in delivered) - 1 for i in range(2))
    bottom, right = (max(cell[i] for cell in delivered) - 1 for i in range(2))
    area = package.area(f"blank_{blank.id[1:]}") or Area(blank.sheet, top, left, bottom - top + 1, right - left + 1)
    archive.require(
        area.sheet in package.sheets and (area.rows, area.columns) == (bottom - top + 1, right - left + 1),
        f"the cells of {blank.title} are not there any more, or were torn apart: copy the answers into a fresh file",
    )
    return [
        (area.sheet, grid.address(area.row + row - 1 - top, area.column + column - 1 - left))
        for row, column in delivered
    ]


def given_in(shown: Shown) -> Given:
    """Returns the number that a student means: 0.5, 0,5, " 0.5 ", 50 %, a formula with its value."""
    value, formula = shown
    if value is None or (isinstance(value, str) and not value.strip()):
        return Given(None, UNSAVED if formula is not None and value is None else "", formula)
    try:
        return Given(_number_in(value), "", formula)
    except parse_cell.NoNumber as error:
        return Given(None, str(error), formula)


def _number_in(value: object) -> float:
    """Reads a number as `parse_cell.number_in` does; a percentage too, and a comma is always a decimal one."""
    if not isinstance(value, str) or parse_cell.is_error(value):
        return parse_cell.number_in(value)
    if value.lstrip().startswith("="):
        raise parse_cell.NoNumber(f"found the formula {quoted(value)} as text, which was never computed: type it anew")
    if match := _PERCENT.fullmatch(value.strip()):
        return _number_in(match[1]) / 100
    return parse_cell.number_in(value.replace(",", ".") if value.count(",") == 1 and "." not in value else value)


def _recalculated(
    package: Package, blanks: list[KeyBlank], answers: dict[str, tuple[Given, ...]]
) -> dict[str, tuple[Given, ...]]:
    """Has formulas without a saved value computed, in a process apart. Raises ReadError where they come to nothing."""
    archive.check_archive(package.path)
    with TemporaryDirectory() as folder:
        try:
            cells = recalculated_apart(slimmed(package.path, Path(folder) / "copy.xlsx"))
        except RuntimeError as error:
            raise ReadError(f"its formulas were saved without values, and cannot be computed: {error}") from None
    return {
        blank.id: tuple(
            given_in(Shown(cells.get(at), each.formula)) if each.problem == UNSAVED else each
            for each, at in zip(answers[blank.id], _stand(package, blank), strict=True)
        )
        for blank in blanks
    }


class Lying(NamedTuple):
    """How a block lies in a delivered file: its defined name, its first cell and size, and all cells, as offsets."""

    block: str
    name: str
    rows: int
    columns: int
    offsets: tuple[tuple[int, int], ...]


def locked_in(package: Package, blocks: Iterable[Lying]) -> dict[str, list[Shown]]:
    """Returns what the cells of blocks show, in the order of their arrays; a block that was moved apart is left out."""
    return dict(_locked(package, blocks))


def _locked(package: Package, blocks: Iterable[Lying]) -> Iterator[tuple[str, list[Shown]]]:
    for lying in blocks:
        area = package.area(lying.name)
        if area is not None and (area.rows, area.columns) == (lying.rows, lying.columns):
            where = [grid.address(area.row + row, area.column + column) for row, column in lying.offsets]
            yield lying.block, [package.shown(area.sheet, address) for address in where]
