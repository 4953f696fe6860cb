"""The embedded engine, ironcalc: the value of every formula of a workbook, in this process or in one of its own.

It knows nothing of the definitions: it reads the file as a stranger's spreadsheet program would, and computes every formula
anew, whatever value is stored beside it. This module imports nothing of ours, so that a process of its own starts at once.

ironcalc copies the list of names for each formula while it loads: a workbook with two hundred names takes half as long again
with them. So the copy puts the address of a name in place of that name in formulas, and drops names that no formula uses
then. The results of formulas are the same (`tests/page/test_recalculate.py` has workbooks computed both ways). A name stays if it
could be read in another way: if it is not one fixed address of the whole workbook. It also stays if its address has no small letter
and the formula has no capital one: from this the watches tell whether the formula was overwritten.

ironcalc 0.9 takes a formula apart by recursion, so that some kB of brackets overflow the stack and end the process without
a word; and a product over whole sheets computes for hours. It looks for a sheet's notes at one place only, and cannot open a
file in which openpyxl has put them elsewhere; and it takes a blank cell that openpyxl has marked as a number (t="n" without
a value) for a 0; where lxml is installed openpyxl writes such a cell in two tags. So the copy has nothing but the cells; and a
workbook of somebody else is computed in a process apart.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

Value: TypeAlias = float | str | bool | None
Cells: TypeAlias = dict[tuple[str, str], Value]
"""Values by sheet name and address: `cells["Weeks", "K12"]`; an engine's error is its text, such as `#N/A`."""


class EngineMissing(RuntimeError):
    """Reports that a spreadsheet engine is not installed, and how to get it."""


_NAME = re.compile(rb'<(?:\w+:)?definedName\b([^>]*?)\bname="([^"]*)"([^>]*)>([^<]*)</(?:\w+:)?definedName>')
_FORMULA = re.compile(rb"(<(?:\w+:)?f\b[^>]*>)([^<]*)(?=<)")
_WORD = re.compile(rb"[^\W\d][\w.\\]*", re.ASCII)
_PLACE = re.compile(rb"(?:[A-Za-z_]\w*|'(?:[^']|'')+')!\$[A-Z]{1,3}\$\d+(?::\$[A-Z]{1,3}\$\d+)?", re.ASCII)
_APART = re.compile(rb"""("[^"]*"|'[^']*')""")
_GOING_ON, _GOES_ON = re.compile(rb"[\w.\\!:\]\[\x80-\xff]", re.ASCII), re.compile(rb"[\w.\\!:(\[\x80-\xff]", re.ASCII)
_RELATION = re.compile(rb'<Relationship [^>]*?Type="[^"]*/(?:comments|vmlDrawing|drawing|threadedComment)"[^>]*?/>')
_ELEMENT = re.compile(rb"<(?:legacyDrawing|drawing)\b[^>]*?/>")
_BLANK = re.compile(rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?) t="n"( ?/>|></c>)')
BOOK, SHEETS = "xl/workbook.xml", "xl/worksheets/"


class Others(NamedTuple):
    """Files that have nearly the formulas of a first one, and the same names, and something else typed.

    places: sheet, row and column (counted from 1) of the cells in which one of them has something else.
    files: by file what stands there, None for nothing, a list of one text for a formula.
    """

    places: Sequence[tuple[str, int, int]] = ()
    files: Sequence[Sequence[Value | list[str]]] = ()


def lean(path: Path, target: Path, others: Others | None = None) -> Path:
    """Writes the copy, with places for names, without notes and charts, in which blank cells are blank; returns its path.

    others: whose formulas are typed into the copy later, so that the names in them are kept.
    """
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    places = _places(parts.get(BOOK, b""))
    typed = (value[0] for file in (others.files if others else ()) for value in file if isinstance(value, list))
    words = {word for formula in typed for word in _WORD.findall(formula.encode())}
    for name, part in parts.items():
        if name.startswith(SHEETS):
            parts[name] = _placed(_plain(name, part), places, words)
    # A name may be made of other names.
    words.update(word for match in _NAME.finditer(parts.get(BOOK, b"")) for word in _WORD.findall(match[4]))
    said = {word.lower() for word in words}
    if BOOK in parts:
        parts[BOOK] = _NAME.sub(lambda match: match[0] if match[2].lower() in said else b"", parts[BOOK])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for name, part in parts.items():
            copy.writestr(name, part)
    return target


def _plain(name: str, part: bytes) -> bytes:
    """Returns a sheet, or its list of relations, without notes, drawings and blank cells that say they are numbers."""
    if name.endswith(".rels"):
        return _RELATION.sub(b"", part)
    part = _ELEMENT.sub(b"", part)
    return _BLANK.sub(rb"\1\2", part) if b' t="n"' in part else part


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


def with_ironcalc(path: Path) -> Cells:
    """Returns the value of every formula cell of `path`, as ironcalc computes it.

    Raises EngineMissing without ironcalc, and RuntimeError if `path` is no readable workbook.
    """
    return next(_with_others(path, Others()))


def _with_others(path: Path, others: Others) -> Iterator[Cells]:
    """Yields the value of every formula cell of a file, then of each of the others.

    To load a file takes four times as long as to compute it, so the others are typed into the first one.
    """
    try:
        import ironcalc
    except ImportError as error:
        raise EngineMissing("The engine ironcalc is not installed; get it with `pip install ironcalc`.") from error
    with reading(path), TemporaryDirectory() as folder, _silently():
        model = ironcalc.load_from_xlsx(str(lean(path, Path(folder) / "lean.xlsx", others)))
        model.evaluate()
    sheets = [sheet["name"] for sheet in model.get_worksheets_properties()]
    letters = cache(ironcalc.column_name_from_number)
    formulas = [place for place in model.get_all_cells() if model.get_cell_formula(*place) is not None]
    changed = [(sheets.index(sheet), row, column) for sheet, row, column in others.places]
    always = [place for place in formulas if place not in {*changed}]
    for typed in (None, *others.files):
        if typed is not None:
            with reading(path), _silently():
                for place, value in zip(changed, typed, strict=True):
                    _type(model, place, value)
                model.evaluate()
            formulas = [*always, *(place for place in changed if model.get_cell_formula(*place) is not None)]
        yield {
            (sheets[s], f"{letters(column)}{row}"): model.get_cell_value(s, row, column) for s, row, column in formulas
        }


