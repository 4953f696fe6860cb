"""Variants: the same numbers file for every student, but for some of its numbers, which are drawn.

What a student gets follows from the student's id, the assignment, the seed and the attempt (SHA-512), so that it is the same
whenever and wherever it is drawn. Numbers move by about a sixth of their size, in steps of the last decimal that they are
typed with; a 0 stays 0, and a text keeps its words in another order. What belongs together in a file is checked, completed
and laid out again for every variant, as for any file.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from json import dumps
from random import Random
from typing import Any

import numpy as np

from blueprint.classes.moves import Together, holds_words, leaves, moved, moved_setting, shuffled
from blueprint.classes.typed import departures
from blueprint.classes.varying import values_of
from blueprint.inputs import Level, Numbers, NumbersError, given, load, tables_of
from blueprint.language import Constant, Expr, Lookup, NotationError, Op, Reduce, Ref, walk
from blueprint.page.outline import Blueprint
from blueprint.workbooks.registry import blueprint_of, level_of

PROBES, MOST_PROBES = 4, 16
"""Variants that are laid out to see which blocks hold what is drawn: so many, and more until every key has moved."""


class NoVariant(Exception):
    """What was drawn is no numbers file, or one of another structure: it is drawn again."""


@dataclass(frozen=True)
class Variation:
    """What varies of some numbers, and how it is drawn.

    Attributes:
        numbers: from which every variant departs. keys: the keys of what varies.
        assignment, seed: what is drawn depends on them, and on the student.
    """

    numbers: Numbers
    keys: tuple[str, ...]
    assignment: str
    seed: int

    @cached_property
    def level(self) -> Level:
        """The level of the numbers."""
        found: Level = level_of(self.numbers)
        return found

    @property
    def chooses(self) -> bool:
        """Whether a setting varies that chooses among steps."""
        settings = (self.level.by_dotted_key.get(key) for key in self.keys)
        return any(setting is not None and bool(setting.words) for setting in settings)

    @cached_property
    def base(self) -> Blueprint:
        """The blueprint of the numbers themselves."""
        return blueprint_of(self.numbers)

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return given(self.numbers)

    @cached_property
    def _held(self) -> dict[str, Any]:
        return values_of(self.level, self.numbers)

    @cached_property
    def _structure(self) -> tuple[object, ...]:
        return structure_of(self.base)

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
        """Draws what stands under each key that varies."""
        random = Random(f"{self.assignment}\0{self.seed}\0{attempt}\0{student}")  # of texts, SHA-512 is taken
        together: Together = {}
        return {key: self._drawn(key, random, together) for key in self.keys}

    def _loaded(self, drawn: Mapping[str, Any]) -> Numbers:
        """Checks what was drawn as a file of numbers. Raises NoVariant."""
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
    def _typed(self) -> dict[str, Any]:
        return {block.name: _plain(cells) for block, cells in self.base.typed.items()}

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
        """Draws what stands under a key."""
        setting, value = self.level.by_dotted_key.get(key), self._held[key]
        if setting is not None:
            return moved_setting(setting, value, random)
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
