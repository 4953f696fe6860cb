"""A saved worksheet: which blanks its blueprint has, and what that lacks because of them."""

from dataclasses import dataclass, replace

from blueprint.language import Block, Held, Values
from blueprint.page.filled_in import FilledIn, Told
from blueprint.page.outline import Blank, Blueprint, Entry
from blueprint.page.read import Opened
from blueprint.worksheets import USED, Asked, in_use, read, without, worksheet

FACTS = ("worksheet", "token", USED)
"""What a worksheet says of itself that another workbook of its numbers does not: its level, whose it is, what is in use."""
SENTENCE, BEGINNING, MOST_ROWS = 8, 24, 5_000
"""Letters that a sentence has at least, and by which one is known, since lines are broken; and rows in which it is sought."""
Places = tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """What makes a worksheet of a workbook, as a file says it; of a file without blanks it changes nothing.

    blanks: what is told of each, its block, by its name, and its cells by 0-based places. there: the blocks that the file has.
    computed: those among them that are not typed. words: those that stand in the file, where sentences are left out
    of it. facts: what it says of itself.
    """

    blanks: tuple[tuple[Told, str, tuple[Places, ...]], ...] = ()
    there: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    facts: tuple[tuple[str, str], ...] = ()

    def of(self, blueprint: Blueprint) -> Blueprint:
        """Returns a blueprint with the blanks of a file, and without the blocks that were left out of it because of them."""
        if not self.blanks:
            return blueprint
        used = in_use(blueprint, read(dict(self.facts).get(USED, ""), blueprint))
        made = without(used, self.left_out(used), self._unsaid(used))
        blocks = {block.name: block for block in made.blocks()}
        blanks = tuple(
            Blank(told.title, blocks[name], cells, told.weight, told.asks, told.check)
            for told, name, cells in self.blanks
            if name in blocks
        )
        return replace(made, blanks=blanks, facts={**made.facts, **dict(self.facts)})

    def _unsaid(self, blueprint: Blueprint) -> list[str]:
        """Returns a sentence of each row of words of which the file has none: it was left out, and with it what it shows."""
        items = (item for sheet in blueprint.sheets if self.words for item in sheet.items())
        said = ([text for text in item.cells if isinstance(text, str) and len(text) >= SENTENCE]
                for item in items if isinstance(item, Entry))  # fmt: skip
        return [texts[0] for texts in said if texts and self.words.isdisjoint(text[:BEGINNING] for text in texts)]

    def again(self, blueprint: Blueprint) -> Blueprint:
        """Returns the worksheet of the same blanks that is made of a whole blueprint anew: what gives away none of its answers.

        Raises WorksheetError where there is none: somebody typed numbers with which a blank says nothing, or is given away.
        """
        if not self.blanks:
            return blueprint
        level = min(int(dict(self.facts).get("worksheet", "1")), 2)  # a section is its rows, each of which is named
        asked = [Asked(told.title, told.weight) for told, _, _ in self.blanks]
        check, fixed = any(told.check is not None for told, _, _ in self.blanks), USED in dict(self.facts)
        made = worksheet(blueprint, asked, level, check, fixed=fixed).blueprint
        return replace(made, facts={**made.facts, **dict(self.facts)})

    def left_out(self, blueprint: Blueprint) -> set[str]:
        """Returns the names of the blocks that were left out; none where the file has a name that nobody knows.

        Then somebody wrote into its Contents, and a name that is missing may be that one.
        """
        known = {block.name for block in blueprint.blocks()}
        return set() if self.computed - known else known - self.there


def cut_of(file: Opened, filled: FilledIn | None = None) -> Cut:
    """Returns what makes a file the worksheet that it is."""
    filled = filled or FilledIn(file)
    if not filled.blanks:
        return Cut()
    found = []
    for called, spots in filled.blanks.items():
        for name in dict.fromkeys(spot.name for spot in spots):
            starts = [along.start for along in file.places[name].shape]
            cells = (spot.at for spot in spots if spot.name == name)
            found.append(
                (
                    filled.told[called],
                    name,
                    tuple(tuple(i - s for i, s in zip(at, starts, strict=True)) for at in cells),
                )
            )
    computed = frozenset(name for name, place in file.places.items() if place.kind != "typed")
    spoken = (file.words_on(sheet, MOST_ROWS) for sheet in file.sheets if filled.lacks_words)
    words = frozenset(text[:BEGINNING] for found in spoken for *_, text in found)
    facts = tuple((name, file.noted[name]) for name in FACTS if name in file.noted)
    return Cut(tuple(found), frozenset(file.places), computed, words, facts)


def entered(blueprint: Blueprint, filled: FilledIn) -> Held:
    """Returns what is filled in, by block and 0-based places."""
    named, sized = {block.name: block for block in blueprint.blocks()}, Values(blueprint.sizes)
    return {
        named[name]: {places_at(at, named[name], sized): number for at, number in cells.items()}
        for name, cells in filled.numbers.items()
        if name in named
    }


def places_at(at: tuple[int, ...], block: Block, values: Values) -> tuple[int, ...]:
    """Returns the 0-based places of a cell by its index in the block's array, in which edge cells are counted."""
    return tuple(i - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True))
