"""One file of a student: whose it is, and what stands in its blanks; also what stands where nothing was to be typed."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import decimal

from blueprint.classes.key import TOKEN, Key, KeyBlank
from blueprint.classes.saved_workbook import Area, OpenDocument, Package, Shown, opened
from blueprint.language import Block, Cell, Constant, Count, Values
from blueprint.page import grid, parse_cell, saved_file
from blueprint.page.engine import recalculated_apart
from blueprint.page.grid import defined_name
from blueprint.page.layout import Layout
from blueprint.page.parse_cell import cell_at, is_off
from blueprint.page.read import ReadError
from blueprint.quoting import quoted

SAME = 1e-9
"""How far apart two programs compute one number, as a part of it, or of 1: as for the proof of a workbook."""


class Lying(NamedTuple):
    """How a block lies in a delivered file: its defined name, the range of that, and all its cells, in the array's order.

    cells: rows and columns, counted from the range's first cell. addresses: of the same, where nothing was moved.
    asked: by the order of the array, which of them are blanks.
    """

    block: Block
    name: str
    area: Area
    cells: tuple[tuple[int, int], ...]
    addresses: tuple[str, ...]
    asked: frozenset[int]


def lying_in(layout: Layout, asked: Collection[Cell]) -> list[Lying]:
    """Returns how every block of a layout lies; asked: the cells that are blanks."""
    found = []
    for block, place in layout.places.items():
        top, left, bottom, right = place.corners(block, layout.values)
        places = [*product(*layout.values.spans(block))]
        cells = [place.cell(block, each) for each in places]
        lying = Lying(
            block,
            defined_name(block.name),
            Area(place.sheet, top, left, bottom - top + 1, right - left + 1),
            tuple((row - top, column - left) for row, column in cells),
            tuple(grid.address(*cell) for cell in cells),
            frozenset(i for i, each in enumerate(places) if Cell(block, each) in asked),
        )
        found.append(lying)
    return found


def locked_in(package: Package | OpenDocument, blocks: Iterable[Lying]) -> dict[str, list[Shown]]:
    """Returns what the cells of blocks show, in the array's order; a block that is not whole any more is left out."""
    found = {}
    for lying in blocks:
        area = next(iter(package.areas(lying.name) or ()), None)
        if area is not None and (area.rows, area.columns) == (lying.area.rows, lying.area.columns):
            unmoved = (area.row, area.column) == (lying.area.row, lying.area.column)
            where = (
                lying.addresses if unmoved else [grid.address(area.row + r, area.column + c) for r, c in lying.cells]
            )
            found[lying.block.name] = package.all_shown(area.sheet, where)
    return found


def edited(locked: Mapping[str, list[Shown]], blocks: Iterable[Lying], values: Values, typed_alone: bool) -> list[str]:
    """Names the blocks in which a cell holds something else than it should, or a number where its formula stood.

    values: everything, with the student's numbers in the blanks. typed_alone: only what is typed is looked at, as the sheet
    itself could not compute with what stands in the blanks.
    """
    found = []
    for lying in (each for each in blocks if each.block.name in locked and (each.block.typed or not typed_alone)):
        block, expected = lying.block, values.arrays[lying.block].ravel().tolist()
        cells = enumerate(zip(locked[block.name], expected, strict=True))
        if any(_differs(block, shown, number) for i, (shown, number) in cells if i not in lying.asked):
            found.append(block.name)
    return found


def _differs(block: Block, shown: Shown, expected: Any) -> bool:
    """Tells whether a cell was edited. A formula that was saved without its value says nothing."""
    if shown.value is None:
        return shown.formula is None and (expected != "" if isinstance(expected, str) else isfinite(expected))
    if isinstance(expected, str):
        return str(shown.value).casefold() != expected.casefold()
    if not isfinite(expected):  # something stands where nothing was typed; a sheet has an error where we have no number
        return block.typed and not (block.limit and is_off(shown.value))
    if not isinstance(shown.value, float):
        return True
    return abs(shown.value - expected) > SAME * max(1.0, abs(expected)) or (
        shown.formula is None and _has_formula(block)
    )


def _has_formula(block: Block) -> bool:
    """Tells whether every cell of a block holds a formula: a plain number or word is written as it is."""
    return not block.typed and not any(isinstance(each.expr, Constant | Count) for each in block.definitions)


