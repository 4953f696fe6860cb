"""The rows of a workbook as a misconception reads them that says what a row shows, made of the others."""

import fnmatch
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from blueprint.language import Array


class Arrays(Mapping[str, Array]):
    """Rows by name, each made when it is read: without the cells at its edges, 0 where it is blank."""

    def __init__(self, names: Mapping[str, object], made: Callable[[str], Array]):
        self._names, self._made = names, made

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return np.asarray(np.nan_to_num(self._made(name).astype(float)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Shown:
    """The rows by names in which {braces} stand for what they stood for in the row's own.

    meant: what the row has to show. bound: what the braces stand for.
    """

    def __init__(self, rows: Mapping[str, Array], meant: Array, bound: Mapping[str, str | None]):
        self._rows, self._within = rows, bound.get("within") or ""
        self.meant, self.bound = meant, bound

    def __contains__(self, row: str) -> bool:
        return self._called(row) in self._rows

    def __getitem__(self, row: str) -> Array:
        """Returns a row of the same repetition, if rows are repeated. Raises KeyError for one that is not there."""
        return self._rows[self._called(row)]

    def before(self, row: str, count: str) -> Array | None:
        """Returns a row as it is one repetition earlier, None in the first. count: the braces that count the repetitions."""
        names = fnmatch.filter(self._rows, row.format(**{**self.bound, count: "*"}))
        at = names.index(row.format(**self.bound))
        return self[names[at - 1]] if at else None

    def _called(self, row: str) -> str:
        name = row.format(**self.bound)
        return next((each for each in (f"{self._within}{name}", name) if each in self._rows), name)
