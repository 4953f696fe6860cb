"""What a file holds: recognised, missing, unknown, and what can be recomputed from it, also where it cannot be replayed."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from blueprint.dumps.batch import Dump, Minibatch
from blueprint.dumps.formats import MinibatchError, Raw, open_raw
from blueprint.dumps.mentioned import Mentioned, mentioned
from blueprint.dumps.names import AID, NAMES, TENSOR, UNUSED, Names, nearest
from blueprint.dumps.read import DumpKind, kind_of_file, minibatch_of, naming
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
    batch: Dump | None
    refusal: str

    @property
    def words(self) -> int:
        """How many tokens stand inside the mask."""
        return int(np.count_nonzero(self.batch.mask)) if isinstance(self.batch, Minibatch) else 0


def inspect(path: str | PathLike[str]) -> Inspection:
    """Says what a dump holds.

    Raises:
        MinibatchError: the file cannot be read at all, or its names or metadata contradict themselves.
    """
    raw = open_raw(Path(path))
    kind = kind_of_file(raw)
    if kind.is_one is not None:
        return _of_kind(raw, kind, Path(path))
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


def _of_kind(raw: Raw, kind: DumpKind, path: Path) -> Inspection:
    """Says what a dump of another kind than a step of RLHF holds; what of its metadata is not understood stands in its notes."""
    dump, refusal = None, ""
    try:
        dump = kind.read(raw, path)
    except MinibatchError as error:
        refusal = str(error).removeprefix(f"{path}: ")
    names, library = kind.names or NAMES, dump.library if dump else raw.metadata.get("library")
    neutral = {name: _neutral(name, raw, names, library) for name in raw.tensors}
    called = {each: name for name, each in neutral.items() if each not in (None, UNUSED)}
    has, logged = {*called, *(dump.tensors if dump else ())}, dump.logged if dump else {}
    known, version = names.spelled(TENSOR, AID), raw.metadata.get("version")
    meanings = {row.name: row.meaning for row in names.rows if row.kind in (TENSOR, AID)}
    said = dump.hyperparameters if dump else {}
    settings = {key: each for key, each in said.items() if key.removeprefix("ppo.") == key or key[4:] not in said}
    return Inspection(
        str(path),
        raw.format,
        tuple(
            Tensor(name, each, raw.tensors[name].shape, raw.dtypes[name], meanings.get(each, ""))
            for each, name in called.items()
        ),
        tuple(name for name, each in neutral.items() if each == UNUSED),
        {name: nearest(name, known) for name, each in neutral.items() if each is None},
        tuple(row.name for row in names.rows if row.kind == TENSOR and row.name not in has),
        {what: _fewest(what, kind, has) for what in kind.needs},
        None if library is None else str(library),
        str(version) if library and version is not None else None,
        dump.preset if dump else None,
        Mentioned(settings, logged, (), (), {}),
        (),
        dump,
        refusal,
    )


def _neutral(name: str, raw: Raw, names: Names, library: str | None) -> str | None:
    """Returns the neutral name of a tensor, or that it is not needed; None where nobody knows it."""
    told = raw.metadata.get("names")
    if isinstance(told, dict) and name in told:
        return str(told[name])
    meant = names.meant(TENSOR, name, library) or names.meant(AID, name, library)
    return meant[0] if meant else UNUSED if name in names.spelled(UNUSED) else None


def _fewest(what: str, kind: DumpKind, has: set[str]) -> tuple[str, ...]:
    """Returns what is lacking for a quantity, of the set of names that lacks the fewest."""
    lacking = []
    for some in kind.needs[what]:
        missing: list[str] = []
        for each in some:
            if each not in has:
                missing += _fewest(each, kind, has) if each in kind.needs else [each]
        lacking.append(tuple(dict.fromkeys(missing)))
    return min(lacking, key=len)


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
