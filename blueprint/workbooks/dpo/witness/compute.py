"""A saved file of DPO and its relatives, computed again in torch: every row by its name, from what is typed. Each file is computed
by itself."""

from collections.abc import Sequence

import torch
from torch import Tensor

from blueprint.witness import Asked, Batch, File, Named, Rows, Tie, add_settings, add_verdicts
from blueprint.workbooks.dpo.witness.backward import once
from blueprint.workbooks.dpo.witness.given import RATIO, UNSET, from_logprobs
from blueprint.workbooks.dpo.witness.libraries import add_libraries
from blueprint.workbooks.dpo.witness.places import Places
from blueprint.workbooks.dpo.witness.reading import RESPONSE, from_texts, typed_distances
from blueprint.workbooks.dpo.witness.seen import chart_rows
from blueprint.workbooks.dpo.witness.start import TEXTS, Start, from_logits
from blueprint.workbooks.dpo.witness.stepping import stepped_rows

MASKS = ("mask", "text.mask", "mismatched.tokens")


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of a file. Raises WitnessError for a token that there is not, or a pair that is none."""
    add_settings(batch, rows)
    use = asked(batch)
    start = begun(batch, rows)
    typed = start.given
    places = Places.of(typed["pair.number"], typed["response.chosen"], typed["pair.column"])
    found = once(batch, start, places, use)
    found |= stepped_rows(batch, start, found, lambda begun: once(batch, begun, places, use))
    found |= chart_rows(batch, found | typed, use)
    rows.add({name: each[None].to(batch.dtype) for name, each in found.items()}, whole=True)
    add_libraries(batch, rows, start, places)
    add_verdicts(batch, rows, distances(batch, rows))
    return ()


def begun(batch: Batch, rows: Rows) -> Start:
    """Returns what is known before the steps: from weights, from log-probs, or from logits."""
    if RESPONSE in batch.files[0]:
        return from_texts(batch, rows)
    return from_logprobs(batch, rows) if RATIO in batch.files[0] else from_logits(batch)


def asked(batch: Batch) -> Asked:
    """Returns the conventions in use; capitals of a word do not matter. What a file cannot choose stands where nothing is done."""
    typed = {key: each.lower() if isinstance(each, str) else each for key, each in batch.settings[0].items()}
    return Asked(UNSET | typed)


def distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far masks, probabilities, log-probs, the sum of the parts and the settings are from what they must be."""
    parts = torch.stack([rows["preference_loss"], rows["adds.nll"]])
    rows.add({"check.parts_size": parts.abs().sum(0)})
    return {
        **(typed_distances(rows) if RESPONSE in batch.files[0] else {"check.mask": off_masks(batch)}),
        **{f"check.sum_{name}": (rows[f"{name}.p"].sum(-1) - 1).abs() for name in TEXTS if f"{name}.p" in rows},
        **{f"check.log_{name}": rows[f"{name}.logprobs"].clamp(min=0) for name in TEXTS if f"{name}.logprobs" in rows},
        "check.parts": (parts.sum(0) - rows["total_loss"]).abs() / rows["check.parts_size"].clamp(min=1),
        "check.settings": batch.outside_all,
    }


def off_masks(batch: Batch) -> Tensor:
    """Returns how far typed masks are from both 0 and 1, all together."""
    masks = [batch.typed(name) for name in MASKS if name in batch.files[0]]
    return sum(((each * (1 - each)).abs() for each in masks), torch.zeros_like(masks[0]))


def group_key(file: File) -> object:
    """Returns what only the same object has: conventions are words here, so no two files go together."""
    return id(file)
