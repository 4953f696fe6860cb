"""A file of somebody else as an archive of parts, of which only those are unpacked that are asked for.

Nothing of it is believed before it is counted: files of students may hold anything.
"""

import re
import zipfile
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

from blueprint.page import archive
from blueprint.page.refusals import require
from blueprint.quoting import quoted

LARGEST_PART = 8_000_000
"""Bytes of one part that is taken apart, which makes at most some 200 MB of it; those of the first workbook have 0.3 million."""
LARGEST_SAYING = 1_000
"""Bytes in which a file says of which format it is."""
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^<>]*>([^<]*)<")
_REACHES_OUT = re.compile(rb"\w\s*\|[^|]*!|\bDDE\s*\(", re.IGNORECASE)
"""What asks another program for something, such as cmd|'/c calc'!A1, outside of the words of a formula."""
_WORDS = re.compile(rb'"[^"]*"|&quot;.*?&quot;')


class Parts:
    """A file and its parts. Raises ReadError, in a sentence, here and wherever a part is read."""

    def __init__(self, path: Path):
        self.path, self._unpacked = path, dict[str, bytes]()
        archive.check_file(path)
        with archive.refusing(path):
            self._zip = zipfile.ZipFile(path)
        archive.check_sizes(self._zip.infolist(), path)

    def close(self) -> None:
        """Lets go of the file."""
        self._zip.close()

    def refuse_hostile(self) -> None:
        """Refuses what a worksheet never holds: macros, links to other files, and formulas that call other programs."""
        names = [name.lower() for name in self._zip.namelist()]
        require(
            not any(name.endswith("vbaproject.bin") for name in names),
            "the file holds macros, which are never read: save it as a plain .xlsx workbook",
        )
        require(
            not any(name.startswith("xl/externallinks/") for name in names),
            "the file reads other files (external links): type numbers or formulas of this workbook only",
        )
        for name in self._zip.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                require(
                    not _reaches_out(plain(self.content(name))),
                    f"a formula in its part {quoted(name)} calls another program: take it out",
                )

    def root(self, part: str) -> Element | None:
        """Takes a part apart; None where there is no such part."""
        if part not in self._zip.namelist():
            return None
        content = self.content(part)
        require(
            not archive.DECLARES.search(plain(content)),
            f"the file declares entities in its part {quoted(part)}, as no workbook does: it is not read",
        )
        with archive.refusing(self.path):
            return fromstring(content)

    @property
    def part_names(self) -> list[str]:
        """The names of all parts."""
        return self._zip.namelist()

    def is_of(self, kind: bytes) -> bool:
        """Tells whether the file says of itself that it is of a format, as those of OpenDocument do in their first part."""
        return "mimetype" in self.part_names and self.content("mimetype", LARGEST_SAYING).strip() == kind

    def content(self, part: str, most: int = LARGEST_PART) -> bytes:
        """Unpacks a part, once, and no further than its stated size. most: bytes beyond which it is refused."""
        if part not in self._unpacked:
            info = self._zip.getinfo(part)
            require(not info.flag_bits & 0x1, "the file is protected by a password: save it without one")
            require(
                info.file_size <= most,
                f"its part {quoted(part)} has {info.file_size / 1e6:,.0f} MB, as none of a worksheet has: it is not read",
            )
            with archive.refusing(self.path), self._zip.open(info) as unpacking:
                self._unpacked[part] = unpacking.read(info.file_size + 1)
        return self._unpacked[part]


def plain(content: bytes) -> bytes:
    """Returns a part as it reads in ASCII, UTF-16 too."""
    return content.replace(b"\0", b"") if b"\0" in content else content


def _reaches_out(sheet: bytes) -> bool:
    """Tells whether a formula of a sheet asks another program for something."""
    if b"|" not in sheet and b"dde" not in sheet.lower():
        return False
    return any(_REACHES_OUT.search(_WORDS.sub(b"", formula)) for formula in _FORMULA.findall(sheet))
