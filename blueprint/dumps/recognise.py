"""Which tensor of a file is which: neutral names for the file's, or a sentence where two readings are possible."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blueprint.dumps.formats import MinibatchError, Raw, require, same_numbers
from blueprint.dumps.metadata import FORWARD_OPTIONS, INFO, PLACE_KEYS, SHARE_KEYS
from blueprint.dumps.names import AID, NAMES, TENSOR, UNUSED, Names, nearest
from blueprint.dumps.sides import pairs_in
from blueprint.inputs.catalogue import Catalogue
from blueprint.inputs.errors import NumbersError
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions.data import rlhf

METADATA = (
    "schema", "library", "version", "step", "preset", "layout", "names", "hyperparameters", "logged", *PLACE_KEYS, *FORWARD_OPTIONS,
    INFO, *SHARE_KEYS,
)  # fmt: skip
"""What metadata may say; anything else is kept aside."""


@dataclass(frozen=True)
class Recognised:
    """What was found in a file.

    called: by neutral name, what the file calls it.
    unused: names that are known and not needed; unknown: others, each with the nearest known name, if any.
    library: what metadata say, else the library whose own names these are; preset: what does what it does.
    names: the table by which it was found.
    """

    called: Mapping[str, str]
    unused: tuple[str, ...]
    unknown: Mapping[str, str | None]
    library: str | None
    preset: str | None
    notes: list[str] = field(default_factory=list)
    names: Names = NAMES


def recognise(raw: Raw, names: Names = NAMES, presets: Callable[[], Catalogue] = rlhf) -> Recognised:
    """Gives the tensors of a file their neutral names, by a table; presets: those that metadata may name.

    Raises:
        MinibatchError: two tensors that could be the same quantity; metadata that name none of the file's tensors.
    """
    library, preset, notes = _library(raw, names, presets)
    named = names_in_metadata(raw, names, "no neutral name")
    candidates: dict[str, list[str]] = {}
    unused, unknown = [], {}
    for name in [*raw.tensors, *raw.texts]:
        second, others = names.second_meanings.get(name, (None, frozenset()))
        # the second meaning of a name, where another tensor of the file has the first one
        second = second if others & raw.tensors.keys() and second not in raw.tensors else None
        neutral = named.get(name) or second or names.first_meanings.get(name)
        if neutral is None:
            unknown[name] = nearest(name, names.spelled(TENSOR, AID)) if name in raw.tensors else None
        elif neutral == UNUSED or name in raw.texts:
            unused.append(name)
        else:
            candidates.setdefault(_scores_or(neutral, name, raw), []).append(name)
    called = {
        row.name: _one(row.name, candidates[row.name], raw, preset, set(named), notes)
        for row in names.rows
        if row.kind in (TENSOR, AID) and row.name in candidates
    }
    return Recognised(called, tuple(unused), unknown, library, preset, notes, names)


def _scores_or(neutral: str, name: str, raw: Raw) -> str:
    """Returns `scores` for what is called rewards and has one number per response, as in OpenRLHF and NeMo-RL."""
    one_each = raw.tensors[name].ndim == 1 or raw.tensors[name].shape[1:] == (1,)
    wide = max((array.shape[1] for array in raw.tensors.values() if array.ndim == 2), default=1) > 1
    return "scores" if neutral == "rewards" and one_each and wide else neutral


def names_in_metadata(raw: Raw, names: Names, none: str) -> dict[str, str]:
    """Returns what metadata say in `names`: {name in the file: neutral name}. none: what any other name is."""
    given = raw.metadata.get("names", {})
    known = names.neutral(TENSOR, AID) | {UNUSED}
    require(
        isinstance(given, dict) and all(isinstance(each, str) for each in given.values()),
        'metadata, names: expected {"name in the file": "neutral name", …}.',
    )
    for name, neutral in given.items():
        require(
            name in raw.tensors,
            f"metadata, names: the file has no {unquoted(name)}; it has {_listed(list(raw.tensors))}.",
        )
        near = nearest(neutral, known)
        hint = f"did you mean {near}?" if near else f"write one of {', '.join(sorted(known))}."
        require(neutral in known, f"metadata, names: {unquoted(neutral)} is {none}; {hint}")
    return dict(given)


def _one(neutral: str, names: list[str], raw: Raw, preset: str | None, named: set[str], notes: list[str]) -> str:
    """Returns which of several tensors is meant: the one named, or any where all are equal."""
    chosen = [name for name in names if name in named] or names
    if len(chosen) > 1 and neutral == "scores" and preset == "openrlhf" and "rewards" in chosen:
        chosen = ["rewards"]  # Experience.scores only sorts out prompts, experience.py
    if not all(same_numbers(raw.tensors[chosen[0]], raw.tensors[each]) for each in chosen[1:]):
        raise MinibatchError(
            f"{unquoted(chosen[0])} and {unquoted(chosen[1])} could both be {neutral}; keep one, or say which in the metadata: "
            f'"names": {{"{unquoted(chosen[0])}": "{neutral}", "{unquoted(chosen[1])}": "{UNUSED}"}}.'
        )
    notes += [f"{name} was left aside, {chosen[0]} is {neutral}" for name in names if name != chosen[0]]
    return chosen[0]


def _library(raw: Raw, names: Names, presets: Callable[[], Catalogue]) -> tuple[str | None, str | None, list[str]]:
    """Returns library and preset as metadata say; else as the names show, if they show one."""
    library, version, preset = (_word(raw.metadata, key) for key in ("library", "version", "preset"))
    if preset:
        try:
            presets().preset(preset)
        except NumbersError as error:
            raise MinibatchError(f"metadata, {error}") from error
    own = {each: names.own_to(each) & raw.tensors.keys() for each in names.libraries}
    showing = [each for each, some in own.items() if some]
    if library:
        of_names = next((each for each in showing if len(showing) == 1 and each.startswith(library.lower())), None)
        return library, preset or preset_of(library, version, names) or of_names, []
    if len(showing) != 1:
        return None, preset, []
    note = f"taken for {showing[0]}, because only it has {_listed(sorted(own[showing[0]]))}"
    return showing[0], preset or showing[0], [note]


def preset_of(library: str, version: str | None, names: Names = NAMES) -> str | None:
    """Returns the preset of a library by what metadata call it: "TRL" 0.11.4, "NeMo-RL", "verl" …"""
    plain = library.lower().replace("-", "_").replace(" ", "_")
    if plain in names.libraries:
        return plain
    if plain == "trl" and version:
        numbers = [int(part) for part in version.lstrip("v").split(".")[:2] if part.isdecimal() and len(part) < 5]
        return "trl_0.11.4" if numbers < [0, 12] else "trl_1.12"
    return {"nemorl": "nemo_rl"}.get(plain)


def _word(metadata: Mapping[str, Any], key: str) -> str | None:
    found = metadata.get(key)
    require(
        found is None or isinstance(found, str | int | float),
        f"metadata, {key}: found {type(found).__name__}, expected a word.",
    )
    return None if found is None else str(found)


def _listed(names: list[str]) -> str:
    return ", ".join(unquoted(name) for name in names[:6]) + (" …" if len(names) > 6 else "")


def refuse_pairs(found: Recognised) -> None:
    """Refuses a file of preference pairs that has neither log-probs nor scores of them, and no step of PPO in it.

    Raises:
        MinibatchError: a tensor is called "chosen" whose counterpart is "rejected".
    """
    names = [*found.called.values(), *found.unused, *found.unknown]
    for one, other in pairs_in(names):
        raise MinibatchError(
            f"{unquoted(one)} and {unquoted(other)} are pairs of a preferred and another answer (a reward model or DPO), not a "
            "step of PPO: log-probs or scores of both are missing, as docs/dump-hooks.md writes them."
        )
