"""A file of RLHF PPO, from what is typed to its last check."""

from collections.abc import Sequence

import numpy as np
import torch

from blueprint.witness import (
    TABLE,
    UPPER,
    Array,
    Batch,
    Rows,
    Tie,
    WitnessError,
    add_clip_curve,
    add_dots,
    add_settings,
    add_verdicts,
    advantages,
    between,
    checks,
    lowest_ratio,
    numbers,
    rewards,
    shown_words,
    surrogates,
    with_end,
)
from blueprint.workbooks.rlhf_ppo.witness.backward import add_gradients, clip_ties
from blueprint.workbooks.rlhf_ppo.witness.epochs import add_epochs
from blueprint.workbooks.rlhf_ppo.witness.libraries import add_libraries
from blueprint.workbooks.rlhf_ppo.witness.metrics import (
    add_curves,
    add_identities,
    add_metrics,
    mean_rows,
    signal_distances,
)
from blueprint.workbooks.rlhf_ppo.witness.minibatches import SEEN, order_distance, step_rows, taken
from blueprint.workbooks.rlhf_ppo.witness.side_by_side import add_library_gradients
from blueprint.workbooks.rlhf_ppo.witness.slope import add_beside
from blueprint.workbooks.rlhf_ppo.witness.start import Start, from_logits, from_weights, texts_of

SCORES = "reward.score"
MEANS = ("advantages", "kl.used", "returns", "reward.penalty", "rewards", "td_errors", SCORES)
SIGNAL = {
    "kl.k1", "kl.k2", "kl.k3", "kl.used", "reward.penalty", "rewards", "td_errors", "advantages", "returns",
    "advantage.mean", "advantage.centred", "advantage.variance", "advantage.whitened", "advantages_used",
}  # fmt: skip
"""What a file with the default options shows of the reward and the advantage."""
PLAIN = {
    *SIGNAL,
    "log_ratio", "ratio", "ratio.clipped", "surrogate.unclipped", "surrogate.clipped", "surrogate",
    "clip_fraction.changed", "clip_fraction.outside", "policy_kl.k1", "policy_kl.k3",
    "value.error", "value.square", "value.clipped", "value.error_clipped", "value.square_clipped", "value.word_loss",
    "value.held_counts", "clip_fraction.value",
    "policy_loss", "value_loss", "entropy", "policy_kl", "adds.value_loss", "adds.entropy", "adds.policy_kl", "total_loss",
    "share",
}  # fmt: skip
"""What it shows of PPO."""
NOT_PLAIN = (
    "slots", "old.tempered", "reference.tempered", "policy.tempered", "score.given", "kl_new.cross", "kl_new.exact",
)  # fmt: skip
"""What such a file does not show of its models."""
PARTS = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.policy_kl", "adds.kl_loss")
POLICIES = {"old_policy": "old", "reference": "reference", "new_policy": "policy"}


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows and returns what is a tie: draws, and ratios where a gradient ends."""
    add_settings(batch, rows)
    file = batch.files[0]
    if SCORES in file and "old.W" not in file:
        compute_tokens(batch, rows)
        return ()
    start = compute_ppo(batch, rows)
    add_gradients(batch, rows, start.mask)
    add_metrics(batch, rows, start.mask, "score.placed" if TABLE in file else SCORES)
    add_epochs(batch, rows, start)
    add_libraries(batch, rows, texts_of(rows, start.mask))
    add_library_gradients(batch, rows, start.mask)
    add_charts(batch, rows, start)
    add_beside(batch, rows)
    add_checks(batch, rows, start.mask)
    return [*start.ties, *clip_ties(batch, rows)]


def compute_ppo(batch: Batch, rows: Rows) -> Start:
    """Adds the models and PPO itself, and returns where it starts."""
    start = (from_weights if "old.W" in batch.files[0] else from_logits)(batch, rows)
    rows.add(taken(batch, 1, 1))
    found = step_rows(batch, rows, texts_of(rows, start.mask))
    rows.add(found)
    if TABLE not in batch.files[0]:
        shown = PLAIN | {name for name in batch.files[0] if name.startswith(SEEN)}
        rows.hide((*NOT_PLAIN, *(found.keys() - shown)))
    return start


def add_charts(batch: Batch, rows: Rows, start: Start) -> None:
    """Adds the curve of the clip with its dots, the words of the bars, GAE for several λ, and the parts of the loss."""
    add_clip_curve(batch, rows)
    add_dots(batch, rows, rows["ratio"], rows["advantages_used"], start.mask)
    rows.add_words("bar.word", start.words)
    add_curves(batch, rows)
    parts = PARTS if TABLE in batch.files[0] else PARTS[:-1]
    rows.add({"parts": torch.stack([rows[name] for name in (*parts, "total_loss")], dim=-1)}, whole=True)


def add_checks(batch: Batch, rows: Rows, mask: torch.Tensor) -> None:
    """Adds every check that the files have."""
    add_identities(batch, rows)
    parts, shares = torch.stack([rows[name] for name in PARTS], dim=-1), rows["share"]
    sizes = {"check.share_size": shares.abs(), "check.shares_size": shares.abs().sum(dim=(-2, -1))}
    rows.add(sizes | {"check.parts_size": parts.abs().sum(dim=-1)})
    found = {"check.settings": batch.outside_all, "check.mask": (mask * (1 - mask)).abs()} | signal_distances(rows)
    found |= checks.probability_distances(rows, POLICIES) | checks.log_distances(rows, POLICIES)
    found |= {
        "check.exact_kl": (-rows["kl.exact"]).clamp(min=0),
        "check.total": checks.sum_distance(shares.flatten(1), rows["total_loss"]),
        "check.parts": checks.sum_distance(parts, rows["total_loss"]),
        "check.score": ((rows["kept"] * rows["score.placed"]).sum(dim=-1) - rows["score.clipped"]).abs(),
    }
    if "is_given" in rows:
        found |= text_distances(batch, rows)
    add_verdicts(batch, rows, found)


def text_distances(batch: Batch, rows: Rows) -> dict[str, torch.Tensor]:
    """Returns ones where a word is given behind a gap, and where a prompt has no first word; and how far from its range
    what is typed is, and the ratio from 1 where nothing was updated."""
    given, apart = rows["is_given"], (rows["ratio"] - 1).abs()
    updated = "update_step.yours" in batch.files[0]
    return ({"check.ratio": torch.where(batch.setting("update_step") == 0, apart, 0.0)} if updated else {}) | {
        "check.prompt": given[..., 1:] * (1 - given[..., :-1]),
        "check.empty": 1 - given[..., 0],
        "check.draws": checks.range_distance(batch, "rollout.draw", fill=0.5),
        "check.length": checks.range_distance(batch, "max_new_tokens"),
        **order_distance(batch),
    }


def compute_tokens(batch: Batch, rows: Rows) -> None:
    """Adds every quantity of files that start at log-probs, values and a reward for each token: no loss, but the clip on cases.

    Raises WitnessError for a mask other than 0 and 1.
    """
    mask = batch.mask()
    for file in batch.files:
        _refuse_holes(numbers(file, "mask"))
    count = mask.sum(dim=(-2, -1)).clamp(min=1)
    rows.know({"slots": with_end(mask), SCORES: batch.typed(SCORES)})
    # Values count inside the mask, and one that is typed behind the last decision of a file.
    behind = torch.nn.functional.pad(batch.exists, (1, 0)) * (1 - with_end(batch.exists))
    rows.add({"response.words": count, "values.masked": batch.typed("old_critic.values") * (with_end(mask) + behind)})
    add_signal(batch, rows, mask)
    rows.add(mean_rows(rows, MEANS, mask, count))
    if "case.ratio" in batch.files[0]:
        add_cases(batch, rows)
    add_curves(batch, rows)
    rows.add_words("bar.word", shown_words(batch))
    add_identities(batch, rows)
    add_verdicts(batch, rows, {"check.settings": batch.outside_all} | signal_distances(rows))


def _refuse_holes(mask: Array) -> None:
    """Refuses a response that goes on after a gap, such as a tool's turn: a workbook has no rows for it."""
    for episode, row in enumerate(mask, start=1):
        held = np.flatnonzero(row)
        if len(held) and len(held) < held[-1] - held[0] + 1:
            gap = next(t for t in range(held[0], held[-1]) if row[t] == 0)
            raise WitnessError(
                f"the mask of episode {episode} has a hole at position {gap + 1}: a workbook has no rows for holes yet;"
                " write 1 from the first response token to the last"
            )


