"""The columns of One page: which member of which group each of them is, found by formulas that follow the choice on Walk.

A row of the workbook runs over all groups, so one number says where a member is in every row: its place. Below what is
printed, the page counts the members that count up to each position; the k-th of them is where the count reaches k.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blueprint.language import Axis, Block, Ended, NotationError
from blueprint.page import grid
from blueprint.page.layout import Layout, Pen
from blueprint.page.outline.derived import axis_of
from blueprint.page.outline.items import Columns

BEFORE = 2
"""Members of a longer group that are shown before the chosen one."""
GROUP, TOTAL, FIRST, MOST, STRIDE = range(1, 6)
"""The columns of what the page is made from: the number of a group, its members that count, the first
of them that is shown, how many are shown at most, how far the groups of columns stand apart. Lists stand right of the page."""
MADE = "one-page made"


@dataclass
class Column:
    """One column of numbers. place: the cell that says where its member is in every row, "" where nothing follows the choice.

    at: the members that are shown as delivered; None: none stands here.
    """

    column: int
    place: str
    at: Mapping[Axis, int] | None
    strip: "Strip"


@dataclass
class Strip:
    """Columns of one group, or of all members of an axis.

    at: the members that are shown as delivered. cells: for axes that follow the choice, the cell of the number from 1.
    sum_place: the cell of the place of its Σ column. begins: the cell of the place of its first position.
    """

    at: dict[Axis, int]
    cells: dict[Axis, str] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    sum_place: str = ""
    begins: str = ""


class Finder:
    """Finds numbers of blocks in the columns of a page, as formulas and as they are delivered."""

    def __init__(self, layout: Layout, anchor: Block | None):
        self.layout, self.values, choice = layout, layout.values, layout.blueprint.chosen
        across = {sheet.title: sheet.across for sheet in layout.blueprint.sheets}
        self.across = across[layout.places[anchor].sheet] if anchor is not None else ()
        self.numbers = dict(zip(choice.across, choice.numbers, strict=True)) if choice else {}
        self.time = self.across[-1] if self.across else None
        self.outer = self.across[0] if len(self.across) > 1 else None

    @property
    def along(self) -> Axis:
        """The axis of time, where there is one."""
        assert self.time is not None
        return self.time

    @property
    def stride(self) -> int:
        """How many columns the groups stand apart."""
        return grid.stride(self.values.size(self.time)) if self.time else 0

    def chosen(self) -> dict[Axis, int]:
        """Returns the members that the blueprint chooses, or the first ones."""
        at = dict.fromkeys(self.across, 0)
        for axis, number in self.numbers.items():
            at[axis] = int(float(self.values.cell(number))) - axis.start
        return at

    def number(self, axis: Axis) -> str:
        """Returns the name of the typed number by which one chooses along an axis; "1" where nothing is chosen."""
        found = self.numbers.get(axis)
        return grid.defined_name(found.name) if found is not None else "1"

    def rows(self, block: Block, member: int = 0) -> str:
        """Returns the range of a whole row, from the first group's start column to the last one's Σ column."""
        place = self.layout.places[block]
        lead = tuple(0 for axis in block.axes if axis in self.across)
        row, _ = place.cell(block, (*lead, member)[: len(block.axes)])
        groups = self.values.size(self.outer) if self.outer else 1
        members = self.values.size(self.along)
        last = grid.start_column(groups - 1, members) + members + 2
        return f"{grid.quoted_title(place.sheet)}!{grid.area(row, grid.GROUPS, row, last, fixed=True)}"

    def formula(self, block: Block, column: Column, shift: int = 0, member: int = 0) -> str:
        """Spells the number of a block in a column, without the sign =."""
        if not block.axes:
            return grid.defined_name(block.name)
        if self.time in block.axes and column.place:
            place = f"{column.place}{shift:+}" if shift else column.place
            return f"INDEX({self.rows(block, member)},1,{place})"
        at = {axis: place + shift for axis, place in (column.at or {}).items()}
        if not self.inside(block, column.strip.at | at, member):
            return "0"
        return self.picked(block, column.strip, at, member)

    def inside(self, block: Block, at: Mapping[Axis, int], member: int = 0) -> bool:
        """Tells whether a block has a cell there."""
        spans = zip(block.axes, self.values.spans(block), strict=True)
        return all(at.get(axis, member) in span for axis, span in spans)

    def picked(self, block: Block, strip: Strip, at: Mapping[Axis, int], member: int = 0) -> str:
        """Spells a number that has no place in time: of the chosen group, of its family, or of a member that stands fast."""
        live = [axis for axis in block.axes if axis in strip.cells]
        fixed = strip.at | dict(at)
        if live == [self.outer] and len(block.axes) == 1 and self.layout.places[block].groups:
            return f"INDEX({self.rows(block)},1,{strip.sum_place})"

        def address(chosen: Mapping[Axis, int]) -> str:
            places = tuple(chosen.get(axis, fixed.get(axis, member)) for axis in block.axes)
            return self.layout.address(block, places, fixed=True)

        if not live:
            return address({})
        axis = live[0]
        each = ",".join(address({axis: number}) for number in range(self.values.size(axis)))
        return f"CHOOSE({strip.cells[axis]},{each})"

    def place_of(self, column: Column) -> float:
        """Returns the place of a column's member as delivered."""
        assert column.at is not None
        group = column.strip.at.get(self.outer, 0) if self.outer is not None else 0
        return float(group * self.stride + column.at[self.along] + 2)

    def value(self, block: Block, column: Column, shift: int = 0, member: int = 0) -> float | str:
        """Returns the number that stands there as delivered; "" where there is none, 0 beyond the last one."""
        if column.at is None:
            return ""
        at = column.strip.at | {axis: place + shift for axis, place in column.at.items()}
        places = tuple(at.get(axis, member) for axis in block.axes)
        found = self.values.cell(block, *places) if self.inside(block, at, member) else 0.0
        return found if isinstance(found, str | Ended) else found + 0.0  # no sheet knows a minus zero


