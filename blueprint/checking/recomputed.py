"""What is computed once more: every cell by torch, from the equations of a fresh workbook and what is typed in the files; the
results that one looks for by the paper's page; and stored values that no quantity stands behind by an engine.

The first sees what a spreadsheet, an edit or an engine did wrong. What an equation itself has wrong it repeats: that is seen
by the page, which is fed what is typed, before anything is masked, and shares nothing with the definitions
(`blueprint.papers`). torch knows nothing of texts, of what Walk prints, and of the watches in the margin: one of these that is
not what its formula comes to was stored before something else was typed or overwritten, by a program that does not calculate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from blueprint.checking.checked_file import Checked, printed_value
from blueprint.checking.deviations import TOLERANCES, WHITENED, Deviation, carried, compare, widened
from blueprint.language import Array, Block
from blueprint.language.schedule import read_by
from blueprint.page.digits import same_print
from blueprint.page.grid import READS_FORMULAS
from blueprint.page.outline import Blueprint
from blueprint.page.parse_cell import is_error
from blueprint.quoting import unquoted
from blueprint.reopening.saved import cleaned

if TYPE_CHECKING:
    from blueprint.language.evaluate_torch import Tensors
    from blueprint.witness.raw import Page


TIE = {"float64": 1e-9, "float32": 2e-5}
"""Within this distance of a boundary two honest computations may decide differently."""
SINGLE = "float32"
SLOPE = ".grad"
"""How the name of a row ends that shows the slope of another one."""


class Tie(NamedTuple):
    """A number so close to the edge between two members that two honest computations may choose differently.

    of: the block whose cell chooses; at: the index of the cell, counted from 1.
    """

    of: str
    at: tuple[int, ...]


class Recomputed(NamedTuple):
    """What the equations make of one file: what is typed and every computed block by name, and the choices that are ties."""

    typed: dict[str, Array]
    rows: dict[str, Array]
    ties: tuple[Tie, ...]


def recomputed(files: Sequence[Checked], device: str, dtype: str) -> list[Recomputed]:
    """Computes every block of files, those of one kind and size together.

    Raises ReadError, with the cell, for what is typed and cannot be computed with.
    """
    together: dict[int, list[int]] = {}
    for number, file in enumerate(files):
        together.setdefault(id(file.outline), []).append(number)
    found: dict[int, Recomputed] = {}
    for numbers in together.values():
        found |= zip(numbers, _together([files[number] for number in numbers], device, dtype), strict=True)
    return [found[number] for number in range(len(files))]


def _together(files: Sequence[Checked], device: str, dtype: str) -> list[Recomputed]:
    from blueprint.language.evaluate_torch import evaluate_torch

    outline = files[0].outline
    blocks = [*outline.blocks()]
    typed = [_typed_in(file, outline) for file in files]
    made = evaluate_torch(blocks, outline.sizes, typed, device=device, dtype=dtype, near=TIE[dtype])
    arrays = {block: made.numpy(block) for block in made.arrays if not block.typed}
    if dtype == SINGLE and (beyond := _beyond(arrays)):
        exact = evaluate_torch(blocks, outline.sizes, typed, device="cpu")
        arrays |= {block: exact.numpy(block) for block in beyond}
    ties = _ties(made, len(files))
    return [
        Recomputed(
            {block.name: array for block, array in typed[number].items()},
            # a single cell is an array, too
            {block.name: np.asarray(array[number], dtype=array.dtype) for block, array in arrays.items()},
            tuple(ties[number]),
        )
        for number in range(len(files))
    ]


def _beyond(arrays: Mapping[Block, Array]) -> list[Block]:
    """Returns the blocks that have no number somewhere, and all that hang on them: in double precision they may have one.

    A sheet that shows where exp overflows has 1e307 in a cell, which single precision cannot hold.
    """
    readers: dict[Block, list[Block]] = {}
    for block in arrays:
        for read in read_by(block):
            readers.setdefault(read, []).append(block)
    found = [each for each, array in arrays.items() if not (each.text or each.limit) and not np.isfinite(array).all()]
    for block in found:  # which grows by what is found
        found += [reader for reader in dict.fromkeys(readers.get(block, ())) if reader not in {*found}]
    return found


def _typed_in(file: Checked, outline: Blueprint) -> dict[Block, Array]:
    """Returns what is typed in a file, by block; of blocks that a worksheet leaves out, what its numbers say."""
    typed = {block: np.asarray(array) for block, array in outline.typed.items()}
    for block in typed:
        if not file.left_out(block.name):
            file.block(block.name)
            typed[block] = file.arrays[block.name]
    named = cleaned(outline, typed, file)
    return {block: named[block.name] for block in typed}


def _ties(made: Tensors, files: int) -> list[list[Tie]]:
    """Returns by file the cells that chose by a number at an edge, and where gradients are shown those at a kink."""
    found: list[list[Tie]] = [[] for _ in range(files)]
    differentiated = {block.name.removesuffix(SLOPE) for block in made.arrays if block.name.endswith(SLOPE)}
    kinks = {block: each for block, each in made.kinks.items() if block.name in differentiated}
    for block, tied in (*made.ties.items(), *kinks.items()):
        for number, *at in tied.nonzero().tolist():
            found[number].append(Tie(block.name, tuple(at)))
    return found


@dataclass(frozen=True)
class OfPage:
    """How the equations' results compare with the page's.

    lines: by result. why: why none could be compared, "" where they were. ended: results for which the page has no number,
        since it takes the variance by N − 1 of a single token; the workbook divides by 1 there.
    """

    lines: tuple[Deviation, ...] = ()
    why: str = ""
    ended: tuple[str, ...] = ()

    @property
    def differing(self) -> tuple[Deviation, ...]:
        """The results that are others."""
        return tuple(line for line in self.lines if not line.agrees)


def of_page(file: Checked, found: Recomputed, dtype: str, device: str) -> OfPage:
    """Compares what the equations make of a file with what its kind's page makes of it. Raises WitnessError as the page does."""
    if file.kind.paper is None:
        return OfPage(why=f"{file.kind.title} has no page")
    page = file.kind.part("paper")
    ours, pages = {}, {}
    for name, row in results_of(page, found.typed, found.rows, dtype, device).items():
        if name in found.rows:
            counts = _counts(page.masks.get(_LATER_STEP.sub("", name), ""), found, row.shape)
            ours[name], pages[name] = (_compared(each, counts) for each in (found.rows[name], row))
    ended = tuple(name for name in ours if np.any(_ended(ours[name], pages[name]))) if _of_one_token(found) else ()
    for name in ended:
        ours[name] = np.where(_ended(ours[name], pages[name]), np.nan, ours[name])
    wider = widened(found.rows, {name: file.followers(name) for name in WHITENED if name in file.places})
    far = carried(file, found.rows, TOLERANCES[dtype])
    return OfPage(tuple(compare(ours, pages, TOLERANCES[dtype], wider, carried=far)), ended=ended)


