"""Files that start at logits, values and scores: words and mask as typed, three distributions, two critics."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import signal
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.diagnostics import response_rows
from blueprint.witness.errors import WitnessError, quoted
from blueprint.witness.live.models import add_distribution, add_kl, add_update
from blueprint.witness.live.rows import Start, mask_of, temperature_of
from blueprint.witness.settings import Array, File, block, single

POLICIES = ("old", "reference", "policy")
CRITICS = ("old_critic", "critic")


def compute(batch: Batch, rows: Rows) -> Start:
    """Adds what stands before the conventions; nothing is drawn, so that nothing is tied."""
    mask = mask_of(batch)
    _add_texts(batch, rows, mask)
    temperature, written = temperature_of(batch), rows["rollout.written"].long()
    for name in POLICIES:
        add_distribution(rows, name, batch.typed(f"{name}.logits"), temperature, written)
    add_kl(rows, "kl", "old", "reference")
    add_update(rows)
    for name in CRITICS:
        rows.add({f"{name}.values": rows["slots"] * signal.with_end(batch.typed(f"{name}.out"))})
    rows.add({"score.given": batch.typed("reward_model.score")})
    return Start(mask, [np.asarray(block(file, "word_written"), dtype=object) for file in batch.files], [])


def _add_texts(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds the ids of the words, where the end word stands, and how long responses are."""
    known = [_known(file) for file in batch.files]
    ids = [_ids(file, words) for file, words in zip(batch.files, known, strict=True)]
    written = batch.padded(ids)
    end = batch.filled([_id(single(file, "end_word"), words) for file, words in zip(batch.files, known, strict=True)])
    is_end = (written == end[:, None, None]).to(batch.dtype)
    slots = signal.with_end(torch.ones_like(mask))
    rows.add_whole({"end_id": end})
    rows.add({"slots": slots, "rollout.written": written, "rollout.is_end": is_end, "rollout.ends": mask * is_end})
    rows.add(response_rows(mask))


def _known(file: File) -> dict[str, int]:
    """Returns the id of every word of the vocabulary; capitals do not matter, as spreadsheets match."""
    known: dict[str, int] = {}
    for number, word in enumerate(block(file, "vocabulary").tolist()):
        known.setdefault(str(word).lower(), number)
    return known


def _ids(file: File, known: dict[str, int]) -> Array:
    ids: Array = np.vectorize(lambda word: _id(word, known), otypes=[float])(block(file, "word_written"))
    return ids


def _id(word: object, known: dict[str, int]) -> float:
    if str(word).lower() not in known:
        raise WitnessError(f"a slot has the word {quoted(word)}, which is not in the vocabulary: add it there")
    return float(known[str(word).lower()])
