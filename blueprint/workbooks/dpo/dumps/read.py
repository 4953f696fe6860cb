"""Reads a dump of a step of DPO, whichever library wrote it: told from other dumps, its tensors named, its pairs laid apart."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.dumps import (
    METADATA,
    SIDES,
    DumpKind,
    MinibatchError,
    Names,
    Needs,
    Raw,
    mentioned,
    naming,
    not_understood,
    recognise,
    run_fields,
)
from blueprint.inputs.errors import NumbersError
from blueprint.workbooks.dpo.dumps.said import ALGORITHM, algorithm_of, is_old, settings_said, terms_said
from blueprint.workbooks.dpo.dumps.sides import laid_apart
from blueprint.workbooks.dpo.dumps.step import PairStep
from blueprint.workbooks.dpo.schema import DPO, dpo_presets

NAMES = Names(Path(__file__).parent / "names.csv", DPO)
COUNTED = "num_tokens"
"""What TRL logs of all steps so far together, of which one file says nothing."""


POLICY, REFERENCE = "log-probs of responses", "those of the reference"
NEEDS: Needs = {
    POLICY: (("chosen.logp", "rejected.logp"), ("logprobs", "mask")),
    REFERENCE: (("chosen.logp_ref", "rejected.logp_ref"), ("logprobs_ref", "mask")),
    "rewards, margins, accuracy": ((POLICY, REFERENCE),),
    "loss": ((POLICY, REFERENCE),),
}
"""What is computed of what; losses without a reference take the first alone."""


def is_pairs(raw: Raw) -> bool:
    """Whether a file is a step of DPO or a relative: it says so, or has log-probs of chosen and of rejected responses."""
    return bool(algorithm_of(raw.metadata)) or all(
        any(name in NAMES.spelled("tensor") and _is_logp(name, side) for name in raw.tensors) for side in SIDES
    )


def _is_logp(name: str, side: str) -> bool:
    return side in name and "logp" in name.replace("_", "")


def step_of(raw: Raw, path: Path) -> PairStep:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; sides of different shapes, or log-probs of tokens without a mask.
    """
    with naming(path):
        metadata = {**raw.metadata, "hyperparameters": settings_said(raw.metadata), "logged": _logged(raw.metadata)}
        metadata.pop("preset", None)
        read = replace(raw, metadata=metadata)
        found = recognise(read, NAMES, dpo_presets)
        library = found.library and found.library.lower()
        named = mentioned(metadata, library, NAMES, DPO)
        arrays = {name: raw.tensors[own] for name, own in found.called.items()}
        lengths = {name: raw.lengths[own] for name, own in found.called.items() if own in raw.lengths}
        tensors, called = laid_apart(arrays, lengths, found.called)
        unknown = not_understood(read, list(found.unknown), named, (*METADATA, ALGORITHM), NAMES, DPO)
        made = PairStep(
            str(path),
            tensors,
            {name: raw.dtypes[own] for name, own in called.items() if own in raw.dtypes},
            {**called, **named.called},
            library=found.library,
            preset=_preset(raw.metadata, library),
            notes=(*found.notes, *named.notes, *unknown),
            hyperparameters=named.settings,
            logged=named.logged,
            terms=_terms(raw.metadata, library),
            **run_fields(raw.metadata),
        )
        return replace(made, notes=(*made.notes, f"the loss is a sum: {made.mixture}")) if made.terms else made


def _terms(metadata: dict[str, Any], library: str | None) -> tuple[tuple[float, Mapping[str, float | str]], ...]:
    """Returns the losses of a sum. Raises MinibatchError for one that is no loss."""
    each = terms_said(metadata)
    return tuple((share, mentioned({"hyperparameters": own}, library, NAMES, DPO).settings) for share, own in each)


def _logged(metadata: dict[str, Any]) -> Any:
    """Returns what was logged of this step; of validation the same names, with a word in front, are left as they are."""
    logged = metadata.get("logged") or {}
    return {key: each for key, each in logged.items() if key != COUNTED} if isinstance(logged, dict) else logged


def _preset(metadata: dict[str, Any], library: str | None) -> str | None:
    """Returns the preset that the metadata name, else that of library, version and algorithm.

    Raises MinibatchError for one there is not.
    """
    named = metadata.get("preset")
    if named:
        try:
            return dpo_presets().preset(str(named)).name
        except NumbersError as error:
            raise MinibatchError(f"metadata, {error}") from error
    algorithm = algorithm_of(metadata) or "dpo"
    if library == "trl":
        name = f"trl_{'0.24' if is_old(metadata) else '1.16'}" + (f"_{algorithm}" if algorithm != "dpo" else "")
    else:
        meant = NAMES.meant("preset", algorithm, library) if library in NAMES.libraries else []
        name = meant[0] if meant else str(library)
    return name if name in dpo_presets().presets else None


DUMPS = DumpKind("a step of DPO", dpo_presets, step_of, is_pairs, NAMES, NEEDS)
