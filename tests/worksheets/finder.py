"""Looks for answers in a file as somebody would who opens it as an archive: in every number and every text of every part.

It knows nothing of how worksheets are made: it takes the answers, the file, and what engines compute of it.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path

SAME = 1e-9
"""How near two computed numbers are, as a share of them, that are the same: what two orders of adding may round."""
LONG = 9
"""A number of at least so many digits was computed, and is compared as such; of a shorter one each digit that it has."""
DIGITS = 3
"""What has fewer digits after its leading zeros is no answer but a setting, a count, a width."""
NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d+(?:[.,]\d+)?(?:[eE][-+−]?\d+)?(?![\w]|[.,]\d)")
PIECE = re.compile(r"<[^>]*>|[^<]+")
DIGIT = re.compile(r"\d")
QUOTED = re.compile(r'="([^"]*)"')

Missing = Mapping[str, tuple[float, int]]
"""By its name each missing answer, and with how many decimals a page shows it."""
Cells = Mapping[tuple[str, str], object]


def found_in_file(path: Path, missing: Missing) -> list[str]:
    """Lists where a missing answer stands in a file: cached values, texts, notes, names, messages, charts, properties."""
    return [f"{part}: {text} is {name}" for part, text in pieces(path) for name in answers_in(text, missing)]


def found_in_cells(cells: Cells, missing: Missing) -> list[str]:
    """Lists the cells of which an engine has computed a missing answer, as a number or in a text."""
    return [
        f"{sheet}!{cell}: {value} is {name}"
        for (sheet, cell), value in cells.items()
        for name in answers_in(value, missing)
    ]


def pieces(path: Path) -> Iterator[tuple[str, str]]:
    """Yields every text between two tags, and every value of an attribute, that has digits, once for each part."""
    with zipfile.ZipFile(path) as archive:
        for part in archive.namelist():
            text, found = archive.read(part).decode("utf-8", errors="replace"), dict[str, None]()
            for piece in PIECE.findall(text):
                values = QUOTED.findall(piece) if piece.startswith("<") else [piece]
                found |= dict.fromkeys(value for value in values if len(DIGIT.findall(value)) >= DIGITS)
            yield from ((part, unescape(value)) for value in found)


def texts_of_file(path: Path) -> list[str]:
    """Lists every text of a file that a reader may see, as often as it stands in a cell, a note or a name."""
    from openpyxl import load_workbook

    cells = (cell for sheet in load_workbook(path) for row in sheet.iter_rows() for cell in row)
    return [
        text for cell in cells for text in (cell.value, cell.comment and cell.comment.text) if isinstance(text, str)
    ]


def answers_in(value: object, missing: Missing) -> Iterator[str]:
    """Yields the missing answers that a number is, or that a text quotes; a number's negative counts as well."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield from (
            name for name, (answer, _) in missing.items() if abs(abs(value) - abs(answer)) <= SAME * abs(answer)
        )
        return
    for number in NUMBER.findall(str(value)):
        yield from (name for name, (answer, decimals) in missing.items() if is_answer(number, answer, decimals))


def is_answer(number: str, answer: float, decimals: int) -> bool:
    """Tells whether a written number is an answer, with at least the decimals that a page shows."""
    plain = number.replace("−", "-").replace(",", ".").lstrip("+-").lower()
    mantissa, _, exponent = plain.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if len(digits) < DIGITS or len(exponent) > DIGITS:
        return False
    unit = 10.0 ** (int(exponent or 0) - len(fraction))
    if len(digits) >= LONG:
        return abs(float(plain) - abs(answer)) <= SAME * abs(answer)
    return unit < 1.5 * 10.0**-decimals and abs(float(plain) - abs(answer)) <= 0.5000001 * unit


def planted(path: Path, target: Path, part: str, old: str, new: str) -> Path:
    """Writes a copy of a file in which a text of a part (the first whose name fits) is another one."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as copy:
        done = 0
        for name in source.namelist():
            text = source.read(name)
            if re.fullmatch(part, name) and not done:
                text, done = re.subn(old.encode(), new.encode(), text, count=1)
            copy.writestr(name, text)
    assert done, f"{old} is not in {part}"
    return target
