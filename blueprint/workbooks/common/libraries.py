"""Libraries side by side: what each does, looked up in the table of presets, where that differs from the settings in use, and why;
and the gradient of each library's loss on one batch.

Rows that follow from it stand once for each library, along `LIBRARY`; those that no convention moves stand there once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import Any, NamedTuple

from blueprint.inputs import Catalogue
from blueprint.inputs.catalogue import in_groups
from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Expr,
    Operand,
    Sum,
    block,
    choose,
    equal,
    join,
    less,
    link,
    match,
    sqrt,
    transposed,
    typed,
    where,
)
from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint, Item, Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common.backward import Backward, Rows
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import PRESET, Switch
from blueprint.workbooks.common.definitions.writing_rows import Choices, Fixed, Ordered, defined
from blueprint.workbooks.common.labels import Labels, labels
from blueprint.workbooks.common.sheets.conventions import Chosen
from blueprint.workbooks.common.sheets.walk import InView, behind, sheet_of

LIBRARY = Axis("l", "library", start=1)
PREFIX = "library."
DIFFERS = '"differs";;"·"'
"""What a flag reads as."""


@dataclass(frozen=True)
class Some(Switch):
    """A switch that has only some of the words there are; what others would ask for is not looked at."""

    def says(self, word: str) -> Expr:
        """Returns 1 where the word is the chosen one; one that is not offered is so nowhere, and 0 is written as a number."""
        return super().says(word) if word in self.words else 0  # type: ignore[return-value]

    def choose(self, **alternatives: Operand) -> Expr:
        """Takes the alternative of the chosen word."""
        return choose(self.number, **{word: alternatives[word] for word in self.words})


@dataclass(frozen=True)
class Preferred:
    """What each library does: names, their numbers in the table, a row per setting, and the number of each word.

    places: by setting, for one of which fewer words are offered than there are, these words, and the number among them.
    """

    names: Block
    number: Block
    rows: dict[str, Block] = field(default_factory=dict)
    words: dict[str, Block] = field(default_factory=dict)
    offered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    places: dict[str, tuple[Block, Block]] = field(default_factory=dict)

    def choices(self, settings: Mapping[str, Switch], called: Labels | None = None) -> Choices:
        """Returns what the definitions read: one set of conventions for each library."""
        used: dict[str, Arithmetic] = {key: row[LIBRARY] for key, row in self.rows.items()}
        switch = {key: self._switch(key, settings[key]) for key in self.words}
        return Choices(used, switch, (LIBRARY,), PREFIX, labels=called or labels("live"))

    def _switch(self, key: str, whole: Switch) -> Switch | Fixed:
        if key not in self.places:
            return Switch(whole.words, self.words[key][LIBRARY])
        words, (_, place) = self.offered[key], self.places[key]
        return Some(words, place[LIBRARY]) if len(words) > 1 else Fixed(words[0])

    @property
    def numbers(self) -> tuple[Block, ...]:
        """Every number that formulas read in the place of a word."""
        return (self.number, *self.words.values(), *(each for pair in self.places.values() for each in pair))


def offered(of: Catalogue) -> dict[str, tuple[str, ...]]:
    """Lists for every switch the words that some library has."""
    said = {key: {preset.values[key] for preset in of.presets.values()} for key in of.settings}
    return {
        key: tuple(word for word in each.words if word in said[key]) for key, each in of.settings.items() if each.words
    }


def preferred(chosen: Chosen, offered: Mapping[str, tuple[str, ...]] | None = None) -> Preferred:
    """Looks up what each library does. offered: by key the words that there are for libraries, where these are not all."""
    table = chosen.table
    names = typed(f"{PREFIX}names", (LIBRARY,), "library", "library, by the name of its preset", text=True)
    number = _of_library("number", "preset_no_l", "its number in the table, from 0", decimals=0)
    defined(number, match(PRESET, table.names[PRESET], names[LIBRARY]))
    made = Preferred(names, number, offered=dict(offered or {}))
    for setting, used in chosen.settings.used.items():
        row = _of_library(setting, f"{used.symbol}_l", used.about.meaning, decimals=used.about.decimals)
        made.rows[setting] = defined(row, table.rows[setting][number[LIBRARY]])
        if setting in chosen.settings.switch:
            words, there = chosen.settings.words[setting], chosen.settings.switch[setting].words
            made.words[setting] = _number(f"{setting}.number", "number of the option", row, words)
            if len(made.offered.get(setting, there)) < len(there):
                made.places[setting] = _place(setting, row, len(made.offered[setting]))
    return made


def _of_library(name: str, symbol: str, meaning: str, **more: Any) -> Block:
    """Makes a block with one number, or word, for each library."""
    return block(f"{PREFIX}{name}", (LIBRARY,), symbol, meaning, **more)


def _number(name: str, told: str, row: Block, alternatives: Block, ends: str = "no_l") -> Block:
    """Finds the number of each library's word among the alternatives, from 0."""
    (axis,), symbol = alternatives.axes, row.symbol.removesuffix("_l").removesuffix("_is")
    made = _of_library(name, f"{symbol}_{ends}", f"{told} {row.symbol}", decimals=0)
    return defined(made, match(axis, alternatives[axis], row[LIBRARY]))


