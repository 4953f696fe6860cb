"""Responses of a dump as inputs of the conventions: float64, and 0 where nothing reads them; and rows of the file in place of
computed ones.
"""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array, Minibatch, MinibatchError, require
from blueprint.verifying.formulas import Named, Options, Texts, ppo

Rows = slice | Sequence[int] | Array

TENSORS = {
    "old_logprobs": "logprobs_old",
    "reference_logprobs": "logprobs_ref",
    "logprobs": "logprobs_new",
    "entropy": "entropy",
    "old_values": "values_old",
    "values": "values_new",
}
"""By name of an input, the tensor of a dump that it is."""

READERS = {
    "old_logprobs": ("batch.response_mask", "reward.kl_at_first_pad"),
    "reference_logprobs": ("batch.response_mask", "reward.kl_at_first_pad"),
    "logprobs": ("batch.response_mask",),
    "entropy": ("batch.response_mask",),
    "old_values": ("batch.response_mask", "advantage.tail_slots", "value.tail"),
    "values": ("batch.response_mask", "value.tail"),
}
"""By name of an input, the conventions by which it is read outside the mask, too."""

INSTEAD = {"reference_logprobs": "old_logprobs", "logprobs": "old_logprobs"}
"""What stands in for an input that the file has not, so that a ratio is 1 and a KL is 0; for others that is 0."""


def cut(batch: Minibatch, rows: slice | Array) -> Minibatch:
    """Returns some responses of a minibatch."""
    return replace(
        batch,
        tensors={name: each[rows] for name, each in batch.tensors.items()},
        slots=batch.slots[rows],
        first=batch.first[rows],
        rows=None,
    )


def tensor(batch: Minibatch, name: str, rows: Rows, options: Options) -> Tensor:
    """Returns some responses of a tensor of the dump in float64, on the device of the options, [1, N, …]."""
    return moved(np.asarray(batch.tensors[name][rows], dtype=np.float64), options)[None]


def moved(values: Array, options: Options) -> Tensor:
    """Returns an array as a tensor on the device of the options; one that was mapped from a file is copied."""
    return torch.from_numpy(np.require(values, requirements="W")).to(options.values["gamma"].device)


def texts_of(batch: Minibatch, rows: Rows, options: Options) -> Texts:
    """Returns some responses of a dump as inputs, [1, N, T].

    Raises MinibatchError where a number is not finite that the options read.
    """
    mask, slots = _mask(batch, rows, options)
    score, ended = _score(batch, rows, mask, options), _ended(batch, rows, slots, mask, options)
    empty = dict.fromkeys((each.name for each in fields(Texts)), torch.zeros_like(mask))
    texts = Texts(**(empty | {"slots": slots, "mask": mask, "score": score, "ended": ended}))
    read = ppo.read_rows(texts, options)
    held = {name: tensor(batch, each, rows, options) for name, each in TENSORS.items() if each in batch.tensors}
    found = {name: _checked(batch, rows, name, each, read[name]) for name, each in held.items()}
    if "entropy" in found:  # where a mean over all slots is watched; `missing` says so if it is no number there
        behind = slots * held["entropy"].nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
        found["entropy"] = torch.where(options.says("metrics.over", "all"), behind, found["entropy"])
    instead = {name: found[other] for name, other in INSTEAD.items() if other in found}
    return Texts(**{**vars(texts), **instead, **found})


def _mask(batch: Minibatch, rows: Rows, options: Options) -> tuple[Tensor, Tensor]:
    mask = tensor(batch, "response_mask", rows, options)
    each = moved(np.asarray(batch.slots[rows], dtype=np.int64), options)
    slots = (torch.arange(mask.shape[-1], device=mask.device) < each[:, None]).to(torch.float64)[None]
    return mask * slots, slots


def per_word(batch: Minibatch) -> bool:
    """Tells whether the scores are rewards of tokens: a row with more than one number that is not 0; outside the text is NaN."""
    scores = np.asarray(batch.tensors.get("scores", ()))
    return scores.ndim == 2 and bool((((scores != 0) & ~np.isnan(scores)).sum(axis=1) > 1).any())


