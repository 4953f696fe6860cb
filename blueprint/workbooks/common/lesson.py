"""A workbook that is one lesson, as its record tells it: what Start says, which rows stand on which sheet, and the charts.

A kind whose parts are a level, definitions and checks alone is a `Lesson`; one with more calls `lesson` itself.

Of `lesson.toml` beside a kind's record the keys are: heading, reading, try and flow (a line of the map: each box with the row
to which it leads); inputs (of a `Lesson`), the line below the heading of Inputs, and its sections before the settings; pieces,
the numbers it arrives at, each with what it is taken over and, if it stands elsewhere, its row; differences, those of them that
are the difference of two others; key, minor and probability, rows that one looks for, steps that may be folded away, and rows
in the colour of probabilities; heat, rows that are coloured like a map; result and whole; ranges of what is typed; checks, what
stays in view on Checks and which row it repeats; sheet, with `across` as the letter of an axis, `links`, how names of rows that
stay in view begin, and sections with their rows, where what has a blank is a note; charts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from blueprint.inputs import Draft, Level, Numbers, check_vocabulary
from blueprint.inputs.catalogue import data_in
from blueprint.language import Axis, Block, link
from blueprint.page.outline import (
    Blueprint,
    Box,
    Chart,
    Flow,
    Item,
    Line,
    Note,
    Piece,
    Row,
    Scale,
    Section,
    Series,
    Sheet,
    Table,
    Tour,
    key,
    minor,
)
from blueprint.workbooks.common.definitions.checks import Identity
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.settings_and_presets import Settings, settings, settings_sections
from blueprint.workbooks.common.sheets.checks import Witnessed, checks_sheet
from blueprint.workbooks.common.sheets.start import (
    ABOUT,
    COLUMNS,
    LEGEND,
    MAP,
    adding_up,
    facts_of,
    first_sheet,
    how_to_check,
    judged,
    lines_of_flow,
    made_by,
)

COMES = "What comes of it"
ROLES = ("line", "fixed", "", "key", "edge")
"""What is coloured in a lesson: it has no weights, no memory, and no position outside a response."""


Rows = Mapping[str, Block]
NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Lesson:
    """A kind that is one lesson: what it consists of, and how a blueprint is made of it.

    Attributes:
        folder: the kind's own, in which lesson.toml lies. level: what its numbers files hold, settings among it.
        labels: what its rows say. n: the axis of a row that is given for each one.
        steps: its definitions, first to last: each takes the rows so far and returns its own.
        checks: from all rows, settings and choices, what must be 0.
        sizes: by axis the typed block along whose first axis it counts, or it and which of its axes, from 0; or a number.
        names: by axis the block that names its places.
    """

    folder: Path
    level: Level
    labels: Any
    n: Axis
    steps: Sequence[Callable[[Rows, Choices], Rows]]
    checks: Callable[[Rows, Settings, Choices], Sequence[Block | Identity]]
    sizes: Mapping[Axis, str | int | tuple[str, int]]
    names: Mapping[Axis, str] = field(default_factory=dict)

    def blueprint(self, numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
        """Make the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
        chosen = settings(numbers.ppo, self.level.settings)
        use = Choices(chosen.used, chosen.switch, n=self.n, labels=self.labels)
        rows: dict[str, Block] = {}
        for step in self.steps:
            rows |= step(rows, use)
        given = self.level.typed(numbers)
        return lesson(
            self.folder,
            numbers,
            chosen,
            rows,
            self.checks(rows, chosen, use),
            self._inputs(rows, chosen),
            witnessed,
            sizes={axis: _size_of(size, given) for axis, size in self.sizes.items()},
            names={axis: rows[name] for axis, name in self.names.items()},
        ).with_typed(given)

    def _inputs(self, rows: Rows, chosen: Settings) -> Sheet:
        """Outline the sheet of settings, with what is asked above them."""
        lead, asked = data_in(self.folder / "lesson.toml")["inputs"]
        above = [Section(title, tuple(_asked(rows[name]) for name in names)) for title, names in asked.items()]
        longest = max((len(word) for each in self.level.settings.values() for word in each.words), default=0)
        return Sheet("Inputs", lead, (*above, *settings_sections(chosen)), widths=(max(13, longest - 2),) * 8)


def _size_of(size: str | int | tuple[str, int], given: Mapping[str, Any]) -> int:
    """Count the members of an axis: along an axis of what is typed in a block, the first one unless it is said which."""
    if isinstance(size, int):
        return size
    name, slot = (size, 0) if isinstance(size, str) else size
    return int(np.shape(given[name])[slot])


def _asked(row: Block) -> Item:
    return Row(row, "text") if row.axes and row.text else row


def with_vocabulary(draft: Draft) -> Numbers:
    """Make the numbers of a checked file that has a vocabulary. Raises NumbersError if two of its tokens are one."""
    parts = draft.fitted()
    check_vocabulary(parts["text.vocabulary"])
    return draft.numbers(parts)


