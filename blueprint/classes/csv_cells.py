"""CSV that a spreadsheet opens: whatever a student called himself, no cell of it is taken for a formula.

What begins with =, +, −, @ or a tab is computed by Excel, LibreOffice and Google Sheets, and may there send data away or
start a program (OWASP, CSV Injection). Such a cell gets an apostrophe before it, as one types it by hand; numbers stay
numbers. A program of another country splits lines at another sign, so that what stands behind a comma, a semicolon or a tab
within a cell may begin a cell of its own, and is guarded as well.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from blueprint.classes import ClassError, bytes_of
from blueprint.files import saved_whole

LARGEST, MOST_CELLS = 64 * 2**20, 5_000_000
"""Bytes and cells of a file that is read; the roster of a whole university has fewer."""
DELIMITERS = ",;\t"
_BOM = "\ufeff"
_BEGINS = tuple("=+-@＝＋－＠")
_SPLITS = re.compile(r"[,;\t\r\n|]")
_AROUND = ' "\t\r\n\xa0\u2007\u202f\ufeff'
"""What a program takes away from a cell before it looks at it."""
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*")
_TEXT_IN_QUOTES = re.compile(r'="[^"]*"')


@dataclass(frozen=True)
class Csv:
    """A CSV file as it was read: its rows of texts, its delimiter, and whether it began with a byte order mark.

    The first row is the header. Rows may be of different lengths, as they were in the file. lines: where each begins in it.
    """

    rows: list[list[str]]
    delimiter: str = ","
    bom: bool = False
    lines: tuple[int, ...] = ()

    def column(self, name: str) -> int | None:
        """Returns where the column of this name stands, whatever its capitals; None where there is none."""
        heads = [each.strip().casefold() for each in (self.rows[0] if self.rows else [])]
        return heads.index(name.strip().casefold()) if name.strip().casefold() in heads else None


def harmless(value: object) -> str:
    """Returns the text of a cell, which no spreadsheet takes for a formula; None and what is no number are empty.

    A number, `-` alone and `="text"`, as which Canvas writes names that begin with =, are left as they are.
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, float):
        return repr(value + 0.0)
    text = str(value).replace("\x00", "")
    if _NUMBER.fullmatch(text) or _is_text_in_quotes(text):
        return text
    return "".join("'" * _computed(text[start:]) + text[start:end] for start, end in _parts(text))


def bare(text: str) -> str:
    """Takes away the apostrophes that `harmless` has put before what looked like a formula."""
    return "".join(
        text[start + (text[start:end][:1] == "'" and _computed(text[start + 1 :])) : end] for start, end in _parts(text)
    )


def _is_text_in_quotes(text: str) -> bool:
    """Says whether a cell is a text and nothing else, also in a program that splits lines at another sign."""
    return bool(_TEXT_IN_QUOTES.fullmatch(text)) and not any(_computed(part) for part in _SPLITS.split(text)[1:])


def _parts(text: str) -> list[tuple[int, int]]:
    """Returns beginning and end of what programs may take for a cell of its own, the sign behind it included."""
    ends = [found.end() for found in _SPLITS.finditer(text)]
    return [*zip([0, *ends], [*ends, len(text)], strict=True)]


def _computed(text: str) -> bool:
    """Says whether a program might compute what begins here."""
    inner = text.strip(_AROUND)
    return inner.startswith(_BEGINS) and inner not in ("-", "+") and not _NUMBER.fullmatch(inner)


def csv_text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """Returns a CSV file's text, all cells harmless."""
    page = io.StringIO(newline="")
    csv.writer(page, delimiter=delimiter, lineterminator="\r\n").writerows([*map(harmless, row)] for row in rows)
    return page.getvalue()


def save_csv(path: Path, rows: Iterable[Sequence[object]], delimiter: str = ",", bom: bool = True) -> None:
    """Writes a CSV file, whole or not at all, all cells harmless. Raises SaveError.

    bom: a mark at the beginning by which Excel knows that umlauts are UTF-8. `read_csv` reads it again.
    """
    with saved_whole(path) as unfinished:
        unfinished.write_bytes(((_BOM if bom else "") + csv_text(rows, delimiter)).encode("utf-8"))


def read_csv(path: Path, what: str = "a CSV file") -> Csv:
    """Reads a CSV file: UTF-8, UTF-16 with its mark, or else Windows-1252; separated by commas, semicolons or tabs.

    what: what it should be, for the message. Empty lines are left out. Raises ClassError, in one sentence, where it cannot
    be read, is no text, is empty, or is larger than any class.
    """
    raw = bytes_of(path, what, LARGEST, "give the name of a CSV file")
    text = _decoded(raw)
    if "\x00" in text or raw.startswith(b"PK\x03\x04"):
        raise ClassError(f"{path} is no text: save it as CSV, in Excel by File, Save As, CSV UTF-8")
    plain = text.lstrip(_BOM)
    head = re.sub(r'"[^"]*"', "", plain.lstrip().partition("\n")[0])
    delimiter = max(DELIMITERS, key=head.count)
    rows = _rows_of(plain, delimiter, path, what)
    return Csv([row for _, row in rows], delimiter, text.startswith(_BOM), tuple(line for line, _ in rows))


def _decoded(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _BOM + raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _rows_of(text: str, delimiter: str, path: Path, what: str) -> list[tuple[int, list[str]]]:
    """Returns the rows that hold something, each with the line where it begins: a cell in quotes may go on in the next."""
    rows: list[tuple[int, list[str]]] = []
    reader, cells, line = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), 0, 1
    try:
        for row in reader:
            rows += [(line, row)] * any(each.strip() for each in row)
            cells, line = cells + len(row), reader.line_num + 1
            if cells > MOST_CELLS:
                raise ClassError(f"{path} has more than {MOST_CELLS:,} cells, as no class has: give {what}")
    except csv.Error as error:
        raise ClassError(f"{path} cannot be read as {what} ({error}): save it as CSV again") from None
    if not rows:
        raise ClassError(f"{path} is empty: give {what}, with a header and a row for each student")
    return rows


def records(table: Csv) -> Iterable[dict[str, str]]:
    """Yields each row below the header by the names of the columns in small letters; cells that a short row lacks are empty."""
    heads = [each.strip().casefold() for each in table.rows[0]]
    for row in table.rows[1:]:
        cells = [bare(cell).strip() for cell in row]
        yield dict(zip(heads, chain(cells, [""] * (len(heads) - len(row))), strict=False))