def _place(setting: str, row: Block, size: int) -> tuple[Block, Block]:
    """Types the words that libraries have, and finds each library's among them."""
    axis = Axis("o", "alternative", size=size)
    symbol = row.symbol.removesuffix("_l").removesuffix("_is")
    words = typed(f"{PREFIX}{setting}.offered", (axis,), f"{symbol}_of_l", f"the words of {row.symbol} here", text=True)
    return words, _number(f"{setting}.place", "number among those that libraries have,", row, words, "place_l")


def naming(outline: Blueprint, like: Preferred, chosen: Chosen, names: Sequence[str]) -> Blueprint:
    """Says which libraries stand side by side, by the names of their presets."""
    offered = {words: list(like.offered[key]) for key, (words, _) in like.places.items()}
    return replace(
        outline,
        typed={**outline.typed, **offered, like.names: list(names)},
        sizes={**outline.sizes, PRESET: len(chosen.catalogue.presets), LIBRARY: len(names)},
        names={**outline.names, PRESET: chosen.table.names, LIBRARY: like.names},
        choices={**outline.choices, like.names: chosen.table.names},
    )


def which_sheet(title: str, lead: str, like: Preferred, results: Iterable[Item], chosen: Chosen, come: str) -> Sheet:
    """Outlines what comes of it, why, how far each library is from the settings in use, and what it does.

    come: what the results are.
    """
    flags, count = _differences(like, chosen)
    why = defined(_of_library("why", "why", "what sets it apart"), chosen.why[like.number[LIBRARY]])
    sections = [
        Section(f"What comes of it: {come}, on this batch", tuple(results)),
        Section("Why", (Row(why, "paragraph"),)),
        Section("How far it is from the settings in use", (key(count), Row(flags, "word"))),
    ]
    for of, keys in in_groups(like.rows, chosen.catalogue.titles):
        sections.append(Section(f"What it does: {of[0].lower()}{of[1:]}", tuple(_word(like.rows[key]) for key in keys)))
    sections.append(Section("The numbers of the options, for the formulas", tuple(map(minor, like.numbers))))
    return Sheet(title, lead, tuple(sections), (LIBRARY,), (like.names,))


def _word(row: Block) -> Row:
    """Centres words, and limits, which may be one."""
    return Row(row, "word" if row.text or row.limit else "")


