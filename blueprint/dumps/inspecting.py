"""What a file holds: recognised, missing, unknown, and what can be recomputed from it, also where it cannot be replayed."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import MinibatchError, open_raw, require
from blueprint.dumps.mentioned import Mentioned, mentioned
from blueprint.dumps.names import NAMES, TENSOR
from blueprint.dumps.read import kind_of_file, minibatch_of, naming
from blueprint.dumps.recognise import METADATA, recognise
from blueprint.workbooks.common.conventions.data import rlhf

NEEDS = {
    "rewards": ("logprobs_old", "logprobs_ref", "scores"),
    "advantages": ("rewards", "values_old"),
    "returns": ("rewards", "values_old"),
    "ratio, approximate KL": ("logprobs_old", "logprobs_new"),
    "policy loss, clip fraction": ("logprobs_old", "logprobs_new", "advantages"),
    "value loss": ("values_old", "values_new", "returns"),
    "explained variance": ("values_old", "returns"),
    "KL to the reference": ("logprobs_old", "logprobs_ref"),
    "mean entropy": ("entropy",),
    "gap to the generating engine": ("logprobs_old", "logprobs_rollout"),
}
"""What is computed from what; a name that is itself a key here may be recomputed first."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file: what the file calls it, its neutral name, shape and dtype there, and what it is."""

    name: str
    neutral: str
    shape: tuple[int, ...]
    dtype: str
    meaning: str


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found.

    refusal: why the file cannot be replayed, in a sentence; "" if it can.
    recomputable: by quantity, the names that are missing for it; empty where it can be recomputed.
    """

    path: str
    format: str
    tensors: tuple[Tensor, ...]
    unused: tuple[str, ...]
    unknown: Mapping[str, str | None]
    missing: tuple[str, ...]
    recomputable: Mapping[str, tuple[str, ...]]
    library: str | None
    version: str | None
    preset: str | None
    mentioned: Mentioned
    unknown_metadata: tuple[str, ...]
    batch: Minibatch | None
    refusal: str

    @property
    def words(self) -> int:
        """How many tokens stand inside the mask."""
        return 0 if self.batch is None else int(np.count_nonzero(self.batch.mask))


def inspect(path: str | PathLike[str]) -> Inspection:
    """Says what a dump holds.

    Raises:
        MinibatchError: the file cannot be read at all, or its names or metadata contradict themselves.
    """
    raw = open_raw(Path(path))
    kind = kind_of_file(raw)
    require(
        kind.is_one is None,
        f"{path}: {kind.called}, and no step of RLHF: blueprint verify says what of it is understood.",
    )
    with naming(Path(path)):
        found = recognise(raw)
        named = mentioned(raw.metadata, found.preset or found.library)
    batch, refusal, version = None, "", raw.metadata.get("version")
    try:
        batch = minibatch_of(raw, found, named, str(path))
    except MinibatchError as error:
        refusal = str(error)
    has, needs = {*found.called, *(batch.tensors if batch else ())}, _needs(found.preset, named)
    return Inspection(
        str(path),
        raw.format,
        tuple(
            Tensor(name, neutral, raw.tensors[name].shape, raw.dtypes[name], NAMES.meanings[neutral])
            for neutral, name in found.called.items()
        ),
        found.unused,
        found.unknown,
        tuple(row.name for row in NAMES.rows if row.kind == TENSOR and row.name not in has),
        {what: _lacking(what, needs, has) for what in needs},
        found.library,
        str(version) if found.library and version is not None else None,
        found.preset,
        named,
        tuple(key for key in raw.metadata if key not in METADATA),
        batch,
        refusal,
    )


def _needs(preset: str | None, named: Mentioned) -> Mapping[str, tuple[str, ...]]:
    """Returns what is computed from what; rewards need no reference where the KL is not paid in them."""
    of_preset = rlhf().presets.get(preset or "")
    paid_in = named.settings.get("reward.kl_in", of_preset.values["reward.kl_in"] if of_preset else "reward")
    return NEEDS if paid_in in ("reward", "both") else {**NEEDS, "rewards": ("scores",)}


def _lacking(name: str, needs: Mapping[str, tuple[str, ...]], has: set[str]) -> tuple[str, ...]:
    """Returns what is lacking for a quantity; a name that can itself be recomputed is not lacking."""
    missing: list[str] = []
    for each in needs[name]:
        if each not in has:
            missing += _lacking(each, needs, has) if each in needs else [each]
    return tuple(dict.fromkeys(missing))
