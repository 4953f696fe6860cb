"""Reads a dump of a rollout of classic PPO, whichever library wrote it, into one under neutral names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array, MinibatchError, Raw
from blueprint.dumps.formats import open_raw
from blueprint.dumps.place import KEYS, place_of
from blueprint.inputs.errors import NumbersError
from blueprint.quoting import unquoted
from blueprint.workbooks.classic_ppo.dumps.names import LIBRARIES, TENSOR, library_of, meant, rows
from blueprint.workbooks.classic_ppo.dumps.rollout import OF_MINIBATCH, Rollout
from blueprint.workbooks.classic_ppo.dumps.said import said_in
from blueprint.workbooks.classic_ppo.dumps.shaping import shaped
from blueprint.workbooks.classic_ppo.presets import classic_presets

METADATA = (
    "schema", "library", "version", "step", "preset", "layout", "order", "names", "hyperparameters", "logged", *KEYS,
)  # fmt: skip
ENDS = ("episode_starts", "done", "terminated", "last_done", "next_values")
UNUSED = "unused"


def is_rollout(raw: Raw) -> bool:
    """Whether a file is a rollout of environments: its library or preset says so, or it marks ends of episodes.

    One with a mask of responses is a step of RLHF, whatever else it has.
    """
    said = library_of(str(raw.metadata.get("library", "")))
    if said in LIBRARIES or str(raw.metadata.get("preset", "")) in set(classic_presets().presets) - {"default"}:
        return True
    told = raw.metadata.get("names")
    neutral = {row.name for name in raw.tensors for row, _ in meant(TENSOR, name, None)}
    neutral |= set(map(str, told.values())) if isinstance(told, dict) else set()
    return "rewards" in neutral and bool(neutral & set(ENDS)) and "response_mask" not in raw.tensors


def read_rollout(path: Path) -> Rollout:
    """Reads a rollout.

    Raises:
        MinibatchError: the file cannot be read, two readings are possible, something needed is missing, or shapes disagree;
            in one sentence that begins with the path.
    """
    return rollout_of(open_raw(path), path)


def rollout_of(raw: Raw, path: Path) -> Rollout:
    """Makes a rollout of a file as it was read. Raises MinibatchError as `read_rollout`."""
    try:
        return _rollout(raw, str(path))
    except MinibatchError as error:
        raise MinibatchError(f"{path}: {error}") from error


def _rollout(raw: Raw, path: str) -> Rollout:
    library = library_of(str(raw.metadata["library"])) if raw.metadata.get("library") else None
    called, unknown = _called(raw, library)
    said = said_in(raw.metadata, library)
    tensors, at, notes = shaped({name: raw.tensors[own] for name, own in called.items()}, raw.metadata, library)
    _check_finite(tensors, called)
    version = raw.metadata.get("version")
    names = {"tensors": unknown, "metadata": [key for key in raw.metadata if key not in METADATA], **said.unknown}
    notes += [
        f"{kind} that are not understood and change nothing: {', '.join(each)}" for kind, each in names.items() if each
    ]
    return Rollout(
        path,
        tensors,
        {name: raw.dtypes[own] for name, own in called.items()},
        called | said.called,
        at,
        library=library,
        version=None if version is None else str(version),
        preset=_preset(raw.metadata.get("preset"), library),
        hyperparameters=said.settings,
        logged=said.logged,
        place=place_of(raw.metadata),
        notes=tuple(notes),
    )


def _called(raw: Raw, library: str | None) -> tuple[dict[str, str], list[str]]:
    """Returns by neutral name what the file calls it, and the names that are not understood."""
    told, known = _told(raw), {row.name for row in rows(TENSOR)}
    found: dict[str, str] = {}
    unknown = []
    for name in raw.tensors:
        if told.get(name) == UNUSED:
            continue
        neutral = [told[name]] if name in told else [row.name for row, _ in meant(TENSOR, name, library)]
        if len(neutral) > 1:
            raise MinibatchError(
                f'{unquoted(name)} means {" or ".join(neutral)} in different libraries; say "library" in the metadata, or '
                f'{{"names": {{"{unquoted(name)}": "{neutral[0]}"}}}}.'
            )
        if not neutral or neutral[0] not in known:
            unknown.append(name)
        elif neutral[0] in found:
            raise MinibatchError(
                f"{unquoted(found[neutral[0]])} and {unquoted(name)} could both be {neutral[0]}; keep one."
            )
        else:
            found[neutral[0]] = name
    return found, unknown


def _told(raw: Raw) -> dict[str, str]:
    found = raw.metadata.get("names", {})
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise MinibatchError('metadata, names: expected {"name in the file": "neutral name", …}.')
    for neutral in found.values():
        if neutral not in {row.name for row in rows(TENSOR)} | {UNUSED}:
            raise MinibatchError(f"metadata, names: {unquoted(neutral)} is no neutral name of a rollout.")
    return dict(found)


def _preset(said: Any, library: str | None) -> str | None:
    """Returns the preset that the metadata name, else that of the library. Raises MinibatchError for one there is not."""
    name = str(said) if said else library
    if name is None or (said is None and name not in classic_presets().presets):
        return None
    try:
        return classic_presets().preset(name).name
    except NumbersError as error:
        raise MinibatchError(f"metadata, {error}") from error


def _check_finite(tensors: dict[str, Array], called: dict[str, str]) -> None:
    """Refuses numbers that are none, with the first place of one."""
    for name, array in tensors.items():
        wrong = ~np.isfinite(array)
        if wrong.any():
            at = np.argwhere(wrong)[0].tolist()
            row = f"row {at[0]}" if name in OF_MINIBATCH or len(at) == 1 else f"environment {at[0]}, step {at[1]}"
            raise MinibatchError(
                f"{unquoted(called.get(name, name))}, {row}: found {array[tuple(at)]}, expected a number."
            )
