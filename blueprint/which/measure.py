"""Compute one batch by several libraries' conventions, and how far each single convention moves the policy loss.

All of it comes from the blocks `library.*` of a workbook whose conventions are live. Its table of presets is typed, so it
can hold any variant of a library: here, each library with one convention set back to what the default does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isnan
from typing import NamedTuple

from blueprint.book import Book
from blueprint.inputs import Preset
from blueprint.workbooks.common.conventions.data import LIVE, rlhf

COLUMNS = {
    "policy loss": "library.policy_loss",
    "value loss": "library.value_loss",
    "total loss": "library.total_loss",
    "approximate KL": "library.approx_kl.used",
    "clip fraction": "library.clip_fraction.used",
}
"""What is told of each library, and the block that holds it."""

OF_THE_BATCH = ("update_step", "batch.temperature", "batch.temperature_eps")
"""Settings that make the batch, the same for every library: they are no difference between libraries."""

OF_KL_LOSS = "loss.kl_"
"""How conventions begin that say nothing where no KL is paid in the loss."""

_MOST_CELLS = 200_000
_Values = Mapping[str, float | str]


class Effect(NamedTuple):
    """A convention in which a library differs from the default, and what it adds to the library's policy loss."""

    key: str
    adds: float


class Answer(NamedTuple):
    """What a library computes: the numbers by the titles of their columns, and its differences, the largest first."""

    preset: Preset
    numbers: Mapping[str, float]
    effects: tuple[Effect, ...]


def answers(book: Book, names: Sequence[str] = ()) -> list[Answer]:
    """Returns what the default and the named libraries compute (all if none is named), and the book's own settings.

    The book's own settings come as a library "yours" if they are not the default's. The book's conventions must be live.
    """
    found = rlhf()
    default = next(iter(found.presets.values()))
    named = [found.preset(name) for name in dict.fromkeys(names)] or found.presets.values()
    presets = [default, *(preset for preset in named if preset is not default), *_yours(book, default)]
    differ = {preset.name: differences(preset.values, default.values) for preset in presets}
    variants: list[_Values] = []
    for preset in presets:
        variants += [preset.values, *({**preset.values, key: default.values[key]} for key in differ[preset.name])]
    rows = _computed(book, variants)
    return [_answer(preset, next(rows), [(key, next(rows)) for key in differ[preset.name]]) for preset in presets]


def differences(values: _Values, default: _Values) -> list[str]:
    """Lists the conventions that are not as the default's, a rule and its parts once."""
    found = [key for key, value in values.items() if value != default[key] and key not in OF_THE_BATCH]
    if values["reward.kl_in"] not in ("loss", "both"):
        found = [key for key in found if not key.startswith(OF_KL_LOSS)]
    return [key for key in found if LIVE[key].part_of not in found]


def _answer(preset: Preset, numbers: Mapping[str, float], without: list[tuple[str, Mapping[str, float]]]) -> Answer:
    """Says what each convention adds: the loss with it, less the loss without it, which may be endless."""
    effects = [Effect(key, numbers["policy loss"] - found["policy loss"]) for key, found in without]
    effects.sort(key=lambda effect: -inf if isnan(effect.adds) else -abs(effect.adds))
    return Answer(preset, numbers, tuple(effects))


def _yours(book: Book, default: Preset) -> list[Preset]:
    """Returns the settings in use as a preset, if they are not the default's."""
    used = {key: book.values.arrays[book.blocks[key]].item() for key in default.values if key in book.blocks}
    values = {**default.values, **{key: each if isinstance(each, str) else float(each) for key, each in used.items()}}
    why = "The settings of these numbers, or those set for this page."
    return [Preset("yours", "your settings", "–", "", why, values)] if differences(values, default.values) else []


def _computed(book: Book, variants: Sequence[_Values]) -> Iterator[Mapping[str, float]]:
    """Computes the batch by each variant: as many at once as the memory of a small machine can hold."""
    at_once = max(1, _MOST_CELLS // book.values[book.blocks["library.share"]][0].size)
    for start in range(0, len(variants), at_once):
        yield from _at_once(book, variants[start : start + at_once])


def _at_once(book: Book, variants: Sequence[_Values]) -> list[Mapping[str, float]]:
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
    columns = {title: made.values[blocks[name]] for title, name in COLUMNS.items()}
    return [{title: float(column[at]) for title, column in columns.items()} for at in range(len(variants))]
