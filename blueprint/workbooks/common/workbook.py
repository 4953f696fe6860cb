"""The workbook of any kind that has a loss and live conventions: what stands around its steps, for every kind and level alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blueprint.inputs import Catalogue, Numbers
from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Choice, Sheet
from blueprint.workbooks.common import checks
from blueprint.workbooks.common.checks import Identity, Witnessed, checks_sheet
from blueprint.workbooks.common.conventions import Conventions
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import PRESET
from blueprint.workbooks.common.definitions.writing_rows import Choices
from blueprint.workbooks.common.labels import Labels
from blueprint.workbooks.common.libraries import Preferred, SideBySide, naming, offered
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.common.sheets import walk as walk_sheets
from blueprint.workbooks.common.sheets.conventions import Chosen, chosen_of, conventions_sheet, presets_sheet
from blueprint.workbooks.common.sheets.start import Made, Opening, conventions_in_use, facts_of, start_sheet
from blueprint.workbooks.common.sheets.walk import InView, Rows


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where a workbook begins: its numbers and conventions, what is given by name, and the sheets that come before the steps.

    sheets: those of inputs and models. names: what stands at the heads of columns. checked: what must be 0 besides what always
    must. By the names of blocks, typed: what stands in them; ranges: what may be typed there; words: those that hold tokens.
    """

    numbers: Numbers
    chosen: Chosen
    given: Rows
    head: InView
    sizes: Mapping[Axis, int]
    typed: Mapping[str, object]
    words: Sequence[str] = ()
    sheets: Sequence[Sheet] = ()
    names: Mapping[Axis, Block | str]
    checked: Sequence[Block] = ()
    ranges: Mapping[str, tuple[float, float]]

    def choices(self, labels: Labels) -> Choices:
        """Returns what the definitions read: the settings in use, and the labels of the kind."""
        return Choices(self.chosen.settings.used, self.chosen.settings.switch, labels=labels)


def chosen_in(numbers: Numbers, of: Catalogue) -> Chosen:
    """Makes the settings of a workbook, with the table of presets."""
    return chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=of)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What the definitions of a kind make of a start: their outline.

    sheets: from Inputs on. rows: every block on them by name, and what is given. total, parts: the loss and what adds up to
    it. checked: what must be 0 whatever the level. walk: the sheet, the choice, and what is typed there. charts: the same
    without a choice. heads: what stands above groups of columns; member: what such a group is called. on_checks: what stays in
    view there. unseen: numbers that the first sheet does not show.
    """

    sheets: Sequence[Sheet]
    rows: Rows
    total: Block
    parts: tuple[Block, ...] = ()
    checked: Sequence[Block | Identity] = ()
    walk: tuple[Sheet, Choice, Mapping[Block, object]] | None = None
    charts: tuple[Sheet, Mapping[Block, object]]
    typed: Mapping[Block, object] | None = None
    heads: Mapping[Axis, Sequence[str]]
    member: str = "response"
    on_checks: tuple[Block, ...] | None = None
    unseen: Sequence[str] = ()


def workbook(
    start: Start, steps: Steps, opening: Opening, witnessed: Witnessed | None = None, compared: SideBySide | None = None
) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any."""
    numbers, chosen, given = start.numbers, start.chosen, start.given
    facts = facts_of(numbers.name, numbers.level) | {"preset": numbers["preset"], "conventions": "live"}
    first, checked, tolerances = _judged(start, steps, opening, facts, witnessed)
    walked, picked, shown = ((steps.walk[0],), *steps.walk[1:]) if steps.walk else ((), None, {})
    pictures, drawn = steps.charts
    side_by_side, like = _libraries(start, compared) if numbers.parts.get("compare") else ((), None)
    outline = Blueprint(
        title=numbers.title,
        sheets=(
            first,
            *walked,
            conventions_sheet(chosen, ()),
            presets_sheet(chosen),
            *steps.sheets,
            *side_by_side,
            checked,
            pictures,
        ),
        sizes={**start.sizes, PRESET: len(chosen.catalogue.presets)},
        typed={**chosen.settings.typed, **tolerances, **shown, **(steps.typed or {}), **drawn},
        names={**start.names, PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **{given[name]: given["vocabulary"] for name in start.words}},
        ranges={
            **chosen.settings.ranges,
            **(walk_sheets.ranges(picked) if picked else {}),
            **{given[name]: ends for name, ends in start.ranges.items()},
        },
        facts=facts,
        result=steps.total,
        parts=steps.parts,
        chosen=picked,
        whole="batch",
        heads=steps.heads,
        members=dict.fromkeys(steps.heads, steps.member),
    ).with_typed(start.typed)
    return outline if like is None else naming(outline, like, chosen, numbers["compare"])


def _libraries(start: Start, compared: SideBySide | None) -> tuple[tuple[Sheet, ...], Preferred]:
    """Sets libraries side by side; where every word is to be offered, not only those that libraries have, the numbers say so."""
    words = {} if start.numbers.parts.get(EVERY_WORD) else offered(start.chosen.catalogue)
    assert compared is not None, "a level whose files name presets to compare is of a kind that compares them"
    return compared(start.given, start.chosen, start.head, words)


def _judged(
    start: Start, steps: Steps, opening: Opening, facts: Mapping[str, str], witnessed: Witnessed | None
) -> tuple[Sheet, Sheet, dict[Block, object]]:
    """Outlines Start and Checks; returns them, and the tolerances that are typed."""
    numbers, rows = start.numbers, steps.rows
    parts, pieces = opening.listed(opening.parts, rows), opening.listed(opening.pieces, rows, steps.unseen)
    residuals = [*start.checked, *steps.checked]
    if steps.parts:
        residuals.append(checks.parts_add_up(list(steps.parts), steps.total))
    residuals.append(checks.all_in_range(start.chosen.settings))
    in_view = steps.on_checks or start.head.on("checks").rows
    shown = [piece.shown for piece in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(in_view, residuals, [], witnessed, shown)
    told = Made(numbers.title, numbers.about, facts, opening.says)
    used = conventions_in_use(start.chosen, opening.shown)
    return start_sheet(told, parts, pieces, opening.map(rows), verdict, used), checked, tolerances
