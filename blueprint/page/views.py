"""Views: items that show blocks again that stand elsewhere, with links to them, or tell the numbers of a group in words."""

from collections.abc import Callable, Iterator
from textwrap import wrap

from blueprint.language import Block, Position, Ref, picked
from blueprint.page import charts, digits, grid, layout, outline, steps, styles
from blueprint.page.layout import SheetPen, origin
from blueprint.page.outline import (
    Box,
    Chart,
    Entry,
    Finder,
    Flow,
    Judged,
    Listed,
    Piece,
    Sample,
    Spread,
    Step,
    Told,
    Tour,
    Unchanged,
)
from blueprint.page.steps import DIGITS, EQUATION, MEMBERS, WHERE

BETWEEN = ", "
MOST_TOLD = 40
"""Columns of a group up to which its numbers are told in words."""


def place_told(told: outline.Told, pen: layout.SheetPen) -> None:
    """Keeps the row of numbers that are told in words, if they are few enough."""
    if pen.values.size(told.numbers.axes[-1]) <= MOST_TOLD:
        pen.layout.told.append((pen.row, told))
        pen.row += 1


def write_told(row: int, told: outline.Told, writer: steps.Picker) -> None:
    """Spells the line: which group is meant for each member, the one picked, and right of it word and number of every column.

    A column that does not count has the number 0, and no word.
    """
    pen, values, size = writer.pen, writer.values, writer.values.size(told.numbers.axes[-1])
    starts = [*_group_starts(told, writer, grid.stride(size))]
    for column, (formula, start) in enumerate(starts, MEMBERS):
        pen.live(row, column, formula, start, "as print")
    chosen, (axis,) = writer.at[writer.choice.across[0]], writer.choice.across
    here = MEMBERS + len(starts)
    number = f"{grid.defined_name(writer.choice.numbers[0].name)}-{axis.start - 1}"
    among = grid.lookup_area(row, MEMBERS, row, here - 1)
    pen.live(row, here, f"={picked(among, number)}", starts[chosen][1], "as print")
    group, pick = int(starts[chosen][1] - 1) // grid.stride(size), grid.address(row, here, fixed=True)

    def told_cell(block: Block, member: int) -> str:
        return picked(_row_range(block, writer), f"{pick}+{member}")

    counted = [values.cell(told.counts, group, member) == 1 for member in range(size)]
    numbers = [values.cell(told.numbers, group, i) if counts else 0.0 for i, counts in enumerate(counted)]
    for i, value in enumerate(numbers):
        formula = f"=IF({told_cell(told.counts, i)}=1,{told_cell(told.numbers, i)},0)"
        pen.live(row, here + 1 + i, formula, value, "as print")
    whole = steps.origin(Ref(told.whole, tuple(map(Position, told.whole.axes))))  # it has a line of its own
    decimals = writer.enough_for_sum(row, numbers, here + 1, digits.Operand(writer.value(whole), writer.cell_of(whole)))
    cells, printed = list[str](), ""
    for i, value in enumerate(numbers):
        operand, behind = digits.Operand(value, grid.address(row, here + 1 + i)), here + 1 + size + i
        word = f"{BETWEEN}{values.cell(told.words, group, i)} {operand.printed(decimals)}" if counted[i] else ""
        spelled = operand.printed_formula(grid.address(row, DIGITS), writer.constants["longest"])
        formula = f'=IF({told_cell(told.counts, i)}=1,"{BETWEEN}"&{told_cell(told.words, i)}&" "&{spelled},"")'
        pen.live(row, behind, formula, digits.Print(word), "as print")
        cells.append(grid.address(row, behind))
        printed += word
    pen.name(row, told.numbers.symbol, told.says)
    pen.link(row, WHERE, told.numbers)
    formula = f"=MID({'&'.join(cells)},{len(BETWEEN) + 1},9999)"
    pen.live(row, EQUATION, formula, digits.Print(printed[len(BETWEEN) :]), "walk list")


