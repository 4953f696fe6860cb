"""A saved file of GRPO and its family, computed again in torch: every row by its name, from what is typed. Each file is computed
by itself: [B] and [B, T]."""

from collections.abc import Sequence

import torch

from blueprint.witness import (
    Asked,
    Batch,
    File,
    Named,
    Rows,
    Tie,
    add_settings,
    add_verdicts,
    alternative,
)
from blueprint.witness.checks import range_distance
from blueprint.workbooks.grpo.witness.given import UNSET, from_logprobs
from blueprint.workbooks.grpo.witness.libraries import add_libraries
from blueprint.workbooks.grpo.witness.once import once
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.seen import add_words, chart_rows, gradient_charts, off_total, seen_rows
from blueprint.workbooks.grpo.witness.start import MODELS, Start, from_logits, from_prompts


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of a file. Raises WitnessError for a token that there is not, or places that are not each once."""
    add_settings(batch, rows)
    use = asked(batch)
    start = begun(batch, rows)
    typed, found = start.given, dict(start.rows)
    places = Places.of(typed["group.response"], typed["response.number"])
    found |= places.rows()
    read = rows["rollout.read"].long() if start.policy else None
    found |= once(batch, start, places, use, read)
    found |= seen_rows(found | typed, places, use)
    found |= chart_rows(batch, found | typed, use)
    found |= gradient_charts(batch, found)
    rows.add({name: each[None].to(batch.dtype) for name, each in found.items()}, whole=True)
    add_libraries(batch, rows, start, places, read)
    add_words(batch, rows, start.written, typed["mask"], found["loss.counted"] * found["keep"])
    add_verdicts(batch, rows, distances(batch, rows))
    return start.ties


def begun(batch: Batch, rows: Rows) -> Start:
    """Returns what is known before the steps: from weights, from logits, or from log-probs."""
    if "old.W" in batch.files[0]:
        return from_prompts(batch, rows)
    return from_logits(batch) if "policy.logits" in batch.files[0] else from_logprobs(batch, rows)


def asked(batch: Batch) -> Asked:
    """Returns the conventions in use, and by the key `….words.token_mean` where that stands among those of the averages."""
    found = {key: each.lower() if isinstance(each, str) else each for key, each in batch.settings[0].items()}
    place = alternative(batch.files[0], "loss.aggregation", "token_mean")
    return Asked(UNSET | found | {"loss.aggregation.token_mean": float(place)})


def distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far masks, probabilities, log-probs, the sum of the parts and the settings are from what they must be."""
    parts = torch.stack([rows[name] for name in ("policy_loss", "adds.kl_loss", "adds.entropy")])
    rows.add({"check.parts_size": parts.abs().sum(0)})
    apart = (parts.sum(0) - rows["total_loss"]).abs() / rows["check.parts_size"].clamp(min=1)
    return {
        **typed_distances(batch, rows),
        **{f"check.sum_{name}": (rows[f"{name}.p"].sum(-1) - 1).abs() for name in MODELS if f"{name}.p" in rows},
        **{f"check.log_{name}": rows[f"{name}.logprobs"].clamp(min=0) for name in MODELS},
        "check.total": off_total({name: rows[name][0] for name in ("share", "total_loss", "check.shares_size")})[None],
        "check.parts": apart,
        "check.settings": batch.outside_all,
    }


def typed_distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far what is typed is from what it may be: masks, or prompts, draws and lengths."""
    if "is_given" not in rows:
        mask = batch.typed("mask")
        return {"check.mask": (mask * (1 - mask)).abs()}
    given = rows["is_given"]
    at = batch.typed("group.response")[0].flatten().argsort()
    order = at[batch.typed("response.number")[0].long() - 1]
    return {
        "check.prompt": given[..., 1:] * (1 - given[..., :-1]),
        "check.empty": 1 - given[..., 0],
        "check.draws": range_distance(batch, "rollout.draw", fill=0.5),
        "check.length": range_distance(batch, "max_new_tokens"),
        "check.same_prompt": rows["prompt.apart"].flatten(1)[:, order],
    }


def group_key(file: File) -> object:
    """Returns what no other file has: each is computed by itself, with its conventions as words."""
    return id(file)
