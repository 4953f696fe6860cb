"""Two saved workbooks side by side: which inputs differ, and where the derivation first parts; as text and as data."""

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any, NamedTuple

from blueprint.differing.cells import Change, Parting, Stale, Value, changes, partings, stale
from blueprint.quoting import table
from blueprint.reopening import SavedBook, shown

__all__ = ["Change", "Differences", "Parting", "Stale", "data", "differences", "text"]

LISTED = 12
"""How many blocks that only one file has are named; the others are counted."""


class Differences(NamedTuple):
    """What differs between two files.

    sizes:    a line for everything they have different numbers of: episodes, tokens, words, their level.
    only:     for each file, the blocks that the other lacks.
    shapes:   the blocks that both have in different shapes.
    inputs:   typed cells that differ, in reading order.
    partings: computed blocks that differ, in the order of derivation.
    compared: how many typed and computed blocks both have in equal shapes.
    stale:    for each file that shows something else than its inputs give, where.
    taken:    the files of no known kind, whose computed cells are taken as they are shown.
    blanks:   a line for each worksheet: its blanks, and what is not compared because of them.
    """

    names: tuple[str, str]
    tolerance: float
    sizes: list[str]
    only: tuple[list[str], list[str]]
    shapes: list[str]
    inputs: list[Change]
    partings: list[Parting]
    compared: int
    stale: list[Stale]
    taken: list[str]
    blanks: list[str]

    @property
    def unlike(self) -> bool:
        """Says whether the files differ before their cells are looked at."""
        return bool(self.sizes or any(self.only) or self.shapes)

    @property
    def alike(self) -> bool:
        """Says whether the files have the same inputs and give the same numbers."""
        return not (self.unlike or self.inputs or self.partings)


def differences(one: SavedBook, other: SavedBook, tolerance: float) -> Differences:
    """Compares two saved books: inputs exactly, what follows from them to |a − b| ≤ tolerance · max(1, |a|, |b|)."""
    books = one, other
    ours, theirs = ({block.name: array.shape for block, array in book.values.arrays.items()} for book in books)
    both = [block.name for block in one.blueprint.blocks() if block.name in theirs]
    shared = [name for name in both if ours[name] == theirs[name]]
    return Differences(
        names=(str(one.file.path), str(other.file.path)),
        tolerance=tolerance,
        sizes=_sizes(one, other),
        only=(_only(one, other), _only(other, one)),
        shapes=[name for name in both if ours[name] != theirs[name]],
        inputs=changes(one, other, shared),
        partings=partings(one, other, shared, tolerance),
        compared=len(shared),
        stale=[found for book in books if book.computes and (found := stale(book)) is not None],
        taken=[str(book.file.path) for book in books if not book.computes],
        blanks=[*_blanks("a", one, other), *_blanks("b", other, one)],
    )


def _only(one: SavedBook, other: SavedBook) -> list[str]:
    """Lists the blocks that the second file lacks; what is left out of a worksheet is none of them."""
    return [] if other.filled.blanks else [name for name in one.blocks if name not in other.blocks]


def _blanks(letter: str, book: SavedBook, other: SavedBook) -> list[str]:
    """Says, of a worksheet, how far it is filled in, and what is not compared."""
    cells, empty, waiting = (len(each) for each in (book.filled.cells, book.filled.empty, book.filled.waiting))
    if not cells:
        return []
    left_out = sum(name not in book.blocks for name in other.blocks)
    more = f"; {left_out} blocks of the other file are left out of it" if left_out else ""
    return [
        f"{letter} is a worksheet: {cells - empty} of {cells} cells of its blanks are filled in; {empty} that are empty and "
        f"{waiting} that wait for them are not compared{more}"
    ]


def _sizes(one: SavedBook, other: SavedBook) -> list[str]:
    """Names the level, and the axes of which the files have different numbers of members, by meanings and letters."""
    ours, theirs = (
        {"": _level(book)} | {f"{axis.meaning} {axis.letter}: ": size for axis, size in book.blueprint.sizes.items()}
        for book in (one, other)
    )
    return [f"{axis}{size} and {theirs[axis]}" for axis, size in ours.items() if theirs.get(axis, size) != size]


def _level(book: SavedBook) -> str:
    facts = book.blueprint.facts
    live = ", live conventions" if facts.get("conventions") == "live" else ""
    return f"level {facts['level']}{live}" if "level" in facts else "no level"


def text(found: Differences) -> str:
    """Returns the report: sizes, inputs, where the derivation first parts, and every quantity that does."""
    none = f"{found.compared} blocks compared, no difference (tolerance {found.tolerance:g})"
    lines = [
        *(f"{letter}: {name}" for letter, name in zip("ab", found.names, strict=True)),
        *_unlike(found),
        *found.blanks,
        *_inputs(found),
        *_partings(found),
        *(
            f"{each.path}: {each.cells} cells do not show what its inputs give, first {each.cell}: {each.told}"
            for each in found.stale
        ),
        *(
            f"{path}: of no kind that is known here, so that what it computes is taken as it shows it"
            for path in found.taken
        ),
        *([none] if found.alike else []),
    ]
    return "\n".join(lines)


def _unlike(found: Differences) -> list[str]:
    return [
        *(f"sizes differ: {line}" for line in found.sizes),
        *(f"only in {letter}: {_some(names)}" for letter, names in zip("ab", found.only, strict=True) if names),
        *([f"other shape, not compared: {_some(found.shapes)}"] if found.shapes else []),
        *([f"{found.compared} blocks of equal shape are compared"] if found.unlike else []),
    ]


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


def _place(cells: tuple[str, str]) -> str:
    return cells[0] if cells[0] == cells[1] else f"{cells[0]} | {cells[1]}"


def _value(value: Value) -> str:
    return shown(value) if isinstance(value, str) or isnan(value) else f"{value:.6g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"  {line}" for line in table([head, *rows])]


def data(found: Differences) -> dict[str, Any]:
    """Returns the report as one object: blank cells are null, words text, everything else numbers."""
    one, other = found.names
    return {
        "a": one, "b": other, "alike": found.alike, "tolerance": found.tolerance, "compared": found.compared,
        "sizes": found.sizes, "only_a": found.only[0], "only_b": found.only[1], "shapes": found.shapes,
        "inputs": [_change(each) for each in found.inputs],
        "partings": [
            {**_change(each), "meaning": each.meaning, "differ": each.differ, "of": each.of, "largest": each.largest}
            for each in found.partings
        ],
        "stale": [each._asdict() for each in found.stale], "taken": found.taken, "blanks": found.blanks,
    }  # fmt: skip


def _change(each: Change) -> dict[str, Any]:
    """Returns one cell of both files."""
    (cell_a, cell_b), (a, b) = each.cells, map(_json, each.values)
    return {"block": each.name, "label": each.label, "cell_a": cell_a, "cell_b": cell_b, "a": a, "b": b}


def _json(value: Value) -> Value | None:
    return value if isinstance(value, str) else None if isnan(value) else float(value)
