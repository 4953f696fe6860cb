"""Labels: the symbol, meaning, unit, decimals and source of each quantity, by the name of its block.

They are data, `labels.csv` beside what has them: a kind may say of a quantity what it is in its own words. The column `in`
says where a row holds: everywhere, where conventions are live, or where the value loss has a norm. `source` is a name in
`sources.toml` beside it, or the key of a convention, whose record then says where it was read.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs.catalogue import data_in, settings_in
from blueprint.language import NotationError

HERE = Path(__file__).parent


class Label(NamedTuple):
    """What a reader wants to know of a block besides its equation; `decimals` are those that a page shows."""

    symbol: str
    meaning: str
    unit: str = ""
    source: str = ""
    decimals: int = 4


class Labels(dict[str, Label]):
    """The labels of a workbook; those of its kind go before those that kinds share."""

    def of(self, name: str) -> Label:
        """Returns the label of a block. Raises NotationError, which says where to write it, for a name that has none."""
        if name not in self:
            raise NotationError(f"{name}: it has no label; add a row with its symbol and meaning to labels.csv")
        return self[name]


@cache
def labels(where: str = "", own: str = "") -> Labels:
    """Reads the labels that kinds share, and those of the kind whose package is `own`. where: a word of the column `in`."""
    found = Labels()
    for folder in (HERE, *([Path(str(files(own)))] if own else [])):
        for row in csv.DictReader((folder / "labels.csv").read_text(encoding="utf-8").splitlines()):
            if row["in"] in ("", where):
                source = source_of(row["source"], folder) if row["source"] else ""
                found[row["name"]] = Label(
                    row["symbol"], row["meaning"], row["unit"], source, int(row["decimals"] or 4)
                )
    return found


@cache
def sources_in(folder: Path = HERE) -> Mapping[str, str]:
    """Reads `sources.toml` of a folder; what is not in it, kinds share, or the record of a convention says, by its key."""
    found, shared = data_in(folder / "sources.toml"), {} if folder == HERE else sources_in()
    own = settings_in(folder).settings if (folder / "conventions.toml").exists() else {}
    said = {key: convention.source for key, convention in own.items() if convention.source or folder == HERE}
    return {**shared, **said, **{name: text.format(**found["papers"]) for name, text in found["sources"].items()}}


def source_of(name: str, folder: Path = HERE) -> str:
    """Returns the paper with its equation, or the library with version and function. Raises AttributeError for others."""
    if name not in sources_in(folder):
        raise AttributeError(f"{name}: there is no such source in {folder / 'sources.toml'}")
    return sources_in(folder)[name]
