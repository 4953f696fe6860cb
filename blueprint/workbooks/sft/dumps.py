"""Dumps of steps of fine-tuning from log-probs on: their names, which tokens count, and of how many the loss is a mean."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps import (
    SAYS_NOTHING,
    Array,
    Dump,
    DumpKind,
    MinibatchError,
    Names,
    Needs,
    Raw,
    Share,
    algorithm_said,
    forward_option,
    naming,
    number_said,
    preset_of_library,
    preset_said,
    require,
    said_shape,
    share_of,
    true_or_false,
    understood,
)
from blueprint.inputs import counted
from blueprint.quoting import unquoted
from blueprint.workbooks.sft.schema import SFT, sft_presets


@dataclass(frozen=True)
class FineTuned(Dump):
    """A dump of a step of fine-tuning, or of a microbatch of one: rows are texts, columns positions that predict a token.

    tensors: `logprobs` ([B, T], nats) of the tokens to be predicted, `mask` (bool, [B, T]), 1 where they count, and as far as the
        file has them `entropy` ([B, T], nats) and `text_loss` ([B]).
    share: of how many tokens or texts the loss is a mean where these are more than the file has, as the file says, else None.
    forward_dtype: in which dtype the model computed, as the file says, else None.
    """

    share: Share | None = None
    forward_dtype: str | None = None

    kind: ClassVar[str] = "sft"

    @property
    def mask(self) -> Array:
        """1 on the tokens that the policy is to learn, [B, T]."""
        return np.asarray(self.tensors["mask"])

    @property
    def head(self) -> str:
        """Says how many texts there are, and of how many tokens the loss is a mean."""
        texts = len(self.mask)
        of = f", a share of the loss of {self.share.tokens:,g}" if self.share and self.share.tokens else ""
        return (
            f"A step of fine-tuning: {texts} text{'s' * (texts > 1)}, {counted(self.many, 'token')} to be learned{of}."
        )

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {"texts": len(self.mask), "tokens_learned": self.many}


NAMES = Names(Path(__file__).with_suffix(".csv"), SFT)
NEEDS: Needs = {
    "loss, perplexity": (("logprobs", "mask"), ("logprobs", "labels")),
    "mean entropy": (("entropy", "mask"), ("entropy", "labels")),
}
"""What is computed of what."""
ALGORITHMS = ("sft", "fine_tuning", "finetuning", "supervised_fine_tuning")
ITEMS = "num_items_in_batch"
"""What transformers calls the labels of all microbatches of an update."""
MOST = {ITEMS: 10**12, "dp_size": 10**6}
"""By count of the metadata the largest that there may be."""
IGNORED = -100
"""The label of a position that has nothing to learn."""
LOSSES = ("total_loss", "nll")


def is_fine_tuned(raw: Raw) -> bool:
    """Whether a file is a step of fine-tuning: it says so, or has log-probs, what counts and a loss, and nothing else."""
    said = algorithm_said(raw.metadata)
    if said or not raw.tensors or raw.texts:
        return said in ALGORITHMS
    meant = {name: NAMES.meant("tensor", name, None) for name in raw.tensors}
    if not all(each or name in NAMES.spelled("unused", "aid") for name, each in meant.items()):
        return False
    logged = raw.metadata.get("logged")
    names = logged if isinstance(logged, dict) else {}
    loss = any(row in LOSSES for name in names for row in NAMES.meant("logged", str(name), None))
    found = {row for each in meant.values() for row in each}
    return loss and "logprobs" in found and bool(found & {"mask", "labels"})


def step_of(raw: Raw, path: Path) -> FineTuned:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; no log-probs, nothing that says which tokens count, or shapes that disagree.
    """
    with naming(path):
        metadata = {**raw.metadata}
        said = metadata.get("hyperparameters")
        if isinstance(said, dict) and isinstance(
            said.get("packing"), bool
        ):  # TRL's: how texts share rows the mask says
            metadata["hyperparameters"] = {key: each for key, each in said.items() if key != "packing"}
        _check_counts(metadata)
        if metadata.get(ITEMS) is not None:
            metadata["batch_num_tokens"] = metadata.pop(ITEMS)
        read = understood(replace(raw, metadata=metadata), NAMES, sft_presets, SFT)
        called = read.found.called
        tensors = _checked(read.arrays, called, raw.above_zero, read.lengths)
        own = preset_of_library(NAMES, read.library, "sft")
        return read.made(
            FineTuned,
            path,
            tensors,
            called,
            preset=preset_said(metadata, sft_presets, own),
            share=share_of(metadata),
            forward_dtype=forward_option(metadata, "forward_dtype"),
        )


