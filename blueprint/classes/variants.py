"""Variants: the same numbers file for every student, but for some of its numbers, which are drawn.

What a student gets follows from the student's id, the assignment, the seed and the attempt (SHA-512), so that it is the same
whenever and wherever it is drawn. Numbers move by about a sixth of their size, in steps of the last decimal that they are
typed with; a 0 stays 0, and a text keeps its words in another order. What belongs together in a file is checked, completed
and laid out again for every variant, as for any file.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from json import dumps
from random import Random
from typing import Any, get_args, get_origin

import numpy as np

from blueprint.classes import ClassError
from blueprint.classes.key import departures
from blueprint.inputs import Level, Numbers, NumbersError, Part, Setting, given, load, nearest, suggestion, tables_of
from blueprint.inputs.entries import Draw, Flag
from blueprint.language import Constant, Expr, Lookup, NotationError, Op, Reduce, Ref, walk
from blueprint.page.outline import Blueprint
from blueprint.quoting import unquoted
from blueprint.workbooks.registry import blueprint_of, level_of

Together = dict[tuple[str, tuple[int, ...], float], float]
"""How numbers have moved, by the name of their part, place and value."""
SPREAD = 1 / 6
"""How far a number moves at most, as a share of the size that numbers of its part have."""
MOST_DECIMALS, SETTING_DECIMALS = 4, 2
"""Decimals of a number that is drawn: at most, and at least of a setting."""
SMALLEST = 10.0**-MOST_DECIMALS


def moved(value: Any, random: Random, together: Together | None = None, name: str = "", least_decimals: int = 1) -> Any:
    """Returns numbers near those given, however deep in lists, each in steps of the last decimal that they are typed with.

    together: how numbers have moved, by the name of their part, place and value; what is the same in two parts (weights
    that a reference shares with a policy) moves together.
    """
    known: Together = {} if together is None else together
    cells = [*leaves(value)]
    if {*cells} == {0, 1}:
        return _judged(value, random)
    decimals = min(max([least_decimals, *map(decimals_of, cells)]), MOST_DECIMALS)
    sizes = [abs(cell) for cell in cells if cell]
    steps = max(1, round(SPREAD * sum(sizes) / max(len(sizes), 1) * 10**decimals))

    def near(cell: Any, place: tuple[int, ...]) -> Any:
        if isinstance(cell, list | tuple):
            return [near(each, (*place, at)) for at, each in enumerate(cell)]
        found = round(cell + random.randint(-steps, steps) * 10.0**-decimals, decimals) or cell
        return known.setdefault((name, place, cell), found) if cell else cell

    return near(value, ())


def _judged(value: Any, random: Random) -> Any:
    """Returns other judgements, each right (1) or wrong (0): in another order, and half of the time the other way round.

    So the mean of a group differs, and is as short as before; a right answer that counted 1.1 would change no advantage.
    """
    turned = random.random() < 1 / 2
    order = random.sample(cells := [*leaves(value)], len(cells))
    drawn = iter([1 - cell for cell in order] if turned else order)

    def again(each: Any) -> Any:
        return [again(inner) for inner in each] if isinstance(each, list | tuple) else next(drawn)

    return again(value)


def decimals_of(number: float) -> int:
    """Returns how many decimals a number is typed with: 0.25 has 2."""
    exponent = Decimal(f"{number:.15g}").normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def leaves(value: Any) -> Iterator[float]:
    """Yields the numbers of nested lists, in their order."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def holds_words(value: Any) -> bool:
    """Tells whether lists, however deep, hold a word."""
    return isinstance(value, str) or (isinstance(value, list | tuple) and any(map(holds_words, value)))


def shuffled(text: Any, random: Random) -> list[str]:
    """Returns the words of a text in another order."""
    words = text.split() if isinstance(text, str) else [*text]
    return random.sample(words, len(words))


def moved_setting(setting: Setting, value: Any, random: Random) -> Any:
    """Returns another value for a setting: one of its words, or a number near it that it may have."""
    if setting.words:
        return random.choice(setting.words)
    found = moved(float(value), random, least_decimals=SETTING_DECIMALS)
    return min(max(found, setting.low), setting.largest)


SETTINGS = "settings"
"""The word for all settings that are numbers."""