def _differences(like: Preferred, chosen: Chosen) -> tuple[Block, Block]:
    """Marks the conventions in which a library is not as the settings in use, a row each, and counts them."""
    used, switch = chosen.settings.used, chosen.settings.switch
    parts = {key: Axis(block.symbol, block.about.meaning, size=1) for key, block in used.items()}
    convention = join("i", "convention", *parts.values())
    flags = block(
        f"{PREFIX}differs", (convention, LIBRARY), "differs", "1 where a convention differs", decimals=0, reads=DIFFERS
    )
    for name, part in parts.items():
        own, theirs = (switch[name].number, like.words[name]) if name in switch else (used[name], like.rows[name])
        flags[part, LIBRARY] = 1 - equal(own, theirs[LIBRARY])
    count = _of_library("differences", "differ_sum", "conventions that differ from those in use", decimals=0)
    return flags, defined(count, Sum(convention, flags[convention, LIBRARY]))


def turned(row: Block) -> Block:
    """Repeats a number of each library, so that libraries stand side by side."""
    return transposed(f"which.{row.name.removeprefix(PREFIX)}", row)


def folded(item: Item) -> Row:
    """Folds every row that is not one of those that one looks for."""
    if isinstance(item, Row):
        return item if item.role == "key" else minor(item.block, item.role)
    assert isinstance(item, Block)
    return minor(item)


ONCE = "A row that no convention moves stands here once; steps that none of these libraries takes are left out."
WHERE = "Rows of steps on the way are folded; the sign at the left of a row opens them."
WHICH = "one batch, several answers: what each library computes, what it does differently, and why"


class SideBySide(NamedTuple):
    """How a kind sets libraries side by side.

    run: the definitions, from what is given and choices. start: what every library starts from, and what it is called where it
    is repeated. results, marked: what comes of it, and what of that one looks at first. looked_for: rows that one looks for.
    fixed: what is the same for all. lead, which: the lead of the sheet of tokens, and the title of that of results. apart: title,
    lead and columns of the sheet of rows that lie otherwise; holds: whether a row stands there, with the rows of its section.
    """

    run: Callable[[Rows, Choices], Ordered]
    labels: Labels
    start: Mapping[str, str]
    results: tuple[str, ...]
    marked: tuple[str, ...]
    looked_for: tuple[str, ...]
    fixed: str
    lead: str
    which: str
    apart: tuple[str, str, tuple[Axis, ...]]
    holds: Callable[[Block, Sequence[Block]], bool]
    closed: bool = False

    def __call__(
        self, given: Rows, chosen: Chosen, head: InView, words: Mapping[str, tuple[str, ...]]
    ) -> tuple[tuple[Sheet, ...], Preferred]:
        """Runs every library's conventions over the batch, and sets them side by side; with what each library does.

        words: by key those that libraries have; steps that only others would take are not repeated for each of them.
        """
        like = preferred(chosen, words)
        start = {name: link(f"libraries.{again}", given[name]) for name, again in self.start.items() if name in given}
        made = self.run({**given, **start}, like.choices(chosen.settings.switch, self.labels))
        results = tuple(made.rows[name] for name in self.results)
        needed = behind(results)
        sections: tuple[list[Section], list[Section]] = [], []
        for title, rows in made.sections.items():
            for of, there in zip(sections, (False, True), strict=True):
                if kept := [row for row in rows if row in needed and self.holds(row, rows) == there]:
                    of.append(Section(title, tuple(map(self._row, kept))))
        notes = map(Note, (self.fixed, ONCE, WHERE))
        first = Section("What all start from", (*notes, *map(minor, start.values())))
        tokens = sheet_of("Libraries", self.lead, (first, *sections[0]), head.on("libraries"), first=0)
        title, lead, across = self.apart
        told = tuple(map(self._told, (row for row in results if LIBRARY in row.axes)))
        return (
            Sheet(title, lead, tuple(sections[1]), across, closed=self.closed),
            replace(tokens, closed=self.closed),
            which_sheet(self.which, WHICH, like, told, chosen, "the loss and what is watched"),
        ), like

    def _row(self, row: Block) -> Row:
        return key(row) if row.name.removeprefix(PREFIX) in self.looked_for else minor(row)

    def _told(self, row: Block) -> Item:
        """Repeats a number of every library, with links to its row; what is the same for all stands there once."""
        return key(turned(row)) if row.name.removeprefix(PREFIX) in self.marked else turned(row)


