"""Libraries side by side: the same texts by the conventions of every library of a file, and where they differ."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch
from torch import Tensor

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.conventions import WORDS, Options, Texts, recompute
from blueprint.witness.conventions.options import NUMBERS
from blueprint.witness.live import presets
from blueprint.witness.live.rows import renamed
from blueprint.witness.settings import Array, block

OF_THE_TEXTS = ("place.", "response.")
"""Rows that no convention changes, so that files have them once."""


def add_libraries(batch: Batch, rows: Rows, texts: Texts) -> None:
    """Adds the conventions of every library, every row that follows from them, and which are not as in use."""
    places = [presets.libraries(file) for file in batch.files]
    if not places[0]:
        return
    found = {name: _numbers(batch, name, places) for name in batch.settings[0]}
    rows.add_whole({"library.number": batch.padded([np.array(each, dtype=float) for each in places])})
    _add_settings(batch, rows, places, found)
    options = Options({name: found[name].reshape(-1, 1, 1) for name in (*NUMBERS, *WORDS)})
    count = len(places[0])
    repeated = {each.name: getattr(texts, each.name).repeat_interleave(count, dim=0) for each in fields(Texts)}
    floor = batch.typed("explained_variance.floor").repeat_interleave(count)
    beside = renamed(recompute(Texts(**repeated), options, floor))
    rows.add_whole(
        {
            f"library.{name}": row.view(-1, count, *row.shape[1:])
            for name, row in beside.items()
            if not name.startswith(OF_THE_TEXTS)
        }
    )
    _add_differences(batch, rows, found)


def _numbers(batch: Batch, name: str, places: list[list[int]]) -> Tensor:
    """Returns a convention of every library as a number, [F, L]."""
    return batch.padded(
        [
            np.array([presets.as_number(file, name, presets.preset_of(file, name, each)) for each in of_file])
            for file, of_file in zip(batch.files, places, strict=True)
        ]
    )


def _add_settings(batch: Batch, rows: Rows, places: list[list[int]], found: dict[str, Tensor]) -> None:
    for name, number in found.items():
        if name in WORDS:
            rows.add_words(f"library.{name}", _picked(batch, f"presets.{name}", places))
            rows.add_whole({f"library.{name}.number": number})
        else:
            rows.add_whole({f"library.{name}": number})
    rows.add_words("library.why", _picked(batch, "presets.why", places))


def _picked(batch: Batch, table: str, places: list[list[int]]) -> list[Array]:
    """Returns the words of a table for the libraries of every file."""
    picked = zip(batch.files, places, strict=True)
    return [np.asarray(block(file, table), dtype=object)[of_file] for file, of_file in picked]


def _add_differences(batch: Batch, rows: Rows, found: dict[str, Tensor]) -> None:
    """Adds 1 where a library's convention is not the one in use, [F, C, L], and how many such there are."""
    differs = [number != batch.setting(name)[..., 0] for name, number in found.items()]
    together = torch.stack(differs, dim=1).to(batch.dtype)
    rows.add_whole({"library.differs": together, "library.differences": together.sum(dim=1)})
