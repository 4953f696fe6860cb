"""A workbook that is one lesson, as its record tells it: what Start says, which rows stand on which sheet, and the charts.

Of `lesson.toml` beside a kind's record the keys are: heading, reading, try and flow (a line of the map: each box with the row
to which it leads); under, behind how many empty cells what else enters a box stands below the map; inputs, the line below the
heading of Inputs, its sections before the settings, and notes behind them; pieces, the numbers it arrives at, each with what it
is taken over and, if it stands elsewhere, its row; differences, those of them that are the difference of two others; key, minor
and probability, rows that one looks for, steps that may be folded away, and rows in the colour of probabilities; heat, rows
that are coloured like a map; result and whole; ranges of what is typed; checks, what stays in view on Checks and which row it
repeats; sheet, with `across` as the letter of an axis, `links`, how names of rows that stay in view begin, and sections with
their rows, where what has a blank is a note; charts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import Draft, Level, Numbers, check_vocabulary
from blueprint.inputs.catalogue import data_in
from blueprint.language import Axis, Block, link
from blueprint.page.outline import (
    Blueprint,
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
from blueprint.workbooks.common.checks import Identity, Witnessed, checks_sheet
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Settings, settings, settings_sections
from blueprint.workbooks.common.definitions.writing_rows import Choices, Written
from blueprint.workbooks.common.definitions.writing_rows import t as position
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
    with_,
)

COMES = "What comes of it"
ROLES = ("line", "fixed", "", "key", "edge")
"""What is coloured in a lesson: it has no weights, no memory, and no position outside a response."""


Rows = Mapping[str, Block]


@dataclass(frozen=True)
class Lesson:
    """A kind that is one lesson: what it consists of, and how a blueprint is made of it.

    Attributes:
        folder: the kind's own, in which lesson.toml lies. level: what its numbers files hold, settings among it.
        labels: what its rows say. n, t: the axes of a row that is given for each one, and in it for each place in time.
        steps: its definitions, first to last: each writes its rows down, and finds there those so far; or returns its own.
        checks: from all rows, settings and choices, what must be 0. identities: what is known otherwise.
        sizes: by axis the typed block along whose first axis it counts, or it and which of its axes, from 0; or a number.
        names: by axis the block that names its places.
    """

    folder: Path
    level: Level
    labels: Any
    n: Axis
    steps: Sequence[Callable[[Rows, Written], Rows | None]]
    checks: Callable[[Rows, Settings, Choices], Sequence[Block | Identity]]
    sizes: Mapping[Axis, str | int | tuple[str, int]]
    names: Mapping[Axis, str] = field(default_factory=dict)
    t: Axis = position
    identities: Callable[[Rows, Choices], Sequence[Identity]] = lambda rows, use: ()

    def blueprint(self, numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
        """Make the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
        told, given = data_in(self.folder / "lesson.toml"), self.level.typed(numbers)
        chosen = settings(numbers.ppo, self.level.settings)
        use = Written(chosen.used, chosen.switch, n=self.n, t=self.t, labels=self.labels)
        rows = use.made
        for step in self.steps:
            rows |= step(rows, use) or {}
        pieces = _pieces(told, rows)
        repeated, first = told["checks"]
        head = link(repeated, rows[first])
        residuals, identities = self.checks(rows, chosen, use), [*self.identities(rows, use)]
        shown = [piece.shown for piece in pieces]
        checks, verdict, tolerances = checks_sheet((head,), residuals, identities, witnessed, shown)
        facts = facts_of(numbers.name, numbers.level)
        start = _start(told, f"{numbers.title}: {numbers.about}", pieces, _map(told, rows), verdict, made_by(facts))
        charts = [_charts(told["charts"], rows)] if "charts" in told else []
        return Blueprint(
            title=numbers.title,
            sheets=(
                start,
                self._inputs(told["inputs"], rows, chosen),
                *_sheets(told, rows),
                *charts,
                replace(checks, across=head.axes, grey=None),
            ),
            sizes={axis: _size_of(size, given) for axis, size in self.sizes.items()},
            typed={**chosen.typed, **tolerances},
            names={axis: rows[name] for axis, name in self.names.items()},
            choices=chosen.choices,
            ranges={**chosen.ranges, **{rows[name]: tuple(ends) for name, ends in told.get("ranges", {}).items()}},
            facts=facts,
            result=rows[told["result"]],
            whole=told.get("whole", "table"),
        ).with_typed(given)

    def _inputs(self, told: Sequence[Any], rows: Rows, chosen: Settings) -> Sheet:
        """Outline the sheet of settings, with what is asked above them, and notes below."""
        lead, asked, *noted = told
        above = [Section(title, tuple(_asked(rows[name]) for name in names)) for title, names in asked.items()]
        below = [Section(title, tuple(map(Note, texts))) for each in noted for title, texts in each.items()]
        longest = max((len(word) for each in self.level.settings.values() for word in each.words), default=0)
        sections = (*above, *settings_sections(chosen), *below)
        return Sheet("Inputs", lead, sections, widths=(max(13, longest - 2),) * 8)


def _size_of(size: str | int | tuple[str, int], given: Mapping[str, Any]) -> int:
    """Count the members of an axis: along an axis of what is typed in a block, the first one unless it is said which."""
    if isinstance(size, int):
        return size
    name, slot = (size, 0) if isinstance(size, str) else size
    return int(np.shape(given[name])[slot])


def _asked(row: Block) -> Item:
    """Put a text, or a list of texts one below the other, beside its name: Inputs has no columns of responses to stand in."""
    return Table(row, role="text") if row.axes else Line((row,), "text")


def with_vocabulary(draft: Draft) -> Numbers:
    """Make the numbers of a checked file that has a vocabulary. Raises NumbersError if two of its tokens are one."""
    parts = draft.fitted()
    check_vocabulary(parts["text.vocabulary"])
    return draft.numbers(parts)


def _map(told: Mapping[str, Any], rows: Rows) -> Flow:
    """Draw the map; below its last line stands, behind some empty cells, what else enters a box."""
    if "under" not in told:
        return Flow(tuple(lines_of_flow(told["flow"], rows)))
    empty, title, name = told["under"]
    return Flow((*lines_of_flow(told["flow"], rows), ("",) * empty + (with_(title, rows[name]),)))


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
