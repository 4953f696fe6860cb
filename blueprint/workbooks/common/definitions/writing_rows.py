"""What definitions are told besides blocks: the directions in which rows lie, the settings that are in use, what rows are called;
and how rows are written one after the other, and stand on their sheet in that order, under the title at hand.

A row may stand there once for each library (`Choices.lead`); definitions read and write it by its own letters alone.
Last, rows that go from cell to cell: a count, a sum that runs, and what comes later, discounted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, cast

from blueprint.inputs.catalogue import OFF, Setting
from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Expr,
    Operand,
    Ref,
    block,
    constant,
    equal,
    is_off,
    join,
    link,
    maximum,
    minimum,
    needs,
    typed,
    weighed,
    where,
)
from blueprint.language.blocks import At
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Settings, Switch
from blueprint.workbooks.common.labels import Labels, labels

n = Axis("n", "episode", start=1)
t = Axis("t", "position", start=1)
v = Axis("v", "token id")
k = Axis("k", "embedding of the token", start=1)
j = Axis("j", "hidden state before the token", start=1)
one = Axis("bias", "bias", start=1, size=1)
i = join("i", "input", k, j, one)
case = Axis("c", "case", start=1)


def defined(made: Block, value: Operand) -> Block:
    """Defines a block in all its cells by one equation."""
    made[made.axes] = value
    return made


def with_weight(weight: Arithmetic, part: Arithmetic) -> Arithmetic:
    """Multiplies a part by its weight; a part of weight 0 is not read, since libraries do not compute it: it may have no number."""
    return where(equal(weight, 0), 0, weight * part)


class Everywhere(int):
    """A row of 0 or 1 that is the same in every cell, and so vanishes from the equations that read it."""

    axes: tuple[Axis, ...] = ()

    def __getitem__(self, at: object) -> int:
        """Returns its number, as a block returns the cell at a place."""
        return int(self)


EVERYWHERE, NOWHERE = Everywhere(1), Everywhere(0)
Row = Block | Everywhere
Used = Arithmetic
"""A setting: a cell, or the number of Python's at which it is fixed, which a type checker takes for one, too."""


def priced(coef: Used | int, part: Arithmetic) -> Arithmetic:
    """Multiplies a part by its coefficient, and prints that; with the coefficient 0 the part is not read and may have no number."""
    return weighed(coef, part) if isinstance(coef, Arithmetic) else coef * part


@dataclass(frozen=True)
class Fixed:
    """A switch that stands at one word: nothing is chosen in the sheet."""

    word: str

    @property
    def words(self) -> tuple[str]:
        """The words that it may be."""
        return (self.word,)

    def says(self, word: str) -> int:
        """Returns 1 where the word is the one, else 0."""
        return int(word == self.word)

    def choose(self, **alternatives: Operand) -> Arithmetic:
        """Takes the alternative of its word."""
        return cast(Arithmetic, alternatives[self.word])


class Step(NamedTuple):
    """A step on the way: its cell, and its row; without a row where it was not needed, and what it is was written on."""

    cell: Arithmetic
    row: Block | None = None


