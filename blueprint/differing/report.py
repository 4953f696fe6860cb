"""What was found between two files, as lines for people and as data for programs."""

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

from blueprint.differing import Differences
from blueprint.differing.cells import Change, Value
from blueprint.quoting import table
from blueprint.reopening import shown

LISTED = 12
"""How many blocks that only one file has are named; the others are counted."""


def text(found: Differences) -> str:
    """Returns the report: sizes, inputs, where the derivation first parts, and every quantity that does."""
    one, other = found.names
    parts = [[f"a: {one}", f"b: {other}"], _unlike(found), _inputs(found), _partings(found), _stale(found)]
    alike = f"{found.compared} blocks compared, no difference (tolerance {found.tolerance:g})" if found.alike else ""
    return "\n".join([*(line for part in parts for line in part), *([alike] if alike else [])])


def _unlike(found: Differences) -> list[str]:
    sizes, only, shapes, _ = found.unlike
    lines = [f"sizes differ: {line}" for line in sizes]
    lines += [f"only in {letter}: {_some(names)}" for letter, names in zip("ab", only, strict=True) if names]
    if shapes:
        lines.append(f"other shape, not compared: {_some(shapes)}")
    if found.unlike.any:
        lines.append(f"{found.compared} blocks of equal shape are compared")
    return lines


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{len(names)} blocks ({', '.join(names[:LISTED])}{more})" if len(names) > 1 else names[0]


def _inputs(found: Differences) -> list[str]:
    if not found.inputs:
        return ["inputs: the same"] if not found.alike else []
    rows = [(each.label, each.name, *map(shown, each.values), _place(each.cells)) for each in found.inputs]
    return [f"inputs that differ: {len(rows)}", *_table(("", "block", "a", "b", "cell"), rows)]


def _partings(found: Differences) -> list[str]:
    if not found.partings:
        return ["what is computed: the same"] if not found.alike else []
    first = found.partings[0]
    head = f"the derivation first parts at {first.label}, {first.meaning}: {_value(first.values[0])} and {_value(first.values[1])}"
    rows = [
        (each.label, each.name, *map(_value, each.values), _place(each.cells), f"{each.differ}/{each.of}",
         "" if each.largest is None else f"{each.largest:.2g}")
        for each in found.partings
    ]  # fmt: skip
    named = ("first cell", "block", "a", "b", "cell", "differ", "largest")
    return [head, f"computed blocks that differ, in the order of derivation: {len(rows)}", *_table(named, rows)]


def _stale(found: Differences) -> list[str]:
    return [
        f"{each.path}: {each.cells} cells do not show what its inputs give, first {each.cell}: {each.told}"
        for each in found.stale
    ] + [
        f"{path}: of no kind that is known here, so that what it computes is taken as it shows it"
        for path in found.taken
    ]


def _place(cells: tuple[str, str]) -> str:
    return cells[0] if cells[0] == cells[1] else f"{cells[0]} | {cells[1]}"


def _value(value: Value) -> str:
    return shown(value) if isinstance(value, str) or isnan(value) else f"{value:.6g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"  {line}" for line in table([head, *rows])]


def data(found: Differences) -> dict[str, Any]:
    """Returns the report as one object: blank cells are null, words text, everything else numbers."""
    one, other = found.names
    sizes, only, shapes, _ = found.unlike
    return {
        "a": one, "b": other, "alike": found.alike, "tolerance": found.tolerance, "compared": found.compared,
        "sizes": sizes, "only_a": only[0], "only_b": only[1], "shapes": shapes,
        "inputs": [_change(each) for each in found.inputs],
        "partings": [
            {**_change(each), "meaning": each.meaning, "differ": each.differ, "of": each.of, "largest": each.largest}
            for each in found.partings
        ],
        "stale": [each._asdict() for each in found.stale], "taken": found.taken,
    }  # fmt: skip


def _change(each: Change) -> dict[str, Any]:
    """Returns one cell of both files."""
    (cell_a, cell_b), (a, b) = each.cells, map(_json, each.values)
    return {"block": each.name, "label": each.label, "cell_a": cell_a, "cell_b": cell_b, "a": a, "b": b}


def _json(value: Value) -> Value | None:
    return value if isinstance(value, str) else None if isnan(value) else float(value)