def resolved(level: Level, numbers: Numbers, named: Iterable[str]) -> list[str]:
    """Returns the keys of the numbers file that vary; without a name, all numbers that are no whole ones.

    named: `settings`, a table (`old`), a key (`old.E`, `ppo.gamma`), or the last part of keys (`draws`). Raises ClassError
    for a name that means nothing which could vary.
    """
    several = [name.strip() for name in named if name.strip()]
    found = [key for name in several for key in _meant(level, numbers, name)] or [*_numbers_of(level, numbers)]
    if not found:
        raise ClassError(f"numbers of level {level.word} have nothing that varies by itself: name keys with --vary")
    return list(dict.fromkeys(found))


def _numbers_of(level: Level, numbers: Numbers) -> Iterator[str]:
    """Yields the keys of the parts that hold numbers, but for draws: small changes of these change words, or nothing.

    Nor do numbers vary that have more decimals than a person types beside parts that have not, as ln(1 − p) in a file of
    tenths: they were computed so that what follows from them is short, and beside them it would not be.
    """
    held = given(numbers)
    listed = [part for part in level.parts if part.axes and part.key in held and part.entry is not Draw]
    parts = [part.key for part in listed if _is_number(part)]
    short = [key for key in parts if max(map(decimals_of, leaves(held[key])), default=0) <= MOST_DECIMALS]
    yield from short or parts


def _is_number(part: Part) -> bool:
    return part.entry is not Flag and get_args(part.entry)[:1] == (float,)


def _meant(level: Level, numbers: Numbers, name: str) -> list[str]:
    """Returns the keys that a name means; of settings words vary, and numbers of a usual size."""
    held = values_of(level, numbers)
    usual = {
        key: setting
        for key, setting in level.by_dotted_key.items()
        if key in held and not setting.whole and (setting.words or SMALLEST < abs(float(held[key])) <= setting.largest)
    }
    if name == SETTINGS:
        return [key for key, setting in usual.items() if not setting.words and _may_vary(key, level, numbers)]
    if name == level.word:
        return [*_numbers_of(level, numbers)]
    known = [part.key for part in level.parts if part.key in given(numbers) and (_is_number(part) or _is_text(part))]
    known += usual
    found = [key for key in known if name in (key, key.partition(".")[0], key.rpartition(".")[2])]
    if not found:
        words = [SETTINGS, level.word, *dict.fromkeys(key.partition(".")[0] for key in known), *known]
        raise ClassError(
            f"--vary {unquoted(name)}: nothing of that name can vary, {suggestion(nearest(name, words), words)}"
        )
    return found


def _is_text(part: Part) -> bool:
    """Tells whether a part holds texts, each a list of words or words with blanks between them."""
    return len(part.axes) == 1 and any(get_origin(each) is list for each in get_args(part.entry)[:1])


def _may_vary(key: str, level: Level, numbers: Numbers) -> bool:
    """Tells whether a setting may be another one beside what else these numbers say."""
    near = {key: moved_setting(level.by_dotted_key[key], values_of(level, numbers)[key], Random(0))}
    try:
        load(tables_of(given(numbers) | near))
    except NumbersError:
        return False
    return True


def values_of(level: Level, numbers: Numbers) -> dict[str, Any]:
    """Returns everything that holds, by its key: what is given, and the settings of the preset."""
    preset = level.preset(numbers)
    usual = {key: setting.value for key, setting in (level.defaults or level.settings).items()}
    return {level.dotted(key): value for key, value in (preset.values if preset else usual).items()} | given(numbers)


PROBES, MOST_PROBES = 4, 16
"""Variants that are laid out to see which blocks hold what is drawn: so many, and more until every key has moved."""


class NoVariant(Exception):
    """What was drawn is no numbers file, or one of another structure: it is drawn again."""