def add_signal(batch: Batch, rows: Rows, mask: torch.Tensor) -> None:
    """Adds KL, rewards and advantages; log-probs and scores count outside the mask, too, as far as rewards go."""
    options = batch.options
    log_ratio = batch.typed("old.logprobs") - batch.typed("reference.logprobs")
    found = rewards.estimate_rows("kl", log_ratio, torch.zeros_like(log_ratio), options)
    found |= {"kl_coef.reward": options.number("kl_coef", 1), "kl.support": torch.ones_like(mask)}
    found |= rewards.reward_rows(found | {"score.placed": rows[SCORES]})
    found |= {"response": mask, "kept": mask, "values.kept": rows["values.masked"], "rewards": found["rewards.raw"]}
    found |= advantages.gae_rows(mask, found, options)
    found |= advantages.whitened_rows(mask, found, options)
    rows.add(found)
    rows.hide(found.keys() - SIGNAL)


def add_cases(batch: Batch, rows: Rows) -> None:
    """Adds the clip on the typed cases, [F, C]."""
    options, ratio, advantage = batch.options, batch.typed("case.ratio"), batch.typed("case.advantage")
    clipped = between(ratio, lowest_ratio(options)[..., 0], 1 + options.number(UPPER, 2))
    found = {"ratio.clipped": clipped} | surrogates(ratio, clipped, advantage)
    rows.add(found | {"case.loss": -found["surrogate"]}, whole=True)
    add_clip_curve(batch, rows)
    add_dots(batch, rows, ratio, advantage, torch.ones_like(ratio))
