"""Opens a workbook for what it says, without what only looks: no notes, charts, rules or widths are made into objects.

openpyxl finds its parts and says what a cell holds: numbers, dates, texts. In half of its time the formulas are known too.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any
from warnings import catch_warnings, simplefilter
from xml.etree.ElementTree import Element, iterparse

from openpyxl.cell.text import Text
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.cell import range_boundaries
from openpyxl.worksheet._reader import FORMULA_TAG, HYPERLINK_TAG, ROW_TAG, WorksheetReader
from openpyxl.worksheet.hyperlink import HyperlinkList
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS

from blueprint.page import archive, grid
from blueprint.page.written import Cell, as_seen_from

_STRING_TAG, _TEXT_TAG = f"{{{SHEET_MAIN_NS}}}si", f"{{{SHEET_MAIN_NS}}}t"


class Sheet:
    """The cells of one sheet.

    values: what the cells show, None for blank ones and for formulas that were saved without their numbers.
    links: by row where its links lead, from left to right.
    looks: how many styles the file knows.
    """

    def __init__(self, file: IO[bytes], parser: Any, looks: int):
        self.values: dict[Cell, Any] = {}
        self.links: dict[int, list[str]] = {}
        self._formulas: dict[Cell, tuple[str, str | None]] = {}
        for _, element in iterparse(file):
            if element.tag == ROW_TAG:
                cells = parser.parse_row(element)[1]
                if max((cell["style_id"] for cell in cells), default=0) >= looks:
                    raise IndexError("a look that is none of the file's, so that nobody knows which numbers are dates")
                self._take(element, cells)
                element.clear()
            elif element.tag == HYPERLINK_TAG:
                self.links = _links(HyperlinkList.from_tree(element))

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
                self._formulas[at] = formula.text or "", formula.get("si", "") if formula.get("t") == "shared" else None


class Workbook:
    """A file as it was saved. Raises ReadError for what is no workbook, or would explode.

    sheets: the names of all sheets; cells: by name, the sheets that have cells.
    names: the defined names; properties, facts: what the document says about itself, in fields of everybody's and its own.
    """

    def __init__(self, path: Path):
        archive.check_archive(path)
        # openpyxl judges a path by its ending, a file by what is in it; it warns of what it would lose if it saved the file.
        with archive.refusing(path), path.open("rb") as file, catch_warnings():
            simplefilter("ignore")
            reader = ExcelReader(file, data_only=True, keep_links=False)
            reader.read_manifest()
            reader.read_workbook()
            reader.read_properties()
            reader.read_custom()
            apply_stylesheet(reader.archive, reader.wb)  # which numbers are dates
            self.cells = dict(_sheets(reader))
            self.sheets: list[str] = reader.wb.sheetnames
            self.names: dict[str, Any] = reader.parser.defined_names.by_sheet()["global"]
            self.properties = reader.wb.properties
            self.facts = {str(each.name): str(each.value) for each in reader.wb.custom_doc_props.props}


def _sheets(reader: Any) -> Iterator[tuple[str, Sheet]]:
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
            yield page.title, Sheet(file, parser, len(reader.wb._cell_styles))


def _texts(reader: Any) -> list[str]:
    """Returns the texts that cells share, by number."""
    part = reader.package.find(SHARED_STRINGS)
    if part is None:
        return []
    texts = []
    with reader.archive.open(part.PartName[1:]) as file:
        for _, element in iterparse(file):
            if element.tag == _STRING_TAG:
                texts.append(_text(element).replace("x005F_", ""))  # so does openpyxl
                element.clear()
    return texts


def _text(element: Element) -> str:
    """Returns a text, of one that is written in several looks all parts."""
    plain = len(element) == 1 and element[0].tag == _TEXT_TAG
    return (element[0].text or "") if plain else str(Text.from_tree(element).content)


def _links(found: Any) -> dict[int, list[str]]:
    links: dict[int, list[tuple[int, str]]] = {}
    for link in found.hyperlink:
        left, top, _, bottom = range_boundaries(link.ref)
        for row in range(top, bottom + 1) if link.location else ():
            links.setdefault(row, []).append((left, link.location))
    return {row: [location for _, location in sorted(each)] for row, each in links.items()}
