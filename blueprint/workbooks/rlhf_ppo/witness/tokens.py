"""Files that start at log-probs, values and a reward for each word: from there to the advantages, and the clip on cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import (
    UPPER,
    Array,
    Batch,
    Rows,
    Tie,
    WitnessError,
    add_clip_curve,
    add_dots,
    add_verdicts,
    advantages,
    between,
    lowest_ratio,
    numbers,
    rewards,
    shown_words,
    surrogates,
    with_end,
)
from blueprint.workbooks.rlhf_ppo.witness.metrics import mean_rows
from blueprint.workbooks.rlhf_ppo.witness.signal import add_curves, add_identities, signal_distances

BEGINS = "reward.score"
MEANS = ("kl.used", "reward.penalty", "rewards", "td_errors", "advantages", "returns", BEGINS)
SHOWN = (
    "kl.k1", "kl.k2", "kl.k3", "kl.used", "reward.penalty", "rewards", "td_errors", "advantages", "returns",
    "advantage.mean", "advantage.centred", "advantage.variance", "advantage.whitened", "advantages_used",
)  # fmt: skip
"""What such a file shows of PPO."""


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows. Raises WitnessError for a mask other than 0 and 1."""
    mask = batch.mask()
    for file in batch.files:
        _refuse_holes(numbers(file, "mask"))
    count = mask.sum(dim=(-2, -1)).clamp(min=1)
    rows.know({"slots": with_end(mask), BEGINS: batch.typed(BEGINS)})
    rows.add({"response.words": count, "values.masked": _values(batch, mask)})
    add_signal(batch, rows, mask)
    rows.add(mean_rows(rows, MEANS, mask, count))
    if "case.ratio" in batch.files[0]:
        add_cases(batch, rows)
    add_curves(batch, rows)
    rows.add_words("bar.word", shown_words(batch))
    add_identities(batch, rows)
    add_verdicts(batch, rows, {"check.settings": batch.outside_all} | signal_distances(rows))
    return ()


def _refuse_holes(mask: Array) -> None:
    """Refuses a response that goes on after a gap, such as a tool's turn: a workbook has no rows for it."""
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
    behind = torch.nn.functional.pad(batch.exists, (1, 0)) * (1 - with_end(batch.exists))
    return batch.typed("old_critic.values") * (with_end(mask) + behind)


def add_signal(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds KL, rewards and advantages; log-probs and scores count outside the mask, too, as far as rewards go."""
    options = batch.options
    log_ratio = batch.typed("old.logprobs") - batch.typed("reference.logprobs")
    found = rewards.estimate_rows("kl", log_ratio, torch.zeros_like(log_ratio), options)
    found |= {"kl_coef.reward": options.number("kl_coef", 1), "kl.support": torch.ones_like(mask)}
    found |= rewards.reward_rows(found | {"score.placed": rows[BEGINS]})
    found |= {"response": mask, "kept": mask, "values.kept": rows["values.masked"], "rewards": found["rewards.raw"]}
    found |= advantages.gae_rows(mask, found, options)
    found |= advantages.whitened_rows(mask, found, options)
    rows.add(found)
    rows.hide(found.keys() - set(SHOWN))


def add_cases(batch: Batch, rows: Rows) -> None:
    """Adds the clip on the typed cases, [F, C]."""
    options, ratio, advantage = batch.options, batch.typed("case.ratio"), batch.typed("case.advantage")
    clipped = between(ratio, lowest_ratio(options)[..., 0], 1 + options.number(UPPER, 2))
    found = {"ratio.clipped": clipped} | surrogates(ratio, clipped, advantage)
    rows.add(found | {"case.loss": -found["surrogate"]}, whole=True)
    add_clip_curve(batch, rows)
    add_dots(batch, rows, ratio, advantage, torch.ones_like(ratio))