def _of_one_token(found: Recomputed) -> bool:
    """Tells whether the batch has a single token, whose variance by N − 1 is 0/0."""
    mask = found.rows.get("mask", found.typed.get("mask"))
    return mask is not None and np.count_nonzero(mask == 1) == 1


def _ended(ours: Array, page: Array) -> Array:
    """Returns where the page has no number and the workbook has one."""
    ended: Array = np.isnan(page) & ~np.isnan(ours)
    return ended


_LATER_STEP = re.compile(r"^epoch[\d.]+\.")
"""What the names of a later step's rows begin with: they count where those of the first step do."""


def results_of(
    page: Page, typed: Mapping[str, Array], computed: Mapping[str, Array], dtype: str, device: str
) -> dict[str, Array]:
    """Returns what a page computes from what is typed. Raises WitnessError as the page does.

    typed, computed: the blocks of a workbook by name. The page sees which are computed, and none of their numbers.
    """
    from blueprint.witness.device import DTYPES
    from blueprint.witness.raw import Raw

    unread = {name: np.full(row.shape, np.nan) for name, row in computed.items() if row.dtype != object}
    found = page.results(Raw({**unread, **typed}, DTYPES[dtype], device))
    return {name: tensor.detach().cpu().numpy().astype(float) for name, tensor in found.items()}


