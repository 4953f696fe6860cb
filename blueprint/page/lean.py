"""A copy of a workbook that an engine loads sooner: its formulas say places instead of names.

ironcalc copies the list of names for each formula while it loads: a workbook with two hundred names takes half as long again
with them. So where a name stands in a formula, the copy has the place that the file gives to that name, and it has no names
that no formula says then. What a formula comes to is the same (`tests/page/test_lean.py` has workbooks computed both ways).
A name stays where it could be read in another way: if it is no fixed place of the whole workbook. And so does the name of a
place without a small letter in a formula without a capital one: the watches tell by that whether it was overwritten (`watch.py`).
"""

import re
import zipfile
from collections.abc import Set
from pathlib import Path

_NAME = re.compile(rb'<(?:\w+:)?definedName\b([^>]*?)\bname="([^"]*)"([^>]*)>([^<]*)</(?:\w+:)?definedName>')
_FORMULA = re.compile(rb"(<(?:\w+:)?f\b[^>]*>)([^<]*)(?=<)")
_WORD = re.compile(rb"[^\W\d][\w.\\]*", re.ASCII)
_PLACE = re.compile(rb"(?:[A-Za-z_]\w*|'(?:[^']|'')+')!\$[A-Z]{1,3}\$\d+(?::\$[A-Z]{1,3}\$\d+)?", re.ASCII)
_APART = re.compile(rb"""("[^"]*"|'[^']*')""")
_GOING_ON, _GOES_ON = re.compile(rb"[\w.\\!:\]\[\x80-\xff]", re.ASCII), re.compile(rb"[\w.\\!:(\[\x80-\xff]", re.ASCII)
BOOK, SHEETS = "xl/workbook.xml", "xl/worksheets/"


def lean(path: Path, target: Path) -> Path:
    """Writes the copy, and returns its path."""
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    places = _places(parts.get(BOOK, b""))
    words: set[bytes] = set()
    for name, part in parts.items():
        if name.startswith(SHEETS):
            parts[name] = _placed(part, places, words)
    # A name may be made of other names.
    words.update(word for match in _NAME.finditer(parts.get(BOOK, b"")) for word in _WORD.findall(match[4]))
    said = {word.lower() for word in words}
    if BOOK in parts:
        parts[BOOK] = _NAME.sub(lambda match: match[0] if match[2].lower() in said else b"", parts[BOOK])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for name, part in parts.items():
            copy.writestr(name, part)
    return target


def _places(book: bytes) -> dict[bytes, bytes]:
    """Returns the fixed place of each name that has one, and the same one in the whole workbook."""
    found: dict[bytes, bytes] = {}
    of_sheets: set[bytes] = set()
    for before, name, after, place in _NAME.findall(book):
        if b"localSheetId" in before + after:
            of_sheets.add(name.lower())
        elif _PLACE.fullmatch(place):
            found[name] = place
    return {name: place for name, place in found.items() if name.lower() not in of_sheets}


def _placed(part: bytes, places: dict[bytes, bytes], words: set[bytes]) -> bytes:
    """Returns a sheet with places for names; adds to `words` what its formulas still say."""
    done: dict[bytes, bytes] = {}

    def of(match: re.Match[bytes]) -> bytes:
        head, formula = match.groups()
        if formula not in done:
            said = {*_WORD.findall(formula)}
            done[formula] = formula
            known = said & places.keys()
            if known and formula == formula.lower():
                known = {name for name in known if places[name] != places[name].upper()}
            if known:
                done[formula] = placed = _with_places(formula, places, known)
                said -= {name for name in known if name not in placed}
            words.update(said)
        return head + done[formula]

    return _FORMULA.sub(of, part)


def _with_places(formula: bytes, places: dict[bytes, bytes], known: Set[bytes]) -> bytes:
    """Returns a formula with places for names, but in its texts and in the names of sheets."""
    pieces = _APART.split(formula.replace(b"&quot;", b'"').replace(b"&apos;", b"'"))
    for i in range(0, len(pieces), 2):
        for name in known:
            if name in pieces[i]:
                pieces[i] = _with_place(pieces[i], name, places[name])
    return b"".join(pieces)


def _with_place(piece: bytes, name: bytes, place: bytes) -> bytes:
    """Puts a place where a name stands for itself: beside no letter, sheet, range or bracket, and not as a function."""
    before, *others = piece.split(name)
    done, begun = before, bool(_GOING_ON.match(before[-1:]))
    for i, after in enumerate(others, 1):
        glued = not after and i < len(others)
        done += (name if begun or glued or _GOES_ON.match(after) else place) + after
        begun = glued or bool(_GOING_ON.match(after[-1:]))
    return done