def _check_counts(metadata: Mapping[str, Any]) -> None:
    """Refuses counts of tokens and of ranks that are none, of transformers' own name and of verl's."""
    for key, most in MOST.items():
        if metadata.get(key) not in SAYS_NOTHING:
            found = metadata[key]
            says = f"metadata, {key}: found {unquoted(str(found))}, expected a whole number from 1 to {most:,}."
            number = number_said(found, f"metadata, {key}")
            require(number.is_integer() and 1 <= number <= most, says)


def _checked(
    found: dict[str, Array], called: Mapping[str, str], above_zero: bool, ragged: Collection[str]
) -> dict[str, Array]:
    """Returns the tensors with the mask of what counts; ragged: those that were lists of different lengths.

    Raises MinibatchError where something is missing or odd.
    """
    require("logprobs" in found, "log-probs of the tokens to be predicted are missing: logprobs, [B, T].")
    logprobs = np.asarray(found["logprobs"], np.float64)
    require(
        logprobs.ndim == 2,
        f"{called['logprobs']}: found the shape {said_shape(logprobs.shape)}, expected [B, T]: texts, positions.",
    )
    counts = _counted(found, called, logprobs.shape, ragged)
    tensors = {"logprobs": logprobs, "mask": counts}
    for name in ("entropy", "text_loss", "row_index"):
        if name in found:
            shape = logprobs.shape[: 2 if name == "entropy" else 1]
            require(
                found[name].shape == shape,
                f"{called[name]}: found the shape {list(found[name].shape)}, expected {list(shape)}.",
            )
            tensors[name] = found[name]
    require(bool(counts.any()), "no token counts: the mask is 0 everywhere, or every label is -100.")
    for name in ("logprobs", "entropy"):
        odd = np.argwhere(counts & ~np.isfinite(tensors.get(name, np.zeros(counts.shape))))
        where = f"row {odd[0][0]}, column {odd[0][1]}" if len(odd) else ""
        require(not len(odd), f"{called.get(name, name)}: found no finite number in {where}, where a token counts.")
    above = np.argwhere(counts & (logprobs > 0))
    if len(above) and not above_zero:
        row, column = above[0].tolist()
        raise MinibatchError(
            f"{called['logprobs']}: found {logprobs[row, column]:g} in row {row}, column {column}, a probability above 1; "
            "log-probs are 0 or below (the logits, or minus the log-probs?). Accept made-up numbers with --above-zero."
        )
    return tensors


def _counted(
    found: Mapping[str, Array], called: Mapping[str, str], shape: tuple[int, ...], ragged: Collection[str]
) -> Array:
    """Returns which tokens count, [B, T]: by the mask, else by labels, which with a column more are those before the shift."""
    if "mask" in found:
        require(
            found["mask"].shape == shape,
            f"{called['mask']}: found the shape {list(found['mask'].shape)}, expected {list(shape)} as {called['logprobs']}: "
            "the mask of the tokens that are predicted, without the first one.",
        )
        return true_or_false(found["mask"], called["mask"], "mask" in ragged)
    require(
        "labels" in found, "nothing says which tokens count: mask, 1 where they do, or labels, -100 where they do not."
    )
    labels = found["labels"]
    before = labels.shape == (shape[0], shape[1] + 1)
    require(
        before or labels.shape == shape,
        f"{called['labels']}: found the shape {list(labels.shape)}, expected {list(shape)} as {called['logprobs']}, "
        "or a column more.",
    )
    return np.asarray((labels[:, 1:] if before else labels) != IGNORED)


DUMPS = DumpKind("a step of fine-tuning", sft_presets, step_of, is_fine_tuned, NAMES, NEEDS, ALGORITHMS)
