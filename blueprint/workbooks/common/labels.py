"""Labels: the symbol, meaning, unit, decimals and source of each quantity, by the name of its block.

They are data, `labels.csv` beside what has them: a kind may say of a quantity what it is in its own words. The column `in`
says where a row holds: everywhere, where conventions are live, or where the value loss has a norm. `source` is a name in
`sources.toml` beside it, or the key of a convention, whose record then says where it was read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from blueprint.language import NotationError
from blueprint.workbooks.common.sources import sources_in

COMMON = "blueprint.workbooks.common"


class Label(NamedTuple):
    """What a reader wants to know of a block besides its equation; `decimals` are those that a page shows."""

    symbol: str
    meaning: str
    unit: str = ""
    source: str = ""
    decimals: int = 4


class Labels:
    """The labels of a workbook; those of its kind go before those that kinds share."""

    def __init__(self, found: Mapping[str, Label]) -> None:
        """Takes labels by the names of blocks."""
        self._found = found

    def of(self, name: str) -> Label:
        """Returns the label of a block. Raises NotationError, which says where to write it, for a name that has none."""
        if name not in self._found:
            raise NotationError(f"{name}: it has no label; add a row with its symbol and meaning to labels.csv")
        return self._found[name]


@cache
def labels(where: str = "", own: str = "") -> Labels:
    """Reads the labels that kinds share, and those of the kind whose package is `own`. where: a word of the column `in`."""
    found: dict[str, Label] = {}
    for package in filter(None, (COMMON, own)):
        sources = sources_in(Path(str(files(package))))
        for row in rows_in(package):
            if row["in"] in ("", where):
                source = sources[row["source"]] if row["source"] else ""
                decimals = int(row["decimals"] or Label._field_defaults["decimals"])
                found[row["name"]] = Label(row["symbol"], row["meaning"], row["unit"], source, decimals)
    return Labels(found)


def rows_in(package: str) -> Iterator[dict[str, str]]:
    """Yields the rows of a package's table of labels."""
    return iter(csv.DictReader(files(package).joinpath("labels.csv").read_text(encoding="utf-8").splitlines()))
