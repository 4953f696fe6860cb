"""Recorded runs as a user computes them: a library's batch as it ships, built by `bp.build`, and the conventions of a run.

`built` builds a run's own workbook. `typed_in` is faster: the conventions are typed into one workbook, as a user types them into
the saved sheet, and every cell of it is computed again, under the same rule that none may be without a number.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

import blueprint as bp
from blueprint.inputs import load
from blueprint.language import Computation, Values

Array = npt.NDArray[np.float64]
Conventions = Mapping[str, float | str]


def shipped(kind: str, name: str) -> dict[str, Any]:
    """Returns the tables of built-in numbers."""
    return tomllib.loads(
        (files(f"blueprint.workbooks.{kind}") / "numbers" / f"{name}.toml").read_text(encoding="utf-8")
    )


class FrontDoor:
    """A batch, and its workbook with the gradients. keys: how a numbers file writes settings that it calls otherwise."""

    def __init__(self, tables: Mapping[str, Any], keys: Mapping[str, str]):
        self.tables, self.keys = tables, keys
        self._last: tuple[str, Values] | None = None

    @cached_property
    def workbook(self) -> bp.Book:
        """The workbook into which conventions are typed."""
        return self.built({})

    @cached_property
    def _computation(self) -> Computation:
        return Computation(self.workbook.blocks.values(), self.workbook.blueprint.sizes)

    def built(self, conventions: Conventions, parts: Mapping[str, Any] | None = None) -> bp.Book:
        """Builds the workbook of these conventions. parts: numbers by key, in the place of the batch's own."""
        return bp.build(self.tables, set={**self._written(conventions), **(parts or {})}, gradients=True)

    def typed_in(self, conventions: Conventions, parts: Mapping[str, Any] | None = None) -> Values:
        """Computes every cell with these conventions typed in, and numbers into the blocks of their keys.

        Raises NumbersError and NoNumber, as building does. The last result is kept: tests of a run ask for it again.
        """
        asked = json.dumps([dict(conventions), parts], default=str)
        if self._last is None or self._last[0] != asked:
            self._last = (asked, self._computed(conventions, parts or {}))
        return self._last[1]

    def _computed(self, conventions: Conventions, parts: Mapping[str, Any]) -> Values:
        numbers, blocks = load(self.tables, self._written(conventions)), self.workbook.blocks
        typed = {blocks[f"{key}.yours"]: numbers.ppo[key] for key in conventions}
        return self._computation.values(
            {**self.workbook.blueprint.typed, **typed, **{blocks[key]: each for key, each in parts.items()}}
        )

    def _written(self, conventions: Conventions) -> dict[str, Any]:
        off = (np.inf, -np.inf)
        return {self.keys.get(key, key): "off" if value in off else value for key, value in conventions.items()}

    def cells(self, values: Values, name: str) -> Array:
        """Returns the numbers of a row."""
        return np.asarray(values[self.workbook.blocks[name]], float)

    def apart(self, conventions: Conventions) -> list[str]:
        """Lists the rows in which what is typed in is not, to the last bit, what is built."""
        book, typed = self.built(conventions), self.typed_in(conventions)
        rows = [block for block in self.workbook.blocks.values() if not block.typed and not block.text]
        assert len(rows) > 100
        return [each.name for each in rows if not np.array_equal(book.values[book.blocks[each.name]], typed[each])]


WRITTEN = {
    "grpo-batch": {"gamma": "ppo.gamma"},
    "dpo-batch": {"beta": "dpo.beta"},
    "sft-batch": {key: f"sft.{key}" for key in ("region", "microbatches", "packing", "end_token")},
    "reward-batch": {"center": "reward.center", "l2": "reward.l2"},
}
"""By built-in numbers, the batches on which libraries ran, how a file writes settings that it calls otherwise."""


@cache
def front(kind: str, name: str) -> FrontDoor:
    """Returns the batch on which libraries ran, as it ships."""
    return FrontDoor(shipped(kind, name), WRITTEN[name])
