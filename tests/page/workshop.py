"""Tools of the tests of delivered workbooks: books and files that tests share, and their blocks against a file's."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from io import BytesIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from weakref import WeakSet

import ironcalc
import numpy as np
import numpy.typing as npt
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.page.engine import lean
from blueprint.page.outline import Blueprint
from blueprint.page.read import Found, Opened
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kinds
from tests.audit import shared_texts

Array = npt.NDArray[Any]
BUILT_IN = [name for kind in kinds() for name in kind.built_in()]
"""Every built-in set of numbers. Tests take their lists of numbers from these, so that a new kind is in each of them by itself."""


def _main(kind: Kind) -> str:
    called = ("default", kind.name.replace("_", "-"))
    return min(kind.built_in(), key=lambda name: (name not in called, "/" in name, "-" in name, len(name)))


MAINS = {kind.name: _main(kind) for kind in kinds() if kind.built_in()}
"""By kind the numbers that stand for it: the default, those of its own name, or those of the shortest."""
SLOPED = frozenset(name for kind in kinds() if kind.gradient for name in kind.built_in()) - {"very-very-sleepy"}
"""Numbers whose workbook has a loss, and so gradients; those of the exception end with the advantages, which a build says."""


def row(book: Book, name: str) -> npt.NDArray[np.float64]:
    """Returns the numbers of a block, without its edge cells."""
    return np.asarray(book.values[book.blocks[name]], dtype=float)


MADE = "BLUEPRINT_TESTS_MADE"
"""The variable that names a folder in which all workers of a run keep the files of built-in numbers."""


class Shared(Book):
    """A book that tests share: its file is written once, and copied from then on. The time of writing is no part of a file.

    Its layout, up to 40 MB, is forgotten after each file of tests, since up to 64 books are kept.
    """

    def __init__(self, blueprint: Blueprint, called: str) -> None:
        """Takes what the book is called among those of all workers."""
        super().__init__(blueprint)
        self._kept = Path(os.environ.get(MADE) or _ROOM.name) / sha256(called.encode()).hexdigest()
        _SHARED.add(self)

    def save(self, path: str | PathLike[str]) -> int:
        """Writes the workbook as a book does, or what was written before; returns how many formulas it holds."""
        if not self._kept.exists():
            formulas, file = super().save(path), Path(path).read_bytes()
            beside = self._kept.with_suffix(f".{os.getpid()}")  # another worker may write the same
            beside.write_bytes(formulas.to_bytes(8) + file)
            os.replace(beside, self._kept)
            return formulas
        kept = self._kept.read_bytes()
        Path(path).write_bytes(kept[8:])
        return int.from_bytes(kept[:8])


_SHARED = WeakSet[Shared]()
_ROOM = TemporaryDirectory()


def forget() -> None:
    """Lets every shared book make its layout again where it is asked for, and files be read again."""
    for book in _SHARED:
        vars(book).pop("layout", None)
    _opened.cache_clear()


@lru_cache(64)
def made(*overrides: str, numbers: str = "default") -> Book:
    """Makes the book of a built-in set of numbers with overrides such as `ppo.gamma=0.5`: tests share it, and none changes it."""
    return Shared(blueprint_of(load(numbers, overrides)), repr((numbers, overrides)))


class Asked(Mapping[str, Book]):
    """Books by name, each made when it is first asked for: where tests are collected, in each worker, their names will do."""

    def __init__(self, makers: Mapping[str, Callable[[], Book]]) -> None:
        """Takes by name what makes a book."""
        self._makers = {name: cache(make) for name, make in makers.items()}

    def __getitem__(self, name: str) -> Book:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def save_made(path: Path, *overrides: str, numbers: str = "default") -> Path:
    """Writes the workbook of a built-in set of numbers; what was written before in this process is copied."""
    made(*overrides, numbers=numbers).save(path)
    return path


def opened(path: Path, *, formulas: bool = False) -> Read:
    """Returns a file in openpyxl, with the values of its cells or with their formulas, to be looked at and not changed.

    Files of the same bytes are read once in a file of tests: to read one takes as long as to compute it.
    """
    return _opened(path.read_bytes(), formulas)


class Read:
    """A file that openpyxl reads sheet by sheet, each when it is first asked for: most tests look at one of twenty."""

    def __init__(self, file: bytes, formulas: bool):
        """Reads what all sheets share: texts, styles and names."""
        self._reader = reader = ExcelReader(BytesIO(file), data_only=not formulas)
        reader.read_manifest()
        reader.shared_strings = [*shared_texts(reader.archive)]  # openpyxl makes five objects of each
        reader.read_workbook()
        apply_stylesheet(reader.archive, reader.wb)
        self._parts = {sheet.name: (sheet, relation) for sheet, relation in reader.parser.find_sheets()}
        self._names = reader.parser.defined_names.by_sheet()
        self._read: dict[str, Any] = {}

    @property
    def sheetnames(self) -> list[str]:
        """The sheets in the order of their tabs."""
        return [*self._parts]

    @property
    def worksheets(self) -> list[Any]:
        """All sheets, in this order."""
        return [*self]

    @property
    def defined_names(self) -> dict[str, Any]:
        """The names of the whole workbook."""
        return dict(self._names.get("global", {}))

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, self._parts)

    def __contains__(self, title: str) -> bool:
        return title in self._parts

    def __getitem__(self, title: str) -> Any:
        if title not in self._read:
            reader, parser = self._reader, self._reader.parser
            number = self.sheetnames.index(title)
            reader.wb._sheets = []  # what openpyxl reads next stands alone, and so its names are those of sheet 0
            parser.find_sheets = lambda: [self._parts[title]]
            parser.defined_names = _NamesOfOne(self._names.get(number, {}))
            reader.read_worksheets()
            parser.assign_names()
            (self._read[title],) = reader.wb._sheets
        return self._read[title]


class _NamesOfOne(NamedTuple):
    """The names that belong to a sheet, as openpyxl asks for them."""

    names: Mapping[str, Any]

    def by_sheet(self) -> dict[int, Mapping[str, Any]]:
        return {0: self.names}


@lru_cache(64)
def _opened(file: bytes, formulas: bool) -> Read:
    return Read(file, formulas)


def in_ironcalc(path: Path) -> ironcalc.Model:
    """Opens a workbook in the engine as the package does: from a copy with places for names, which takes half the time.

    What is typed into it must say places, too.
    """
    with TemporaryDirectory() as folder:
        return ironcalc.load_from_xlsx(str(lean(path, Path(folder) / "lean.xlsx")))


def located(path: Path) -> dict[str, Found]:
    """Returns where every block of a file stands; files of the same bytes are opened once."""
    key = sha256(path.read_bytes()).digest()
    if key not in _PLACES:
        _PLACES[key] = Opened(path).places
    return _PLACES[key]


_PLACES: dict[bytes, dict[str, Found]] = {}


def differing(book: Book, arrays: Mapping[str, Array], tolerance: float) -> list[str]:
    """Lists the blocks, edge cells included, in which arrays read elsewhere are not the book's own; names too.

    Numbers differ if |a − b| > tolerance · max(1, |b|); words and blanks must be the same.
    """
    ours = {block.name: array for block, array in book.values.arrays.items()}
    strangers = sorted(ours.keys() ^ arrays.keys())
    return strangers + [name for name in ours if name in arrays and not same(ours[name], arrays[name], tolerance)]


def same(ours: Array, theirs: Array, tolerance: float) -> bool:
    """Tells whether words are the same and numbers agree to the tolerance times max(1, |number|)."""
    if ours.shape != theirs.shape or (ours.dtype == object) != (theirs.dtype == object):
        return False
    if ours.dtype == object:
        return bool(np.array_equal(ours, theirs))
    blank = np.isnan(ours)
    with np.errstate(invalid="ignore"):  # a limit that is off is infinite on both sides
        close = (ours == theirs) | (np.abs(ours - theirs) <= tolerance * np.maximum(1, np.abs(ours)))
    return bool(np.all(np.where(blank, np.isnan(theirs), close)))


def blocks_in(model: ironcalc.Model, places: Mapping[str, Found]) -> dict[str, Array]:
    """Returns every block as an engine has it, and as `read` gives it: blank is NaN, or "" among words, off is infinite."""
    sheets = {sheet["name"]: number for number, sheet in enumerate(model.get_worksheets_properties())}
    return {name: _block_in(model, sheets[found.sheet], found) for name, found in places.items()}


def _block_in(model: ironcalc.Model, sheet: int, found: Found) -> Array:
    array: Array = np.empty(tuple(along.cells for along in found.shape), dtype=object if found.words else float)
    for at, row, column in found.cells():
        value = model.get_cell_value(sheet, row, column)
        array[at] = found.parsed(value)
    return array


_NUMBER = re.compile(r"(?<=v>)-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=</(?:c:)?v>)")


def other_parts(kept: Path, made: Path) -> list[str]:
    """Lists the parts of two workbooks that differ: in a letter, or in a number by more than 1e-12 of it or of 1.

    exp, log and tanh are rounded otherwise by another processor, and a zero may have lost its sign.
    """
    with zipfile.ZipFile(kept) as old, zipfile.ZipFile(made) as new:
        if old.namelist() != new.namelist():
            return sorted({*old.namelist()} ^ {*new.namelist()}) or ["their order"]
        texts = [(name, old.read(name).decode(), new.read(name).decode()) for name in old.namelist()]
    return [name for name, one, other in texts if one != other and not _same_but_for_rounding(one, other)]


def _same_but_for_rounding(one: str, other: str) -> bool:
    numbers = [[float(number) for number in _NUMBER.findall(each)] for each in (one, other)]
    return _NUMBER.sub("…", one) == _NUMBER.sub("…", other) and np.allclose(
        numbers[0], numbers[1], rtol=1e-12, atol=1e-12
    )
