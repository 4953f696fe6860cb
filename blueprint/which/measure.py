"""Compute one batch by several libraries' conventions, and how far each single convention moves the policy loss.

All of it comes from the blocks `library.*` of a workbook whose conventions are live. Its table of presets is typed, so it
can hold any variant of a library: here, each library with one convention set back to what the default does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
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
    wanted = [found.preset(name) for name in dict.fromkeys(names)] or list(found.presets.values())
    yours = _yours(book, default)
    told = [default, *(preset for preset in wanted if preset is not default), *([yours] if yours else [])]
    differ = {preset.name: differences(preset.values, default.values) for preset in told}
    variants: list[_Values] = []
    for preset in told:
        variants.append(preset.values)
        variants += [dict(preset.values) | {key: default.values[key]} for key in differ[preset.name]]
    rows = iter(_computed(book, variants))
    return [_answer(preset, next(rows), [(key, next(rows)) for key in differ[preset.name]]) for preset in told]


def differences(values: _Values, default: _Values) -> list[str]:
    """Lists the conventions that are not as the default's, a rule and its parts once."""
    found = [key for key, value in values.items() if value != default[key] and key not in OF_THE_BATCH]
    if values["reward.kl_in"] not in ("loss", "both"):
        found = [key for key in found if not key.startswith(OF_KL_LOSS)]
    return [key for key in found if LIVE[key].part_of not in found]


def _answer(preset: Preset, numbers: Mapping[str, float], without: list[tuple[str, Mapping[str, float]]]) -> Answer:
    """Says what each convention adds: the loss with it, less the loss without it, which may be endless."""
    loss = "policy loss"
    effects = [Effect(key, numbers[loss] - found[loss]) for key, found in without]
    return Answer(
        preset,
        numbers,
        tuple(sorted(effects, key=lambda effect: -abs(effect.adds) if effect.adds == effect.adds else -inf)),
    )


def _yours(book: Book, default: Preset) -> Preset | None:
    """Returns the settings in use as a preset, or None if they are the default's."""
    used = {key: book.values.arrays[book.blocks[key]].item() for key in default.values if key in book.blocks}
    values = dict(default.values) | {
        key: value if isinstance(value, str) else float(value) for key, value in used.items()
    }
    if not differences(values, default.values):
        return None
    return Preset(
        "yours", "your settings", "–", "", "The settings of these numbers, or those set for this page.", values
    )


def _computed(book: Book, variants: Sequence[_Values]) -> list[Mapping[str, float]]:
    """Computes the batch by each variant: as many at once as the memory of a small machine can hold."""
    cells = book.values[book.blocks["library.share"]][0].size
    at_once = max(1, _MOST_CELLS // cells)
    parts = [variants[start : start + at_once] for start in range(0, len(variants), at_once)]
    return [row for part in parts for row in _at_once(book, part)]


def _at_once(book: Book, variants: Sequence[_Values]) -> list[Mapping[str, float]]:
    """Types the variants as presets and as libraries, and reads what comes of each."""
    blocks, names = book.blocks, [str(number) for number in range(len(variants))]
    typed: dict[str, object] = {
        "presets.names": names,
        "library.names": names,
        "presets.why": names,
        "preset": names[0],
    }
    for key in variants[0]:
        if f"presets.{key}" in blocks:
            typed[f"presets.{key}"] = [values[key] for values in variants]
    sizes = dict(book.blueprint.sizes) | {
        axis: len(variants) for name in ("presets.names", "library.names") for axis in blocks[name].axes
    }
    made = Book(replace(book.blueprint.with_typed(typed), sizes=sizes), beyond=True)
    columns = {title: made.values[blocks[name]] for title, name in COLUMNS.items()}
    return [{title: float(column[at]) for title, column in columns.items()} for at in range(len(variants))]