def _group_starts(told: outline.Told, writer: steps.Picker, stride: int) -> Iterator[tuple[str, float]]:
    """Yields for each member that may be picked how far from the first group its own begins, counted from 1."""
    place, table = writer.layout.places[told.group], writer.values[told.group]
    members, groups = table.shape
    for member in range(members):
        (top, left), (_, right) = (place.cell(told.group, (member, group)) for group in (0, groups - 1))
        span = f"{grid.quoted_title(place.sheet)}!{grid.lookup_area(top, left, top, right)}"
        yield f"=MATCH(1,{span},0)", float(1 + list(table[member]).index(1) * stride)


def _row_range(block: Block, writer: steps.Picker) -> str:
    """Returns the range of a row over all groups, from the first column of the first to the last of the last."""
    place, (groups, members) = writer.layout.places[block], (writer.values.size(axis) for axis in block.axes)
    (top, left), (_, right) = (place.cell(block, at) for at in ((0, 0), (groups - 1, members - 1)))
    return f"{grid.quoted_title(place.sheet)}!{grid.lookup_area(top, left, top, right)}"


OF, STANDS, PIECE_EQUATION, MEANING = grid.LEFT + 1, grid.LEFT + 3, grid.LEFT + 5, grid.LEFT + 9
"""The columns of a named number after its value: what it is a mean of, its row, its equation, its meaning."""

LETTER, AROUND = 5.6, 12
"""Pixels of a letter of ten points in a long text, and of what stands around a text."""


def _piece(piece: Piece, pen: SheetPen) -> None:
    """Places a named number that is shown again: its link, its equation and its meaning."""
    pen.name(pen.row, piece.about.symbol, piece.title)
    pen.echo(pen.row, steps.VALUE, piece.shown, (), _style_of(piece, pen) + styles.read_as(piece.shown.about.reads))
    pen.label(pen.row, OF, piece.of, "name")
    pen.link(pen.row, STANDS if piece.of else OF, piece.about)
    equation = pen.equation_text(origin(piece.about) if piece.about.link else piece.about) if piece.equation else ""
    pen.row += max(
        _broken(equation, PIECE_EQUATION, MEANING, "piece equation", pen),
        _broken(piece.says or piece.about.about.meaning, MEANING, None, "name", pen),
    )


def _broken(text: str, column: int, end: int | None, style: str, pen: SheetPen) -> int:
    """Places a text from the next free row on, in as many lines as it takes up to a column; returns how many these are."""
    wide = sum(map(styles.pixels, pen.sheet.widths[column - grid.LEFT : end and end - grid.LEFT]))
    lines = wrap(text, int((wide - AROUND) / LETTER)) or [""]
    for row, line in enumerate(lines, pen.row):
        pen.label(row, column, line, style)
    return len(lines)


def _shown_as(block: Block) -> str:
    return "verdict" if block.text else "piece" if block.about.decimals else "piece count"


def _style_of(piece: Piece, pen: SheetPen) -> str:
    """Returns the style of a number; one of a sum has as many decimals as the sum needs to be right as it is displayed."""
    if len(piece.among) < 2 or _shown_as(piece.shown) != "piece" or pen.layout.blueprint.blanks:
        return _shown_as(piece.shown)  # copies of a worksheet have other numbers in the same cells
    total, *parts = (pen.values.cell(block) for block in piece.among)
    decimals, shown = digits.Sum(total, tuple(parts), (piece.sign,) * len(parts)).decimals()
    return f"piece {shown if piece.shown is piece.among[0] else decimals}".removesuffix(" 4")


def _flow(flow: Flow, pen: SheetPen) -> None:
    """Places a picture of boxes and arrows: the first box under the names, then arrow and box by turns."""
    pen.layout.maps.setdefault(pen.title, pen.row)
    for line in flow.rows:
        for column, part in enumerate(line, grid.NAME):
            if isinstance(part, Box):
                _box(part, pen, column, "small box" if part.small else "box")
            else:
                pen.label(pen.row, column, part, "arrow")
        pen.row += 1


def _box(box: Box, pen: SheetPen, column: int, style: str) -> None:
    """Places a name that leads to its block, or nowhere."""
    if box.block is None:
        pen.label(pen.row, column, box.title, f"plain {style}")
    else:
        look = styles.coloured(style, pen.layout.colours[box.block]) if style == "box" else style
        pen.link(pen.row, column, box.block, box.title or "{sheet}, row {row}", look)


