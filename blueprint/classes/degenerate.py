"""What makes a variant a bad exercise, found by its equations and numbers alone, before anything is handed out.

A blank is bad where *every* cell of it is: in a row of twenty cells one may be 0. What all variants have alike (a copy is a
copy, whatever is typed) lies in the equations and not in the numbers; no drawing helps, so it is told, and not held against
a variant.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from blueprint.language import Block, Cell, Computation, Values
from blueprint.misconceptions import wrong_values
from blueprint.page.outline import Blank, Blueprint
from blueprint.workbooks.kind import Kind
from blueprint.worksheets.check_digits import can_be_checked
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import Search
from blueprint.worksheets.rules import is_one, is_zero, number_in, repeats, same, ties, ways_of

RULES = {
    "number": "a computation ends without a number",
    "file": "the numbers are refused as a file, or the sheets would be others",
    "counts": "other columns count: a text has another length",
    "zero": "the answer is 0, as far as the sheet shows it",
    "one": "the answer is 1 or −1, as far as the sheet shows it",
    "repeats": "the answer shows the digits of a number that its equation reads",
    "tie": "both sides of a minimum, maximum or condition are the same",
    "branch": "a minimum, maximum or condition goes the same way in the whole row",
    "alike": "two misconceptions, or one and the right way, give the same number",
    "told": "another number of the file shows the answer",
    "typed": "a number that is typed looks like the answer",
    "check": "the check digits hang on how the answer is rounded",
}
"""Why a variant is drawn again."""
RIGHT = "the right way"
SOMETIMES, OFTEN = 1 / 4, 3 / 4
"""In what share of variants two misconceptions, or one and the right way, are alike where that lies in the equations; and a
typed number looks like an answer where that lies in how few digits it has."""


class Finding(NamedTuple):
    """What is bad: a rule, the number of the blank (None: the whole variant), and what of it, for pairs."""

    rule: str
    blank: int | None = None
    of: str = ""


class Screen:
    """Looks at variants of one worksheet.

    blueprint: with its blanks. kind: whose misconceptions are known. shown: cells of rows whose answers stand elsewhere, so
    that their formula is what is asked.
    """

    def __init__(self, blueprint: Blueprint, kind: Kind | None, shown: Collection[Cell] = ()):
        self.blueprint, self.kind, self.shown = blueprint, kind, shown

    @cached_property
    def graph(self) -> Graph:
        """What reads what, the same in all variants."""
        return Graph(self.blueprint)

    @cached_property
    def greys(self) -> list[Block]:
        """The blocks whose zeros say that a column does not count."""
        return [sheet.grey for sheet in self.blueprint.sheets if sheet.grey is not None]

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks that answers, and what counts, are computed from."""
        needed = self.graph.above([*(blank.block for blank in self.blueprint.blanks), *self.greys])
        return [block for block in self.blueprint.blocks() if block in needed]

    @cached_property
    def needed(self) -> Computation:
        """Computes what the answers come from."""
        return Computation(self.blocks, self.blueprint.sizes)

    @cached_property
    def whole(self) -> Computation:
        """Computes everything."""
        return Computation(self.blueprint.blocks(), self.blueprint.sizes)

    def values(self, blueprint: Blueprint) -> Values:
        """Computes what the answers of a variant come from. Raises NoNumber."""
        return self.needed.values(blueprint.typed)

    def quick(self, values: Values) -> set[Finding]:
        """Finds what can be seen in the numbers that the answers come from."""
        found = {Finding("counts")} if self.counted(values) != self._counted else set()
        for number, blank in enumerate(self.blueprint.blanks):
            found |= {Finding(rule, number) for rule in self._rules_broken(blank, values)}
            found |= {
                Finding("branch", number, str(i))
                for i, ways in enumerate(ways_of(blank.block, values))
                if len(ways) < 2
            }
        return found

    def thorough(self, variant: Blueprint) -> set[Finding]:
        """Finds what only all numbers of a variant show. Raises NoNumber."""
        values, found = self.whole.values(variant.typed), set[Finding]()
        for number, blank in enumerate(self.blueprint.blanks):
            found |= {Finding("alike", number, pair) for pair in self._alike(blank, values)}
        numbers = {blank.title: number for number, blank in enumerate(self.blueprint.blanks)}
        leaks = Search(variant, values, shown=self.shown, graph=self.graph).with_all_empty()
        return found | {Finding("typed" if leak.typed else "told", numbers[leak.blank.title]) for leak in leaks}

    def answers(self, values: Values) -> list[list[float]]:
        """Returns what belongs into the cells of each blank."""
        return [[float(values.cell(blank.block, *at)) for at in blank.cells] for blank in self.blueprint.blanks]

    def counted(self, values: Values) -> list[bytes]:
        """Returns which columns count."""
        return [(values[block] != 0).tobytes() for block in self.greys]

    @cached_property
    def _counted(self) -> list[bytes]:
        return self.counted(self.values(self.blueprint))

    def _rules_broken(self, blank: Blank, values: Values) -> Iterator[str]:
        cells = [Cell(blank.block, at) for at in blank.cells]
        rules: dict[str, Callable[[Cell, Values], bool]] = {
            "zero": is_zero,
            "one": is_one,
            "repeats": repeats,
            "tie": ties,
        }
        yield from (rule for rule, broken in rules.items() if all(broken(cell, values) for cell in cells))
        if blank.check is not None and not can_be_checked([number_in(cell, values) for cell in cells]):
            yield "check"

    def _alike(self, blank: Blank, values: Values) -> Iterator[str]:
        """Yields the pairs of misconceptions that give the same number, to the digits that the sheet shows."""
        decimals, right = (
            blank.block.about.decimals,
            tuple(number_in(Cell(blank.block, at), values) for at in blank.cells),
        )
        known = [(RIGHT, right), *self._wrong(blank, values)]
        for i, (name, numbers) in enumerate(known):
            for other, others in known[:i]:
                if name != other and all(same(a, b, decimals) for a, b in zip(numbers, others, strict=True)):
                    yield f"{other} / {name}"
        gone = {name for name, _ in self._usual[blank.title]} - {name for name, _ in known}
        yield from (f"{RIGHT} / {name}" for name in gone)

    def _wrong(self, blank: Blank, values: Values) -> list[tuple[str, tuple[float, ...]]]:
        """Returns the misconceptions of a row and what they give; one that gives the right numbers is none."""
        found = wrong_values(self.kind, self.blueprint, values, blank, mechanical=False)
        return [(each.name, each.numbers) for each in found]

    @cached_property
    def _usual(self) -> dict[str, list[tuple[str, tuple[float, ...]]]]:
        """The misconceptions of each blank on the numbers themselves."""
        values = self.whole.values(self.blueprint.typed)
        return {blank.title: self._wrong(blank, values) for blank in self.blueprint.blanks}


def always(findings: Sequence[set[Finding]]) -> set[Finding]:
    """Returns what lies in the equations, and not in the numbers, of variants.

    That is what all of them have, and misconceptions that are alike in many: in one branch of a minimum two mistakes are one.
    """
    times = Counter(each for found in findings for each in found)
    return {each for each, count in times.items() if count >= _share(each) * len(findings)}


def _share(finding: Finding) -> float:
    """Returns in what share of the variants a finding must be to be one of the equations."""
    if finding.rule == "alike" and finding.of.startswith(RIGHT):
        return OFTEN
    return SOMETIMES if finding.rule in ("alike", "typed") else 1.0