def lesson(
    folder: Path,
    numbers: Numbers,
    chosen: Settings,
    rows: Rows,
    residuals: Sequence[Block | Identity],
    inputs: Sheet,
    witnessed: Witnessed | None,
    *,
    identities: Sequence[Identity] = (),
    sizes: Mapping[Axis, int],
    names: Mapping[Axis, Block | str] = NOTHING,
    typed: Mapping[Block, object] = NOTHING,
    under: Sequence[Box | str] = (),
) -> Blueprint:
    """Makes the blueprint of a lesson.

    rows: every block by its name. residuals: what must be 0; identities: what is known otherwise. inputs: the settings.
    witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks. typed: what the charts are drawn over.
    under: what stands below the last line of the map.
    """
    told = data_in(folder / "lesson.toml")
    pieces = _pieces(told, rows)
    repeated, first = told["checks"]
    head = link(repeated, rows[first])
    checks, verdict, tolerances = checks_sheet(
        (head,), residuals, [*identities], witnessed, [piece.shown for piece in pieces]
    )
    facts = facts_of(numbers.name, numbers.level)
    flow = Flow((*lines_of_flow(told["flow"], rows), *([tuple(under)] if under else [])))
    start = _start(told, f"{numbers.title}: {numbers.about}", pieces, flow, verdict, made_by(facts))
    charts = [_charts(told["charts"], rows)] if "charts" in told else []
    return Blueprint(
        title=numbers.title,
        sheets=(start, inputs, *_sheets(told, rows), *charts, replace(checks, across=head.axes, grey=None)),
        sizes=sizes,
        typed={**chosen.typed, **tolerances, **typed},
        names=names,
        choices=chosen.choices,
        ranges={**chosen.ranges, **{rows[name]: tuple(ends) for name, ends in told.get("ranges", {}).items()}},
        facts=facts,
        result=rows[told["result"]],
        whole=told.get("whole", "table"),
    )


def _pieces(told: Mapping[str, Any], rows: Rows) -> list[Piece]:
    """Lists the numbers at which a lesson arrives."""
    pieces = [
        Piece(title, rows[shown], rows[(*row, shown)[0]], of=of) for title, (shown, of, *row) in told["pieces"].items()
    ]
    return adding_up(pieces, told.get("differences", {}), "−")


def _start(told: Mapping[str, Any], lead: str, pieces: list[Piece], flow: Flow, verdict: Block, made: str) -> Sheet:
    """Outlines the first sheet. lead: the line below its heading. made: by what the file was made."""
    roles = (*ROLES, "probability") if "probability" in told else ROLES
    sections = (
        judged(verdict),
        Section(COMES, tuple(pieces), COLUMNS),
        Section(MAP, (flow,)),
        Section(ABOUT, tuple(map(Note, told["reading"]))),
        *([Section("Try it", tuple(map(Note, told["try"])))] if "try" in told else []),
        Section("The sheets", (Tour(),)),
        Section("Colours", tuple(look for look in LEGEND if look.role in roles and not look.faded)),
        how_to_check(pieces[0].about, made),
    )
    return first_sheet(lead, sections, told["heading"])


def _sheets(told: Mapping[str, Any], rows: Rows) -> list[Sheet]:
    """Outlines the sheets of steps."""
    axes = {axis.letter: axis for row in rows.values() for axis in row.axes}
    sheets = []
    for each in told["sheet"]:
        sections = tuple(
            Section(title, tuple(_item(name, rows, told) for name in names))
            for title, names in each["sections"].items()
        )
        begins = each.get("links", each["title"].lower())
        shown = (rows[name] for name in each.get("head", ()))
        head = tuple(link(f"{begins}.{row.name}", row) if row.typed else row for row in shown)
        across = tuple(axes[letter] for letter in each["across"].split())
        grey = next((row for row in head if row.name == each.get("grey")), None)
        sheets.append(Sheet(each["title"], each["lead"], sections, across, head, grey))
    return sheets


def _item(name: str, rows: Rows, told: Mapping[str, Any]) -> Item:
    if " " in name:
        return Note(name)
    row = rows[name]
    if name in told.get("tables", ()):
        return Table(row, across=row.axes[0])
    if row.text:
        return Row(row, "text")
    if name in told["key"]:
        return key(row)
    if name in told["minor"]:
        return minor(row)
    return Row(row, next((role for role in ("probability", "heat") if name in told.get(role, ())), ""))


def _charts(told: Mapping[str, Any], rows: Rows) -> Sheet:
    """Outlines the charts, and below them the rows from which they alone are drawn."""
    below = (
        Section(title, tuple(_below(rows[name]) for name in names)) for title, names in told.get("below", {}).items()
    )
    pictures = Section("Pictures", tuple(_chart(each, rows) for each in told["chart"]))
    return Sheet("Charts", told["lead"], (pictures, *below))


def _below(row: Block) -> Item:
    return Table(row, role="fixed" if row.typed else "plain") if row.axes else Line((row,))


DRAWN = ("values", "over", "words")
"""What of a series is a block."""


def _chart(told: Mapping[str, Any], rows: Rows) -> Chart:
    series = []
    for each in told["series"]:
        found: dict[str, Any] = {name: rows[value] if name in DRAWN else value for name, value in each.items()}
        series.append(Series(**found))
    across, up = (Scale(**told[way]) for way in ("across", "up"))
    return Chart(told["title"], told["kind"], tuple(series), across, up, told["tells"], told.get("numbers", ""))
