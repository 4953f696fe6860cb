"""Reads a dump of a step of GRPO, whichever library wrote it: told from a step of PPO, its tensors named, its groups found."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import (
    METADATA,
    Array,
    DumpKind,
    Given,
    Minibatch,
    Names,
    Needs,
    Raw,
    Recognised,
    mentioned,
    minibatch_of,
    naming,
    not_understood,
    pairs_in,
    recognise,
    require,
    whole_number,
)
from blueprint.inputs.errors import NumbersError
from blueprint.quoting import unquoted
from blueprint.workbooks.grpo.dumps.groups import groups_of
from blueprint.workbooks.grpo.dumps.said import (
    ALGORITHM,
    SIZES,
    WEIGHTS,
    algorithm_of,
    hyperparameter,
    is_normalised,
    may_be_empty,
    settings_said,
    unsure_of,
)
from blueprint.workbooks.grpo.dumps.step import GroupedStep
from blueprint.workbooks.grpo.schema import GRPO, grpo_presets

NAMES = Names(Path(__file__).parent / "names.csv", GRPO)
GROUP = ("group", "uid", "prompt_idx", "group_index", "group_ids")
OWN = ("group", "greedy", "rewards_per_func", "truncated")
"""Tensors that a step of PPO has not."""


NEEDS: Needs = {
    "advantages": (("scores",), ("rewards_per_func",)),
    "ratio, approximate KL": (("logprobs_old", "logprobs_new"),),
    "policy loss, clip fractions": (("logprobs_new", "advantages"),),
    "KL to the reference": (("logprobs_new", "logprobs_ref"),),
    "mean entropy": (("entropy",),),
    "gap to the generating engine": (("logprobs_old", "logprobs_rollout"),),
}
"""What is computed of what, as far as groups are whole."""


def is_grouped(raw: Raw) -> bool:
    """Whether a file is a step of GRPO or a relative: it says so, has groups, or says how many responses a prompt has.

    Pairs of a chosen and a rejected response are none.
    """
    if pairs_in(raw.tensors):
        return False
    names = raw.metadata.get("names")
    told = {*raw.tensors, *raw.texts, *(map(str, names.values()) if isinstance(names, dict) else ())}
    preset = str(raw.metadata.get("preset", ""))
    return bool(
        algorithm_of(raw.metadata)
        or preset in set(grpo_presets().presets) - {"default", "openrlhf", "nemo_rl"}
        or told & set(GROUP)
        or hyperparameter(raw.metadata, SIZES) is not None
    )


def step_of(raw: Raw, path: Path) -> GroupedStep:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; an unknown preset, or groups that are not one number for each response.
    """
    with naming(path):
        preset, metadata = _preset(raw.metadata), {**raw.metadata}
        metadata["hyperparameters"] = settings_said(raw.metadata)
        metadata.pop("preset", None)
        read = replace(raw, metadata=metadata)
        found = _with_old(recognise(read, NAMES, grpo_presets))
        preset = preset or _of_library(found.library, algorithm_of(raw.metadata))
        named = mentioned(metadata, found.library and found.library.lower(), NAMES, GRPO)
        batch = minibatch_of(read, found, named, str(path), critic=False, empty=may_be_empty(raw.metadata))
        notes = not_understood(
            read, [each for each in found.unknown if each not in GROUP], named, (*METADATA, ALGORITHM), NAMES, GRPO
        )
        return _grouped(raw, found, replace(batch, preset=preset, notes=(*batch.notes, *notes)))


def _preset(metadata: dict[str, Any]) -> str | None:
    """Returns the preset that the metadata name. Raises MinibatchError for one there is not."""
    named = metadata.get("preset")
    if named in (None, ""):
        return None
    try:
        return grpo_presets().preset(str(named)).name
    except NumbersError as error:
        require(False, f"metadata, {error}")
        raise


def _of_library(library: str | None, algorithm: str) -> str | None:
    """Returns the preset of a library and an algorithm, or the one that is called as the library is."""
    plain = (library or "").lower().replace("-", "_").replace(" ", "_")
    plain = {"nemorl": "nemo_rl"}.get(plain, plain)
    meant = NAMES.meant("preset", algorithm or "grpo", plain) if plain in NAMES.libraries else []
    return meant[0] if meant else plain if plain in grpo_presets().presets else None


def _with_old(found: Recognised) -> Recognised:
    """Takes the new log-probs for the old ones where a file has none, as TRL does with one update for each batch."""
    if "logprobs_old" in found.called or "logprobs_new" not in found.called:
        return found
    found.notes.append(
        f"no old log-probs: {unquoted(found.called['logprobs_new'])} stand for them, so every ratio is 1"
    )
    return replace(found, called={**found.called, "logprobs_old": found.called["logprobs_new"]})


def _grouped(raw: Raw, found: Recognised, batch: Minibatch) -> GroupedStep:
    """Adds groups and what else a step of GRPO has; rows that are left out are left out of these, too."""
    given = Given(raw, found)
    keep = batch.rows if batch.rows is not None else np.arange(len(batch.mask))
    tensors = dict(batch.tensors) | {name: np.asarray(given[name])[keep] for name in OWN if name in given}
    each = hyperparameter(raw.metadata, SIZES)
    count = None if each is None else whole_number(each, SIZES[0], 1)
    told = tensors.get("group", _words(raw, keep))
    groups = groups_of(told, tensors.get("row_index"), tensors.get("prompt_ids"), len(keep), count)
    tensors.pop("group", None)
    if groups.numbers is not None:
        tensors["group"] = groups.numbers
    functions, own = tensors.get("rewards_per_func"), raw.metadata.get("hyperparameters", {})
    weights = None if functions is None else _weights(functions, own.get(WEIGHTS))
    normalised = weights is not None and is_normalised(own)
    if not normalised:
        tensors.pop("rewards_per_func", None)
    if "scores" not in tensors and functions is not None and weights is not None:
        tensors["scores"] = _weighted(functions, weights)
    dtypes = {**batch.dtypes, **{name: array.dtype.name for name, array in tensors.items() if name not in batch.dtypes}}
    called = {**found.called, **batch.called}
    known = {field.name: getattr(batch, field.name) for field in fields(batch)}
    known |= {"tensors": tensors, "dtypes": dtypes, "called": called}
    told_weights = tuple(weights.tolist()) if normalised and weights is not None else ()
    return GroupedStep(**known, each=count, by=groups.by, unsure=unsure_of(raw.metadata), weights=told_weights)


def _words(raw: Raw, keep: Array) -> tuple[str, ...] | None:
    """Returns groups that are said in words, as verl's uid are."""
    texts = next((raw.texts[name] for name in GROUP if name in raw.texts), None)
    return None if texts is None else tuple(texts[at] for at in keep if at < len(texts))


def _weights(functions: Array, weights: Any) -> Array:
    """Returns the weight of each reward function, [K]; 1 where the file says none."""
    each = np.ones(functions.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    require(
        len(each) == functions.shape[1],
        f"reward_weights: found {len(each)} weights, expected {functions.shape[1]}, one for each column of rewards_per_func.",
    )
    return each


def _weighted(functions: Array, weights: Array) -> Array:
    """Returns Σ weight·reward of each response, [B], as TRL has it (nansum): where a function does not judge, NaN, it counts 0.

    A response that none of them judges has no score, NaN.
    """
    none = np.isnan(functions).all(axis=1)
    return np.where(none, np.nan, np.nansum(functions * weights, axis=1))


DUMPS = DumpKind("a step of GRPO", grpo_presets, step_of, is_grouped, NAMES, NEEDS)