LONGEST_NUMBER = 60
"""Letters of a text that may mean a number; a longer one is a remark."""
_ABOUT = re.compile(r"(?:≈|≃|≅|~|∼|ca\.?|circa|approx\.?)\s*", re.IGNORECASE)
_UNIT = re.compile(r"\s*(?:nats?|tokens?)\.?$", re.IGNORECASE)
"""Units that say what every number of a worksheet is counted in; one in bits is another number."""
_SIGN = {ord(each): "-" for each in "−–‐‑‒﹣－"} | {ord("＋"): "+"}
_MARK = {ord(each): "." for each in "．٫"} | {
    ord("，"): ",",
    ord("％"): "%",
    ord("⁄"): "/",
    ord("∕"): "/",
    ord("／"): "/",
}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_POWER = re.compile(r"(?:(?P<times>[^*·×x⋅∙]+?)\s*[*·×x⋅∙]\s*)?10\s*(?:\^|\*\*)\s*\(?\s*(?P<power>[+-]?\d{1,3})\s*\)?")
_HIGH = re.compile(r"(?<=10)\s*([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_FRACTION = re.compile(r"([+-]?\s*\d{1,15})\s*/\s*(\d{1,15})")


def number_meant(text: str) -> float:
    """Returns the number that a text means: "0,5", "50 %", "≈ 0.5 nats", "17/100", "1.2·10^-1", digits of any script.

    Raises parse_cell.NoNumber for anything else, also where it could mean two numbers.
    """
    if text.lstrip().startswith("="):
        raise parse_cell.NoNumber(f"found the formula {quoted(text)} as text, which was never computed: type it anew")
    if parse_cell.is_error(text) or len(text) > LONGEST_NUMBER:
        return parse_cell.number_in(text)
    bare = _without_unit(text)
    if bare.endswith("%"):
        return _plain_number(bare[:-1], text) / 100
    if match := _FRACTION.fullmatch(bare):
        above, below = (int(part.replace(" ", "")) for part in match.groups())
        if not below:
            raise parse_cell.NoNumber(f"found {quoted(text)}, which divides by 0: expected a number")
        return float(Fraction(above, below))
    if match := _POWER.fullmatch(bare):
        times = match["times"].strip().replace(",", ".") if match["times"] else "1"
        return _plain_number(f"{times}e{match['power']}", text)
    return _plain_number(bare, text)


def _without_unit(text: str) -> str:
    """Returns a text in ASCII as far as numbers go: without what says "about" and without the unit."""
    raised = _HIGH.sub(lambda found: "^" + found[1].translate(_RAISED), text.strip())
    digits = "".join(str(decimal(each, each)) for each in raised.translate(_SIGN).translate(_MARK))
    without = _UNIT.sub("", digits)
    about = _ABOUT.match(without)
    return without[about.end() if about else 0 :].strip()


def _plain_number(bare: str, text: str) -> float:
    """Reads a number as `parse_cell.number_in` does; a comma is always a decimal one. text: what the refusal quotes."""
    try:
        return parse_cell.number_in(bare.replace(",", ".") if bare.count(",") == 1 and "." not in bare else bare)
    except parse_cell.NoNumber as error:
        raise parse_cell.NoNumber(str(error).replace(quoted(bare), quoted(text), 1)) from None


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
        said = str(error).replace(str(path), "the file").replace(saved_file.NAME_ANOTHER, HAND_IN)
        return Submission(tokens, refused=said)


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


HAND_IN = "hand in the worksheet that you were given, as a spreadsheet has saved it"
"""What its student is to do about a file that is no workbook."""
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
    what = f"the cells of blank {int(blank.id[1:])} ({blank.title}) are gone, or were torn apart"
    if blank.sheet not in package.sheets and not found:
        what = f"it has no sheet {blank.sheet}, where blank {int(blank.id[1:])} ({blank.title}) was"
    whole = len({sheet for sheet, _, _ in found}) == 1 and len(found) == len(delivered)
    saved_file.require(whole, f"{what}: copy the answers into a fresh file")
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
    saved_file.check_archive(package.path)
    try:
        cells = recalculated_apart(package.path)
    except RuntimeError as error:
        raise ReadError(f"its formulas were saved without values, and cannot be computed: {error}") from None
    return {
        blank.id: tuple(
            given_in(Shown(cells.get(at), each.formula)) if each.problem == UNSAVED else each
            for each, at in zip(answers[blank.id], _stand(package, blank), strict=True)
        )
        for blank in blanks
    }
