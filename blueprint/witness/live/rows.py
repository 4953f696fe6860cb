"""What both levels share: settings as rows, the inputs of the conventions, and the conventions themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.conventions import WORDS, Options, Texts, recompute
from blueprint.witness.conventions.options import NUMBERS
from blueprint.witness.errors import WitnessError
from blueprint.witness.live import presets
from blueprint.witness.models import Named
from blueprint.witness.rollout import Tie
from blueprint.witness.settings import Array, single

RENAMED = {"most": "response.most"}
"""Rows of the conventions that a file calls otherwise."""


def add_settings(batch: Batch, rows: Rows) -> None:
    """Adds the preset's number, and of every convention the preset's value, the one in use, and its number or range."""
    places = [presets.column(file, single(file, "preset")) for file in batch.files]
    rows.add_whole({"preset.number": batch.filled([float(place) for place in places])})
    for name in batch.settings[0]:
        of_preset = [presets.preset_of(file, name, place) for file, place in zip(batch.files, places, strict=True)]
        used = [settings[name] for settings in batch.settings]
        number = batch.setting(name).flatten()
        if name in presets.words(batch.files[0]):
            rows.add_words(f"{name}.preset", _words(of_preset))
            rows.add_words(name, _words(used))
            rows.add_whole({f"{name}.number": number})
        else:
            outside = batch.filled([each[name] for each in batch.outside])
            rows.add_whole({f"{name}.preset": batch.filled(of_preset), name: number, f"{name}.outside": outside})


def _words(values: list[presets.Setting]) -> list[Array]:
    return [np.array(value, dtype=object) for value in values]


def options_of(batch: Batch) -> Options:
    """Returns the conventions in use."""
    return Options({name: batch.setting(name) for name in (*NUMBERS, *WORDS)})


def temperature_of(batch: Batch) -> Tensor:
    """Returns what logits are divided by, [F, 1, 1]."""
    return batch.setting("batch.temperature") + batch.setting("batch.temperature_eps")


class Start(NamedTuple):
    """What stands before the conventions, beside the rows: response words, [F, N, T], as numbers and as words; ties."""

    mask: Tensor
    written: list[Array]
    ties: list[Tie]


def mask_of(batch: Batch) -> Tensor:
    """Returns the typed mask; it may have holes. Raises WitnessError for anything but 0 and 1."""
    mask = batch.typed("mask")
    if bool(((mask != 0) & (mask != 1)).any()):
        raise WitnessError("a cell of the mask is neither 0 nor 1: write 1 for a response word and 0 for any other")
    return mask


def texts_of(rows: Rows, mask: Tensor) -> Texts:
    """Returns what the conventions start from: the rows of the models in every slot."""
    ended = rows["rollout.ends"].amax(dim=-1)
    return Texts(
        slots=rows["slots"][..., :-1],
        mask=mask,
        old_logprobs=rows["old.logprobs"],
        reference_logprobs=rows["reference.logprobs"],
        logprobs=rows["policy.logprobs"],
        kl_old_reference=rows["kl.exact"],
        kl_new_reference=rows["kl_new.exact"],
        kl_old_new=rows["policy_kl.exact"],
        entropy=rows["policy.entropy"],
        old_values=rows["old_critic.values"][..., :-1],
        values=rows["critic.values"][..., :-1],
        score=rows["score.given"],
        ended=ended,
    )


def add_conventions(batch: Batch, rows: Rows, texts: Texts, options: Options) -> None:
    """Adds every row of the conventions in use."""
    rows.add(renamed(recompute(texts, options, batch.typed("explained_variance.floor"))))


def renamed(found: Named) -> Named:
    """Returns rows of the conventions by the names that files have for them."""
    return {RENAMED.get(name, name): row for name, row in found.items()}