class Variation:
    """What varies of some numbers, and how it is drawn.

    Attributes:
        numbers: from which every variant departs. base: their blueprint. keys: the keys of what varies.
        assignment, seed: what is drawn depends on them, and on the student.
        chooses: whether a setting varies that chooses among steps.
    """

    def __init__(self, numbers: Numbers, keys: tuple[str, ...], assignment: str, seed: int):
        self.numbers, self.keys, self.assignment, self.seed = numbers, keys, assignment, seed
        self.base = blueprint_of(numbers)
        level: Level = level_of(numbers)
        self._settings = {key: level.by_dotted_key[key] for key in keys if key in level.by_dotted_key}
        self.chooses = any(setting.words for setting in self._settings.values())
        self._tables, self._held, self._structure = given(numbers), values_of(level, numbers), structure_of(self.base)
        self._typed = {block.name: _plain(cells) for block, cells in self.base.typed.items()}

    def typed(self, student: str, attempt: int) -> dict[str, Any]:
        """Returns what is typed otherwise in a student's variant, by the block's name; attempt: from 0.

        Raises NoVariant where what is drawn is refused as a file, or has another structure than the numbers.
        """
        drawn = self._draw(student, attempt)
        if self._direct is None:
            return self._built(drawn)
        self._loaded(drawn)
        return {name: drawn[key] for name, key in self._direct.items() if not same(self._typed[name], drawn[key])}

    def _draw(self, student: str, attempt: int) -> dict[str, Any]:
        random = Random(f"{self.assignment}\0{self.seed}\0{attempt}\0{student}")  # of texts, SHA-512 is taken
        together: Together = {}
        return {key: self._drawn(key, random, together) for key in self.keys}

    def _loaded(self, drawn: Mapping[str, Any]) -> Numbers:
        try:
            return load(tables_of({**self._tables, **drawn}))
        except NumbersError as error:
            raise NoVariant(str(error)) from error

    def _built(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what is typed otherwise, from sheets that are laid out anew. Raises NoVariant."""
        try:
            other = blueprint_of(self._loaded(drawn))
        except NotationError as error:
            raise NoVariant(str(error)) from error
        if structure_of(other) != self._structure:
            raise NoVariant("another structure")
        return departures(self.base, other)

    @cached_property
    def _direct(self) -> dict[str, str] | None:
        """The key whose numbers a block holds, just as they are, by the block's name; None where a block makes more of them.

        So it is found in a few variants that are laid out: then numbers of most others need not be.
        """
        found: dict[str, set[str]] = {}
        still = moves = {key for key in self.keys if any(leaves(self._held[key]))}  # what is 0 stays 0
        for attempt in range(MOST_PROBES):
            drawn = self._draw("\0direct", attempt)
            still = still - {key for key in still if not same(drawn[key], self._held[key])}
            with suppress(NoVariant):
                for name, cells in self._built(drawn).items():
                    found[name] = found.get(name, set(self.keys)) & {
                        key for key in self.keys if same(drawn[key], cells)
                    }
            if attempt + 1 >= PROBES and not still:
                break
        told = {key for keys in found.values() for key in keys}
        return (
            {name: min(keys) for name, keys in found.items()}
            if all(found.values()) and moves <= told and not still
            else None
        )

    def _drawn(self, key: str, random: Random, together: Together) -> Any:
        value = self._held[key]
        if key in self._settings:
            return moved_setting(self._settings[key], value, random)
        if holds_words(value):
            return [shuffled(each, random) for each in value]
        return moved(value, random, together, key.rpartition(".")[2])


def structure_of(blueprint: Blueprint) -> tuple[object, ...]:
    """Returns what all variants must have alike: sizes, the names of blocks, and every node of their equations."""
    return (
        {str(axis): size for axis, size in blueprint.sizes.items()},
        [
            (block.name, [*map(str, each.target)], [*map(_node, walk(each.expr))])
            for block in blueprint.blocks()
            for each in block.definitions
        ],
    )


def _node(node: Expr) -> tuple[object, ...]:
    """Returns what a node is besides what lies inside it."""
    match node:
        case Ref(block, at):
            return block.name, *(str(index) for index in at if not isinstance(index, Lookup))
        case Constant(value):
            return ("constant", value)
        case Op(name, _, labels):
            return name, labels
        case Reduce(name, axes):
            return name, *map(str, axes)
    return (type(node).__name__,)


def same(one: Any, other: Any) -> bool:
    """Tells whether two lists hold the same numbers, or words."""
    return bool(_plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    """Returns lists in lists, of one length or of several, of what is an array or holds some."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


def variant_id(typed: Mapping[str, Any]) -> str:
    """Returns 8 hex digits that name a variant: two students of one name have the same inputs."""
    return sha256(dumps(typed, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:8]