@dataclass(frozen=True)
class Choices:
    """Settings in use, by key: numbers, and for each word the switch that picks by it; and along what rows lie.

    lead:   () where there is one set of conventions; (library,) where every row is there once for each library.
    prefix: stands before the names of the blocks.
    labels: what each block is called, by its name without the prefix.
    called: the names of blocks that have another one in this workbook.
    n, t:   a row has a member for each text or environment, and in it one for each place in time.
    """

    used: Mapping[str, Used]
    switch: Mapping[str, Switch | Fixed]
    lead: tuple[Axis, ...] = ()
    prefix: str = ""
    n: Axis = field(default=n)
    t: Axis = field(default=t)
    labels: Labels = field(default_factory=labels)
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def at(self) -> tuple[Axis, ...]:
        """Along what a row lies."""
        return (*self.lead, self.n, self.t)

    def row(self, name: str, value: Operand | None = None) -> Block:
        """Makes a block with a number for every place in time; `labels` says what it is called.

        value: what it is in every cell, where one equation says so; else equations come next. So it is for the others, too.
        """
        return self.along(name, self.at, value)

    def each(self, name: str, value: Operand | None = None) -> Block:
        """Makes a block with a number for every text or environment."""
        return self.along(name, (*self.lead, self.n), value)

    def one(self, name: str, value: Operand | None = None) -> Block:
        """Makes a block with one number for the batch."""
        return self.along(name, self.lead, value)

    def rows(self, *names: str) -> tuple[Block, ...]:
        """Makes several blocks with a number for every place in time."""
        return tuple(map(self.row, names))

    def along(self, name: str, along: tuple[Axis, ...], value: Operand | None = None) -> Block:
        """Makes a block along any axes."""
        name = self.called.get(name, name)
        symbol, meaning, unit, source, decimals = self.labels.of(name)
        made = block(self.prefix + name, along, symbol, meaning, unit=unit, source=source, decimals=decimals)
        return made if value is None else defined(made, value)

    def step(self, needed: bool, name: str, value: Operand, at: tuple[Axis, ...] | None = None) -> Step:
        """Makes a row of a value, if it is needed; else the value goes into the equation that reads it.

        at: along what it lies, if it is no row of places in time.
        """
        if not needed:
            return Step(cast(Arithmetic, value))
        made = self.along(name, self.at if at is None else at, value)
        return Step(made[made.axes], made)

    def is_fixed(self, *keys: str) -> bool:
        """Tells whether none of these settings can be chosen in the sheet."""
        return not any(
            isinstance(self.switch[key], Switch) if key in self.switch else isinstance(self.used[key], Arithmetic)
            for key in keys
        )


@dataclass(frozen=True)
class Written(Choices):
    """Choices that keep every block that is made by them, by its name: whoever defines rows has nothing to return."""

    made: dict[str, Block] = field(default_factory=dict)

    def along(self, name: str, along: tuple[Axis, ...], value: Operand | None = None) -> Block:
        """Makes a block along any axes, and keeps it."""
        return self.keep(super().along(name, along, value))

    def typed(self, name: str, along: tuple[Axis, ...], symbol: str, meaning: str, **more: Any) -> Block:
        """Makes a block that is typed, and keeps it; more: as of `blueprint.language.typed`."""
        return self.keep(typed(name, along, symbol, meaning, **more))

    def keep(self, made: Block) -> Block:
        """Keeps a block that was made elsewhere, too."""
        self.made[made.name] = made
        return made


ROWS = Choices({}, {})
"""Nothing to be chosen: it only says along what rows lie."""


def fixed(chosen: Settings, of: Mapping[str, Setting]) -> Choices:
    """Fixes every setting at its default that is not among the chosen ones: what the conventions do without being asked.

    One that follows another is as that one is, where it is chosen.
    """
    led = {key: setting.follows.removeprefix("ppo.") for key, setting in of.items()}
    words = {key: chosen.switch.get(led[key]) or Fixed(str(each.value)) for key, each in of.items() if each.words}
    numbers = {key: chosen.used.get(led[key], cast(Used, of[key].value)) for key in of if key not in words}
    return Choices({**numbers, **chosen.used}, {**words, **chosen.switch})


def completed(use: Choices, of: Mapping[str, Setting], instead: Mapping[str, float | str]) -> Choices:
    """Gives choices a number or a word for every setting: one that cannot be chosen is fixed: at its default, or at `instead`."""
    numbers = {key: replace(of[key], value=value) for key, value in instead.items()}
    rest = fixed(Settings(), {**of, **numbers})
    return replace(use, used={**rest.used, **use.used}, switch={**rest.switch, **use.switch})


