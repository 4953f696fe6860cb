"""Lines: the arithmetic of a page, each with sign, symbol, numbers and words, and the marks on its numbers.

The sign claims that a line is the result that it says it is, from the digits that it shows and from all of them: it is "="
where a pocket calculator agrees, "≈" where only the last digit is off, "…" where it is something else: under another
convention, say. Decimals are chosen so that as many lines as can be are right on a pocket calculator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import inf, isfinite, nan

from blueprint.language import Ended
from blueprint.page import digits, grid
from blueprint.page.digits import TILE_DECIMALS
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import (
    DECIMALS,
    LEAST_DECIMALS,
    NARROW_DECIMALS,
    NEARLY,
    Drawn,
    PanelPlacer,
    Placed,
)
from blueprint.page.one_page.columns import Column
from blueprint.page.outline.items import PageRow, Tile
from blueprint.page.outline.terms import Leaf, Term, pieces_of, said_in, term_of

AGREES, ROUNDED, ANOTHER = 0.0, 1.0, 2.0
"""What a claim comes to: right from the displayed digits, right from all digits, or neither."""
OTHERWISE = "…"
"""The sign of a line that is something else than it claims, as with another convention."""
MOST_SPELLED = 5
"""Texts and numbers by turns that are spelled in one cell: two numbers."""
SETTING = 4
"""Decimals of a single number that words and claims hold."""
SHIFTS = {"next": 1, "before": -1}
"""How far from its column an expression reads."""
TOLERANCE = 1e-9
CLEARLY = 1e-6
"""How far a number of another convention is off at least; an ε of 1e-8 in a divisor, which no line names, moves it less."""
FEWER = 3
"""How much worse one decimal fewer is than one more."""


class Claims(PanelPlacer):
    """Knows the number of each line, and judges what lines claim."""

    def constants(self) -> None:
        """Writes the numbers of decimals, the letters of the longest number, and the tolerance that the claims are judged by."""
        row = self.checks_row
        self.of_decimals = {}
        for i, many in enumerate(sorted({0, *DECIMALS, *TILE_DECIMALS, digits.LONGEST})):
            self.pen.label(row, 2 + i, float(many), "one-page made")
            self.of_decimals[many] = grid.address(row, 2 + i, fixed=True)
        self.pen.label(row, 1, TOLERANCE, "one-page made")
        self.tolerance = grid.address(row, 1, fixed=True)
        self.checks_row += 1

    def by_member(self, row: PageRow) -> bool:
        """Tells whether a line has a number for each member, or one for each group."""
        axes = {axis for name in row.reads for axis in self.blocks[name].axes}
        members = {each.axis for each in self.page.columns.values() if each.of == "members"}
        across = axes & {*self.finder.across}
        return self.finder.time in axes or (not across and any(axis.letter in members for axis in axes))

    def number(self, row: PageRow, column: Column) -> float | str:
        """Returns the number of a line in a column as it is delivered."""
        if column.at is None:
            return ""
        if row.block:
            return self.finder.value(self.blocks[row.block], column)
        return self.came_to(term_of(row.value), column)

    def came_to(self, term: Term, column: Column) -> float | str:
        """Returns what an expression comes to in a column; what ended, where it reads that."""
        read = (self.finder.value(self.blocks[name], column, SHIFTS.get(way, 0)) for way, name in term.leaves)
        ended = next((each for each in read if isinstance(each, Ended)), None)
        return ended if ended is not None else term.value(self.known(column)) + 0.0

    def known(self, column: Column) -> Callable[[Leaf], float]:
        """Returns how the numbers of an expression are found in a column."""
        return lambda leaf: float(self.finder.value(self.blocks[leaf[1]], column, SHIFTS.get(leaf[0], 0)))

    def formula(self, row: PageRow, column: Column) -> str:
        """Spells the number of a line in a column."""
        block = self.blocks.get(row.block)
        spelled = term_of(row.value).formula(self.raw(column)) if block is None else self.finder.formula(block, column)
        return f'IF({column.place}="","",{spelled})' if column.place else spelled

    def raw(self, column: Column) -> Callable[[Leaf], str]:
        """Returns how the blocks of an expression are spelled in a column."""
        return lambda leaf: self.finder.formula(self.blocks[leaf[1]], column, SHIFTS.get(leaf[0], 0))

    def choose_decimals(self) -> None:
        """Chooses how many decimals each line shows, so that as many claims as can be are right on a pocket calculator."""
        claims = [line for line in self.order if line.row.equals and self.can_claim(line)]
        free = {
            line.row.called: [self.drawn[name] for _, name in term_of(line.row.equals).leaves if name in self.drawn]
            for line in claims
        }

        def wrong(lines: list[Drawn]) -> int:
            cells = ((line, i, cell) for line in lines for i, cell in enumerate(line.cells))
            numbers = (
                (line, i, n) for line, i, (column, _, n) in cells if column.at is not None and not isinstance(n, str)
            )
            return sum(not self.agrees(line, i, number) for line, i, number in numbers)

        touched: dict[int, list[Drawn]] = {}
        for line in claims:
            for each in (line, *free[line.row.called]):
                touched.setdefault(id(each), []).append(line)
        for _ in range(4):
            for line in claims:
                if not wrong([line]):
                    continue
                movable = [each for each in (line, *free[line.row.called]) if len(each.choices) > 1][:4]
                concerned = list({id(each): each for move in movable for each in touched[id(move)]}.values())
                best, fewest = None, inf
                for chosen in sorted(product(*(each.choices for each in movable)), key=partial(_away, movable)):
                    _show(movable, chosen)
                    if (left := wrong(concerned)) < fewest:
                        best, fewest = chosen, left
                    if not left:  # those that come later are farther from the decimals that the rows have
                        break
                assert best is not None
                _show(movable, best)

    def can_claim(self, line: Drawn) -> bool:
        """Tells whether all that a claim reads is there."""
        return all(
            name in self.drawn or (name in self.blocks and not self.blocks[name].axes)
            for _, name in term_of(line.row.equals).leaves
        )

    def judged(self, line: Drawn, i: int) -> float:
        """Judges a claim in a column from the numbers as delivered."""
        column, _, value = line.cells[i]
        if column.at is None or isinstance(value, str) or self.agrees(line, i, value):
            return AGREES
        exact = term_of(line.row.equals).value(lambda leaf: self.read(line, i, leaf, False))
        return ROUNDED if abs(exact - value) <= TOLERANCE * (1 + abs(value)) else ANOTHER

    def is_another(self, line: Drawn, i: int) -> bool:
        """Tells whether a claim gives clearly another number than that of its column, as under another convention."""
        column, _, value = line.cells[i]
        if column.at is None or isinstance(value, str):
            return False
        exact = term_of(line.row.equals).value(lambda leaf: self.read(line, i, leaf, False))
        return not abs(exact - value) <= CLEARLY * (1 + abs(value))

    def agrees(self, line: Drawn, i: int, value: float) -> bool:
        """Tells whether a claim gives a number from what is displayed."""
        shown = term_of(line.row.equals).value(lambda leaf: self.read(line, i, leaf, True))
        return isfinite(shown) and digits.half_up(shown, line.decimals) == digits.half_up(value, line.decimals)

    def read(self, line: Drawn, i: int, leaf: Leaf, shown: bool) -> float:
        """Returns what a claim reads in its i-th cell, as it is displayed or with all digits."""
        way, name = leaf
        operand = self.drawn.get(name)
        if operand is None:
            single = float(self.layout.values.cell(self.blocks[name]))
            return float(digits.half_up(single, SETTING)) if shown and isfinite(single) else single
        numbers = [operand.cells[j][2] for j in self.operands(line, i, operand, way)]
        if any(isinstance(each, Ended) for each in numbers):
            return nan
        found = [float(each) for each in numbers if not isinstance(each, str)]
        return sum(float(digits.half_up(each, operand.decimals)) if shown else each for each in found)

    def operands(self, line: Drawn, i: int, operand: Drawn, way: str) -> list[int]:
        """Returns which cells of another line a claim reads in its i-th cell: the one of its column, or all of its strip."""
        column = line.cells[i][0]
        strips, number = line.panel.strips, line.panel.strips.index(column.strip)
        if way == "sum":
            mine = operand.panel.strips[number] if len(operand.panel.strips) == len(strips) else operand.panel.strips[0]
            return [j for j, cell in enumerate(operand.cells) if cell[0].strip is mine]
        position = column.strip.columns.index(column)
        theirs = operand.panel.strips[min(number, len(operand.panel.strips) - 1)]
        mine_cells = [j for j, cell in enumerate(operand.cells) if cell[0].strip is theirs]
        return [mine_cells[min(position, len(mine_cells) - 1)]]

    def claim(self, line: Drawn, i: int) -> str:
        """Spells the judgement of a claim in a column."""
        result = line.cell(i)

        def spelled(leaf: Leaf, shown: bool) -> str:
            way, name = leaf
            if name not in self.drawn:
                single = grid.defined_name(self.blocks[name].name)
                return f"ROUND({single},{self.of(SETTING)})" if shown else single
            operand = self.drawn[name]
            cells = [operand.cell(j) for j in self.operands(line, i, operand, way)]
            parts = [self.rounded(cell, operand.decimals) if shown else f"SUM({cell})" for cell in cells]
            return parts[0] if len(parts) == 1 else f"({'+'.join(parts)})"

        term = term_of(line.row.equals)
        shown, exact = (term.formula(lambda leaf, way=way: spelled(leaf, way)) for way in (True, False))  # type: ignore[misc]
        last = self.of(line.decimals)
        agrees = f"ABS(ROUND({shown},{last})-ROUND({result},{last}))<{self.tolerance}"
        near = f"ABS({exact}-{result})<={self.tolerance}*(1+ABS({result}))"
        return f"IFERROR(IF(COUNT({result})=0,0,(1-IFERROR(({agrees})*1,0))*(2-({near}))),2)"  # a displayed 0 divides nothing

    def rounded(self, cell: str, decimals: int) -> str:
        """Spells a number as it is displayed; an empty cell is 0."""
        return f"ROUND(SUM({cell}),{self.of(decimals)})"

    def of(self, decimals: int) -> str:
        """Returns the cell that holds a number of decimals."""
        return self.of_decimals.get(decimals, str(decimals))


def _away(lines: list[Drawn], chosen: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Orders decimals by how far they are from those that lines have by themselves; one fewer counts as several more."""
    pairs = [(decimals, line.choices[0]) for decimals, line in zip(chosen, lines, strict=True)]
    return sum(FEWER * max(0, own - d) + max(0, d - own) for d, own in pairs), sum(chosen), chosen


