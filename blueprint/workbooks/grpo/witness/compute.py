"""A saved file of GRPO and its family, computed again in torch: every row by its name, from what is typed.

Rows that one looks for come from the core, `signal` and `losses`, which reproduces what the libraries computed; the steps to
them are written out in `groups`, `credit`, `ratios`, `rollouts` and `totals`. Each file is computed by itself: [B] and [B, T].
"""

from collections.abc import Sequence

import torch

from blueprint.witness import (
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
from blueprint.workbooks.grpo.witness.advantages import Signal, signal
from blueprint.workbooks.grpo.witness.backward import gradient_rows, slope_rows, weight_rows
from blueprint.workbooks.grpo.witness.credit import credit_rows
from blueprint.workbooks.grpo.witness.groups import advantage_rows, baseline_rows, spread_rows
from blueprint.workbooks.grpo.witness.losses import Losses, losses
from blueprint.workbooks.grpo.witness.options import Asked, Responses
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.ratios import objective_rows, ratio_rows
from blueprint.workbooks.grpo.witness.rewards import kl_rows, reward_rows
from blueprint.workbooks.grpo.witness.rollouts import rollout_rows
from blueprint.workbooks.grpo.witness.seen import add_words, chart_rows, off_total, seen_rows
from blueprint.workbooks.grpo.witness.start import MODELS, from_logits, from_prompts
from blueprint.workbooks.grpo.witness.totals import average_rows, keep_rows, kl_loss_rows, total_rows, watched_rows


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of a file. Raises WitnessError for a token that there is not, or places that are not each once."""
    add_settings(batch, rows)
    use = asked(batch)
    start = from_prompts(batch, rows) if "old.W" in batch.files[0] else from_logits(batch)
    typed, found = start.given, start.rows
    places = Places.of(typed["group.response"], typed["response.number"])
    found |= places.rows()
    of = responses(typed, found, places)
    made = signal(of, use)
    lost = losses(of, made, use)
    found |= steps(typed, found, places, use)
    found |= core_rows(made, lost, places)
    if "policy.logits.grad" in batch.files[0]:
        found |= gradient_rows(start.logits, start.written, of, places, use)
        found |= slope_rows(batch, found | typed, places, use)
        if start.policy:
            found |= weight_rows(batch, rows["rollout.read"].long(), found["policy.logits.grad"], start.policy)
    found |= seen_rows(found | typed, places, use)
    found |= chart_rows(batch, found | typed, use)
    rows.add({name: each[None].to(batch.dtype) for name, each in found.items()}, whole=True)
    add_words(batch, rows, start.written, typed["mask"], found["loss.counted"] * found["keep"])
    add_verdicts(batch, rows, distances(batch, rows))
    return start.ties


def asked(batch: Batch) -> Asked:
    """Returns the conventions in use, and by the key `….words.token_mean` where that stands among those of the averages."""
    found = {key: each.lower() if isinstance(each, str) else each for key, each in batch.settings[0].items()}
    place = alternative(batch.files[0], "loss.aggregation", "token_mean")
    return Asked(found | {"loss.aggregation.token_mean": float(place)})


def responses(typed: Named, rows: Named, places: Places) -> Responses:
    """Returns the responses as the core takes them: those to a prompt side by side."""
    new, old, reference, rollout, entropy = (
        rows[name][places.order]
        for name in ("policy.logprobs", "old.logprobs", "reference.logprobs", "engine.logprobs", "policy.entropy")
    )
    score, truncated, mask = (typed[name][places.order] for name in ("score", "truncated", "mask"))
    return Responses(score, truncated, typed["greedy"], mask, new, old, reference, rollout, entropy, places.size)


def steps(typed: Named, given: Named, places: Places, use: Asked) -> Named:
    """Returns all steps in order, each of what was computed before."""
    rows = given | typed
    before = set(rows)
    rows |= {"fixed.0": typed["score"].new_zeros(()), "fixed.1": typed["score"].new_ones(())}
    rows |= reward_rows(rows, use)
    rows |= kl_rows("kl_old", rows["old.logprobs"], rows, use)
    for make in (
        baseline_rows, spread_rows, advantage_rows, credit_rows, ratio_rows, objective_rows, rollout_rows, keep_rows,
        average_rows, kl_loss_rows, total_rows, watched_rows,
    ):  # fmt: skip
        rows |= make(rows, places, use)
    return {name: row for name, row in rows.items() if name not in before}


def core_rows(made: Signal, lost: Losses, places: Places) -> Named:
    """Returns the rows that the core computes, in the order of the file."""
    apart = {
        "reward": made.rewards, "advantages": made.advantages, "ratio": lost.ratio, "policy.token_loss": lost.tokens,
        "rollout.picked": lost.weight, "kl_old.paid": made.paid, "kl_new.counts": lost.kl,
    }  # fmt: skip
    return {name: each[places.back] for name, each in apart.items()} | {
        "group.baseline_used": made.baseline,
        "group.spread_used": made.divisor,
        "group.advantage": made.of_response,
        "policy_loss": lost.policy_loss,
        "kl_loss": lost.kl_loss,
        "entropy": lost.entropy,
        "total_loss": lost.total,
    }


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