def _type(model: Any, place: tuple[int, int, int], value: Value | list[str]) -> None:
    """Puts a value or a formula into a cell, as it is: `1` as a word stays a word."""
    if isinstance(value, list):
        model.update_cell_with_formula(*place, "=" + value[0].replace("_xlfn.", ""))
    elif value is None:
        model.clear_cell_contents(*place)
    elif isinstance(value, bool):
        model.update_cell_with_bool(*place, value)
    elif isinstance(value, str):
        model.update_cell_with_text(*place, value)
    else:
        model.update_cell_with_number(*place, float(value))


@contextmanager
def _silently() -> Iterator[None]:
    """Keeps what the engine prints, a line for each formula that was saved without a value, from standard output.

    It writes past Python, to the file that the system knows as output, where the JSON of a command goes too.
    """
    sys.stdout.flush()
    with open(os.devnull, "wb") as nowhere:
        output = os.dup(1)
        try:
            os.dup2(nowhere.fileno(), 1)
            yield
        finally:
            os.dup2(output, 1)
            os.close(output)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns whatever a reader says about a file that is no sound workbook into one sentence."""
    if not path.exists():
        near = get_close_matches(path.name, [other.name for other in path.parent.glob("*.xlsx")], 1)
        raise RuntimeError(f"There is no file {path}{f'; did you mean {near[0]}?' if near else '.'}")
    if path.is_dir():
        raise RuntimeError(f"{path} is a folder; name the .xlsx file in it.")
    if not zipfile.is_zipfile(path):
        raise RuntimeError(f"{path} is no .xlsx workbook, or only part of one; save or build it again.")
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as fault:  # a panic in ironcalc's Rust is no Exception
        raise RuntimeError(f"{path} cannot be read as a workbook ({' '.join(str(fault).split())}).") from fault


SECONDS, SECONDS_ON_THE_CLOCK = 20, 200
"""What a file may cost: of the processor's time, and where that is not measured or the machine is busy, of ours."""
MEMORY = 1 << 30
"""Bytes that it may take, beyond those of Python itself."""
_COMMAND = (__file__,)
_STOPPED = f"the engine was stopped: its formulas are nested too deeply, or take more than {SECONDS} seconds or {MEMORY >> 30} GB"


_WITHOUT_VALUE = re.compile(
    rb"<(?:\w+:)?c\b[^>]*?\br\s*=\s*[\"'](?P<cell>[A-Z]+[0-9]+)[\"'][^>]*>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"
    rb"\s*+(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*+</(?:\w+:)?v>)?\s*+</(?:\w+:)?c>"
)
"""A formula without a value, or with an empty one."""


def recalculated_apart(path: Path) -> Cells:
    """Returns the value of every formula of a file, as `with_ironcalc` does. Raises RuntimeError, also for a bound passed."""
    return alike_apart(path, Others())[0]


def alike_apart(path: Path, others: Others) -> list[Cells]:
    """Returns the value of every formula of a file, and of others that have its formulas. Raises RuntimeError, as above."""
    with TemporaryDirectory() as folder:
        result, asked = Path(folder) / "cells.json", Path(folder) / "others.json"
        asked.write_text(json.dumps(others), encoding="utf-8")
        _run(str(path), str(result), str(asked))
        try:
            found = json.loads(result.read_bytes())
        except (OSError, ValueError):
            raise RuntimeError(_STOPPED) from None
    if isinstance(found, str):
        raise RuntimeError(found)
    return [{(sheet, cell): value for sheet, cell, value in cells} for cells in found]


def _run(*arguments: str) -> None:
    """Runs this module to its end, whatever that is; `-P`: a folder that one is in holds modules of anybody."""
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-P", *_COMMAND, *arguments], env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=SECONDS_ON_THE_CLOCK, check=False,
        )  # fmt: skip


def _limit() -> None:
    """Bounds this process, where the system has such bounds."""
    try:
        import resource
    except ImportError:  # Windows
        return
    bounds = ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, _reserved() + MEMORY), (resource.RLIMIT_CORE, 0))
    for what, most in bounds:
        with suppress(ValueError, OSError):  # the user's own bound may be lower
            resource.setrlimit(what, (most, most))


def _reserved() -> int:
    """Returns the bytes that Python and its libraries have reserved before any file is read; many are never used."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # another system
        return MEMORY


def without_values(path: Path) -> set[str]:
    """Returns the addresses, on whichever sheet, at which formulas were saved without a value, or with an empty word."""
    with zipfile.ZipFile(path) as source:
        sheets = [source.read(part) for part in source.namelist() if part.startswith("xl/worksheets/")]
    return {match["cell"].decode() for content in sheets for match in _WITHOUT_VALUE.finditer(content)}


def main(path: str, result: str, others: str) -> None:
    """Recalculates a file, and others like it, and writes their cells as JSON, or what is wrong with the file."""
    _limit()
    found: list[list[tuple[object, ...]]] | str
    try:
        made = _with_others(Path(path), Others(*json.loads(Path(others).read_bytes())))
        found = [[(*cell, value) for cell, value in cells.items()] for cells in made]
    except RuntimeError as error:
        found = str(error)
    Path(result).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
