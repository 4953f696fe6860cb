"""Libraries side by side: the same texts by the conventions of every library of a file, and where they differ."""

from dataclasses import fields

from blueprint.witness import (
    NAMES,
    NUMBERS,
    WORDS,
    Batch,
    Named,
    Options,
    Rows,
    Stated,
    Texts,
    add_preferred,
    place_of,
    ppo,
)

OF_THE_TEXTS = ("place.", "response.")
"""Rows that no convention changes, so that files have them once."""


def add_libraries(batch: Batch, rows: Rows, texts: Texts) -> None:
    """Adds the conventions of every library, every row that follows from them, and which are not as in use."""
    if NAMES not in batch.files[0]:
        return
    stated, found = add_preferred(batch, rows)
    count = found[next(iter(found))].shape[1]
    repeated = {each.name: getattr(texts, each.name).repeat_interleave(count, dim=0) for each in fields(Texts)}
    floor = batch.typed("explained_variance.floor").repeat_interleave(count)
    found_rows = ppo.recompute(Texts(**repeated), _options(batch, stated, found), floor)
    shown = {name: row for name, row in found_rows.items() if not name.startswith(OF_THE_TEXTS)}
    rows.add({f"library.{name}": row.view(-1, count, *row.shape[1:]) for name, row in shown.items()}, whole=True)


def _options(batch: Batch, stated: Stated, found: Named) -> Options:
    """Returns the options of every library of every file, each [F·L, 1, 1]."""
    values = {name: found[name].reshape(-1, 1, 1) for name in NUMBERS}
    for name, words in WORDS.items():
        flat = (place_of(word, words, name) for of_file in stated[name] for word in of_file)
        values[name] = batch.filled(flat).view(-1, 1, 1)
    return Options(values)
