"""The columns of One page: which token each of them is, found by formulas that follow the choice on Walk.

A row of the workbook runs over all episodes, so one number says where a token is in every row: its place. Below what
is printed, the page counts the response's tokens up to each position; the k-th token is where the count reaches k.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blueprint.language import Axis, Block
from blueprint.page import grid, names
from blueprint.page.layout import Layout, Pen
from blueprint.page.outline.one_page import Columns

FIRST = 2
"""Tokens of a longer response that are shown before the chosen one."""


@dataclass
class Column:
    """One column of numbers. place: the cell that says where its token is in every row, "" where nothing follows the choice.

    at: the members that are shown as delivered; None: no token stands here.
    """

    column: int
    place: str
    at: Mapping[Axis, int] | None
    strip: "Strip"


@dataclass
class Strip:
    """Columns of one episode, or of all members of an axis.

    at: the members that are shown as delivered. cells: for axes that follow the choice, the cell of the number from 1.
    """

    at: dict[Axis, int]
    cells: dict[Axis, str] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)


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
    def stride(self) -> int:
        """How many columns the groups stand apart."""
        return grid.stride(self.values.size(self.time)) if self.time else 0

    def chosen(self) -> dict[Axis, int]:
        """Returns the members that the blueprint chooses, or the first ones."""
        at = {axis: 0 for axis in self.across}
        for axis, number in self.numbers.items():
            at[axis] = int(float(self.values.cell(number))) - axis.start
        return at

    def number(self, axis: Axis) -> str:
        """Returns the name of the typed number by which one chooses along an axis; "1" where nothing is chosen."""
        found = self.numbers.get(axis)
        return names.defined_name(found.name) if found is not None else "1"

    def rows(self, block: Block, member: int = 0) -> str:
        """Returns the range of a whole row, from the first group's start column to the last one's Σ column."""
        assert self.time is not None
        place = self.layout.places[block]
        lead = tuple(0 for axis in block.axes if axis in self.across)
        row, _ = place.cell(block, (*lead, member)[: len(block.axes)])
        groups = self.values.size(self.outer) if self.outer else 1
        last = grid.start_column(groups - 1, self.values.size(self.time)) + self.values.size(self.time) + 2
        return f"{grid.quoted(place.sheet)}!{grid.area(row, grid.GROUPS, row, last, fixed=True)}"

    def formula(self, block: Block, column: Column, shift: int = 0, member: int = 0) -> str:
        """Spells the number of a block in a column, without the sign =."""
        if not block.axes:
            return names.defined_name(block.name)
        if self.time in block.axes and column.place:
            place = f"{column.place}{shift:+}" if shift else column.place
            return f"INDEX({self.rows(block, member)},1,{place})"
        return self.picked(block, column.strip, column.at or {}, member)

    def picked(self, block: Block, strip: Strip, at: Mapping[Axis, int], member: int = 0) -> str:
        """Spells a number that has no place in time: of the episode that is chosen, of its group, or of a member that stands fast."""
        live = [axis for axis in block.axes if axis in strip.cells]
        fixed = strip.at | dict(at)
        if live == [self.outer] and len(block.axes) == 1 and self.layout.places[block].groups:
            return f"INDEX({self.rows(block)},1,{strip.cells[live[0]]}*{self.stride}-1)"

        def address(chosen: Mapping[Axis, int]) -> str:
            places = tuple(chosen.get(axis, fixed.get(axis, member)) for axis in block.axes)
            return self.layout.address(block, places, fixed=True)

        if not live:
            return address({})
        axis = live[0]
        each = ",".join(address({axis: number}) for number in range(self.values.size(axis)))
        return f"CHOOSE({strip.cells[axis]},{each})"

    def value(self, block: Block, column: Column, shift: int = 0, member: int = 0) -> float | str:
        """Returns the number that stands there as delivered; "" where there is no token, 0 beyond the last one."""
        if column.at is None:
            return ""
        at = column.strip.at | dict(column.at)
        places = tuple(at.get(axis, member) + (shift if axis is self.time else 0) for axis in block.axes)
        inside = all(place in span for place, span in zip(places, self.values.spans(block), strict=True))
        return self.values.cell(block, *places) if inside else 0.0


class ColumnMaker:
    """Makes the columns of panels; `pen` writes below the page how they are found."""

    def __init__(self, finder: Finder, pen: Pen, mask: Block | None, row: int):
        self.finder, self.pen, self.mask, self.row = finder, pen, mask, row
        self.values = finder.values
        self.episodes: dict[str, tuple[list[int], int, int]] = {}

    def widths(self, columns: Columns) -> list[int]:
        """Returns how many columns each strip has."""
        if columns.of == "members":
            axis = self.axis(columns.axis)
            return [min(columns.most, self.values.size(axis))]
        if columns.of == "group":
            groups, size = self.group_axes(columns)
            block = self.response_numbers(columns)
            most = columns.most
            return [
                max(
                    1,
                    min(
                        most,
                        max(self.length(int(float(self.values.cell(block, g, i))) - 1) for g in range(groups)),
                    ),
                )
                for i in range(size)
            ]
        episodes = range(self.values.size(self.finder.outer) if self.finder.outer else 1)
        if columns.of == "pair":
            is_chosen = self.pair_blocks(columns)[1]
            episodes = [n for n in episodes if float(self.values.cell(is_chosen, n)) == columns.member]  # type: ignore[assignment]
        lengths = [self.length(n) for n in episodes]
        return [max(1, min(columns.most, max(lengths)))]

    def axis(self, letter: str) -> Axis:
        """Finds an axis by its letter, the longest of them."""
        known = [axis for axis in self.finder.layout.blueprint.sizes if axis.letter == letter]
        return min(known, key=lambda axis: axis.start == 0)

    def response_numbers(self, columns: Columns) -> Block:
        """Returns the block that says which response stands at each place of a group."""
        return next(block for block in self.finder.layout.places if block.name == columns.axis)

    def group_axes(self, columns: Columns) -> tuple[int, int]:
        """Returns how many groups there are, and how large they are."""
        group, member = self.response_numbers(columns).axes
        return self.values.size(group), self.values.size(member)

    def length(self, episode: int) -> int:
        """Counts the tokens of an episode that count."""
        return len(self.counted(episode))

    def counted(self, episode: int) -> list[int]:
        """Returns the positions of an episode that count."""
        time = self.finder.time
        assert time is not None
        spots = range(self.values.size(time))
        if self.mask is None:
            return list(spots)
        lead = (episode,) if self.finder.outer else ()
        return [t for t in spots if float(self.values.cell(self.mask, *lead, t)) == 1]

    def made(self, columns: Columns, cells: list[list[int]]) -> list[Strip]:
        """Makes the strips of a panel; cells: the columns of each."""
        if columns.of == "members":
            return [self.members(columns, cells[0])]
        return [self.strip(columns, i, each) for i, each in enumerate(cells)]

    def members(self, columns: Columns, cells: list[int]) -> Strip:
        """Makes columns that are members of an axis, which stand fast."""
        axis, strip = self.axis(columns.axis), Strip({})
        strip.columns = [Column(cell, "", {axis: i}, strip) for i, cell in enumerate(cells)]
        return strip

    def strip(self, columns: Columns, number: int, cells: list[int]) -> Strip:
        """Makes the columns of one episode: its number, its count of tokens, and the place of each of its tokens."""
        finder, chosen = self.finder, self.finder.chosen()
        episode, formula, at, extra = self.episode(columns, number, chosen)
        strip = Strip(at)
        row, self.row = self.row, self.row + 2
        top = grid.address(row, 1, fixed=True)
        if formula.isdecimal():
            self.pen.label(row, 1, float(episode + 1), "one-page made")
        else:
            self.pen.live(row, 1, f"={formula}", float(episode + 1), "one-page made")
        if finder.outer:
            strip.cells[finder.outer] = top
        strip.cells |= extra
        counts = self.counts(row, 6, episode, top)
        total, at_most = grid.address(row, 2, fixed=True), len(cells)
        positions = self.counted(episode)
        self.pen.live(row, 2, f"=MAX({counts})", float(len(positions)), "one-page made")
        here = len([t for t in positions if t <= chosen.get(finder.time, 0)]) if finder.time else 0
        mine = columns.of == "tokens" and finder.time in finder.numbers
        first = max(1, min(len(positions) - at_most + 1, here - FIRST)) if mine else 1
        if mine and finder.time:
            found = f"INDEX({counts},1,{finder.number(finder.time)})"
            start = f"=MAX(1,MIN({total}-{at_most}+1,{found}-{FIRST}))"
            self.pen.live(row, 3, start, float(first), "one-page made")
        else:
            self.pen.label(row, 3, 1.0, "one-page made")
        begin = grid.address(row, 3, fixed=True)
        for i, cell in enumerate(cells):
            k = first + i
            token = positions[k - 1] if k <= len(positions) else None
            where = grid.address(row + 1, cell, fixed=True)
            by = f"{begin}+{i}" if i else begin
            start = f"({top}-1)*{finder.stride}+" if finder.outer else ""
            spelled = f'=IF({by}>{total},"",{start}MATCH({by},{counts},0)+1)'
            place = float(episode * finder.stride * bool(finder.outer) + token + 2) if token is not None else ""
            self.pen.live(row + 1, cell, spelled, place, "one-page made")
            known = None if token is None or finder.time is None else {finder.time: token}
            strip.columns.append(Column(cell, where, known, strip))
        return strip

    def counts(self, row: int, left: int, episode: int, top: str) -> str:
        """Counts the tokens up to each position; returns the range of the counts."""
        finder = self.finder
        assert finder.time is not None
        size, so_far = self.values.size(finder.time), 0
        for t in range(size):
            start = f"({top}-1)*{finder.stride}+" if finder.outer else ""
            one = f"INDEX({finder.rows(self.mask)},1,{start}{t + 2})" if self.mask is not None else "1"
            so_far += t in self.counted(episode)
            before = f"{grid.address(row, left + t - 1)}+" if t else ""
            self.pen.live(row, left + t, f"={before}{one}", float(so_far), "one-page made")
        return grid.area(row, left, row, left + size - 1, fixed=True)

    def episode(
        self, columns: Columns, number: int, chosen: Mapping[Axis, int]
    ) -> tuple[int, str, dict[Axis, int], dict[Axis, str]]:
        """Finds an episode: as delivered, as a formula of its number, the members it stands for, and the cells that say them."""
        finder, outer = self.finder, self.finder.outer
        if outer is None:
            return 0, "1", {}, {}
        mine = chosen[outer]
        if columns.of == "tokens":
            return mine, finder.number(outer), {outer: mine}, {}
        if columns.of == "group":
            return self.of_group(columns, number, mine)
        return self.of_pair(columns, mine)

    def of_group(
        self, columns: Columns, number: int, mine: int
    ) -> tuple[int, str, dict[Axis, int], dict[Axis, str]]:
        """Finds a response of the chosen one's group: the responses of all groups stand in a list, in which the chosen one is found."""
        finder, block = self.finder, self.response_numbers(columns)
        groups, size = self.group_axes(columns)
        assert finder.outer is not None
        listed = [(g, i) for g in range(groups) for i in range(size)]
        at_list = [int(float(self.values.cell(block, *each))) - 1 for each in listed]
        group = listed[at_list.index(mine)][0]
        episode = at_list[group * size + number]
        row = self.row
        if number == 0:
            self.group_row = row
            for j, each in enumerate(listed):
                self.pen.live(
                    row, 6 + j, f"={self.finder.layout.address(block, each, fixed=True)}", float(at_list[j] + 1), "one-page made"
                )
            area = grid.area(row, 6, row, 5 + len(listed), fixed=True)
            found = f"=INT((MATCH({finder.number(finder.outer)},{area},0)-1)/{size})+1"
            self.pen.live(row, 1, found, float(group + 1), "one-page made")
            self.row += 1
        cell = grid.address(self.group_row, 1, fixed=True)
        area = grid.area(self.group_row, 6, self.group_row, 5 + len(listed), fixed=True)
        formula = f"INDEX({area},1,({cell}-1)*{size}+{number + 1})"
        return episode, formula, {finder.outer: episode, block.axes[0]: group, block.axes[1]: number}, {block.axes[0]: cell}

    def pair_blocks(self, columns: Columns) -> tuple[Block, Block]:
        """Returns the blocks that say of a response its pair, and whether it is the chosen one."""
        known = {block.name: block for block in self.finder.layout.places}
        pair, is_chosen = (known[name] for name in columns.axis.split(" "))
        return pair, is_chosen

    def of_pair(self, columns: Columns, mine: int) -> tuple[int, str, dict[Axis, int], dict[Axis, str]]:
        """Finds the chosen or the rejected response of the pair to which the chosen episode belongs."""
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
            self.pen.live(row, 6 + n, "=2*{}+{}".format(*cells), key, "one-page made")
        area = grid.area(row, 6, row, 5 + len(keys), fixed=True)
        picked = next((axis for axis in finder.numbers if axis not in finder.across), None)
        if picked is not None:
            wanted = 2.0 * (finder.chosen()[picked] + picked.start) + columns.member
            formula = f"MATCH(2*{finder.number(picked)}+{columns.member},{area},0)"
        else:
            wanted = 2 * float(self.values.cell(pair, mine)) + columns.member
            own = f"INDEX({area},1,{finder.number(outer)})"
            formula = f"MATCH(2*INT({own}/2)+{columns.member},{area},0)"
        episode = keys.index(wanted)
        return episode, formula, {outer: episode}, {}


def tokens_of(strips: list[Strip]) -> Iterator[Column]:
    """Yields the columns of several strips."""
    for strip in strips:
        yield from strip.columns


