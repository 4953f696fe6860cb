"""A saved file of DPO and its relatives, computed again in torch: every row by its name, from what is typed. Each file is computed
by itself."""

from collections.abc import Sequence

import torch

from blueprint.witness import GRAD, Asked, Batch, File, Named, Rows, Tie, add_settings, add_verdicts
from blueprint.workbooks.dpo.witness.backward import gradient_rows
from blueprint.workbooks.dpo.witness.given import RATIO, UNSET, from_logprobs
from blueprint.workbooks.dpo.witness.once import steps
from blueprint.workbooks.dpo.witness.places import Places
from blueprint.workbooks.dpo.witness.seen import chart_rows
from blueprint.workbooks.dpo.witness.start import TEXTS, from_logits

MASKS = ("mask", "text.mask", "mismatched.tokens")


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of a file. Raises WitnessError for a token that there is not, or a pair that is none."""
    add_settings(batch, rows)
    use = asked(batch)
    start = from_logprobs(batch, rows) if RATIO in batch.files[0] else from_logits(batch)
    typed = start.given
    places = Places.of(typed["pair.number"], typed["response.chosen"], typed["pair.column"])
    found = start.rows | steps(start.known, places, use)
    if f"policy.logprobs{GRAD}" in batch.files[0]:
        found |= gradient_rows(batch, start, places, use)
    found |= chart_rows(batch, found | typed, use)
    rows.add({name: each[None].to(batch.dtype) for name, each in found.items()}, whole=True)
    add_verdicts(batch, rows, distances(batch, rows))
    return ()


def asked(batch: Batch) -> Asked:
    """Returns the conventions in use; capitals of a word do not matter. What a file cannot choose stands where nothing is done."""
    typed = {key: each.lower() if isinstance(each, str) else each for key, each in batch.settings[0].items()}
    return Asked(UNSET | typed)


def distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far masks, probabilities, log-probs, the sum of the parts and the settings are from what they must be."""
    parts = torch.stack([rows["preference_loss"], rows["adds.nll"]])
    rows.add({"check.parts_size": parts.abs().sum(0)})
    masks = [batch.typed(name) for name in MASKS if name in batch.files[0]]
    return {
        "check.mask": sum(((each * (1 - each)).abs() for each in masks), torch.zeros_like(masks[0])),
        **{f"check.sum_{name}": (rows[f"{name}.p"].sum(-1) - 1).abs() for name in TEXTS if f"{name}.p" in rows},
        **{f"check.log_{name}": rows[f"{name}.logprobs"].clamp(min=0) for name in TEXTS if f"{name}.logprobs" in rows},
        "check.parts": (parts.sum(0) - rows["total_loss"]).abs() / rows["check.parts_size"].clamp(min=1),
        "check.settings": batch.outside_all,
    }


def group_key(file: File) -> object:
    """Returns what only the same object has: conventions are words here, so no two files go together."""
    return id(file)
