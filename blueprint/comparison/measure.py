"""Compute one batch by several libraries' conventions, and how far each single convention moves the loss and turns gradients.

All of it comes from the blocks `library.*` of a workbook whose conventions are live. Its table of presets is typed, so it
can hold any variant of a library: here, each library with one convention set back to what the default does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import cos, inf, isfinite, isnan, log, nan, radians, sqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from blueprint.inputs import Catalogue, Preset
from blueprint.workbooks.common.conventions import Change, Comparison
from blueprint.workbooks.registry import kind_of_level

Row = npt.NDArray[np.float64]


class Turn(NamedTuple):
    """A gradient beside another one: how many times as long it is, and by how many degrees it is turned; nan without one."""

    longer: float
    degrees: float

    @property
    def stretch(self) -> float:
        """How far the length is from that of the other, either way: 0 where both are as long."""
        return abs(log(self.longer)) if self.longer > 0 and isfinite(self.longer) else inf if self.longer == 0 else nan

    @property
    def distance(self) -> float:
        """How far apart both are, as a part of the other's length: 0 where they are the same."""
        return sqrt(max(0.0, 1 + self.longer**2 - 2 * self.longer * cos(radians(self.degrees))))


def turn(one: Row, other: Row) -> Turn:
    """Lays a gradient beside another one.

    The angle is exact where both all but agree, which an arc cosine is not. Source: Kahan 2006, How Futile are Mindless
    Assessments of Roundoff, section 12.
    """
    norms = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if not (all(map(isfinite, norms)) and all(norms)):
        return Turn(norms[0] / norms[1] if norms[1] else nan, nan)
    u, v = one / norms[0], other / norms[1]
    return Turn(norms[0] / norms[1], float(np.degrees(2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))))


SIDES = ("policy", "critic")
"""Each has a gradient of its own: the policy's of the total loss, the critic's of what its optimiser makes smaller."""
IN_USE = "library_gradients."

_MOST_CELLS = 200_000
_Values = Mapping[str, float | str]


class Effect(NamedTuple):
    """A convention in which a library differs from the default: what it adds to the loss, and what it does to gradients.

    turns: by `policy` and `critic`, the gradient with it beside the one without it.
    """

    key: str
    adds: float
    turns: Mapping[str, Turn] = MappingProxyType({})


class Answer(NamedTuple):
    """What a library computes: the numbers by the titles of their columns, the loss first, and its differences by size.

    norms, turns: by `policy` and `critic`, how long its gradient is, and how it lies to the default's; empty where the book has
    no gradients.
    """

    preset: Preset
    numbers: Mapping[str, float]
    effects: tuple[Effect, ...]
    norms: Mapping[str, float] = MappingProxyType({})
    turns: Mapping[str, Turn] = MappingProxyType({})

    @property
    def loss(self) -> float:
        """The number whose differences are explained."""
        return next(iter(self.numbers.values()))


class Changed(NamedTuple):
    """A change of the default: what it adds to the loss, and how its gradients lie to the default's."""

    change: Change
    adds: float
    turns: Mapping[str, Turn]


class Found(NamedTuple):
    """What a variant comes to: numbers by the titles of their columns, and gradients, each as one row."""

    numbers: Mapping[str, float]
    slopes: Mapping[str, Row]

    @property
    def loss(self) -> float:
        """The number whose differences are explained."""
        return next(iter(self.numbers.values()))

    def beside(self, other: "Found") -> dict[str, Turn]:
        """Lays its gradients beside another's."""
        return {side: turn(row, other.slopes[side]) for side, row in self.slopes.items()}


def answers(book: Book, names: Sequence[str] = ()) -> list[Answer]:
    """Returns what the default and the named libraries compute (all if none is named), and the book's own settings.

    The book's own settings come as a library "yours" if they are not the default's. The book's conventions must be live.
    """
    found, of = told_of(book.blueprint.facts["level"])
    default = next(iter(found.presets.values()))
    named = [found.preset(name) for name in dict.fromkeys(names)] or found.presets.values()
    presets = [default, *(preset for preset in named if preset is not default), *_yours(book, default, found, of)]
    differ = {preset.name: differences(preset.values, default.values, found, of) for preset in presets}
    variants: list[_Values] = []
    for preset in presets:
        variants += [
            preset.values,
            *(_without(key, preset.values, default.values, found) for key in differ[preset.name]),
        ]
    rows = _computed(book, variants, of.columns)
    own = {preset.name: (next(rows), [(key, next(rows)) for key in differ[preset.name]]) for preset in presets}
    first, _ = own[default.name]
    return [_answer(preset, *own[preset.name], first) for preset in presets]


