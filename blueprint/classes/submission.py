"""One file of a student: whose it is, and what stands in its blanks; also what stands where nothing was to be typed."""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from blueprint.classes.identity import TOKEN
from blueprint.classes.key import Key, KeyBlank
from blueprint.classes.locked import Lying, locked_in
from blueprint.classes.number_meant import number_meant
from blueprint.classes.open_document import OpenDocument, opened
from blueprint.classes.package import Package, Shown
from blueprint.page import archive, grid, parse_cell, refusals
from blueprint.page.apart import recalculated_apart, slimmed
from blueprint.page.formula_parts import cell_at
from blueprint.page.read import ReadError

TOKEN_NAME, TOKEN_PROPERTY = "blueprint_token", "blueprint token"


class Given(NamedTuple):
    """What stands in a cell of a blank: a number, or why there is none ("": it is empty), its formula, and if it is text."""

    number: float | None
    problem: str = ""
    formula: str | None = None
    text: bool = False


@dataclass(frozen=True)
class Submission:
    """A file as it was read.

    Attributes:
        tokens: by where it stands (cell, name, property), the token that stands there.
        answers: by the id of a blank, what stands in its cells. saved_by: who made the file, and who saved it last.
        locked: by name of a block, what its cells show where the file still has them all; see `locked`.
        refused: why the file is not marked; "" if it is.
    """

    tokens: dict[str, str]
    answers: dict[str, tuple[Given, ...]] = field(default_factory=dict)
    saved_by: tuple[str, str] = ("", "")
    locked: dict[str, list[Shown]] = field(default_factory=dict)
    refused: str = ""


def read_submission(
    path: Path, key: Key, blocks: Iterable[Lying] = (), wanted: Callable[[dict[str, str]], bool] = lambda tokens: True
) -> Submission:
    """Reads a student's file.

    blocks: those whose cells are to be held against what they should be. wanted: whether, by its tokens, it is to be marked;
    of any other file only the tokens are read.
    What is wrong with a file is said in the submission; nothing is raised for any content.
    """
    tokens: dict[str, str] = {}
    try:
        with closing(opened(path)) as package:
            tokens = tokens_in(package)
            package.refuse_hostile()
            if not wanted(tokens):
                return Submission(tokens)
            answers = {blank.id: _answer(package, blank) for blank in key.blanks}
            if any(each.problem == UNSAVED for given in answers.values() for each in given):
                answers = _recalculated(package, key.blanks, answers)
            return Submission(tokens, answers, package.saved_by, locked_in(package, blocks))
    except ReadError as error:
        return Submission(tokens, refused=str(error).replace(str(path), "the file"))


def tokens_in(package: Package | OpenDocument) -> dict[str, str]:
    """Returns the tokens of a file by the place where each stands; every place is lost by some program."""
    area = next(iter(package.areas(TOKEN_NAME) or ()), None)
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


def _answer(package: Package | OpenDocument, blank: KeyBlank) -> tuple[Given, ...]:
    """Reads the cells of a blank where its name says that they stand now, or else where they were."""
    return tuple(given_in(package.shown(sheet, address)) for sheet, address in _stand(package, blank))


def _stand(package: Package | OpenDocument, blank: KeyBlank) -> list[tuple[str, str]]:
    """Returns sheet and address of each cell of a blank, by its name. Raises ReadError where some of them are gone."""
    delivered = [cell_at(address) for address in blank.addresses]
    name = f"blank_{blank.id[1:]}"
    areas = package.areas(name)
    if name not in package.names and blank.sheet in package.sheets:  # a program has dropped the names
        return [(blank.sheet, address) for address in blank.addresses]
    found = sorted(cell for area in areas or () for cell in area.cells())
    refusals.require(
        len({sheet for sheet, _, _ in found}) == 1 and len(found) == len(delivered),
        f"the cells of blank {int(blank.id[1:])} ({blank.title}) are gone, or were torn apart: copy the answers into a fresh file",
    )
    order = sorted(range(len(delivered)), key=delivered.__getitem__)
    placed = dict(zip(order, found, strict=True))
    return [(sheet, grid.address(row, column)) for sheet, row, column in map(placed.__getitem__, range(len(found)))]


def given_in(shown: Shown) -> Given:
    """Returns the number that a student means: 0.5, "0,5", "≈ 0.5 nats" (see `number_meant`), a formula with its value."""
    value, formula = shown
    if value is None or (isinstance(value, str) and not value.strip()):
        return Given(None, UNSAVED if formula is not None and value is None else "", formula)
    try:
        number = number_meant(value) if isinstance(value, str) else parse_cell.number_in(value)
    except parse_cell.NoNumber as error:
        return Given(None, str(error), formula, True)
    return Given(number, "", formula, isinstance(value, str))


def _recalculated(
    package: Package | OpenDocument, blanks: list[KeyBlank], answers: dict[str, tuple[Given, ...]]
) -> dict[str, tuple[Given, ...]]:
    """Has formulas without a saved value computed, in a process apart. Raises ReadError where they come to nothing."""
    if isinstance(package, OpenDocument):
        raise ReadError("its formulas were saved without values: open it in LibreOffice, and save it once more")
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
