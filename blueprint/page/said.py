"""What a file says about itself: its document properties, and what its defined names stand for."""

import os
from datetime import UTC, datetime

from blueprint.page import contents, delivered, formulas, grid, names, steps, to_fill, watch
from blueprint.page.layout import Layout
from blueprint.saving import SaveError

LONGEST_PROPERTY = 255
"""Letters of a document property of one's own; programs drop what is longer."""
NEW_YEAR_2026 = 1_767_225_600
"""When a file says it was made, unless SOURCE_DATE_EPOCH says otherwise: fixed, so that the same numbers give the same bytes."""


def created() -> datetime:
    """Returns when the file says it was made."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or NEW_YEAR_2026
    try:
        return datetime.fromtimestamp(int(given), UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError) as error:
        raise SaveError(
            f"SOURCE_DATE_EPOCH: found {given}, expected seconds since 1970, such as {NEW_YEAR_2026}"
        ) from error


def facts_of(layout: Layout) -> dict[str, str]:
    """Returns what the file is and what it was made from, name by name."""
    known = dict.fromkeys(axis for block in layout.places for axis in block.axes)
    axes = "; ".join(f"{axis.letter}={axis.meaning} from {axis.start}" for axis in known)
    return {
        "layout": contents.LAYOUT_VERSION,
        "blocks": str(len(layout.places)),
        "sizes": " ".join(f"{axis.letter}={size}" for axis, size in layout.blueprint.sizes.items()),
        "axes": axes if len(axes) <= LONGEST_PROPERTY else axes[:LONGEST_PROPERTY].rpartition(";")[0],
        "formulas": watch.fingerprint(layout),
        **layout.blueprint.facts,
    }


def names_of(layout: Layout) -> dict[str, str]:
    """Returns the range of every block by its defined name, and so the table of contents, the chosen column, the blanks."""
    known = {names.defined_name(block.name): layout.range(block) for block in layout.places} | {
        names.CONTENTS_RANGE: contents.table_of(layout),
        names.CHANGED_INPUTS: delivered.COUNT_CELL,
        names.CHANGED_SINCE: formulas.CHANGED_CELL,
        names.FIRST_FORMULA: formulas.FOUND_CELL,
        names.READS_FORMULAS: formulas.PROBE_CELL,
    }
    if layout.finder is not None:
        sheet, row = layout.finder
        known[names.CHOSEN_PLACE] = f"{grid.quoted(sheet)}!{grid.address(row + 1, steps.VALUE, fixed=True)}"
    return known | to_fill.names_of(layout)
