"""Reads and spoils delivered workbooks as plain XML, with none of the parts that wrote or recalculate them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
WRONG = "777.25"
TEXTS = "xl/sharedStrings.xml"

_CELL = re.compile(r"<c(?P<attributes>\s[^>]*)?(?<!/)>(?P<body>.*?)</c>", re.DOTALL)
_FORMULA = re.compile(r"<f[\s/>]")
_VALUE = re.compile(r"<v(\s[^>]*)?(/>|>.*?</v>)", re.DOTALL)
_TYPE = re.compile(r"""\st=(".*?"|'.*?')""")

_TOKEN = re.compile(
    r"""
      "(?:[^"]|"")*"                                  # text
    | '(?:[^']|'')*'!                                 # 'quoted sheet'!
    | [^\W\d][\w.]*!                                  # sheet!
    | (?P<c_abs>\$?)(?P<column>[A-Z]{1,3})(?P<r_abs>\$?)(?P<row>[1-9]\d{0,6})(?![\w.(])
    | [^\W\d][\w.]*                                   # function or name
    | (?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?               # number: the E of 1E5 is no column
    """,
    re.VERBOSE | re.IGNORECASE,
)


ASKS_PROGRAM = "ISERR(_xlfn.FORMULATEXT("


def spoil(source: Path, target: Path, waits: bool = False) -> int:
    """Writes a copy of a workbook in which every formula cell's cached value is 777.25; returns how many there are.

    waits: formulas that wait for a blank were saved without a value; they get one, too, as does in every file the formula that
    asks whether the program knows FORMULATEXT.

    Raises ValueError if a formula cell has no cached value, or if a formula is found that could not be spoiled.
    """
    with zipfile.ZipFile(source) as archive:
        sheets = set(sheet_parts(archive).values())
        parts = [(info, archive.read(info)) for info in archive.infolist()]
    replaced = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in parts:
            if info.filename in sheets:
                text, count = _spoil_sheet(content.decode("utf-8"), waits)
                content, replaced = text.encode("utf-8"), replaced + count
            archive.writestr(info, content)
    if replaced != (found := len(formulas(source))):
        raise ValueError(f"{source} has {found} formulas, but {replaced} cached values were replaced")
    return replaced


def _spoil_sheet(xml: str, waits: bool) -> tuple[str, int]:
    """Replaces the cached values of one sheet; returns its new text and how many they were."""
    count = 0

    def replace(cell: re.Match[str]) -> str:
        nonlocal count
        attributes, body = cell["attributes"] or "", cell["body"]
        if not _FORMULA.search(body):
            return cell[0]
        if not _VALUE.search(body) and (waits or ASKS_PROGRAM in body):
            body += "<v/>"
        if not _VALUE.search(body):
            raise ValueError(f"the formula cell <c{attributes}> has no cached value")
        count += 1
        return f"<c{_TYPE.sub('', attributes)}>{_VALUE.sub(f'<v>{WRONG}</v>', body)}</c>"

    return _CELL.sub(replace, xml), count


def formulas(path: Path) -> dict[tuple[str, str], str]:
    """Returns every formula of a workbook, without its `=`, by sheet name and address.

    Raises ValueError for a formula that is not written out in its own cell ("shared").
    """
    found = {}
    with zipfile.ZipFile(path) as archive:
        for sheet, part in sheet_parts(archive).items():
            for cell in ET.fromstring(archive.read(part)).iter(f"{MAIN}c"):
                if (formula := cell.find(f"{MAIN}f")) is not None:
                    if not formula.text:
                        raise ValueError(f"the formula of {sheet}!{cell.attrib['r']} is not written out in its cell")
                    found[sheet, cell.attrib["r"]] = formula.text
    return found


def watches(sheet: str, cell: str, formula: str) -> bool:
    """Tells whether a formula belongs to those that say whether the others were overwritten."""
    return (
        sheet == "Formulas"
        or re.fullmatch(r"A\d+", cell) is not None
        or "first_formula" in formula
        or "Formulas!" in formula
    )


def sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Returns the part of the archive that holds each sheet, by the sheet's name, in the order of the tabs."""
    relations = ET.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    # A target is relative to the folder xl, unless it begins with a slash.
    parts = {r.attrib["Id"]: str(PurePosixPath("/xl") / r.attrib["Target"])[1:] for r in relations}
    sheets = ET.fromstring(archive.read("xl/workbook.xml")).iter(f"{MAIN}sheet")
    return {sheet.attrib["name"]: parts[sheet.attrib[RELATION]] for sheet in sheets}


def shared_texts(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yields the texts that the cells of a workbook share, in their order."""
    if TEXTS in archive.namelist():
        for text in ET.fromstring(archive.read(TEXTS)).iter(f"{MAIN}si"):
            yield "".join(part.text or "" for part in text.iter(f"{MAIN}t"))


def relative_form(formula: str, cell: str) -> str:
    """Writes the cell references of a formula as seen from `cell`: equal formulas of a row become equal texts.

    Seen from B2, `A2*$C$1` is `RC[-1]*R1C3`. Names, functions, sheet names, texts, and whole rows or columns stay.
    """
    here = _TOKEN.fullmatch(cell)
    if here is None or here["column"] is None:
        raise ValueError(f"{cell!r} is no cell address; write one such as 'K12'")
    row, column = int(here["row"]), _number(here["column"])

    def replace(token: re.Match[str]) -> str:
        if token["column"] is None or _number(token["column"]) > 16384 or int(token["row"]) > 1048576:
            return token[0]
        return f"R{_seen(token['row'], token['r_abs'], row)}C{_seen(_number(token['column']), token['c_abs'], column)}"

    return _TOKEN.sub(replace, formula)


def _seen(there: int | str, absolute: str, here: int) -> str:
    """Writes one coordinate: `12` if it is absolute, else `[-1]`, or nothing where both are the same."""
    distance = int(there) - here
    return str(there) if absolute else f"[{distance}]" if distance else ""


def _number(letters: str) -> int:
    """Returns the number of a column: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