def _entry(entry: Entry, pen: SheetPen) -> None:
    """Places a row of a table of words; the last text takes the lines that it needs."""
    *cells, last = entry.cells
    for column, cell in enumerate(cells, grid.SYMBOL):
        if isinstance(cell, Box):
            _box(cell, pen, column, "link")
        elif isinstance(cell, Block):
            pen.echo(pen.row, column, cell, (), _shown_as(cell))
        else:
            pen.label(pen.row, column, cell, "symbol" if column == grid.SYMBOL else "name")
    assert isinstance(last, str)
    pen.row += _broken(last, grid.SYMBOL + len(cells), None, "name", pen)


def _sample(sample: Sample, pen: SheetPen) -> None:
    """Places a cell in the style of an example and says what it means."""
    pen.label(pen.row, steps.VALUE, sample.text, f"sample {sample.kind}/{sample.role}" + "/faded" * sample.faded)
    pen.label(pen.row, steps.VALUE + 1, sample.meaning, "name")
    pen.row += 1


def _finder(_: Finder, pen: SheetPen) -> None:
    """Keeps the lines that find the chosen column, and those of the constants by which numbers are printed."""
    pen.layout.finder = pen.title, pen.row
    pen.row += digits.CONSTANT_LINES


def _tour(_: Tour, pen: SheetPen) -> None:
    """Lists the other sheets with what their first line says."""
    sheets = {sheet.title: sheet.lead for sheet in pen.layout.blueprint.tabs if sheet is not pen.sheet}
    glance = {grid.ONE_PAGE: grid.ONE_PAGE_LEAD} if pen.layout.blueprint.one_page else {}
    filling = {grid.BLANKS: grid.BLANKS_LEAD} if pen.layout.blueprint.blanks else {}
    for title, lead in (glance | filling | sheets | grid.SHEETS).items():
        pen.link(pen.row, grid.NAME, f"{grid.quoted_title(title)}!A1", title)
        pen.label(pen.row, steps.VALUE, lead, "name")
        pen.row += 1


def _unchanged(unchanged: Unchanged, pen: SheetPen) -> None:
    """Keeps the line that says whether anything typed was changed."""
    pen.label(pen.row, grid.NAME, unchanged.title, "name")
    pen.layout.unchanged.append((pen.title, pen.row))
    pen.row += 1


def _judged(judged: Judged, pen: SheetPen) -> None:
    """Keeps the line of the verdict on all checks and formulas."""
    pen.name(pen.row, judged.checks.symbol, judged.title)
    pen.link(pen.row, steps.VALUE + 1, judged.checks)
    pen.layout.judged.append((pen.title, pen.row, judged.checks))
    pen.row += 1


def _spread(spread: Spread, pen: SheetPen) -> None:
    """Names the rows and columns of a spread; its numbers are picked when every place is known."""
    down = next(iter(spread.columns.values())).axes[-1]
    top, last = pen.row + 1, pen.row + pen.values.size(down)
    for column, (title, block) in enumerate(spread.columns.items(), grid.LEFT):
        pen.link(pen.row, column, block, title, "column link")
        pen.layout.spread[block] = pen.title, top, last, column
    for member, row in enumerate(range(top, last + 1)):
        pen.label(row, grid.SYMBOL, str(member + down.start), "symbol")
        pen.member(down, member, row, grid.NAME, "name")
    pen.row = last + 1


def _chart(chart: Chart, pen: SheetPen) -> None:
    """Places a chart: beside the one before it where there is room, else below."""
    before = next((placed for placed in reversed(pen.layout.charts) if placed.sheet == pen.title), None)
    beside = before is not None and not (before.right or before.chart.wide or chart.wide)
    row = before.row if before and beside else pen.row
    pen.layout.charts.append(layout.PlacedChart(pen.title, row, int(beside), chart))
    pen.row = row + charts.ROWS


PLACERS: dict[type, Callable[..., None]] = {
    Piece: _piece,
    Flow: _flow,
    Entry: _entry,
    Sample: _sample,
    Step: steps.place_step,
    Listed: steps.place_list,
    Told: place_told,
    Spread: _spread,
    Finder: _finder,
    Tour: _tour,
    Unchanged: _unchanged,
    Judged: _judged,
    Chart: _chart,
}