TITLE, LEAD = (
    "Library gradients",
    "from each library's loss back to what its optimisers move: who pulls, how much, and which way",
)
SAME = "Each library pulls at the same weights on the same batch; a row stands once for each of them."
ALONE = "Over what the policy's optimiser moves; first the gradient of the settings in use."
SECTION = "The gradient: how long it is, and where it points"
ONLY = "Over what the policy's optimiser moves alone, and over what the critic's moves; first the gradient of the settings in use."
BACK = "The way back from the {}"
NAMED = {
    "library.total_loss": "total loss, to what the policy's optimiser moves",
    "library.critic_loss": "critic's own loss",
}
PULLS = ("library.policy.logprobs.grad", "library.critic.values.grad")
"""The rows that one looks at first: what each token's log-prob feels, and its value."""
SIDES = ("policy", "critic")
ADVANTAGES = "advantages_used"
"""What a loss calls advantages where the rollout has others."""


class Apart(NamedTuple):
    """A sheet of its own for the way back among other columns: its title and lead, its columns, and which rows stand there."""

    title: str
    lead: str
    across: tuple[Axis, ...]
    holds: Callable[[Block], bool]


def with_gradients(outline: Blueprint, of: Backward, which: str, apart: Apart | None = None) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side."""
    made = of(outline)
    compared = any(block.name == f"{PREFIX}total_loss" for block in outline.blocks())
    return with_library_gradients(made, of, which, apart) if compared else made


def with_library_gradients(outline: Blueprint, of: Backward, which: str, apart: Apart | None = None) -> Blueprint:
    """Adds a sheet with the way back of every library, and what comes of it to the sheet `which`, before which it stands.

    apart: where rows lie among columns of two sorts, the sheet of those that do not lie as the sheet before `which`.
    """
    rows = {each.name: each for each in outline.blocks()}
    shared = {name.removeprefix(PREFIX): each for name, each in rows.items() if name.startswith(PREFIX)}
    used_for = {"loss.advantages": shared[ADVANTAGES]} if ADVANTAGES in shared else {}
    known = {**rows, **shared, **used_for}
    made = of.of(known, (LIBRARY,), PREFIX)
    sides = {side: moved for side, moved in zip(SIDES, of.moves(known), strict=True) if moved}
    used = {
        each: link(f"library_gradients.{each.name}.grad", rows[f"{each.name}.grad"]) for each in chain(*sides.values())
    }
    norms = {side: _norm(side, moved, rows) for side, moved in sides.items()}
    found = {
        side: measured(side, [made[each] for each in moved], [used[each] for each in moved], norms[side])
        for side, moved in sides.items()
    }
    own = [norm for norm in norms.values() if norm.name not in rows]
    sheets: list[Sheet] = []
    for sheet in outline.sheets:
        if sheet.title == which:
            sheets += [
                *_ways_back(made, [*own, *used.values()], found, sheets[-1], apart),
                _with_results(sheet, norms, found),
            ]
        else:
            sheets.append(sheet)
    return replace(outline, sheets=tuple(sheets))


def measured(side: str, theirs: Sequence[Block], ours: Sequence[Block], norm: Block) -> tuple[Block, ...]:
    """Measures each library's gradient: its norm, the inner product with the one in use, and the cosine between both.

    theirs: by each weight, the gradient of every library; ours: that of the settings in use, whose norm is given.
    """
    named = {end: labels("live").of(f"{side}.grad.{end}") for end in ("norm_l", "inner", "cosine")}
    length, inner, cosine = (
        _of_library(f"{side}.grad.{end}", label.symbol, label.meaning) for end, label in named.items()
    )
    defined(length, sqrt(_inner(zip(theirs, theirs, strict=True))))
    defined(inner, _inner(zip(theirs, ours, strict=True)))
    both = length[LIBRARY] * norm
    return length, inner, defined(cosine, where(less(0, both), inner[LIBRARY] / both, 0))


def _norm(side: str, moved: Sequence[Block], rows: Rows) -> Block:
    """Returns the norm of the gradient in use: of the weights, or of what stands in their place."""
    joint = rows.get(f"{side}.grad.norm")
    return gradients.norm(rows[f"{moved[0].name}.grad"]) if joint is None else joint


def _inner(pairs: Iterable[tuple[Block, Block]]) -> Arithmetic:
    """Adds up the products of two gradients over every weight; a library's is one for each library."""
    terms = []
    for one, other in pairs:
        product, over = one[one.axes] * other[other.axes], tuple(axis for axis in one.axes if axis is not LIBRARY)
        terms.append(Sum(over, product) if over else product)
    return reduce(add, terms)