def _show(lines: list[Drawn], chosen: tuple[int, ...]) -> None:
    """Gives lines their decimals."""
    for line, decimals in zip(lines, chosen, strict=True):
        line.decimals = decimals


ALL = "{all}"
"""Where words say over which groups the result goes."""
LESS = "A−"
"""Where words subtract a number that may be below 0."""
FULL = 1.0
"""How much of a column is counted on: on paper programs make letters a little wider than on the screen."""


class LineWriter(Claims):
    """Writes lines."""

    def note_line(self, row: PageRow, placed: Placed, at: int) -> None:
        """Notes a line with its numbers; decimals are chosen when all are known."""
        cells = list[tuple[Column, int, float | str]]()
        by_member = self.by_member(row)
        for strip in placed.strips:
            for column in strip.columns if by_member else strip.columns[:1]:
                cells.append((column, column.column, self.number(row, column)))
        block = self.blocks.get(row.block)
        whole = block is not None and block.about.decimals == 0
        narrow = by_member and self.sheet.widths[cells[0][1]] < look.CELL
        least = LEAST_DECIMALS if self.cells_wide < look.NARROW_CELL else NARROW_DECIMALS
        if self.layout.blueprint.blanks:  # every student's copy is written alike, whatever its numbers
            choices: tuple[int, ...] = (0,) if whole else (NARROW_DECIMALS if narrow else DECIMALS)[:1]
        else:
            wide = least if self.cells_wide < look.NARROW_CELL else self.choices(row)
            choices = (0,) if whole else self.fitting(row, least if narrow else wide, cells)
        line = Drawn(row, placed, at, choices[0], cells, choices)
        self.drawn.setdefault(row.called, line)
        self.order.append(line)

    def choices(self, row: PageRow) -> tuple[int, ...]:
        """Returns how many decimals a line may show, the best first: on a page that grows as many as its block has elsewhere."""
        if not self.page.grows:
            return DECIMALS
        own = self.blocks[row.reads[0]].about.decimals
        return tuple(sorted({*DECIMALS, *([0] if own == 0 else [])}, key=lambda many: (abs(many - own), many)))

    def fitting(
        self, row: PageRow, choices: tuple[int, ...], cells: list[tuple[Column, int, float | str]]
    ) -> tuple[int, ...]:
        """Returns the decimals with which all numbers have room, as delivered; the fewest where none of them fit.

        Decimals with which every number of the line would show as 0, though it is not, come last; fewer than two, or than the
        line shows at least, are for want of room.
        """
        alone = self.by_member(row)  # what is of a whole group has the room of all its columns
        numbers = [
            (
                float(value),
                sum(self.sheet.widths[each.column] for each in ([column] if alone else column.strip.columns)),
            )
            for column, _, value in cells
            if not isinstance(value, str)
        ]

        def back(wide: int) -> bool:  # a narrow cell has no arrow
            return row.back and wide >= look.CELL

        def drawn(
            number: float, decimals: int, wide: int
        ) -> str:  # an arrow is of another font, and leaves a minus no room
            return f"↖{number:.{decimals}f}".replace("-", "−") if back(wide) else f"{number:.{decimals}f}"

        def fits(decimals: int) -> bool:
            bold = {"bold": row.is_result or (row.result is None and bool(row.fills))}
            return all(self.ruler(drawn(number, decimals, wide), bold) <= FULL * wide for number, wide in numbers)

        def vanishes(decimals: int) -> bool:
            there = [number for number, _ in numbers if number != 0]
            return bool(there) and all(round(number, decimals) == 0 for number in there)

        found = sorted(filter(fits, choices), key=vanishes)
        if self.page.grows or not found:
            return tuple(found) or (min(choices),)
        least = min(max(row.least, LEAST_DECIMALS[0]), max(found))
        return tuple(decimals for decimals in found if decimals >= least)

    def write_line(self, line: Drawn) -> None:
        """Writes a line: sign, symbol with a link to its rows, numbers, words."""
        row, placed, at = line.row, line.panel, line.at
        block = self.blocks.get(row.block)
        flag = " result" if row.is_result else ""
        symbol = "" if placed.panel.tight else row.symbol or (block.about.symbol if block is not None else "")
        if block is not None and symbol:
            self.pen.link(at, placed.symbol, block, symbol, f"one-page symbol {row.model}{flag}")
        else:
            self.put(at, placed.symbol, symbol, f"symbol {row.model}{flag}")
        wide = self.sheet.widths[line.cells[0][1]] >= look.CELL
        middle = "" if self.by_member(row) else " middle"
        close = " close" if line.decimals > DECIMALS[0] or not wide else ""
        for column, cell, value in line.cells:
            back = " back" if row.back and wide and column is not column.strip.columns[0] else ""
            style = f"number {row.model} {line.decimals}{flag}{back}{middle}{close}"
            if middle and len(column.strip.columns) > 1:
                self.merge(at, cell, at, column.strip.columns[-1].column, f"one-page {style}")
            self.live(at, cell, self.formula(row, column), value, style)
        sign = self.write_sign(line)
        if row.words:  # those that say its numbers are gone where its sign says that it is something else
            judged = grid.address(at, placed.sign) if sign and "{" in row.words else ""
            self.say(at, placed.words, row.words, "words", judged, sign == OTHERWISE)
        self.write_marks(line)
        if row.arrow and placed.first > 1:
            self.put(at, placed.first - 1, "→", "sign")

    def say(self, at: int, column: int, text: str, style: str, judged: str = "", gone: bool = False) -> None:
        """Writes words; an expression of settings in them is live. judged: the cell of a sign with which they go, or are gone."""
        if "{" not in text:
            self.put(at, column, text, style)
            return
        formula, shown, parts = list[str](), list[str](), pieces_of(text)
        made, several = self.checks_row, len(parts) > MOST_SPELLED
        self.checks_row += several
        for i, part in enumerate(parts):
            if i % 2 == 0:
                if part:
                    formula.append('"' + part.replace('"', '""') + '"')
                    shown.append(part)
                continue
            term = term_of(part)
            value = term.value(lambda leaf: float(self.layout.values.cell(self.blocks[leaf[1]])))
            spelled = term.formula(lambda leaf: grid.defined_name(self.blocks[leaf[1]].name))
            if parts[i - 1].endswith(LESS):  # less a number below 0 is more: A + 0.2, and not A − −0.2
                formula[-1] = formula[-1].removesuffix('−"') + f'"&CHOOSE(({spelled}<0)+1,"−","+")'
                shown[-1] = shown[-1].removesuffix("−") + ("+" if value < 0 else "−")
                spelled, value = f"ABS({spelled})", abs(value)
            rounded = f"ROUND({spelled},{self.of(SETTING)})"
            whole = (
                part in self.blocks and self.blocks[part].about.decimals == 0
            )  # typed as a whole number, such as a place
            print_of = spelled if whole else digits.joined(rounded, self.of(SETTING), self.of(digits.LONGEST), True)
            number = digits.half_up(value, SETTING)
            shown.append(f"{number:f}" if number.is_finite() else str(value))
            if several:  # each in a cell below the page: one formula of all would be too long
                self.live(made, self.maker.listed + i, f'{print_of}&""', digits.Print(shown[-1]), "made")
                print_of = grid.address(made, self.maker.listed + i)
            formula.append(print_of)
        whole_text = "&".join(formula)
        if judged:
            whole_text = f'CHOOSE(({judged}="{OTHERWISE}")+1,{whole_text},"")'  # no IF stands in another
        self.live(at, column, whole_text, digits.Print("" if gone and judged else "".join(shown)), style)

    def as_many_as_fit(self, texts: list[str], room: float) -> str:
        """Returns texts that go on one line, those at the end left out for which there is no room (in pixels)."""
        kept = list(texts)
        while kept and self.ruler("; ".join(kept), look.style("small")) > room:
            kept.pop()
        return "; ".join(kept)

    def can_say(self, text: str) -> bool:
        """Tells whether all that the expressions of a text read is there."""
        return all(name in self.blocks for name in said_in(text))

    def words_of_tile(self, tile: Tile, room: int) -> str:
        """Returns the words of a tile, with over which groups it goes where that is said and has room."""
        words, whole = tile.words.partition(f", {ALL}")[0], self.whole()
        full = tile.words.replace(ALL, whole)
        return full if whole and self.ruler(full, look.style(f"tilewords {tile.model}")) <= room else words

    def write_sign(self, line: Drawn) -> str:
        """Writes the sign of a line; where it claims something, with the claim judged below. Returns what then is said, else ""."""
        row, placed, at = line.row, line.panel, line.at
        if not row.equals or not self.can_claim(line):
            if row.sign and not row.equals:
                self.put(at, placed.sign, row.sign, "sign")
            return ""
        if self.layout.blueprint.blanks:  # a claim that goes with the numbers would tell right answers from wrong ones
            other = OTHERWISE if any(self.is_another(line, i) for i in range(len(line.cells))) else ""
            self.put(at, placed.sign, other or row.sign or "=", "sign")
            return other
        judgements = [self.judged(line, i) for i in range(len(line.cells))]
        made = self.checks_row
        self.checks_row += 1
        self.put(made, 1, row.called, "madename")
        for i, judgement in enumerate(judgements):
            self.live(made, line.cells[i][1], self.claim(line, i), judgement, "made")
        area = grid.area(made, line.cells[0][1], made, line.cells[-1][1])
        sign = row.sign or "="
        both = (f"{sign} {NEARLY}", f"{sign}{NEARLY}") if sign != "=" else ()
        wide = self.sheet.widths[placed.sign]
        near = next((each for each in both if self.ruler(each, look.style("sign")) <= wide), NEARLY)
        formula = f'CHOOSE(MAX({area})+1,"{sign}","{near}","{OTHERWISE}")'
        said = {AGREES: sign, ROUNDED: near, ANOTHER: OTHERWISE}[max(judgements)]
        self.live(at, placed.sign, formula, said, "sign")
        return said

    def write_marks(self, line: Drawn) -> None:
        """Writes what marks numbers of a line: the one that counts is filled, one that is a constant is clipped."""
        if any(isinstance(number, float) and -TOLERANCE < number < 0 for _, _, number in line.cells):
            self.mark_nothing(line)
        counts: look.Properties = {"bg_color": look.COUNTS, "bold": True}
        clipped = counts | {"font_color": look.CLIPPED, "num_format": look.snipped(min(line.decimals, 2))}
        for said, name, style in ((line.row.clipped, "clipped", clipped), (line.row.fills, "counts", counts)):
            if said and all(read in self.blocks for _, read in term_of(said).leaves):
                self.mark_where(said, line, f"{name} {line.decimals}", style)

    def mark_nothing(self, line: Drawn) -> None:
        """Takes the minus from numbers that are 0 but for the last bit, as 0.1 + 0.2 − 0.3 is: no −0.00."""
        for _, cell, _ in line.cells:
            nothing = f"ABS({grid.address(line.at, cell)})<{self.tolerance}"
            positive = look.number(line.decimals).partition(";")[0]
            shown = {"num_format": f"{positive};{positive}"}
            self.mark((line.at, cell, line.at, cell), nothing, f"nothing {line.decimals}", shown)

    def mark_where(self, said: str, line: Drawn, name: str, style: look.Properties) -> None:
        """Marks the numbers of a line where a comparison holds, or where a block is 1; below the page it is calculated."""
        made, term = self.checks_row, term_of(said)
        self.checks_row += 1
        self.put(made, 1, f"{line.row.called}: {said}", "madename")
        for column, cell, _ in line.cells:
            spelled = term.formula(self.raw(column))
            is_one = f"1*({spelled})" if any(sign in said for sign in "<>") else spelled
            value = 0.0 if column.at is None else self.came_to(term, column)
            formula = f'IF({column.place}="",0,{is_one})' if column.place else is_one
            self.live(made, cell, formula, value, "made")
            self.mark((line.at, cell, line.at, cell), f"{grid.address(made, cell)}=1", f"mark {name}", style)
