"""Told: the numbers of one group of columns, each behind the word of its column, as one text that follows the choice."""

from collections.abc import Iterator

from blueprint.language import Block, Ended, Position, Ref, picked
from blueprint.page import cell_writer, digits, grid, names, outline, picking, steps
from blueprint.page.steps import DIGITS, EQUATION, MEMBERS, WHERE

BETWEEN = ", "
MOST = 40
"""Columns of a group up to which its numbers are told in words."""


def place(told: outline.Told, pen: cell_writer.SheetPen) -> None:
    """Keeps the row of numbers that are told in words, if they are few enough."""
    if pen.values.size(told.numbers.axes[-1]) <= MOST:
        pen.layout.told.append((pen.row, told))
        pen.row += 1


def write(row: int, told: outline.Told, writer: picking.Picker) -> None:
    """Spells the line: which group is meant for each member, the one picked, and right of it word and number of every column."""
    pen, places = writer.pen, [*_found(told, writer)]
    for column, (formula, place) in enumerate(places, MEMBERS):
        pen.live(row, column, formula, place, "as print")
    chosen, (axis,) = writer.at[writer.choice.across[0]], writer.choice.across
    here = MEMBERS + len(places)
    among = grid.area(row, MEMBERS, row, here - 1, fixed=True)
    number = f"{names.defined_name(writer.choice.numbers[0].name)}-{axis.start - 1}"
    pen.live(row, here, f"={picked(among, number)}", places[chosen][1], "as print")
    group = int(places[chosen][1] - 1) // _stride(told, writer)
    size = writer.values.size(told.numbers.axes[-1])
    values = [_number(told, writer, (row, here, here + 1 + member), (group, member)) for member in range(size)]
    decimals = writer.enough_for_sum(row, values, here + 1, _whole(told, writer))
    pieces = [_piece(told, writer, (row, here, here + 1 + member), (group, member), decimals) for member in range(size)]
    pen.name(row, told.numbers.symbol, told.says)
    pen.link(row, WHERE, told.numbers)
    joined = "&".join(cell for cell, _ in pieces)
    printed = "".join(text for _, text in pieces)[len(BETWEEN) :]
    pen.live(row, EQUATION, f"=MID({joined},{len(BETWEEN) + 1},9999)", digits.Print(printed), "walk list")


def _stride(told: outline.Told, writer: picking.Picker) -> int:
    return grid.stride(writer.values.size(told.numbers.axes[-1]))


def _found(told: outline.Told, writer: picking.Picker) -> Iterator[tuple[str, float]]:
    """Yields for each member that may be picked how far from the first group its own begins, counted from 1."""
    place, table = writer.layout.places[told.group], writer.values[told.group]
    members, groups = table.shape
    for member in range(members):
        (top, left), (_, right) = (place.cell(told.group, (member, group)) for group in (0, groups - 1))
        span = f"{grid.quoted(place.sheet)}!{grid.area(top, left, top, right, fixed=True)}"
        yield f"=MATCH(1,{span},0)", float(1 + list(table[member]).index(1) * _stride(told, writer))


def _whole(told: outline.Told, writer: picking.Picker) -> digits.Operand:
    """Returns what the numbers add up to, which has a line of its own."""
    leaf = steps.origin(Ref(told.whole, tuple(map(Position, told.whole.axes))))
    return digits.Operand(writer.value(leaf), writer.cell_of(leaf))


def _number(
    told: outline.Told, writer: picking.Picker, at: tuple[int, int, int], member: tuple[int, int]
) -> float | str:
    """Spells the number of one column, 0 if it does not count; returns it. at: the row, the column of the group, and its own."""
    row, here, column = at
    pick = f"{grid.address(row, here, fixed=True)}+{member[1]}"
    value = writer.values.cell(told.numbers, *member) if writer.values.cell(told.counts, *member) == 1 else 0.0
    counts, number = (picked(_row(block, writer), pick) for block in (told.counts, told.numbers))
    writer.pen.live(row, column, f"=IF({counts}=1,{number},0)", value, "as print")
    return value


def _piece(
    told: outline.Told,
    writer: picking.Picker,
    at: tuple[int, int, int],
    member: tuple[int, int],
    decimals: int | Ended,
) -> tuple[str, str]:
    """Spells the word of one column with its number, right of all numbers; returns the cell of that, and its text."""
    row, here, column = at
    pick, behind = (
        f"{grid.address(row, here, fixed=True)}+{member[1]}",
        column + writer.values.size(told.numbers.axes[-1]),
    )
    counted, word = writer.values.cell(told.counts, *member) == 1, str(writer.values.cell(told.words, *member))
    value = writer.values.cell(told.numbers, *member) if counted else 0.0
    number = digits.Operand(value, grid.address(row, column))
    says = f"{BETWEEN}{word} {number.printed(decimals)}" if counted else ""
    counts, words = (picked(_row(block, writer), pick) for block in (told.counts, told.words))
    printed = number.printed_formula(grid.address(row, DIGITS), writer.constants["longest"])
    writer.pen.live(
        row, behind, f'=IF({counts}=1,"{BETWEEN}"&{words}&" "&{printed},"")', digits.Print(says), "as print"
    )
    return grid.address(row, behind), says


def _row(block: Block, writer: picking.Picker) -> str:
    """Returns the range of a row over all groups, from the first column of the first to the last of the last."""
    place, (groups, members) = writer.layout.places[block], (writer.values.size(axis) for axis in block.axes)
    (top, left), (_, right) = (place.cell(block, at) for at in ((0, 0), (groups - 1, members - 1)))
    return f"{grid.quoted(place.sheet)}!{grid.area(top, left, top, right, fixed=True)}"
