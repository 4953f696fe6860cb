"""A saved file: judged before it is opened, so that none explodes; then opened for what it says, cell by cell.

What a reader stumbles on becomes a sentence. A streaming parser counts elements before openpyxl makes objects of any of them;
of notes, charts, rules and widths, which only look, none are made. openpyxl finds the parts and says what a cell holds:
numbers, dates, texts, and how a formula reads in another cell, and what it reads. Cells in the usual spelling it need not see
(`plain_cells`).
"""

import re
import stat
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn
from warnings import catch_warnings, simplefilter
from xml.etree.ElementTree import Element, SubElement, iterparse, parse
from xml.parsers import expat

from openpyxl.cell.text import Text
from openpyxl.formula.tokenizer import Token, Tokenizer
from openpyxl.formula.translate import Translator
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.cell import column_index_from_string, range_boundaries
from openpyxl.worksheet._reader import FORMULA_TAG, HYPERLINK_TAG, ROW_TAG, VALUE_TAG, WorksheetReader, _cast_number
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS

from blueprint.page import grid
from blueprint.page.plain_cells import Split, formula_in, plain_cells, split, unescaped
from blueprint.quoting import QuotingError, quoted


class ReadError(QuotingError):
    """A file is no workbook of ours, or has been changed so that a block cannot be found whole; one sentence says how."""


NAME_ANOTHER = "name one that `blueprint build` or a spreadsheet has saved"
"""What to do about a file that is no workbook."""


def require(holds: object, otherwise: str) -> None:
    """Raises ReadError, with a sentence, where something does not hold."""
    if not holds:
        raise ReadError(otherwise)


MOST_IN_CELLS = 2_400_000
"""Rows, cells, formulas and values that a workbook may have; the largest that `build` makes (16 groups of 16 columns,
tables of 64 by 32) has 1.6 million. openpyxl takes 6 µs and up to 350 bytes for each (a cell with nothing in it)."""
MOST_BESIDES = 200_000
"""Other elements: texts, styles, names, links, notes, charts; the largest had 47,000. Some cost openpyxl 60 µs each."""
MOST_SPREAD = 100_000
"""Cells over which merged ranges, links and notes of one part may spread: openpyxl makes an object for each."""
MOST_TRANSLATED = 10_000_000
"""Letters of formulas that many cells share, counted for each cell: openpyxl spells them out one by one, 1 µs a letter."""
MOST_KEPT, LONGEST_KEPT = 1 << 16, 400
"""Formulas that are kept as they were taken apart, and their letters, 60 MB at most: worksheets of a class have the same ones,
and each is gone through when it is made, compared and opened."""
LONGEST_TAG, MOST_ATTRIBUTES, DEEPEST = 1 << 20, 64, 64
"""Bytes and attributes of one tag, and elements in each other; 0.3 kB, 10 and 12 are the most in a workbook of ours."""

_CHUNK = 1 << 16
_IN_CELLS, _SPREADING = frozenset({"row", "c", "f", "v"}), frozenset({"mergeCell", "hyperlink", "comment"})
_PLACED = {"row": "row", "c": "cell"}
_PLACE = re.compile(r"\$?[A-Z]*\$?([0-9]{1,7})", re.IGNORECASE)
_ON_SHEET = re.compile(r"[A-Z]*[1-9][0-9]{0,5}").fullmatch
"""How nearly all places are written; the others are looked at more closely."""
NOT_OURS = "it is no workbook of ours, or too large to be read cell by cell"


