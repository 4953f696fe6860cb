"""What each quantity of a step takes under the conventions in force, and what a file lacks of it."""

import numpy as np

from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.formulas import Asked

WHOLE_STEP = ("mean.reward", "mean.spread", "group.share_same")
"""Logged numbers that are of the whole step, whatever part of it a file is."""
ALONE = {"mean", "others", "length", "second", "greedy", "none"}
SPREADS = {"none", "group", "moments", "others", "mean", "group_of_advantages"}
"""Baselines and spreads that a group has by itself."""


def lacking(batch: GroupedStep, step: GroupedStep, use: Asked) -> dict[str, str]:
    """Returns by quantity what is missing for it. step: the whole of which the batch is a part, or itself."""
    has, found = batch.tensors, dict[str, str]()
    advantages = list(_for_advantages(step, use))
    if advantages:
        found |= dict.fromkeys(("advantages", *WHOLE_STEP), " and ".join(advantages))
    signal = [] if not advantages or "advantages" in has else ["advantages"]
    ratio = [] if "logprobs_new" in has else ["logprobs_new"]
    if use.word("ratio.old") == "rollout" or use.word("ratio.level") == "rollout":
        ratio += _without(has, "logprobs_rollout")
    corrected = use.word("rollout.level") != "none" or use.word("rollout.reject") != "off"
    weighed = _without(has, "logprobs_rollout") if corrected else []
    kl = _without(has, "logprobs_new", "logprobs_ref")
    pays = use.word("kl.place") == "loss" and use.number("kl.coef") != 0
    entropy = _without(has, "entropy")
    filtered = [*entropy, *filter(None, [batch.unknown])] if use.limit("loss.entropy_least") is not None else []
    policy = [*signal, *ratio, *weighed, *filtered]
    total = [*policy, *(kl if pays else []), *(entropy if use.number("loss.ent_coef") else [])]
    takes = {
        "ratio": ratio, "token_loss": [*signal, *ratio], "kl_new": kl, "policy_loss": policy, "kl_loss": [*kl, *weighed],
        "entropy": entropy, "total_loss": total, "mean.ratio": ratio, "approx_kl": ratio, "kl.mean_new": kl,
        **{f"clip.{name}": [*signal, *ratio] for name in ("fraction_low", "fraction_high", "fraction")},
    }  # fmt: skip
    return found | {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}


def _for_advantages(step: GroupedStep, use: Asked) -> list[str]:
    """Names what is missing for advantages: scores, whole groups, or what is paid from the reward."""
    has = step.tensors
    found = _without(has, "scores")
    baseline, spread = use.word("group.baseline"), use.word("group.std")
    compares = use.word("group.of") != "row" and not (baseline in ("none", "greedy") and spread == "none")
    if compares and step.lacks:
        found.append(step.lacks)
    elif (
        compares
        and _uneven(step)
        and not (baseline in ALONE and spread in SPREADS and use.word("advantage.whiten") == "none")
    ):
        found.append("groups of one size")
    if use.word("kl.place") in ("reward", "reward_token", "after", "advantage") and use.number("kl.coef"):
        found += _without(has, "logprobs_ref")
    return found + (_without(has, "greedy") if baseline == "greedy" else [])


def _uneven(step: GroupedStep) -> bool:
    """Whether groups have different numbers of responses with a score."""
    scores, groups = np.asarray(step.tensors.get("scores", ())), step.groups
    if groups is None or scores.ndim != 1 or len(scores) != len(groups):
        return len(set(step.sizes.tolist())) > 1
    return len(set(np.bincount(groups[np.isfinite(scores)], minlength=len(step.sizes)).tolist())) > 1


def _without(has: object, *names: str) -> list[str]:
    return [name for name in names if name not in has]  # type: ignore[operator]
