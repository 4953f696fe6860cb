"""From typed log-probs, scores and values to the advantages, and the clip on its own cases."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import checks, diagnostics, signal
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.charts import curve_rows, dot_rows, gae_at_rows
from blueprint.witness.errors import WitnessError
from blueprint.witness.loss import surrogate_rows
from blueprint.witness.setting_rows import add_settings, outside_all
from blueprint.witness.settings import Array, block, numbers


def compute(batch: Batch, rows: Rows) -> None:
    """Adds every quantity of the files to the rows. Raises WitnessError for a mask other than 0 and 1."""
    add_settings(batch, rows)
    mask = _mask(batch)
    count = mask.sum(dim=(-2, -1)).clamp(min=1)
    rows.add({"response.words": count})
    values = _add_signal(batch, rows, mask)
    rows.add(diagnostics.mean_rows(rows, "tokens", mask, count))
    rows.add({"mean.reward.score": signal.masked_mean(batch.typed("reward.score"), mask, count)})
    if "case.ratio" in batch.files[0]:
        _add_cases(batch, rows)
    rows.add(gae_at_rows(batch, rows["td_errors"], mask, batch.setting("gamma")))
    _add_words(batch, rows)
    gamma = batch.setting("gamma")
    rows.add(checks.identity_rows(rows["rewards"], values, rows["td_errors"], mask, gamma))
    found = {"check.settings": outside_all(batch)} | checks.signal_distances(rows, values[..., :-1], mask)
    checks.add_verdicts(batch, rows, found)


def _mask(batch: Batch) -> Tensor:
    for file in batch.files:
        if not np.isin(numbers(file, "mask"), (0, 1)).all():
            raise WitnessError("a cell of the mask is neither 0 nor 1: write 1 for a response word and 0 for any other")
        _refuse_holes(numbers(file, "mask"))
    return batch.typed("mask")


def _refuse_holes(mask: Array) -> None:
    """Refuses a response that goes on after a gap, such as a tool's turn: `gae` can, but a workbook has no rows for it."""
    for episode, row in enumerate(mask, start=1):
        held = np.flatnonzero(row)
        if len(held) and len(held) < held[-1] - held[0] + 1:
            gap = next(t for t in range(held[0], held[-1]) if row[t] == 0)
            raise WitnessError(
                f"the mask of episode {episode} has a hole at decision {gap + 1}: a workbook has no rows for holes yet;"
                " write 1 from the first response word to the last"
            )


def _values(batch: Batch, mask: Tensor) -> Tensor:
    """Returns the typed values inside the mask, and what is typed behind the last decision of each file."""
    values = batch.typed("old_critic.values")
    behind = torch.nn.functional.pad(batch.exists, (1, 0)) * (1 - signal.with_end(batch.exists))
    return values * (signal.with_end(mask) + behind)


def _add_signal(batch: Batch, rows: Rows, mask: Tensor) -> Tensor:
    setting, values = batch.setting, _values(batch, mask)
    rows.add(signal.kl_rows(batch.typed("old.logprobs"), batch.typed("reference.logprobs"), setting("kl_estimator")))
    rows.add(signal.reward_rows(rows["kl.used"], batch.typed("reward.score"), setting("kl_coef")))
    rows.add({"values.masked": values})
    rows.add(signal.gae_rows(rows["rewards"], values, mask, setting("gamma"), setting("gae_lambda")))
    advantages, off = rows["advantages"][..., :-1], setting("whiten_advantages")
    rows.add(signal.whitened_rows(advantages, mask, rows["response.words"], setting("whiten_eps"), off))
    return values


def _add_cases(batch: Batch, rows: Rows) -> None:
    """Adds the clip on the typed cases, [F, C]."""
    ratio, advantages = batch.typed("case.ratio"), batch.typed("case.advantage")
    found = surrogate_rows(ratio, advantages, batch.setting("clip_range")[..., 0])
    rows.add_whole(found | {"case.loss": -found["surrogate"]})
    rows.add_whole(curve_rows(batch, batch.setting("clip_range")[..., 0]))
    rows.add_whole(dot_rows(batch, ratio, advantages, found["surrogate"], torch.ones_like(ratio)))


def _add_words(batch: Batch, rows: Rows) -> None:
    shown = [np.where(numbers(file, "mask") > 0, block(file, "word_written"), "") for file in batch.files]
    rows.add_words("bar.word", [each.astype(object) for each in shown])
