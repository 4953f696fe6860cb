"""Reads a dump of a rollout of classic PPO, whichever library wrote it, into one under neutral names."""

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import (
    PLACE_KEYS,
    TENSOR,
    UNUSED,
    Array,
    DumpKind,
    MinibatchError,
    Names,
    Needs,
    Raw,
    mentioned,
    names_in_metadata,
    naming,
    not_understood,
    run_fields,
)
from blueprint.inputs.errors import NumbersError
from blueprint.quoting import unquoted
from blueprint.workbooks.classic_ppo.dumps.rollout import OF_MINIBATCH, Rollout, shaped
from blueprint.workbooks.classic_ppo.schema import CLASSIC, classic_presets

NAMES = Names(Path(__file__).parent / "names.csv", CLASSIC)
NEEDS: Needs = {
    "advantages, returns": (("rewards", "values_old", "done"), ("rewards", "values_old", "episode_starts")),
    "ratio, approximate KL": (("logprobs_old", "logprobs_new"),),
    "policy loss, clip fraction": (("logprobs_new", "advantages, returns"),),
    "value loss": (("values_new", "advantages, returns"),),
    "mean entropy": (("entropy",),),
}
"""What is computed of what."""
SPELLED = {"stable_baselines3": "sb3", "stablebaselines3": "sb3", "stable_baselines": "sb3"}
"""What people call a library, where it is not the name of its column."""
METADATA = (
    "schema", "library", "version", "step", "preset", "layout", "order", "names", "hyperparameters", "logged", *PLACE_KEYS,
)  # fmt: skip
ENDS = ("episode_starts", "done", "terminated", "last_done", "next_values")


def library_of(name: str) -> str:
    """Returns a library's name as the presets have it: "Stable-Baselines3" is sb3."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    return SPELLED.get(plain, plain)


def is_rollout(raw: Raw) -> bool:
    """Whether a file is a rollout of environments: its library or preset says so, or it marks ends of episodes.

    One with a mask of responses is a step of RLHF, whatever else it has.
    """
    library = library_of(str(raw.metadata.get("library", "")))
    if library in NAMES.libraries or str(raw.metadata.get("preset", "")) in set(classic_presets().presets) - {
        "default"
    }:
        return True
    names = raw.metadata.get("names")
    neutral = {row for name in raw.tensors for row in NAMES.meant(TENSOR, name, None)}
    neutral |= set(map(str, names.values())) if isinstance(names, dict) else set()
    return "rewards" in neutral and bool(neutral & set(ENDS)) and "response_mask" not in raw.tensors


def rollout_of(raw: Raw, path: Path) -> Rollout:
    """Makes a rollout of a file as it was read.

    Raises:
        MinibatchError: two readings are possible, something needed is missing, or shapes disagree; in one sentence that
            begins with the path.
    """
    with naming(path):
        library = library_of(str(raw.metadata["library"])) if raw.metadata.get("library") else None
        called, unknown = _called(raw, library)
        metadata = mentioned(raw.metadata, library, NAMES, CLASSIC)
        tensors, at, notes = shaped({name: raw.tensors[own] for name, own in called.items()}, raw.metadata, library)
        _check_finite(tensors, called)
        return Rollout(
            str(path),
            tensors,
            {name: raw.dtypes[own] for name, own in called.items()},
            {**called, **metadata.called},
            at,
            library=library,
            preset=_preset(raw.metadata.get("preset"), library),
            notes=(*notes, *not_understood(raw, unknown, metadata, METADATA, NAMES, CLASSIC)),
            hyperparameters=metadata.settings,
            logged=metadata.logged,
            **run_fields(raw.metadata),
        )


def _called(raw: Raw, library: str | None) -> tuple[dict[str, str], list[str]]:
    """Returns by neutral name what the file calls it, and the names that are not understood."""
    told, found, unknown = names_in_metadata(raw, NAMES, "no neutral name of a rollout"), dict[str, str](), list[str]()
    for name in raw.tensors:
        neutral = [told[name]] if name in told else NAMES.meant(TENSOR, name, library)
        if len(neutral) > 1:
            raise MinibatchError(
                f'{unquoted(name)} means {" or ".join(neutral)} in different libraries; say "library" in the metadata, or '
                f'{{"names": {{"{unquoted(name)}": "{neutral[0]}"}}}}.'
            )
        if not neutral:
            unknown.append(name)
        elif neutral[0] in found:
            raise MinibatchError(
                f"{unquoted(found[neutral[0]])} and {unquoted(name)} could both be {neutral[0]}; keep one."
            )
        elif neutral[0] != UNUSED:
            found[neutral[0]] = name
    return found, unknown


def _preset(named: Any, library: str | None) -> str | None:
    """Returns the preset that the metadata name, else that of the library. Raises MinibatchError for one there is not."""
    name = str(named) if named else library
    if name is None or (named is None and name not in classic_presets().presets):
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


DUMPS = DumpKind("a rollout of classic PPO", classic_presets, rollout_of, is_rollout, NAMES, NEEDS)
