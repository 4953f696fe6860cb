"""Which column is which, by what people call them, or as somebody says; and rows of single responses, put side by side."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from blueprint.inputs import NumbersError, data_in
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data import Record, check_needed, flag_of, names_of

CALLED = data_in(Path(__file__).parent / "columns.toml")
"""By what is looked for the names of its columns."""
NEEDED = {"chosen": ("chosen",), "rejected": ("rejected",)}
"""What no file may lack, but one of single responses, each with a label."""
SINGLE = {"response": "{}", "policy": "policy_{}", "reference": "reference_{}"}
"""What a row of a single response has, and what that is in a pair."""


def columns_of(found: Sequence[str], told: Sequence[str], name: str) -> dict[str, str]:
    """Returns by what is looked for the name of its column. told: `what=column`.

    Raises:
        NumbersError: if there is no such column, or what is needed is not among them.
    """
    names = names_of(found, told, CALLED, name)
    if not {"response", "label"} <= names.keys():
        check_needed(names, NEEDED, found, name)
    return names


def paired(records: Iterable[Record], names: dict[str, str], name: str) -> tuple[list[Record], dict[str, str]]:
    """Puts rows of single responses, each good or bad, side by side: the first good one with the first bad one, and so on.

    Returns the rows of pairs, and the names of their columns. Raises NumbersError where there is not one good for each bad one.
    """
    bad, good = list[Record](), list[Record]()
    for row in records:
        is_good = flag_of(row.cells.get(names["label"]), f"{row.where}, {unquoted(names['label'])}")
        (good if is_good else bad).append(row)
    if len(bad) != len(good):
        raise NumbersError(
            f"{name}: {len(good)} good and {len(bad)} bad responses, but a workbook has as many of each; leave some rows out."
        )
    there = [what for what in SINGLE if what in names]
    called = {what for side in ("chosen", "rejected") for what in (SINGLE[each].format(side) for each in there)}
    rows = [_side_by_side(one, other, names, there) for one, other in zip(good, bad, strict=True)]
    return rows, {each: each for each in (*called, *({"prompt"} & names.keys()))}


def _side_by_side(one: Record, other: Record, names: dict[str, str], there: Sequence[str]) -> Record:
    """Makes the row of a pair; where the two prompts differ, both stand above it."""
    sides = (("chosen", one), ("rejected", other))
    cells = {SINGLE[what].format(side): row.cells.get(names[what]) for side, row in sides for what in there}
    first, second = (row.cells.get(names.get("prompt", "")) for row in (one, other))
    prompt = first if first == second else f"{first} / {second}"
    return Record(f"{one.where} and {other.where.rpartition(', ')[2]}", cells | {"prompt": prompt})