def differences(values: _Values, default: _Values, among: Catalogue, of: Comparison) -> list[str]:
    """Lists the conventions that are not as the default's, a rule and its parts once."""
    nothing = {*of.of_the_batch, *of.silent(values)}
    found = [key for key, value in values.items() if value != default[key] and key not in nothing]
    return [key for key in found if among.settings[key].part_of not in found]


def _without(key: str, values: _Values, default: _Values, among: Catalogue) -> _Values:
    """Sets a convention back to what the default does, with all that is part of it."""
    back = (each for each, setting in among.settings.items() if key in (each, setting.part_of))
    return {**values, **{each: default[each] for each in back}}


def changed(book: Book, changes: Sequence[Change]) -> list[Changed]:
    """Returns what each change of the default does, by itself. The book's conventions must be live."""
    libraries, of = told_of(book.blueprint.facts["level"])
    default = next(iter(libraries.presets.values())).values
    first, *others = _computed(book, [default, *({**default, **each.values} for each in changes)], of.columns)
    found = zip(changes, others, strict=True)
    return [Changed(each, made.loss - first.loss, made.beside(first)) for each, made in found]


def told_of(level: str) -> tuple[Catalogue, Comparison]:
    """Returns the libraries of the kind of a level, and how they are compared."""
    kind = kind_of_level(level)
    assert kind is not None, level
    return kind.part("presets")(), kind.part("comparison")


def _answer(preset: Preset, own: Found, without: list[tuple[str, Found]], default: Found) -> Answer:
    """Says what each convention adds: the loss with it, less the loss without it, which may be endless."""
    effects = [Effect(key, own.loss - found.loss, own.beside(found)) for key, found in without]
    effects.sort(key=lambda effect: -inf if isnan(effect.adds) else -abs(effect.adds))
    norms = {side: float(np.linalg.norm(row)) for side, row in own.slopes.items()}
    return Answer(preset, own.numbers, tuple(effects), norms, own.beside(default))


def _yours(book: Book, default: Preset, among: Catalogue, of: Comparison) -> list[Preset]:
    """Returns the settings in use as a preset, if they are not the default's."""
    used = {key: book.values.arrays[book.blocks[key]].item() for key in default.values if key in book.blocks}
    values = {**default.values, **{key: each if isinstance(each, str) else float(each) for key, each in used.items()}}
    why = "The settings of these numbers, or those set for this page."
    return (
        [Preset("yours", "your settings", "–", "", why, values)]
        if differences(values, default.values, among, of)
        else []
    )


def _computed(book: Book, variants: Sequence[_Values], columns: Mapping[str, str]) -> Iterator[Found]:
    """Computes the batch by each variant: as many at once as the memory of a small machine can hold."""
    arrays, names = book.values.arrays, book.blocks["library.names"]
    largest = max(arrays[each].size for each in book.blocks.values() if each.axes[:1] == names.axes)
    at_once = max(1, _MOST_CELLS * arrays[names].size // largest)
    for start in range(0, len(variants), at_once):
        yield from _at_once(book, variants[start : start + at_once], columns)


def _at_once(book: Book, variants: Sequence[_Values], columns: Mapping[str, str]) -> list[Found]:
    """Types the variants as presets and as libraries, and reads what comes of each."""
    blocks, names, lists = (
        book.blocks,
        [str(number) for number in range(len(variants))],
        ("presets.names", "library.names"),
    )
    typed: dict[str, object] = {**dict.fromkeys((*lists, "presets.why"), names), "preset": names[0]}
    keys = [key for key in variants[0] if f"presets.{key}" in blocks]
    typed |= {f"presets.{key}": [values[key] for values in variants] for key in keys}
    sizes = {**book.blueprint.sizes, **{axis: len(variants) for name in lists for axis in blocks[name].axes}}
    made = Book(replace(book.blueprint.with_typed(typed), sizes=sizes), beyond=True)
    told = {title: made.values[blocks[name]] for title, name in columns.items()}
    slopes = {side: _side_by_side(made, leaves) for side in SIDES if (leaves := _leaves(made, side))}
    return [
        Found(
            {title: float(column[at]) for title, column in told.items()},
            {side: rows[at] for side, rows in slopes.items()},
        )
        for at in range(len(variants))
    ]


def _leaves(book: Book, side: str) -> list[str]:
    """Lists what an optimiser moves by its gradient's name: those of which the one in use stands beside the libraries'."""
    begins = f"{IN_USE}{side}."
    return [name.removeprefix(IN_USE) for name in book.blocks if name.startswith(begins)]


def _side_by_side(book: Book, leaves: Sequence[str]) -> Row:
    """Returns each library's gradient as one row."""
    found = (book.values[book.blocks[f"library.{name}"]] for name in leaves)
    return np.concatenate([each.reshape(len(each), -1) for each in found], axis=1)
