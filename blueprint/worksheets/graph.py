"""Which block reads which, and where on the pages each stands."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from blueprint.language import Block, Expr, Op, Reduce, Ref, Step, Values, in_order, needs, schedule, walk
from blueprint.page.outline import Blueprint, Finder, Item, Judged, Row, Section, Sheet, blocks_of

Place = tuple[Sheet, Section]
BEYOND = {"minimum": 1e300, "maximum": -1e300, "max": -1e300}
"""By operation a number that it passes over; MIN and MAX pass over empty cells."""


class Graph:
    """The blocks of a blueprint: what each reads, what reads it, on which sheet and in which section it stands."""

    def __init__(self, blueprint: Blueprint):
        self.blueprint = blueprint
        self.blocks = blueprint.blocks()
        self.reads = {block: {need.read: None for need in needs(block)} for block in self.blocks}
        self.readers: dict[Block, list[Block]] = {block: [] for block in self.blocks}
        for reader, read in self.reads.items():
            for block in read:
                self.readers[block].append(reader)
        self._steps: dict[frozenset[Block], tuple[Step, ...]] = {}
        self._belows: dict[Block, set[Block]] = {}
        self.result = [] if blueprint.result is None else [blueprint.result]
        """The number that everything leads to, if there is one."""
        items = [*self.items()]
        self.home: dict[Block, Place] = {block: (sheet, of) for sheet, of, item in items for block in blocks_of(item)}
        """The sheet and the section in which a block stands; what stands in the head of a sheet has none."""
        self.rows = {item.block: item for _, _, item in items if isinstance(item, Row)}
        """The rows that say more of their block than where it stands: what they are for, whether they fold."""
        finders = (each for each in blueprint.sheets if any(isinstance(item, Finder) for item in each.items()))
        self.derived_again = [*finders]
        """The sheets that show every step of a column once more, with its numbers."""

    @cached_property
    def order(self) -> list[Block]:
        """The computed blocks in the order in which they are computed."""
        return [*in_order(schedule([block for block in self.blocks if not block.typed]))]

    def below(self, roots: Iterable[Block]) -> set[Block]:
        """Returns the blocks that read one of these, step after step, and these themselves."""
        return _reached(roots, self.readers)

    def below_one(self, block: Block) -> set[Block]:
        """Returns the blocks that read one, step after step, and it; they are looked up once."""
        if block not in self._belows:
            self._belows[block] = self.below([block])
        return self._belows[block]

    def steps(self, blocks: frozenset[Block]) -> tuple[Step, ...]:
        """Returns how some blocks are computed from all others; looked up once."""
        if blocks not in self._steps:
            self._steps[blocks] = schedule([block for block in self.blocks if block in blocks and not block.typed])
        return self._steps[blocks]

    def passed_over(self, block: Block) -> float:
        """Returns the number that stands for an empty cell where MIN or MAX pass it over: no other is smaller, or larger.

        It is 0 where neither reads the block.
        """
        for reader in self.readers[block]:
            for node in (node for definition in reader.definitions for node in walk(definition.expr)):
                inside = [node.body] if isinstance(node, Reduce) else node.args if isinstance(node, Op) else ()
                if node_name(node) in BEYOND and any(isinstance(each, Ref) and each.block is block for each in inside):
                    return BEYOND[node_name(node)]
        return 0.0

    def above(self, roots: Iterable[Block]) -> set[Block]:
        """Returns the blocks that these read, step after step, and these themselves."""
        return _reached(roots, self.reads)

    def items(self) -> Iterator[tuple[Sheet, Section, Item]]:
        """Yields what stands under the headings, in reading order."""
        for sheet in self.blueprint.sheets:
            for section in sheet.sections:
                yield from ((sheet, section, item) for item in section.items)

    @cached_property
    def verdicts(self) -> set[Block]:
        """What judges: the verdict on everything, and what leads to nothing else on its sheet."""
        found = {item.checks for _, _, item in self.items() if isinstance(item, Judged)}
        sheets = {id(self.home[block][0]) for block in found if block in self.home}
        here = [block for block, (sheet, _) in self.home.items() if id(sheet) in sheets and not block.typed]
        found |= {block for block in here if block.text and not self.readers[block]}
        readers = {block: set(self.readers[block]) - {block} for block in here}
        while more := [each for each in here if each not in found and readers[each] and readers[each] <= found]:
            found.update(more)
        return found

    @cached_property
    def frame(self) -> set[Block]:
        """What says which cells count and what stands at the head of a sheet, and all that these read, step after step."""
        heads = [block for sheet in self.blueprint.sheets for block in sheet.head]
        return self.above([*heads, *(sheet.grey for sheet in self.blueprint.sheets if sheet.grey is not None)])

    def counts(self, block: Block, places: tuple[int, ...], values: Values) -> bool:
        """Tells whether a cell is part of what is computed: it does not stand in a column that its sheet greys."""
        grey = self.home[block][0].grey if block in self.home else None
        if grey is None or not set(grey.axes) <= set(block.axes):
            return True
        at = dict(zip(block.axes, places, strict=True))
        return values.cell(grey, *(at[axis] for axis in grey.axes)) != 0


def node_name(node: Expr) -> str:
    """Returns the name of an operation, or of a sum or maximum over cells."""
    return node.name if isinstance(node, Op | Reduce) else ""


def _reached(roots: Iterable[Block], onward: Mapping[Block, Iterable[Block]]) -> set[Block]:
    found, left = set(roots), list(roots)
    while left:
        new = [block for block in onward.get(left.pop(), ()) if block not in found]
        found.update(new)
        left += new
    return found