class Parts:
    """Counts over the XML parts of one workbook, by a streaming parser, before openpyxl makes objects of any of it.

    expat says what an element is, whatever its prefix and spelling; looking in the text was led astray by them.
    """

    def __init__(self, path: Path):
        self._path, self._in_cells, self._besides, self._translated = path, 0, 0, 0

    def look_through(self, name: str, content: bytes) -> Split | None:
        """Looks through one part. Raises ReadError; what is no XML is left to the reader, which refuses it in its own words.

        Returns the cells of a sheet that are spelled as usual, apart from the rest of it.
        """
        found = split(content)
        if found:
            content = found.rest
            self._count_in_cells(found.elements)
        self._in_part, self._spread, self._depth, self._sharing = f"in its part {quoted(name)}", 0, 0, False
        self._shared: dict[str, int] = {}
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        with suppress(expat.ExpatError):
            for begin in range(0, len(content), _CHUNK):
                parser.Parse(content[begin : begin + _CHUNK])
                if begin + _CHUNK - parser.CurrentByteIndex > LONGEST_TAG:
                    self._refuse(f"has a tag of more than {LONGEST_TAG:,} bytes {self._in_part}: it is damaged")
            parser.Parse(b"", True)
        return found

    def _count_in_cells(self, elements: int) -> None:
        self._in_cells += elements
        if self._in_cells > MOST_IN_CELLS:
            self._refuse(f"has more than {MOST_IN_CELLS:,} rows, cells, formulas and values: {NOT_OURS}")

    def _refuse(self, says: str) -> NoReturn:
        raise ReadError(f"{self._path} {says}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST or len(attributes) > MOST_ATTRIBUTES:
            self._refuse(f"has elements of a depth or width that no workbook has {self._in_part}")
        kind = tag[tag.rfind(" ") + 1 :]
        if kind in _IN_CELLS:
            self._count_in_cells(1)
            if kind in _PLACED:
                if "r" in attributes and not _ON_SHEET(attributes["r"]):
                    self._check_place(_PLACED[kind], attributes["r"])
            elif kind == "f" and attributes.get("t") == "shared":
                self._share(attributes.get("si", ""))
            return
        self._besides += 1
        if self._besides > MOST_BESIDES:
            self._refuse(f"has more than {MOST_BESIDES:,} texts, styles, names, links and notes: {NOT_OURS}")
        if kind in _SPREADING and "ref" in attributes:
            self._spread_over(attributes["ref"])

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._sharing:
            self._sharing, self._parser.CharacterDataHandler = False, None

    def _check_place(self, kind: str, place: str) -> None:
        """Refuses a row that is on no sheet: a reader would make all rows above it."""
        match = _PLACE.fullmatch(place)
        if match is None or not 1 <= int(match[1]) <= grid.LAST_ROW:
            self._refuse(
                f"has a {kind} at {place[:20]!r} {self._in_part}, and sheets end at row {grid.LAST_ROW:,}: it is damaged"
            )

    def _share(self, group: str) -> None:
        """Counts a cell that shares a formula; where the formula itself stands, its letters are counted as they come."""
        self._translated += self._shared.get(group, 0)
        if self._translated > MOST_TRANSLATED:
            self._refuse(f"shares formulas of more than {MOST_TRANSLATED:,} letters among its cells: {NOT_OURS}")

        def letters(text: str) -> None:
            self._shared[group] = self._shared.get(group, 0) + len(text)

        self._sharing, self._parser.CharacterDataHandler = True, letters

    def _spread_over(self, reference: str) -> None:
        """Counts the cells of a reference such as B2:D9; one spelled in another way is too much."""
        try:
            left, top, right, bottom = range_boundaries(reference)
            self._spread += (abs(right - left) + 1) * (abs(bottom - top) + 1)
        except (ValueError, TypeError):
            self._spread += MOST_SPREAD + 1
        if self._spread > MOST_SPREAD:
            self._refuse(
                f"has merged cells, links or notes over {self._spread:,} cells {self._in_part}, and at most "
                f"{MOST_SPREAD:,} are read: take them out"
            )


LARGEST, MOST_PARTS = 100_000_000, 2_000
"""Bytes to which a file may unpack, and parts that it may have: 20 times the largest of ours; `Parts` bounds what is made of it."""
ZIP, PASSWORD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a zip archive begins, and the container of the old xls format and of workbooks with a password."""

DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
"""How a part declares entities, as none of a workbook does; without zeros UTF-16 reads as ASCII."""


def check_archive(path: Path) -> dict[str, Split]:
    """Looks whether a file may be taken apart. Raises ReadError, with what is wrong and what to do, where it may not.

    Returns by part the sheets whose cells are spelled as usual.
    """
    check_file(path)
    found: dict[str, Split] = {}
    with refusing(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        check_sizes(archive.infolist(), path)
        looked = Parts(path)
        for part in archive.infolist():
            require(not (part.flag_bits & 0x1), f"{path} is protected by a password: save it without one")
            with archive.open(part) as unpacking:
                content = unpacking.read(part.file_size + 1)  # no further than its stated size
            # Pictures are looked through too: what a part is called says nothing of what it is read as. Without zeros
            # UTF-16 reads as ASCII.
            require(
                not DECLARES.search(content.replace(b"\0", b"")),
                f"{path} declares entities in its part {quoted(part.filename)}, as no workbook does: it is not read",
            )
            if sheet := looked.look_through(part.filename, content):
                found[part.filename] = sheet
    return found


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turns whatever a reader of archives or XML says about a damaged file into one sentence.

    Which errors zipfile, expat and openpyxl raise for which damage is written down nowhere, so all of them are meant.
    """
    try:
        yield
    except ReadError:
        raise
    except PermissionError:
        raise ReadError(f"{path} may not be read: ask its owner, or copy it to a folder of your own") from None
    except Exception as error:
        raise ReadError(
            f"{path} is no workbook in xlsx format ({type(error).__name__}): save it as .xlsx again"
        ) from error


def check_file(path: Path) -> None:
    """Refuses what is no file, and what begins as no archive does."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise ReadError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # too long a name, one with a null byte, a folder that may not be entered
        why = getattr(error, "strerror", "") or error
        raise ReadError(f"{str(path)!a} cannot be opened: {str(why).lower()}") from None
    require(not stat.S_ISDIR(mode), f"{path} is a directory, not a workbook")
    require(stat.S_ISREG(mode), f"{path} is a device or a pipe, not a workbook")
    with refusing(path), path.open("rb") as file:
        begin, says = file.read(len(PASSWORD)), f"{path} is no workbook in xlsx format"
        locked = f"{path} is protected by a password, or in the old xls format: save it as plain .xlsx"
        require(begin != PASSWORD, locked)
        what = "it begins as no .xlsx file does" if begin else "it is empty"
        require(begin.startswith(ZIP), f"{says} ({what}): {NAME_ANOTHER}")
        require(zipfile.is_zipfile(file), f"{says}: its end is missing; copy or download it again")


def check_sizes(parts: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuses too much, by what the archive's own list says; the list is held to its word when a part is read."""
    require(
        len(parts) <= MOST_PARTS,
        f"{path} has {len(parts):,} parts, and at most {MOST_PARTS:,} are read: it is no workbook of ours",
    )
    unpacked = sum(part.file_size for part in parts)
    require(
        unpacked <= LARGEST,
        f"{path} unpacks to {unpacked / 1e6:,.0f} MB, and at most {LARGEST / 1e6:.0f} MB are read: {NOT_OURS}",
    )
    names = [part.filename for part in parts]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ReadError(f"{path} holds the part {quoted(twice)} twice: it is damaged")


_NAMED = re.compile(r"(?:'(?:[^']|'')+'|[^'!,]+)![$A-Z0-9:]+")


class Area(NamedTuple):
    """A rectangle of cells: its sheet, and its first and last column and row, counted from 1."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int

    @property
    def rows(self) -> range:
        """Its rows."""
        return range(self.top, self.bottom + 1)

    @property
    def columns(self) -> range:
        """Its columns."""
        return range(self.left, self.right + 1)

    def among(self, known: Collection[grid.Address]) -> Iterator[grid.Address]:
        """Yields those of some cells that lie in it, which may be a whole sheet: in its order, or in theirs."""
        rows, columns = self.rows, self.columns
        if len(rows) * len(columns) < len(known):
            mine = (grid.Address(self.sheet, row, column) for row in rows for column in columns)
            return (at for at in mine if at in known)
        return (at for at in known if at.sheet == self.sheet and at.row in rows and at.column in columns)


def as_seen_from(formula: str, origin: str, cell: str) -> str:
    """Returns the formula of the cell `origin` as it would read in `cell`, as if it were copied there.

    Equal formulas of a row read the same. What cannot be taken apart, such as `="abc`, reads as it stands.
    """
    if origin == cell:
        return formula
    try:
        return str(Translator(formula, origin=origin).translate_formula(cell))
    except Exception:  # openpyxl says of a broken formula whatever its parts happen to raise
        return formula


def read_by(formula: str, sheet: str, named: Callable[[str], str | None]) -> Iterator[Area]:
    """Yields what a formula on a sheet reads, cell by cell and range by range; nothing of one that cannot be taken apart.

    named: what a defined name stands for, `Inputs!$D$8`; None for a name that there is not.
    """
    take_apart = _kept_references if len(formula) <= LONGEST_KEPT else _references
    for reference in take_apart(formula):
        area = _area(reference, sheet) or _area(named(reference) or "", sheet)
        if area is not None:
            yield area


def _references(formula: str) -> tuple[str, ...]:
    """Returns the names, cells and ranges that stand in a formula; none where it cannot be taken apart."""
    pieces: list[Token] = []
    with suppress(Exception):  # as above
        pieces = Tokenizer(formula).items
    return tuple(str(each.value) for each in pieces if (each.type, each.subtype) == (Token.OPERAND, Token.RANGE))


_kept_references = lru_cache(MOST_KEPT)(_references)


def _area(reference: str, sheet: str) -> Area | None:
    """Takes a reference such as `'Last week'!$D$36:$D$43` apart; None for a name, or for another file's cell."""
    title, _, cells = reference.rpartition("!")
    try:
        left, top, right, bottom = map(int, range_boundaries(cells))
    except (ValueError, TypeError):
        return None
    return Area(grid.unquoted_title(title) or sheet, left, top, right, bottom)


def named_areas(text: str) -> Iterator[Area]:
    """Yields what a defined name stands for: `Weeks!$P$5:$W$5,Weeks!$AB$5` are two; cells that were deleted are none."""
    for reference in _NAMED.findall(text):
        area = _area(reference, "")
        if area is not None:
            yield area


Cell = tuple[int, int]
"""Row and column, counted from 1."""
Written = dict[str, dict[Cell, str]]
"""By sheet and cell the text of a formula, without its sign =."""


_STRING_TAG, _TEXT_TAG = f"{{{SHEET_MAIN_NS}}}si", f"{{{SHEET_MAIN_NS}}}t"


class Sheet:
    """The cells of one sheet.

    values: what the cells show, None for blank ones and for formulas that were saved without their numbers.
    links: by row where its links lead, from left to right.
    looks: how many styles the file knows.
    ordinary: whether each formula is one of its own cell alone.
    """

    def __init__(self, file: IO[bytes] | Split, parser: Any, looks: int):
        self.values: dict[Cell, Any] = {}
        self.links: dict[int, list[str]] = {}
        self.ordinary = True
        self._formulas: dict[Cell, tuple[str, str | None]] = {}
        if isinstance(file, Split):
            self._take_plain(file.cells, parser, looks)
            file = BytesIO(file.rest)
        for _, element in iterparse(file):
            if element.tag == ROW_TAG:
                cells = parser.parse_row(element)[1]
                _check_looks((cell["style_id"] for cell in cells), looks)
                self._take(element, cells)
                element.clear()
            elif element.tag == HYPERLINK_TAG:
                self.links = _links(element)

    @cached_property
    def formulas(self) -> dict[Cell, str]:
        """The formulas, without their sign =; one that is shared with its neighbours as it reads in its own cell."""
        found, first = {}, dict[str, tuple[str, str]]()
        for (row, column), (text, group) in self._formulas.items():
            if group is not None:
                here = grid.address(row - 1, column - 1)
                origin, master = first.setdefault(group, (here, text))
                text = as_seen_from(f"={master}", origin, here)[1:]
            found[row, column] = text
        return found

    def _take(self, row: Element, cells: list[dict[str, Any]]) -> None:
        for element, cell in zip(row, cells, strict=True):
            at = cell["row"], cell["column"]
            self.values[at] = cell["value"]
            formula = element.find(FORMULA_TAG)
            if formula is not None:
                self.ordinary &= formula.get("t") not in ("array", "dataTable")
                self._formulas[at] = formula.text or "", formula.get("si", "") if formula.get("t") == "shared" else None

    def _take_plain(self, cells: str, parser: Any, looks: int) -> None:
        """Takes cells that are spelled as usual; what their values are is said as openpyxl says it."""
        columns: dict[str, int] = {}
        texts, dates = parser.shared_strings, {*map(str, parser.date_formats)}
        found = plain_cells(cells)
        _check_looks((int(style) for style in {cell[2] for cell in found} if style), looks)
        for letters, row, style, kind, formula, value in found:
            column = columns.get(letters) or columns.setdefault(letters, column_index_from_string(letters))
            at = int(row), column
            shown: Any = None
            if value:
                if kind == "s":
                    shown = texts[int(value)]
                elif kind in ("str", "e"):
                    shown = unescaped(value)
                elif kind == "b":
                    shown = bool(int(value))
                else:
                    shown = _date(parser, letters + row, style, value) if style in dates else _cast_number(value)
            self.values[at] = shown
            if formula:
                self._formulas[at] = formula_in(formula), None


def _check_looks(styles: Iterable[int], looks: int) -> None:
    if max(styles, default=0) >= looks:
        raise IndexError("a look that is none of the file's, so that nobody knows which numbers are dates")


def _date(parser: Any, place: str, style: str, value: str) -> Any:
    """Returns the date, time or duration that a number means in the look of its cell."""
    cell = Element("c", r=place, s=style)
    SubElement(cell, VALUE_TAG).text = value
    return parser.parse_cell(cell)["value"]


class Workbook:
    """A file as it was saved. Raises ReadError for what is no workbook, or would explode.

    sheets: the names of all sheets; cells: by name, the sheets that have cells.
    names: what each defined name stands for, by the name in small letters.
    properties, facts: what the document says about itself, in fields of everybody's and its own.
    """

    def __init__(self, path: Path):
        self.path, plain = path, check_archive(path)
        # openpyxl judges a path by its ending, a file by what is in it; it warns of what it would lose if it saved the file.
        with refusing(path), path.open("rb") as file, catch_warnings():
            simplefilter("ignore")
            reader = ExcelReader(file, data_only=True, keep_links=False)
            reader.read_manifest()
            reader.read_workbook()
            reader.read_properties()
            reader.read_custom()
            apply_stylesheet(reader.archive, reader.wb)  # which numbers are dates
            self.cells = dict(_sheets(reader, plain))
            self.sheets: list[str] = reader.wb.sheetnames
            names = reader.parser.defined_names.by_sheet()["global"]
            self.names = {str(name).casefold(): str(defined.attr_text) for name, defined in names.items()}
            self.properties = reader.wb.properties
            self.facts = {str(each.name): str(each.value) for each in reader.wb.custom_doc_props.props}


def _sheets(reader: Any, plain: Mapping[str, Split]) -> Iterator[tuple[str, Sheet]]:
    """Yields the sheets that have cells; of the others openpyxl takes down the names."""
    texts = _texts(reader)
    for sheet, relation in reader.parser.find_sheets():
        if relation.target not in reader.valid_files:
            continue
        if "chartsheet" in relation.Type:
            reader.wb.create_chartsheet(sheet.name)
            continue
        page = reader.wb.create_sheet(sheet.name)
        with reader.archive.open(relation.target) as file:
            parser = WorksheetReader(page, file, texts, data_only=True, rich_text=False).parser
            yield page.title, Sheet(plain.get(relation.target, file), parser, len(reader.wb._cell_styles))


def _texts(reader: Any) -> list[str]:
    """Returns the texts that cells share, by number."""
    part = reader.package.find(SHARED_STRINGS)
    if part is None:
        return []
    texts = []
    with reader.archive.open(part.PartName[1:]) as file:
        for element in parse(file).iter(_STRING_TAG):
            texts.append(_text(element).replace("x005F_", ""))  # so does openpyxl
    return texts


def _text(element: Element) -> str:
    """Returns a text, of one that is written in several looks all parts."""
    plain = len(element) == 1 and element[0].tag == _TEXT_TAG
    return (element[0].text or "") if plain else str(Text.from_tree(element).content)


def _links(found: Element) -> dict[int, list[str]]:
    links: dict[int, list[tuple[int, str]]] = {}
    for link in found:
        left, top, _, bottom = range_boundaries(link.attrib["ref"])
        for row in range(top, bottom + 1) if link.get("location") else ():
            links.setdefault(row, []).append((left, link.attrib["location"]))
    return {row: [location for _, location in sorted(each)] for row, each in links.items()}
