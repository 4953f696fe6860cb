"""Lines: the arithmetic of a page, each with sign, symbol, numbers and words, and the marks on its numbers."""

from __future__ import annotations

from blueprint.page import digits, grid, names
from blueprint.page.layout import Link
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import DECIMALS, LEAST_DECIMALS, NARROW_DECIMALS, Drawn, Placed
from blueprint.page.one_page.claims import AGREES, ANOTHER, ROUNDED, SETTING, Claims
from blueprint.page.one_page.columns import Column
from blueprint.page.one_page.terms import term_of
from blueprint.page.outline.one_page import PageRow

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
            choices = (0,) if whole else self.fitting(row, least if narrow else self.choices(row), cells)
        line = Drawn(row, placed, at, choices[0], cells, choices)
        self.drawn.setdefault(row.called, line)
        self.order.append(line)

    def choices(self, row: PageRow) -> tuple[int, ...]:
        """Returns how many decimals a line may show, the best first: on a page that grows as many as its block has elsewhere."""
        if not self.page.grows:
            return DECIMALS
        name = row.block or term_of(row.value).leaves[0][1]
        own = self.blocks[name].about.decimals
        return tuple(sorted({*DECIMALS, *([0] if own == 0 else [])}, key=lambda many: (abs(many - own), many)))

    def fitting(
        self, row: PageRow, choices: tuple[int, ...], cells: list[tuple[Column, int, float | str]]
    ) -> tuple[int, ...]:
        """Returns the decimals with which all numbers have room, as delivered; the fewest where none of them fit."""
        numbers = [(float(value), self.sheet.widths[cell]) for _, cell, value in cells if not isinstance(value, str)]

        def back(wide: int) -> bool:  # a narrow cell has no arrow
            return row.back and wide >= look.CELL

        def fits(decimals: int) -> bool:
            bold = {"bold": bool(row.equals or row.fills) if row.result is None else row.result}
            return all(
                self.ruler(f"{'↖' * back(wide)}{number:.{decimals}f}", bold) <= FULL * wide for number, wide in numbers
            )

        return tuple(filter(fits, choices)) or (min(choices),)

    def write_line(self, line: Drawn) -> None:
        """Writes a line: sign, symbol with a link to its rows, numbers, words."""
        row, placed, at = line.row, line.panel, line.at
        block = self.blocks.get(row.block)
        result = bool(row.equals) if row.result is None else row.result
        flag = " result" if result else ""
        symbol = "" if placed.panel.tight else row.symbol or (block.about.symbol if block is not None else "")
        if block is not None and symbol:
            self.layout.links.append(
                Link(names.ONE_PAGE, at, placed.symbol, block, symbol, f"one-page symbol {row.model}{flag}")
            )
        else:
            self.put(at, placed.symbol, symbol, f"symbol {row.model}{flag}")
        for i, (column, cell, value) in enumerate(line.cells):
            goes_back = (
                row.back and self.sheet.widths[line.cells[0][1]] >= look.CELL and column is not column.strip.columns[0]
            )
            back = " back" if goes_back else ""
            middle = "" if self.by_member(row) else " middle"
            close = " close" if line.decimals > DECIMALS[0] or self.sheet.widths[line.cells[0][1]] < look.CELL else ""
            style = f"number {row.model} {line.decimals}{flag}{back}{middle}{close}"
            if middle and len(column.strip.columns) > 1:
                self.merge(at, cell, at, column.strip.columns[-1].column, f"one-page {style}")
            self.live(at, cell, self.formula(row, column), value, style)
            del i
        self.write_words(line)
        self.write_sign(line)
        self.write_marks(line)
        if row.arrow and placed.first > 1:
            self.put(at, placed.first - 1, "→", "sign")

    def write_words(self, line: Drawn) -> None:
        """Writes the words beside a line."""
        if line.row.words:
            self.say(line.at, line.panel.words, line.row.words, "words")

    def say(self, at: int, column: int, text: str, style: str) -> None:
        """Writes words; an expression of settings in them is live."""
        if "{" not in text:
            self.put(at, column, text, style)
            return
        formula, shown = [], []
        for i, part in enumerate(text.replace("}", "{").split("{")):
            if i % 2 == 0:
                if part:
                    formula.append('"' + part.replace('"', '""') + '"')
                    shown.append(part)
                continue
            term = term_of(part)
            value = term.value(lambda leaf: float(self.layout.values.cell(self.blocks[leaf[1]])))
            spelled = term.formula(lambda leaf: names.defined_name(self.blocks[leaf[1]].name))
            formula.append(f"ROUND({spelled},{self.of(SETTING)})")
            number = digits.half_up(value, SETTING)
            shown.append(f"{number:f}" if number.is_finite() else str(value))
        self.live(at, column, "&".join(formula), digits.Print("".join(shown)), style)

    def write_sign(self, line: Drawn) -> None:
        """Writes the sign of a line; where it claims something, with the claim judged below."""
        row, placed, at = line.row, line.panel, line.at
        if not row.equals or not self.can_claim(line):
            if row.sign and not row.equals:
                self.put(at, placed.sign, row.sign, "sign")
            return
        made, judgements = self.checks_row, list[float]()
        self.checks_row += 1
        self.put(made, 1, row.called, "madename")
        for i, (column, cell, value) in enumerate(line.cells):
            judgements.append(self.judged(line, i))
            self.live(made, cell, self.claim(line, i), judgements[-1], "made")
            del column, value
        area = grid.area(made, line.cells[0][1], made, line.cells[-1][1])
        sign = row.sign or "="
        both = f"{sign} ≈"
        near = both if sign != "=" and self.ruler(both, look.style("sign")) <= self.sheet.widths[placed.sign] else "≈"
        formula = f'CHOOSE(MAX({area})+1,"{sign}","{near}","…")'
        said = {AGREES: sign, ROUNDED: near, ANOTHER: "…"}[max(judgements)]
        self.live(at, placed.sign, formula, said, "sign")

    def write_marks(self, line: Drawn) -> None:
        """Writes what marks numbers of a line: the one that counts is filled, one that is a constant is clipped."""
        counts: look.Properties = {"bg_color": look.COUNTS, "bold": True}
        clipped = counts | {"font_color": look.CLIPPED, "num_format": look.snipped(min(line.decimals, 2))}
        for said, name, style in ((line.row.clipped, "clipped", clipped), (line.row.fills, "counts", counts)):
            if said and all(read in self.blocks for _, read in term_of(said).leaves):
                self.mark_where(said, line, f"{name} {line.decimals}", style)

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