def limited(limit: Used, otherwise: Operand, by: Callable[[Used], Operand]) -> Operand:
    """Takes what a limit makes of a number, `by(limit)`; what it would be `otherwise`, where the limit is off."""
    if is_no_limit(limit):
        return otherwise
    return where(is_off(limit), otherwise, by(limit)) if may_be_off(limit) else by(limit)


def scaled(factor: Used, x: Operand) -> Operand:
    """Multiplies by a factor; one that is fixed at ½ halves."""
    number = cast(Operand, factor)
    return cast(Arithmetic, x) / 2 if isinstance(number, float) and number == 1 / 2 else factor * x


def is_no_limit(limit: Used) -> bool:
    """Tells whether a limit is fixed at off, so that there is nothing to be written."""
    return not isinstance(limit, Arithmetic) and limit == OFF


def may_be_off(limit: Used) -> bool:
    """Tells whether a setting is a limit, which the word off may stand for."""
    setting = limit.block if isinstance(limit, Ref) else limit
    return isinstance(setting, Block) and setting.limit


def clamped(x: Operand, limit: Used) -> Operand:
    """Keeps x within ± limit, unless that is off."""
    return limited(limit, x, lambda limit: maximum(-limit, minimum(limit, x)))


def rows(*made: Block | Step | None) -> tuple[Block, ...]:
    """Lists the rows that there are, each once."""
    found = (each.row if isinstance(each, Step) else each for each in made)
    return tuple(dict.fromkeys(row for row in found if row is not None))


FIXED = "Numbers that are always the same"
"""The title under which they stand; a setting picks one of them where it asks for nothing."""
Axes = tuple[Axis, ...]
Ends = tuple[Callable[[Used], Operand], Callable[[Used], Operand]]


class Lined(Arithmetic):
    """A block that is read and written by its own letters; in front of them stand those of the libraries, if there are several."""

    def __init__(self, block: Block, lead: Axes):
        self.block, self.lead, self.axes = block, lead, block.axes[len(lead) :]

    def __getitem__(self, at: At | tuple[At, ...]) -> Ref:
        """Reads the cells at a place."""
        return self.block[self._place(at)]

    def __setitem__(self, at: At | tuple[At, ...], value: Operand) -> None:
        """Defines the cells at a place."""
        self.block[self._place(at)] = value

    def expression(self) -> Expr:
        """Returns a row without letters of its own as a number in a larger expression."""
        return self.block[self.lead] if self.lead and not self.axes else self.block.expression()

    def _place(self, at: At | tuple[At, ...]) -> tuple[At, ...]:
        return (*self.lead, *(at if isinstance(at, tuple) else (at,)))


Given: TypeAlias = Block | Lined
"""What stands in a file, once for all libraries, or a row that was made."""


HELD = "as a number: no gradient"
"""What is said of a row behind which the way back ends."""