def _compared(row: Array, counts: Array) -> Array:
    """Returns what counts of a row, 0 elsewhere; infinity is no number, as in a sheet."""
    numbers = np.asarray(row, dtype=float)
    return np.where(counts, np.where(np.isfinite(numbers), numbers, np.nan), 0.0)


def _counts(mask: str, found: Recomputed, shape: tuple[int, ...]) -> Array:
    """Returns where a row counts; a mask may have cells before the first and after the last position, which the row has not."""
    ones = found.rows.get(mask, found.typed.get(mask))
    if ones is None or ones.ndim != len(shape):
        return np.ones(shape, dtype=bool)
    before = (ones.shape[-1] - shape[-1] + 1) // 2
    counts: Array = ones[..., before : before + shape[-1]] == 1
    return counts


NEAR = 1e-9
"""How far numbers may be apart, relative to those above 1: programs round differently. The last digit of the largest number of
a file may be lost wherever that number was added."""


class Stale(NamedTuple):
    """A cell whose stored value is not that of its formula."""

    cell: str
    shows: str
    computed: str

    def __str__(self) -> str:
        return f"{self.cell}: the file shows {self.shows}, its formula comes to {self.computed}: saved without recalculation"


@dataclass(frozen=True)
class Values:
    """What a comparison of stored values came to. compared: of how many cells. why: why none could be, else ""."""

    stale: tuple[Stale, ...] = ()
    compared: int = 0
    why: str = ""


def values_of(file: Checked) -> Values:
    """Compares the stored values of a file's formulas that belong to no quantity."""
    of_quantities = {(found.sheet, row, column) for found in file.places.values() for _, row, column in found.cells()}
    cells = [each for each in file.compared.cells if each not in of_quantities]
    if file.recalculated or not cells:
        return Values(why="the file was saved without them" if file.recalculated else "")
    if file.computed is None:
        return Values(why="no engine here can say what its formulas come to")
    known = [(at, file.value(*at), file.computed.get((at.sheet, at.cell))) for at in cells]
    # What waits for a blank of a worksheet was saved without a value, and so is whether the program knows FORMULATEXT.
    probe = (file.named(READS_FORMULAS) or "").replace("$", "")
    waits = bool(file.blanks.cells)
    held = [
        (at, shows, is_)
        for at, shows, is_ in known
        if shows is not None or not (waits or f"{at.sheet}!{at.cell}" == probe)
    ]
    lost = float(np.spacing(max((_largest(array) for array in file.arrays.values()), default=1.0)))
    stale = (
        Stale(f"{unquoted(at.sheet)}!{at.cell}", printed_value(shows), printed_value(is_))
        for at, shows, is_ in held
        if not _same(shows, is_, lost)
    )
    return Values(tuple(stale), len(held))


def _largest(array: Array) -> float:
    numbers = array[np.isfinite(array)] if array.dtype != object else np.zeros(0)
    return float(np.abs(numbers).max(initial=1.0))


def _same(shows: object, computed: object, lost: float) -> bool:
    """Tells whether two values are the same: numbers nearly, prints but for their last digit, an error as any other.

    lost: how far apart numbers may be at least.
    """
    if isinstance(shows, int | float) and isinstance(computed, int | float):
        return abs(computed - shows) <= max(lost, NEAR * max(1.0, abs(computed)))
    if is_error(shows) or is_error(computed):
        return is_error(shows) and is_error(computed)
    if isinstance(shows, str) and isinstance(computed, str):
        return same_print(shows, computed)
    return (shows or "") == (computed or "")
