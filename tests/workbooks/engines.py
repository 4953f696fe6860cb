"""Presets chosen in the sheet of a kind: what both engines compute, beside the definitions and the library's own run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from blueprint.book import Book
from tests.audit import spoil
from tests.page.basic import Change, edit
from tests.page.workshop import Array, made
from tests.workbooks.apart import distance
from tests.workbooks.switched import Switchboard, blocks_of_tables, types

# Both compute in double precision, and sum in an order of their own; LibreOffice writes 15 digits.
TOLERANCE = 1e-12


@dataclass
class Presets:
    """Presets of built-in numbers, each with library and variant of the run that it repeats.

    runs: gives the recorded runs. overrides: what is chosen besides the preset.
    """

    numbers: str
    recorded: Mapping[str, tuple[str, str]]
    runs: Callable[[], Iterable[Any]]
    overrides: tuple[str, ...] = ()

    def book(self, preset: str) -> Book:
        """Returns the book in which the preset was chosen before."""
        return made(f"preset={preset}", *self.overrides, numbers=self.numbers)

    @cached_property
    def board(self) -> Switchboard:
        """The workbook with the default preset, saved and open."""
        return Switchboard(self.book("default"))

    def wrong(self, preset: str, found: Mapping[str, Array]) -> list[str]:
        """Lists the formulas that an engine computed to something else than the definitions, with the preset chosen before."""
        ours = {block.name: array for block, array in self.book(preset).values.arrays.items() if not block.typed}
        return [name for name, each in ours.items() if not distance(each, found[name]) <= TOLERANCE]

    def loss(self, preset: str) -> float:
        """Returns the loss that the library's own code computed."""
        (run,) = (run for run in self.runs() if (run.library, run.variant) == self.recorded[preset])
        return float(run.out["loss"])

    def in_libreoffice(self, room: Path) -> Iterator[tuple[str, dict[str, Array]]]:
        """Yields each preset with what LibreOffice computes when it is typed.

        One file, in which every number is spoiled, is opened once; after each preset all is computed anew.
        """
        source, board, again = room / "spoiled.xlsx", self.board, [types(self.board, "preset", "default")]
        spoil(board.path, source)
        typed = {preset: [types(board, "preset", preset), "book.calculateAll()"] for preset in self.recorded}
        last = len(typed) - 1
        edit(
            [Change(source, room / f"{place}.csv", lines, again if place < last else ())
             for place, lines in enumerate(typed.values())],
            room,
        )  # fmt: skip
        for place, preset in enumerate(typed):
            yield preset, blocks_of_tables(room / f"{place}.csv", board.places)
