"""Workbooks against what a page of `papers` makes of their typed numbers: built-in ones by every preset, and others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import blueprint as bp
from blueprint.language import Computation
from blueprint.witness.raw import Page, Raw
from tests.same.cases import presets_of

Array = npt.NDArray[Any]
CLOSE = 1e-12


@cache
def built(name: str) -> bp.Book:
    return bp.build(name, gradients=True)


@cache
def _computation(name: str) -> Computation:
    book = built(name)
    return Computation(book.blocks.values(), book.blueprint.sizes)


def file_of(book: bp.Book) -> dict[str, Array]:
    """Returns the numbers of a workbook by the names of its blocks."""
    return {block.name: book.values.arrays[block] for block in book.blocks.values()}


def typed_in(name: str, preset: str, more: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """Returns the numbers where a preset is typed into the default workbook: as if built with it, and ten times as fast.

    more: other numbers, by block.
    """
    book = built(name)
    other = {book.blocks[key]: each for key, each in (more or {}).items()}
    values = _computation(name).values({**book.blueprint.typed, book.blocks["preset"]: preset, **other})
    return {block.name: values.arrays[block] for block in book.blocks.values()}


def drawn(name: str, seed: int, *blocks: str) -> dict[str, Array]:
    """Draws other numbers for blocks of a workbook, so large that some log-probs are far below 0."""
    draw, book = np.random.default_rng(seed), built(name)
    return {key: draw.normal(0, 1 + 10 * (seed % 3), book.values.arrays[book.blocks[key]].shape) for key in blocks}


def presets(*names: str) -> list[tuple[str, str]]:
    """Lists the workbooks with each of their presets."""
    return [(name, preset) for name in names for preset in ("default", *presets_of(name))]


def typed_alone(book: bp.Book) -> dict[str, Array]:
    """Returns what of a file is typed, and nan for every number that is computed: a page that reads one is seen."""
    return {
        block.name: array if block.typed or block.text else np.full(array.shape, np.nan)
        for block, array in book.values.arrays.items()
    }


def apart(file: Mapping[str, Array], page: Page, close: float = CLOSE) -> list[str]:
    """Lists the results that are not the file's, relative to the largest number of the block where that is above 1.

    Numbers that are infinite, or none, are so in both.
    """
    return [*_apart(file, page, close)]


def _apart(file: Mapping[str, Array], page: Page, close: float) -> Iterator[str]:
    for name, tensor in page.results(Raw(file)).items():
        found, meant = tensor.cpu().numpy().astype(float), np.asarray(file[name], float)
        if found.shape != meant.shape:
            yield f"{name}: {found.shape}, not {meant.shape}"
            continue
        counts = np.asarray(file[page.masks[name]]) == 1 if name in page.masks else np.ones(meant.shape, bool)
        same = (found == meant) | (np.isnan(found) & np.isnan(meant)) | ~counts
        far = np.abs(found[~same] - meant[~same])
        size = max(1.0, float(np.abs(meant[counts & np.isfinite(meant)]).max(initial=0)))
        if not far.max(initial=0) <= close * size:
            yield f"{name}: {far.max():.2e}"
