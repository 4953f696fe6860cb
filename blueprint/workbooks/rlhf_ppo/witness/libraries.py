"""Libraries side by side: the same texts by the conventions of every library of a file, and where they differ."""

from dataclasses import fields

import numpy as np
import torch

from blueprint.witness import (
    NUMBERS,
    WORDS,
    Batch,
    Named,
    Options,
    Rows,
    Setting,
    Texts,
    alternative,
    block,
    column,
    held,
    is_word,
    of_preset,
    place_of,
    ppo,
)

OF_THE_TEXTS = ("place.", "response.")
"""Rows that no convention changes, so that files have them once."""


def add_libraries(batch: Batch, rows: Rows, texts: Texts) -> None:
    """Adds the conventions of every library, every row that follows from them, and which are not as in use."""
    if "library.names" not in batch.files[0]:
        return
    places = [[column(file, each) for each in np.atleast_1d(file["library.names"])] for file in batch.files]
    of_files = list(zip(batch.files, places, strict=True))
    stated = {
        name: [[of_preset(file, name, each) for each in of_file] for file, of_file in of_files]
        for name in held(batch.files[0])
    }
    rows.add({"library.number": batch.padded([np.array(each, dtype=float) for each in places])}, whole=True)
    found = _add_settings(batch, rows, stated)
    rows.add_words("library.why", [block(file, "presets.why")[of_file] for file, of_file in of_files])
    count = len(places[0])
    repeated = {each.name: getattr(texts, each.name).repeat_interleave(count, dim=0) for each in fields(Texts)}
    floor = batch.typed("explained_variance.floor").repeat_interleave(count)
    found_rows = ppo.recompute(Texts(**repeated), _options(batch, stated, found), floor)
    shown = {name: row for name, row in found_rows.items() if not name.startswith(OF_THE_TEXTS)}
    rows.add({f"library.{name}": row.view(-1, count, *row.shape[1:]) for name, row in shown.items()}, whole=True)
    differs = [number != batch.setting(name)[..., 0] for name, number in found.items()]
    together = torch.stack(differs, dim=1).to(batch.dtype)
    rows.add({"library.differs": together, "library.differences": together.sum(dim=1)}, whole=True)


def _add_settings(batch: Batch, rows: Rows, stated: dict[str, list[list[Setting]]]) -> Named:
    """Adds every convention of every library, and returns it as a number of the file, [F, L]."""
    found = {}
    for name, of_files in stated.items():
        words = is_word(batch.files[0], name)
        numbers = [
            [float(alternative(file, name, str(each)) if words else each) for each in of_file]
            for file, of_file in zip(batch.files, of_files, strict=True)
        ]
        found[name] = batch.padded([np.array(each) for each in numbers])
        if words:
            rows.add_words(f"library.{name}", [np.array(of_file, dtype=object) for of_file in of_files])
        rows.add({f"library.{name}.number" if words else f"library.{name}": found[name]}, whole=True)
    return found


def _options(batch: Batch, stated: dict[str, list[list[Setting]]], found: Named) -> Options:
    """Returns the options of every library of every file, each [F·L, 1, 1]."""
    values = {name: found[name].reshape(-1, 1, 1) for name in NUMBERS}
    for name, words in WORDS.items():
        flat = (place_of(word, words, name) for of_file in stated[name] for word in of_file)
        values[name] = batch.filled(flat).view(-1, 1, 1)
    return Options(values)
