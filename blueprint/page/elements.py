"""The elements of a workbook's parts: counted by a streaming parser, before openpyxl makes objects of any of them."""

import re
from contextlib import suppress
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from openpyxl.utils.cell import range_boundaries

from blueprint.page import grid
from blueprint.page.refusals import ReadError
from blueprint.quoting import quoted

MOST_IN_CELLS = 2_400_000
"""Rows, cells, formulas and values that a workbook may have; the largest that `build` makes (16 groups of 16 columns,
tables of 64 by 32) has 1.6 million. openpyxl takes 6 µs and up to 350 bytes for each (a cell with nothing in it)."""
MOST_BESIDES = 200_000
"""Other elements: texts, styles, names, links, notes, charts; the largest had 47,000. Some cost openpyxl 60 µs each."""
MOST_SPREAD = 100_000
"""Cells over which merged ranges, links and notes of one part may spread: openpyxl makes an object for each."""
MOST_TRANSLATED = 10_000_000
"""Letters of formulas that many cells share, counted for each cell: openpyxl spells them out one by one, 1 µs a letter."""
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

    def look_through(self, name: str, content: bytes) -> None:
        """Looks through one part. Raises ReadError; what is no XML is left to the reader, which refuses it in its own words."""
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

    def _refuse(self, says: str) -> NoReturn:
        raise ReadError(f"{self._path} {says}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST or len(attributes) > MOST_ATTRIBUTES:
            self._refuse(f"has elements of a depth or width that no workbook has {self._in_part}")
        kind = tag[tag.rfind(" ") + 1 :]
        if kind in _IN_CELLS:
            self._in_cells += 1
            if self._in_cells > MOST_IN_CELLS:
                self._refuse(f"has more than {MOST_IN_CELLS:,} rows, cells, formulas and values: {NOT_OURS}")
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