class Ordered:
    """Writes rows by their names; `sections` has them by title. constant: those through which nothing flows back."""

    def __init__(self, use: Choices):
        self.use, self.sections, self.constant = use, dict[str, list[Block]](), list[Block]()
        self.fixed: dict[int, Lined] = {}

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        prefix = self.use.prefix
        return {block.name.removeprefix(prefix): block for made in self.sections.values() for block in made}

    def under(self, title: str) -> None:
        """Begins a section, or goes on with it; what is written next stands in it."""
        self.here = self.sections.setdefault(title, [])

    def along(self, name: str, at: Axes, value: Operand | None = None) -> Lined:
        """Writes a row along any axes; where no library moves it, it stands there once for all of them."""
        made = Lined(self.use.along(name, (*self.use.lead, *at)), self.use.lead)
        if value is not None:
            made[at] = value
            if self.use.lead and not any({*self.use.lead} & {*need.read.axes} for need in needs(made.block)):
                made = Lined(self.use.along(name, at, value), ())
        self.here.append(made.block)
        return made

    def known(self, name: str) -> Lined:
        """Returns a row that was written before, by its name without a library."""
        found = self.rows[name]
        return Lined(found, tuple(axis for axis in self.use.lead if axis in found.axes))

    def one(self, name: str, value: Operand) -> Lined:
        """Writes a number for the batch."""
        return self.along(name, (), value)

    def held(self, name: str, of: Given) -> Lined:
        """Repeats a row as numbers: nothing flows back through it, a stop-gradient, and sg(…) says so in every equation."""
        block, lead = (of.block, of.lead) if isinstance(of, Lined) else (of, ())
        made = link(self.use.prefix + name, block, f"{block.symbol} {HELD}", f"sg({block.symbol})")
        self.here.append(made)
        self.constant.append(made)
        return Lined(made, lead)

    def pick(self, name: str, at: Axes, setting: str, **alternatives: Operand) -> Lined:
        """Writes each alternative as a row of its own, `name.word`, and takes the one that the setting says.

        Those of words that this workbook does not offer are left out.
        """
        switch = self.use.switch[setting]
        if len(switch.words) == 1:
            return self.along(name, at, alternatives[switch.words[0]])
        rows = {
            word: self._seen(f"{name}.{word}", at, each) for word, each in alternatives.items() if word in switch.words
        }
        return self.along(name, at, switch.choose(**rows))

    def _seen(self, name: str, at: Axes, value: Operand) -> Expr:
        """Returns an alternative as the cell of a row; one that is none yet is written."""
        if isinstance(value, Ref | Lined | Block):
            return value.expression()
        made = self._fixed(value) if isinstance(value, int) else self.along(name, at, value)
        return made[made.axes]

    def _fixed(self, value: int) -> Lined:
        """Returns the row of a number that is always the same, such as the 1 by which nothing is divided."""
        if value not in self.fixed:
            here = self.here
            self.under(FIXED)
            self.fixed[value] = self.one(f"fixed.{value}", value)
            self.here = here
        return self.fixed[value]

    def within(self, name: str, x: Given, low: str, high: str, ends: Ends) -> Lined:
        """Holds a row between two settings, either of which may be off; ends: what the limits mean, from the settings."""
        at, (least, most) = x.axes, ends
        raised = self.along(
            f"{name}.raised", at, limited(self.use.used[low], x[at], lambda by: maximum(least(by), x[at]))
        )
        return self.along(name, at, limited(self.use.used[high], raised[at], lambda by: minimum(most(by), raised[at])))

    def clamped(self, name: str, x: Lined, setting: str) -> Lined:
        """Holds a row within ± a setting, which may be off."""
        return self.along(name, x.axes, clamped(x[x.axes], self.use.used[setting]))


class ByName(Ordered):
    """Writes rows by their names, and reads by name what was written and what is given."""

    def __init__(self, use: Choices, given: Mapping[str, Block]):
        super().__init__(use)
        self.given = given

    def __getitem__(self, name: str) -> Given:
        return self.known(name) if name in self.rows else self.given[name]


def counted(name: str, at: Axis, use: Choices) -> Block:
    """Counts along an axis, from 0."""
    made = use.along(name, (at,))
    made[at.first - 1] = -constant(1)
    return defined(made, made[at - 1] + 1)


def running_sum(name: str, x: Block, use: Choices) -> Block:
    """Adds a row up along its last axis, in front of which it is 0."""
    *others, at = x.axes
    made = use.along(name, x.axes)
    made[*others, at.first - 1] = 0
    return defined(made, made[*others, at - 1] + x[x.axes])


def discounted(
    name: str, along: tuple[Axis, ...], t: Axis, x: Operand, by: Operand, use: Choices, end: Operand = 0
) -> Block:
    """Adds to each cell what comes later, discounted: made_t = x + by·made_{t+1}. end: what stands behind the last cell."""
    made = use.along(name, along)
    made[tuple(t.last + 1 if axis is t else axis for axis in along)] = end
    return defined(made, x + by * made[tuple(t + 1 if axis is t else axis for axis in along)])