def _ways_back(
    made: Gradient, used: Sequence[Block], found: Mapping[str, tuple[Block, ...]], like: Sheet, apart: Apart | None
) -> list[Sheet]:
    """Outlines the way back: results first, then every adjoint from the loss down to the weights, and those in use."""
    if apart is None:
        return [_way_back(made, list(made.blocks), used, found, like)]
    there = [each for each in made.blocks if apart.holds(each)]
    rest = [each for each in made.blocks if not apart.holds(each)]
    sections = tuple(Section(title, tuple(items)) for title, items in _ways(made, there, apart.across))
    return [Sheet(apart.title, apart.lead, sections, apart.across), _way_back(made, rest, used, found, like)]


def _ways(made: Gradient, blocks: Sequence[Block], across: tuple[Axis, ...]) -> list[tuple[str, list[Item]]]:
    """Lists by title the rows on the way back from each total; tables that stand beside a row come with it."""
    beside, ways = set(_beside(made).values()), dict[Block, list[Item]]()
    for each in blocks:
        if each not in beside:
            ways.setdefault(made.totals[each], []).append(_item(each, made, across))
    return [(BACK.format(NAMED[total.name]), items) for total, items in ways.items()]


def _way_back(
    made: Gradient,
    blocks: Sequence[Block],
    used: Sequence[Block],
    found: Mapping[str, tuple[Block, ...]],
    like: Sheet,
) -> Sheet:
    """Outlines the sheet of the way back among columns of tokens, or of whatever the sheet `like` has."""
    sections = (
        *(Section(f"What comes of it: {side}", tuple(map(key, rows))) for side, rows in found.items()),
        *(Section(title, (Note(SAME), *items)) for title, items in _ways(made, blocks, like.across)),
        Section("The gradient in use, once more", tuple(map(minor, used))),
    )
    head = {each: link(each.name.replace("libraries.", "library_gradients."), each) for each in like.head}
    grey = None if like.grey is None else head[like.grey]
    return replace(
        like, title=TITLE, lead=LEAD, sections=tuple(sections), head=tuple(head.values()), grey=grey, first=1
    )


def _beside(made: Gradient) -> dict[Block, Block]:
    """Returns the tables that stand left of a row: where a row stands once for each library, its table has a place of its own."""
    return {row: table for row, table in made.beside.items() if LIBRARY not in row.axes}


def _item(each: Block, made: Gradient, across: tuple[Axis, ...]) -> Item:
    if len(each.axes) == 2 and not {*across} & {*each.axes} and LIBRARY not in each.axes:
        return Table(each, each.axes[1], "plain")
    return key(each) if each.name in PULLS else Row(each, beside=_beside(made).get(each), fold=True)


def _with_results(sheet: Sheet, norms: Mapping[str, Block], found: Mapping[str, tuple[Block, ...]]) -> Sheet:
    """Adds what comes of it to the sheet that has a column for each library."""
    items: list[Item] = [Note(ONLY if len(found) > 1 else ALONE)]
    for side, (norm, _, cosine) in found.items():
        repeated = (transposed(f"which.{each.name.removeprefix(PREFIX)}", each) for each in (norm, cosine))
        items += [Line((link(f"which.{norms[side].name}", norms[side]),)), *map(key, repeated)]
    first, *others = sheet.sections
    return replace(sheet, sections=(first, Section(SECTION, tuple(items)), *others))
