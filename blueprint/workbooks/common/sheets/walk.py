"""Walk: one position from top to bottom, with every equation and its numbers; the rows that stay in view on every sheet; sheets
of tokens, of blocks that are found by their names; and what `sheets.toml` of a kind says of its steps: which rows are marked,
which are folded, and which stand on Walk.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs.catalogue import data_in
from blueprint.language import Axis, Block, link, needs, typed
from blueprint.page.outline import (
    Choice,
    Finder,
    Item,
    Line,
    Listed,
    Note,
    Row,
    Section,
    Sheet,
    Step,
    Told,
    blocks_on,
    key,
    minor,
)
from blueprint.workbooks.common.definitions.writing_rows import n, t


class InView(NamedTuple):
    """Words written, and the mask m, and where models read them the words read; all over (n, t)."""

    writes: Block
    mask: Block
    reads: Block | None = None

    @property
    def rows(self) -> tuple[Block, ...]:
        """The rows from top to bottom, the mask last."""
        return (*((self.reads,) if self.reads is not None else ()), self.writes, self.mask)

    def on(self, sheet: str) -> "InView":
        """Repeats the rows on another sheet."""
        reads = link(f"{sheet}.reads", self.reads) if self.reads is not None else None
        return InView(link(f"{sheet}.writes", self.writes), link(f"{sheet}.mask", self.mask), reads)


Items = tuple[Block | Step | Listed | Told, ...]
Titled = tuple[str, Items]
"""A heading, and the quantities below it."""

LEAD = "one position, derived from top to bottom: pick an episode and a position; every line follows"
WIDTHS = (12, 55, 65, 27, 8, 8)
MANY_LINES = (12, 55, 61, 27, 8, 8)
"""As narrow as an upright page is at the smallest scale: two of them hold what three broad ones do."""
MANY_OPTIONS = (12, 65, 55, 27, 8, 8)
"""Where equations choose among many options, they are longer than with their numbers."""
DECIMALS = 4
COLUMNS = (
    "value",
    "equation",
    "the equation with its numbers",
    "stands on",
    "unit",
    "decimals",
    "tried",
    "",
    "",
    "",
    "",
    "due",
)
READING = Note(
    "Numbers in equations have as many decimals as a pocket calculator needs to come to the value. Pale blue: derived; white: read."
)


def choice(episode: int, decision: int, text: str = "episode") -> tuple[Choice, dict[Block, object]]:
    """Makes the two cells by which one picks a column, and what stands in them at first; text: what an episode is called."""
    numbers = (
        typed("walk.episode", (), "n", f"{text} to walk through", decimals=0),
        typed("walk.decision", (), "t", "position to walk through", decimals=0),
    )
    return picking((n, t), dict(zip(numbers, (episode, decision), strict=True)))


def picking(across: tuple[Axis, ...], first: Mapping[Block, int]) -> tuple[Choice, dict[Block, object]]:
    """Makes the choice of a column; first: for each axis the cell by which one picks along it, and what stands there at first.

    Returns it, and what is typed.
    """
    decimals = typed("walk.decimals", (), "dec", "fewest decimals of numbers in equations", decimals=0)
    return Choice(across, tuple(first), decimals), {**first, decimals: DECIMALS}


def ranges(chosen: Choice) -> dict[Block, tuple[float, float]]:
    """Returns what may be typed on the sheet besides the choice."""
    return {chosen.decimals: (0, 9)}


def walk_sheet(
    chosen: Choice,
    words: tuple[Block, ...],
    sections: list[Section],
    lead: str = LEAD,
    widths: tuple[float, ...] = WIDTHS,
) -> Sheet:
    """Outlines the sheet: the choice and its words stay in view, the sections scroll; rows of options not in use are folded."""
    lines: tuple[Item, ...] = (*map(Line, zip(chosen.numbers, strict=True)), *map(Step, words))
    found = Note("Every line reads this place of its row.")
    last = Section(
        "How this page is made", (Line((chosen.decimals,), "line"), found, Finder()), printed=False, numbered=False
    )
    return Sheet("Walk", lead, (*sections, last), pinned=lines, widths=widths, aside=3, tight=True, closed=True)


def titled_sections(*titled: Titled) -> list[Section]:
    """Outlines sections one after the other; the first one says how to read them."""
    return [
        Section(
            title,
            ((READING,) if number == 1 else ())
            + tuple(Step(item) if isinstance(item, Block) else item for item in items),
            COLUMNS if number == 1 else (),
        )
        for number, (title, items) in enumerate(titled, 1)
    ]


Rows = Mapping[str, Block]


def named(*blocks: Block) -> dict[str, Block]:
    """Returns blocks by their names."""
    return {block.name: block for block in blocks}


def rows_on(*sheets: Sheet) -> dict[str, Block]:
    """Returns every block of some sheets, by its name."""
    return named(*(block for sheet in sheets for block in blocks_on(sheet)))


def several(rows: Rows, *names: str) -> tuple[Block, ...]:
    """Returns the blocks of some names, in that order."""
    return tuple(rows[name] for name in names)


def behind(results: Iterable[Block]) -> dict[Block, None]:
    """Finds every block that these are made of, and these themselves, the nearest first: always in the same order."""
    found = dict.fromkeys(results)
    for block in (ahead := [*found]):
        new = dict.fromkeys(need.read for need in needs(block) if need.read not in found)
        ahead += new
        found |= new
    return found


def repeated(rows: Rows, sheet: str, names: Mapping[str, str]) -> dict[str, Block]:
    """Returns rows of which some are repeated on a sheet. names: what they are called there, those that there are."""
    return {**rows, **{name: link(f"{sheet}.{again}", rows[name]) for name, again in names.items() if name in rows}}


def sheet_of(title: str, lead: str, sections: Iterable[Section], head: InView, first: int = 1) -> Sheet:
    """Outlines a sheet with a column for each position; `head` stays in view."""
    return Sheet(title, lead, tuple(sections), (n, t), head.rows, head.mask, first=first)


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
