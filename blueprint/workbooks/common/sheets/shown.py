"""What the sheets of a kind show of its steps: which rows are marked, which are folded, and which stand on Walk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blueprint.inputs.catalogue import data_in
from blueprint.language import Block
from blueprint.page.outline import Choice, Row, Section, Sheet, key, minor
from blueprint.workbooks.common.sheets.walk import WIDTHS, InView, Rows, choice, titled_sections, walk_sheet


@dataclass(frozen=True)
class Shown:
    """What `sheets.toml` of a folder says.

    looked_for: rows that one looks for; they are marked. plain: rows on the way that are not folded; a folded row would not be
    drawn on Charts either. sheets: by title the lead of each sheet of steps, and the titles of its sections, where it has some
    alone. walk: by title the rows of each section of Walk, in the order of computation; what a workbook does not have is left
    out. walk_lead: its lead.
    """

    looked_for: Sequence[str]
    plain: Sequence[str]
    sheets: Mapping[str, Mapping[str, Any]]
    walk: Mapping[str, Sequence[str]] = field(default_factory=dict)
    walk_lead: str = ""

    def row(self, row: Block, is_open: bool = False) -> Row:
        """Outlines a row of steps. is_open: whether it is not to be folded, whatever it is."""
        if row.name in self.looked_for:
            return key(row)
        return Row(row) if is_open or row.name in self.plain else minor(row)

    def walked(self, rows: Rows, *above: tuple[str, tuple[Any, ...]]) -> list[Section]:
        """Outlines the sections of Walk. above: those that come first."""
        there = {title: tuple(rows[name] for name in names if name in rows) for title, names in self.walk.items()}
        return titled_sections(*above, *there.items())

    def walk_of(
        self,
        rows: Rows,
        head: InView,
        counts: Block,
        first: tuple[int, int],
        text: str,
        widths: tuple[float, ...] = WIDTHS,
    ) -> tuple[Sheet, Choice, dict[Block, object]]:
        """Outlines Walk. counts: says whether a token counts. first: text and position that are shown at first; text: its name.

        Returns the sheet, the choice, and what is typed into it.
        """
        picked, typed = choice(*first, text=text)
        return walk_sheet(picked, (*head.rows[:-1], counts), self.walked(rows), self.walk_lead, widths), picked, typed


def shown_in(folder: Path) -> Shown:
    """Reads `sheets.toml` of a folder."""
    return Shown(**data_in(folder / "sheets.toml"))
