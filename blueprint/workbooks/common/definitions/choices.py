"""What definitions are told besides blocks: the directions in which rows lie, the only module-level part of the notation; what
holds everywhere, what is fixed, and what is chosen in the sheet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from blueprint.inputs.setting import OFF, Setting
from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Operand,
    Ref,
    block,
    equal,
    is_off,
    join,
    maximum,
    minimum,
    weighed,
    where,
)
from blueprint.workbooks.common.labels import Labels, labels
from blueprint.workbooks.common.settings import Settings, Switch

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