class ColumnMaker:
    """Makes the columns of panels; `pen` writes below the page how they are found."""

    def __init__(self, finder: Finder, pen: Pen, mask: Block | None, row: int):
        self.finder, self.pen, self.mask, self.row = finder, pen, mask, row
        self.values = finder.values
        self.known: dict[str, float | str] = {}
        self.listed = 0
        self.family_row = 0

    def widths(self, columns: Columns) -> list[int]:
        """Returns how many columns each strip has."""
        if columns.of == "members":
            return [min(columns.most, self.values.size(self.axis(columns.axis)))]
        strips = [[*range(self.values.size(self.finder.outer) if self.finder.outer else 1)]]
        if columns.of == "peers":
            families, size = self.family_axes(columns)
            cells = [[self.values.cell(self.peer_numbers(columns), g, i) for g in range(families)] for i in range(size)]
            strips = [[int(float(number)) - 1 for number in groups] for groups in cells]
        elif columns.of == "pair":
            is_chosen = self.pair_blocks(columns)[1]
            strips = [[n for n in strips[0] if float(self.values.cell(is_chosen, n)) == columns.member]]
        lengths = (max((len(self.counted(group)) for group in groups), default=1) for groups in strips)
        return [max(1, min(columns.most, length)) for length in lengths]

    def axis(self, letter: str) -> Axis:
        """Finds an axis by its letter, the longest of them."""
        axis = axis_of(letter, self.finder.layout.blueprint)
        if axis is None:
            raise NotationError(f"one page: no block runs along an axis {letter}")
        return axis

    def peer_numbers(self, columns: Columns) -> Block:
        """Returns the block that says which group stands at each place of a family."""
        return next(block for block in self.finder.layout.places if block.name == columns.axis)

    def family_axes(self, columns: Columns) -> tuple[int, int]:
        """Returns how many families there are, and how large they are."""
        family, peer = self.peer_numbers(columns).axes
        return self.values.size(family), self.values.size(peer)

    def counted(self, group: int) -> list[int]:
        """Returns the positions of a group that count."""
        spots, lead = range(self.values.size(self.finder.along)), (group,) if self.finder.outer else ()
        return [t for t in spots if self.mask is None or float(self.values.cell(self.mask, *lead, t)) == 1]

    def made(self, columns: Columns, cells: list[list[int]]) -> list[Strip]:
        """Makes the strips of a panel; cells: the columns of each."""
        if columns.of == "members":
            return [self.members(columns, cells[0])]
        return [self.strip(columns, i, each) for i, each in enumerate(cells)]

    def members(self, columns: Columns, cells: list[int]) -> Strip:
        """Makes columns that are members of an axis, which stand fast."""
        axis, strip = self.axis(columns.axis), Strip({})
        shown = range(
            self.first_member(columns, axis), self.values.size(axis)
        )  # fewer than there are columns, below another panel
        strip.columns = [Column(cell, "", {axis: i}, strip) for i, cell in zip(shown, cells, strict=False)]
        return strip

    def first_member(self, columns: Columns, axis: Axis) -> int:
        """Returns the first member that is shown: 0, or so that the last one is an end, where there is such."""
        ends = next((block for block in self.finder.layout.places if block.name == columns.ends), None)
        if ends is None or ends.axes != (axis,):
            return 0
        there = (i for i in range(self.values.size(axis)) if self.values.cell(ends, i) == 1)
        return max(0, max(there, default=0) + 1 - columns.most)

    def strip(self, columns: Columns, number: int, cells: list[int]) -> Strip:
        """Makes the columns of one group, in four rows below the page: the place of each position, how many members there are
        up to it, then for each column which it shows, and the place of that one."""
        finder, chosen = self.finder, self.finder.chosen()
        group, formula, at, extra = self.found_group(columns, number, chosen)
        strip, row = Strip(at), self.row
        self.row += 4
        top, total = grid.address(row, GROUP, fixed=True), grid.address(row, TOTAL, fixed=True)
        most, stride = grid.address(row, MOST, fixed=True), grid.address(row, STRIDE, fixed=True)
        self.cell(row, GROUP, formula, float(group + 1))
        self.pen.label(row, MOST, float(len(cells)), MADE)
        self.pen.label(row, STRIDE, float(finder.stride), MADE)
        begins = float(group * finder.stride * (finder.outer is not None) + 2)
        if finder.outer is not None:
            strip.cells[finder.outer] = top
            strip.sum_place = grid.address(row + 1, GROUP, fixed=True)
            self.cell(row + 1, GROUP, f"{top}*{stride}-1", float((group + 1) * finder.stride - 1))
        strip.cells |= extra
        positions = self.counted(group)
        start = f"({top}-1)*{stride}+2" if finder.outer is not None else "2"
        spots, counts = self.positions(row, group, start, begins)
        self.cell(row, TOTAL, f"MAX({counts})", float(len(positions)))
        mine = columns.of == "counted" and finder.time in finder.numbers
        here = len([t for t in positions if t <= chosen.get(finder.time, 0)]) if finder.time is not None else 0
        first = max(1, min(len(positions) - len(cells) + 1, here - BEFORE)) if mine else 1
        if mine and finder.time is not None:
            found = f"INDEX({counts},1,{finder.number(finder.time)})" if ":" in counts else counts
            self.cell(row, FIRST, f"MAX(1,MIN({total}-{most}+1,{found}-{BEFORE}))", float(first))
        else:
            self.pen.label(row, FIRST, 1.0, MADE)
        for i, cell in enumerate(cells):
            k = first + i
            position = positions[k - 1] if k <= len(positions) else None
            which = f"{grid.address(row + 2, cells[i - 1])}+1" if i else grid.address(row, FIRST, fixed=True)
            self.cell(row + 2, cell, which, float(k))
            own = grid.address(row + 2, cell)
            place = begins + position if position is not None else ""
            # IronCalc's MATCH and INDEX find nothing in a range of one cell; of one position nothing has to be found.
            spot = f"INDEX({spots},1,MATCH({own},{counts},0))" if ":" in spots else spots
            self.cell(row + 3, cell, f'IF({own}>{total},"",{spot})', place)
            known = None if position is None or finder.time is None else {finder.time: position}
            strip.columns.append(Column(cell, seen(row + 3, cell), known, strip))
        strip.begins = grid.address(row, self.listed, fixed=True)
        return strip

    def positions(self, row: int, group: int, start: str, begins: float) -> tuple[str, str]:
        """Lists the places of all positions of a group, and the members that count up to each; returns both ranges."""
        finder, so_far = self.finder, 0
        size, counted = self.values.size(finder.along), self.counted(group)
        for t in range(size):
            column = self.listed + t
            self.cell(row, column, f"{grid.address(row, column - 1)}+1" if t else start, begins + t)
            here = grid.address(row, column)
            one = f"INDEX({finder.rows(self.mask)},1,{here})" if self.mask is not None else "1"
            so_far += t in counted
            self.cell(row + 1, column, f"{grid.address(row + 1, column - 1)}+{one}" if t else f"0+{one}", float(so_far))
        last = self.listed + size - 1
        return grid.area(row, self.listed, row, last, fixed=True), grid.area(
            row + 1, self.listed, row + 1, last, fixed=True
        )

    def again(self, strips: list[Strip], cells: list[list[int]]) -> list[Strip]:
        """Makes the columns of another panel that shows the same members: their places stand once more, above these columns."""
        made, row = list[Strip](), self.row
        self.row += 1
        for strip, own in zip(strips, cells, strict=True):
            copy = Strip(strip.at, strip.cells, sum_place=strip.sum_place, begins=strip.begins)
            for cell, column in zip(own, strip.columns, strict=True):
                if column.place and cell != column.column:
                    letters, _, number = column.place.partition("$")
                    value = self.known[column.place]
                    self.cell(row, cell, f"{letters}{number}", value)
                    place = seen(row, cell)
                else:
                    place = column.place
                copy.columns.append(Column(cell, place, column.at, copy))
            made.append(copy)
        return made

    def cell(self, row: int, column: int, formula: str, value: float | str) -> None:
        """Writes one number of how the page is made; one that reads nothing is no formula."""
        self.known[seen(row, column)] = value
        if formula.isdecimal():
            self.pen.label(row, column, value, MADE)
        else:
            self.pen.live(row, column, f"={formula}", value, MADE)

    def found_group(
        self, columns: Columns, number: int, chosen: Mapping[Axis, int]
    ) -> tuple[int, str, dict[Axis, int], dict[Axis, str]]:
        """Finds a group: as delivered, as a formula of its number, the members it stands for, and the cells that say them."""
        finder, outer = self.finder, self.finder.outer
        if outer is None:
            return 0, "1", {}, {}
        mine = chosen[outer]
        if columns.of == "counted":
            return mine, finder.number(outer), {outer: mine}, {}
        if columns.of == "peers":
            return self.of_family(columns, number, mine)
        return self.of_pair(columns, mine)

    def of_family(self, columns: Columns, number: int, mine: int) -> tuple[int, str, dict[Axis, int], dict[Axis, str]]:
        """Finds a group of the chosen one's family, in a list of those of all families."""
        finder, block = self.finder, self.peer_numbers(columns)
        families, size = self.family_axes(columns)
        assert finder.outer is not None
        listed = [(g, i) for g in range(families) for i in range(size)]
        numbers = [int(float(self.values.cell(block, *each))) for each in listed]
        family = listed[numbers.index(mine + 1)][0] if mine + 1 in numbers else 0
        row = self.row
        if number == 0:
            self.family_row = row
            self.row += 2
            for j, each in enumerate(listed):
                address = finder.layout.address(block, each, fixed=True)
                self.cell(row, self.listed + j, address, float(numbers[j]))
            self.pen.label(row, MOST, float(size), MADE)
        row = self.family_row
        area = grid.lookup_area(row, self.listed, row, self.listed + len(listed) - 1)
        many, mine_at = grid.address(row, MOST, fixed=True), grid.address(row, GROUP, fixed=True)
        if number == 0:
            found = f"MATCH({finder.number(finder.outer)},{area},0)"
            self.cell(row, GROUP, f"INT(({found}-1)/{many})+1", float(family + 1))
        which = f"({mine_at}-1)*{many}+1" if number == 0 else f"{grid.address(row + 1, self.listed + number - 1)}+1"
        self.cell(row + 1, self.listed + number, which, float(family * size + number + 1))
        formula = f"INDEX({area},1,{grid.address(row + 1, self.listed + number, fixed=True)})"
        group = max(0, numbers[family * size + number] - 1)
        at = {finder.outer: group, block.axes[0]: family, block.axes[1]: number}
        return group, formula, at, {block.axes[0]: mine_at}

    def pair_blocks(self, columns: Columns) -> tuple[Block, Block]:
        """Returns the blocks that say of a group its pair, and whether it is the chosen one."""
        known = {block.name: block for block in self.finder.layout.places}
        pair, is_chosen = (known[name] for name in columns.axis.split(" "))
        return pair, is_chosen

    def of_pair(self, columns: Columns, mine: int) -> tuple[int, str, dict[Axis, int], dict[Axis, str]]:
        """Finds the chosen or the rejected group of the pair to which the chosen group belongs."""
        finder, outer = self.finder, self.finder.outer
        assert outer is not None
        pair, is_chosen = self.pair_blocks(columns)
        keys = [
            2 * float(self.values.cell(pair, n)) + float(self.values.cell(is_chosen, n))
            for n in range(self.values.size(outer))
        ]
        row, self.row = self.row, self.row + 1
        for n, key in enumerate(keys):
            cells = (self.finder.layout.address(block, (n,), fixed=True) for block in (pair, is_chosen))
            self.cell(row, self.listed + n, "2*{}+{}".format(*cells), key)
        area = grid.lookup_area(row, self.listed, row, self.listed + len(keys) - 1)
        picked = next((axis for axis in finder.numbers if axis not in finder.across), None)
        if picked is not None:
            wanted = 2.0 * (finder.chosen()[picked] + picked.start) + columns.member
            formula = f"MATCH(2*{finder.number(picked)}+{columns.member},{area},0)"
        else:
            wanted = 2 * float(self.values.cell(pair, mine)) + columns.member
            own = f"INDEX({area},1,{finder.number(outer)})"
            formula = f"MATCH(2*INT({own}/2)+{columns.member},{area},0)"
        group = keys.index(wanted) if wanted in keys else 0
        return group, formula, {outer: group}, {}


def seen(row: int, column: int) -> str:
    """Returns the address of a cell as the cells of its column see it: the row stands fast."""
    return f"{grid.column_letters(column)}${row + 1}"


def columns_of(strips: list[Strip]) -> Iterator[Column]:
    """Yields the columns of several strips."""
    for strip in strips:
        yield from strip.columns