def entropy_everywhere(batch: Minibatch) -> bool:
    """Tells whether the entropy is a number in every slot, behind the last tokens, too."""
    entropy = np.asarray(batch.tensors["entropy"])
    return bool((np.isfinite(entropy) | ~(np.arange(entropy.shape[1]) < np.asarray(batch.slots)[:, None])).all())


def _score(batch: Minibatch, rows: Rows, mask: Tensor, options: Options) -> Tensor:
    if "scores" not in batch.tensors:
        return torch.zeros_like(mask[..., 0])
    scores = tensor(batch, "scores", rows, options)
    found = scores.nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf).sum(dim=-1) if scores.dim() == 3 else scores
    for at in (~found.isfinite()).nonzero()[:, 1].tolist():
        row = batch.file_row(_row(rows, at))
        raise MinibatchError(f"{batch.path}: the score of row {row} is not finite: a number must stand there")
    return found


def _ended(batch: Minibatch, rows: Rows, slots: Tensor, mask: Tensor, options: Options) -> Tensor:
    """Returns 1 for responses that ended: as the file says, else where a slot is left over behind the last token."""
    if "ended" in batch.tensors:
        return tensor(batch, "ended", rows, options)
    return ((slots * (1 - mask.flip(-1).cummax(dim=-1).values.flip(-1))).sum(dim=-1) > 0).to(mask.dtype)


def _checked(batch: Minibatch, rows: Rows, name: str, found: Tensor, read: Tensor) -> Tensor:
    """Returns an input where it is read, else 0; what is read must be finite."""
    wrong = ((read > 0) & ~found.isfinite()).nonzero()
    if not len(wrong):
        return torch.where(read > 0, found, 0.0)
    _, at, column = wrong[0].tolist()
    row, called, value = _row(rows, at), batch.called.get(TENSORS[name], TENSORS[name]), float(found[0, at, column])
    where = f"{batch.path}: {called} is {value:g} in row {batch.file_row(row)}, column {int(batch.first[row]) + column}"
    require(not batch.mask[row, column], f"{where}, inside the mask: a number must stand there")
    raise MinibatchError(
        f"{where}, outside the mask, where {' or '.join(READERS[name])} has it read: write a number there, "
        "or set another convention"
    )


def _row(rows: Rows, at: int) -> int:
    """Returns which response of the file stands at a place of the responses that were taken."""
    return at + (rows.start or 0) if isinstance(rows, slice) else int(rows[at])


PLACES = {
    "scores": ("scores", "score.place", "scores"),
    "rewards": ("rewards", "rewards", "rewards"),
    "rewards.raw": ("rewards", "rewards.raw", "rewards"),
    "advantages": ("advantages", "advantages_used", "advantages"),
    "advantages.raw": ("advantages", "advantages", "advantages"),
    "returns": ("returns", "returns", "returns"),
}
"""By what a file's tensor is taken for: the tensor, the row that it stands in, and the row that says where it is read."""

EDGED = ("advantages",)
"""Rows with a column behind the last slot."""


def given_rows(batch: Minibatch, rows: Rows, options: Options, texts: Texts, names: Collection[str]) -> Named:
    """Returns rows of the file by the names of the rows that they stand for; not a number wherever the file says nothing."""
    where = ppo.compared_rows(texts, options) if names else {}
    found = {}
    for name in names:
        called, row, place = PLACES[name]
        read = torch.where(where[place] > 0, tensor(batch, called, rows, options), torch.nan)
        if name == "scores":  # a score of 0 stands nowhere
            there = read.nan_to_num() != 0
            read = torch.where(there.any(dim=-1, keepdim=True), there.to(read.dtype), torch.nan)
        found[row] = torch.cat([read, torch.full_like(read[..., :1], torch.nan)], dim=-1) if row in EDGED else read
    return found
