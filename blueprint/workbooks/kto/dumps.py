"""Dumps of steps of KTO, whose responses are not in pairs: their names, and what must hold of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps import (
    Array,
    Dump,
    DumpKind,
    MinibatchError,
    Names,
    Needs,
    Raw,
    naming,
    one_each,
    preset_said,
    require,
    rounding,
    said_shape,
    single_responses,
    true_or_false,
    understood,
)
from blueprint.inputs import counted
from blueprint.workbooks.kto.lesson import SETTINGS, kto_presets


@dataclass(frozen=True)
class SingleResponses(Dump):
    """A dump of a step of KTO, or of a microbatch of one: rows are responses, each good or bad by itself.

    tensors: `good` (bool, [N]); log-probs in nats, of whole responses, `logp` and `logp_ref` ([N]), or of their tokens, `logprobs`
        and `logprobs_ref` with `mask` (bool, [N, T]); and as far as the file has them `elsewhere.logp` and
        `elsewhere.logp_ref` ([N]), of each prompt with the response to another one, `reward` and `loss.response` ([N]).
    """

    kind: ClassVar[str] = "kto"
    counted: ClassVar[str] = "responses"

    @property
    def mask(self) -> Array:
        """1 on the tokens of the responses, [N, T]; one token each where only whole responses are known."""
        return np.asarray(self.tensors.get("mask", np.ones((self.responses, 1), np.bool_)))

    @property
    def responses(self) -> int:
        """How many responses there are."""
        return len(self.tensors["good"])

    @property
    def many(self) -> int:
        """How many responses there are: the loss is their mean."""
        return self.responses

    @property
    def of_all_ranks(self) -> bool:
        """Whether the KL is a mean over more responses than the file has."""
        return self.place is not None and (self.place.world_size or 1) > 1

    @property
    def head(self) -> str:
        """Says how many responses there are, and how many of them are good."""
        good = int(self.tensors["good"].sum())
        return f"A step of KTO: {counted(self.responses, 'single response')}, {good} of them good and {self.responses - good} bad."

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {"responses": self.responses, "good": int(self.tensors["good"].sum())}


NAMES = Names(Path(__file__).with_suffix(".csv"), SETTINGS)
OF_TOKENS = {"logp": "logprobs", "logp_ref": "logprobs_ref"}
POLICY, REFERENCE, OTHERS = "log-probs of responses", "those of the reference", "both of responses to other prompts"
NEEDS: Needs = {
    POLICY: (("logp", "good"), ("logprobs", "mask", "good")),
    REFERENCE: (("logp_ref",), ("logprobs_ref", "mask")),
    OTHERS: (("elsewhere.logp", "elsewhere.logp_ref"),),
    "rewards, margins": ((POLICY, REFERENCE),),
    "loss": ((POLICY, REFERENCE, OTHERS),),
}
"""What is computed of what; apo_zero_unpaired reads no other responses."""


def step_of(raw: Raw, path: Path) -> SingleResponses:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; no labels or log-probs, a mask that is missing, or shapes that disagree.
    """
    with naming(path):
        read = understood(raw, NAMES, kto_presets, SETTINGS)
        called = read.found.called
        tensors = _checked(read.arrays, called, raw.above_zero, read.lengths)
        preset = preset_said(raw.metadata, kto_presets, "trl_1.16" if read.library == "trl" else None)
        return read.made(SingleResponses, path, tensors, called, preset=preset)


def _checked(
    found: Mapping[str, Array], called: Mapping[str, str], above_zero: bool, ragged: Collection[str]
) -> dict[str, Array]:
    """Returns the tensors, masks as true and false; ragged: those that were lists of different lengths.

    Raises MinibatchError where something is missing or odd.
    """
    require("good" in found, "nothing says which responses are good: label, 1 on desirable ones.")
    for whole, one in OF_TOKENS.items():
        require(whole in found or one in found, f"log-probs of responses are missing: {whole}, [N], or {one}, [N, T].")
    both = ("elsewhere.logp", "elsewhere.logp_ref")
    require(
        len(found.keys() & set(both)) != 1,
        "log-probs of responses to other prompts need both: KL_logps and ref_KL_logps.",
    )
    _check_shapes(found, called)
    tensors = dict(found)
    for name in ("good", "mask"):
        if name in found:
            tensors[name] = true_or_false(found[name], called[name], name in ragged)
    tokens = [name for name in OF_TOKENS.values() if name in found]
    for name in tokens:
        one, width = tokens[0], found[tokens[0]].shape[1]
        require(
            found[name].shape[1] == width,
            f"{called[name]} has {counted(found[name].shape[1], 'column')} and {called[one]} {width}; they need the same.",
        )
        columns = found["mask"].shape[1]
        require(
            columns in (width, width + 1),
            f"{called['mask']} has {counted(columns, 'column')} and {called[one]} {width}: they need the same, or one more.",
        )
        tensors["mask"] = tensors["mask"][:, -width:]  # of the text, whose first token nothing predicts
    for name in ("logp", "logp_ref", *both, *tokens):
        if name in tensors:
            _log_probs(name, tensors, called, above_zero)
    return tensors


def _check_shapes(found: Mapping[str, Array], called: Mapping[str, str]) -> None:
    """Refuses what has not a row, or a number, for each label."""
    count = len(one_each(found["good"], called["good"], "[N], 1 on desirable responses"))
    require(count > 0, f"{called['good']} is empty: there is no response in the file.")
    require(
        "mask" in found or not found.keys() & {*OF_TOKENS.values()},
        "log-probs of tokens are there, and no mask: write completion_mask, 1 on responses.",
    )
    for name, array in found.items():
        wide = name in (*OF_TOKENS.values(), "mask")
        axes, expected = (2, f"[{count}, T], a row") if wide else (1, f"[{count}], a number")
        require(
            array.ndim == axes and len(array) == count and array.shape[1:] != (0,),
            f"{called[name]}: found the shape {said_shape(array.shape)}, expected {expected} for each entry of {called['good']}.",
        )


def _log_probs(name: str, tensors: Mapping[str, Array], called: Mapping[str, str], above_zero: bool) -> None:
    """Refuses log-probs of responses that are above 0 by more than rounding, or no number."""
    array = np.asarray(tensors[name], np.float64)
    most = np.inf if above_zero else rounding("float32") * max(1, tensors.get("mask", array).shape[-1])
    inside = tensors["mask"] if array.ndim > 1 else np.ones(array.shape, np.bool_)
    odd = np.argwhere(inside & ~(np.isfinite(array) & (array <= most)))
    if len(odd):
        at = tuple(odd[0].tolist())
        raise MinibatchError(
            f"{called[name]}, response {at[0]}: found {array[at]:.6g}, expected a log-prob, at most 0."
        )


DUMPS = DumpKind("a step of KTO", kto_presets, step_of, single_responses, NAMES, NEEDS, ("kto",))
