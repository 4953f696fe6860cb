"""A step of GRPO computed again by the definitions: advantages over whole groups, then ratios, KL and losses of its rows; with
what becomes of shares and parts, what a file lacks, and how far rounding may move it.

What is done otherwise than in every library, in `ways`: known mistakes, and conventions that no setting names.

factor: by quantity, what it is multiplied by, −1 for the other sign; in_loss is that of the advantages in the loss alone.
line: slope and constant of the straight line of the right ones on which advantages lie.
parts: losses are means over so many parts of the rows, one below the other. share: False where losses are means over the file,
not its share of those over a larger batch. padded: losses are means over all slots, those behind a response with the loss 0.
swap: by tensor, which one stands in its place. moved: tensors whose columns stand one later (1) or earlier (−1).
groups: "interleaved" where row i answers prompt i modulo the number of prompts; "rows" where groups are rows side by side; and how
many prompts there are then, 0 for as many as in the file.
mask: a word of `counted`.
rows_read, scored, rows_given: by what is known of the responses, whose reward, which score, and whose advantage each has.
of_file: a word of `OF_FILE`, by which advantages are made of those of the file alone.
inverted: the ratio is old over new. joined: changes of the total as TRL adds it up.
equations: by row of the definitions, how its equation is changed; kept: rows without that. until: the last quantity that is needed.
"""

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np

from blueprint.dumps import Array
from blueprint.inputs.catalogue import OFF
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    Again,
    Given,
    Kept,
    Settings,
    Ways,
    changed,
    counted,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.credit import Credited, credited
from blueprint.workbooks.grpo.verifying.feeding import (
    EQUATIONS,
    Fed,
    Laid,
    Whole,
    fed,
    laid_out,
)
from blueprint.workbooks.grpo.verifying.spelled import joined_total, of_each_file

WHOLE_STEP = ("mean.reward", "mean.spread", "group.share_same")
"""Logged numbers that are of the whole step, whatever part of it a file is."""
WITHOUT = ("ratio", "rollout_weights", "kl_new", "mean.ratio", "approx_kl", "kl.mean_new", "kl_loss", "entropy")
"""What no advantage enters."""
ALONE = {"mean", "others", "length", "second", "greedy", "none"}
SPREADS = {"none", "group", "moments", "others", "mean", "group_of_advantages"}
"""Baselines and spreads that a group has by itself."""


def lacking(batch: GroupedStep, step: GroupedStep, use: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it. step: the whole of which the batch is a part, or itself."""
    has, found = batch.tensors, dict[str, str]()
    advantages = list(_for_advantages(step, use))
    if advantages:
        found |= dict.fromkeys(("advantages", *WHOLE_STEP), " and ".join(advantages))
    signal = [] if not advantages or "advantages" in has else ["advantages"]
    ratio = [] if "logprobs_new" in has else ["logprobs_new"]
    if use["ratio.old"] == "rollout" or use["ratio.level"] == "rollout":
        ratio += _without(has, "logprobs_rollout")
    corrected = use["rollout.level"] != "none" or use["rollout.reject"] != "off"
    weighed = _without(has, "logprobs_rollout") if corrected else []
    said = [] if use["rollout.level"] != "none" else ["rollout.level, of what the weight is taken"]
    kl = _without(has, "logprobs_new", "logprobs_ref")
    pays = use["kl.place"] == "loss" and float(use["kl.coef"]) != 0
    entropy = _without(has, "entropy")
    filtered = [*entropy, *filter(None, [batch.unknown])] if use["loss.entropy_least"] != OFF else []
    policy = [*signal, *ratio, *weighed, *filtered]
    total = [*policy, *(kl if pays else []), *(entropy if float(use["loss.ent_coef"]) else [])]
    takes = {
        "ratio": ratio, "token_loss": [*signal, *ratio], "kl_new": kl,
        "rollout_weights": [*signal, *ratio, *weighed, *said], "policy_loss": policy, "kl_loss": [*kl, *weighed],
        "entropy": entropy, "total_loss": total, "mean.ratio": ratio, "approx_kl": ratio, "kl.mean_new": kl,
        **{f"clip.{name}": [*signal, *ratio] for name in ("fraction_low", "fraction_high", "fraction")},
    }  # fmt: skip
    return found | {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}


def _for_advantages(step: GroupedStep, use: Settings) -> list[str]:
    """Names what is missing for advantages: scores, whole groups, or what is paid from the reward."""
    has = step.tensors
    found = _without(has, "scores")
    if not found and not np.isfinite(np.asarray(has["scores"])).any():
        found.append("a score that is a number, of any response")
    baseline, spread = use["group.baseline"], use["group.std"]
    compares = use["group.of"] != "row" and not (baseline in ("none", "greedy") and spread == "none")
    if compares and step.lacks:
        found.append(step.lacks)
    elif (
        compares
        and _uneven(step)
        and not (baseline in ALONE and spread in SPREADS and use["advantage.whiten"] == "none")
    ):
        found.append("groups of one size")
    if use["kl.place"] in ("reward", "reward_token", "after", "advantage") and float(use["kl.coef"]):
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


FRACTIONS = ("clip.fraction_low", "clip.fraction_high", "clip.fraction")


def watched(of: Fed, laid: Laid, rows: Fed, use: Settings, ways: Ways, device: str) -> dict[str, float]:
    """Returns what is logged beside the losses: means over tokens, of the ratio, of clipped tokens, of entropy and KL."""
    sizes, known = laid
    known = {**known, **{name: rows[name] for name in ("ratio", *CLIPPED)}, "kl_new.counts": rows["kl_new.used"]}
    names = (*FRACTIONS, "mean.ratio", "kl.mean_new")
    made = EQUATIONS.values(use, sizes, known, names, **changed(ways), device=device)
    m, low, high = of["response.tokens"], rows["clip.low"], rows["clip.high"]
    x = {"entropy.mean": of["policy.entropy"], "approx_kl": of["old.logprobs"] - of["policy.logprobs"]}
    clipped = zip(FRACTIONS, (low, high, low + high), strict=True)
    return {
        **{name: float(each) for name, each in made.items()},
        **{name: float((each * m).sum() / max(1, m.sum())) for name, each in x.items()},
        **{f"{name}.rows": float(((each * m).sum(1) / np.maximum(m.sum(1), 1)).mean()) for name, each in clipped},
    }


PARTS = ("policy_loss", "kl_loss", "entropy", "total_loss")
TRL = "trl"
"""Whose entropy bonus is a mean of each microbatch, divided by their number, also where its losses are shares (1.16.0)."""


@np.errstate(over="ignore", invalid="ignore")  # a cause may make infinite numbers; it then explains nothing
def recompute(
    batch: GroupedStep,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    whole: Whole | None = None,
    device: str = "cpu",
) -> Again:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. sized: whether it is asked how far rounding may move what comes
    out; room: by row, how much further than rounding of the number itself, [B, 1] or [B, T]; infinite where rounding decides it.
    whole: the step of which the file is a part, if its other files are there.
    """
    settings = ways["least"](batch, settings) if "least" in ways else settings
    found, until, left = Again(batch, settings), str(ways.get("until", "")), np.ones(len(batch.mask))
    each = np.asarray(batch.tensors.get("advantages", np.zeros_like(batch.mask, np.float64)))[:, :1].sum(axis=1)
    kept: Kept = ways.get("kept") or Kept()
    found.lacks = kept.once("lacks", settings, lambda: lacking(batch, whole.step if whole else batch, settings))
    if until in WITHOUT and "advantages" in batch.tensors:
        given = {**given, "advantages": batch.tensors["advantages"]}
    # where nothing reads how advantages arose, that need not be computed again
    later = "advantages" in given and until not in ("", "advantages", *WHOLE_STEP) and settings["group.filter"] == "off"
    if not later and "advantages" not in found.lacks:
        made = _credited_once(batch, whole, settings, ways, device, sized)
        rows, width = whole.rows if whole else slice(None), batch.mask.shape[1]  # other files may have longer responses
        found.rows |= {"advantages": made.advantages[rows][:, :width], "advantages.raw": made.raw[rows][:, :width]}
        found.room["advantages"], left = made.room[rows], made.left[rows]
        each = each if "advantages" in given else made.each[rows]
        found.numbers |= made.numbers
        found.sizes |= {name: 1.0 + abs(number) for name, number in made.numbers.items()}
    A = _used(found, given, ways, kept)
    if A is not None:
        plain = kept if not ways.keys() & {"mask", "moved", "swap", "groups", "inverted"} else Kept()
        of = plain.once("fed", batch, lambda: _fed(batch, ways))
        every = plain if left.all() else Kept()
        sizes, known = every.once("laid out", batch, lambda: laid_out(of | {"left": left}))
        of |= {"advantages": A, "left": left, "each": each}
        _losses(found, of, (sizes, {**known, "advantages": A}), ways, sized, device)
    return found


def _fed(batch: GroupedStep, ways: Ways) -> Fed:
    """Returns what is known of the responses, all but the advantages; of an inverted ratio the log-probs are exchanged."""
    of = fed(batch, ways)
    exchanged = {"policy.logprobs": of["old.logprobs"], "old.logprobs": of["policy.logprobs"]}
    return of | exchanged if ways.get("inverted") else of


def _credited_once(
    batch: GroupedStep, whole: Whole | None, use: Settings, ways: Ways, device: str, sized: bool
) -> Credited:
    """Computes the advantages of a step; those of its files together are made for the first, and are those of all."""
    if whole is None or ways.keys() - {"kept", "until"}:
        return credited(whole.step if whole else batch, use, ways, device, sized)
    key = (tuple(use.items()), device, sized)
    if key not in whole.made:
        whole.made.clear()
        whole.made[key] = credited(whole.step, use, ways, device, sized)
    return cast(Credited, whole.made[key])


def started(found: Again) -> bool:
    """Whether the computation begins at advantages that stand in the file."""
    return "advantages" in found.lacks and "advantages" in found.batch.tensors


def _used(found: Again, given: Given, ways: Ways, kept: Kept) -> Array | None:
    """Returns the advantages that the losses are made of: the file's where they stand in for ours, or are all there is; None where
    nothing is made of them."""
    own, turned = found.rows.get("advantages"), ways.get("factor", {})
    if own is not None:
        slope, constant = ways.get("line", (1.0, 0.0))
        own = (own * slope + constant) * found.batch.mask
        own = of_each_file(own, found.batch.mask, ways["of_file"]) if "of_file" in ways else own
        found.rows["advantages"] = own = own * float(turned.get("advantages", 1.0))
    if ways.get("until") == "advantages":
        return None
    mask, times = found.batch.mask, float(turned.get("in_loss", 1.0))
    there = mask & counted(mask, str(ways.get("mask", "")))  # where ours are
    if started(found) or "advantages" in given:
        there = mask
        own, wide = kept.once("advantages", found.batch, lambda: _theirs(found.batch))
        if "mask" not in ways:
            return wide if times == 1.0 else wide * times
    if own is not None and "mask" in ways:  # the advantage of a response counts for tokens that are none of it
        own = np.broadcast_to(
            own.sum(axis=1, keepdims=True) / np.maximum(1, there.sum(axis=1, keepdims=True)), own.shape
        )
    return None if own is None else _of_responses(own, mask) * times


def _theirs(batch: GroupedStep) -> tuple[Array, Array]:
    """Returns the advantages of the file, 0 behind the responses; and as those of responses."""
    own = np.nan_to_num(np.asarray(batch.tensors["advantages"], np.float64)) * batch.mask
    return own, _of_responses(own, batch.mask)


def _of_responses(A: Array, mask: Array) -> Array:
    """Returns advantages that are one number for each response as that, also behind its end, where another response may go on."""
    first = A[np.arange(len(A)), mask.argmax(axis=1)][:, None]
    return np.broadcast_to(first, A.shape) if mask.any(axis=1).all() and np.all(np.where(mask, first == A, True)) else A


def _losses(found: Again, of: Fed, laid: Laid, ways: Ways, sized: bool, device: str) -> None:
    """Adds ratio, KL and losses; of what the file lacks something for, nothing is compared. of: with `advantages`, and `left`."""
    use, (sizes, known), apart = found.settings, laid, ways.get("until") in PARTS
    values = partial(EQUATIONS.values, use, sizes, device=device)
    beside = (*(JUDGED if sized else ()), *(() if apart else CLIPPED))
    rows = values(known, (*OF_LOSSES, *beside), **changed(ways))
    weighed = rows["policy.token_loss"] * rows["rollout.counts"]
    coef = float(use["kl.coef"]) if use["kl.place"] == "loss" else 0.0
    found.rows |= {
        "ratio": rows["ratio"], "token_loss": rows["policy.token_loss"], "token_loss.weighed": weighed,
        "token_loss.all": weighed + coef * rows["kl_new.used"], "kl_new": rows["kl_new.used"],
        "rollout_weights": rows["rollout.counts"],
    }  # fmt: skip
    means = _means(of, laid, rows, use, ways, device)
    means["policy_loss"] += _of_empty(of, use, ways)
    factors: Mapping[str, float] = ways.get("factor", {})
    thinner = float(found.batch.mask.mean()) if ways.get("padded") else 1.0  # of a mean over all slots
    scale = shares(found.batch, use) if ways.get("share", True) else {}
    numbers = {name: number * thinner * scale.get(name, 1.0) for name, number in means.items()}
    unsure = means["entropy"] if ways.get("bonus") == "all" else _of_unsure(of, means["entropy"], use)
    paid = numbers | {"entropy": unsure * scale.get("bonus", 1.0)}
    if scale.get("bonus", 1.0) != 1.0:
        numbers["entropy.share"] = paid["entropy"]
    added = {name: np.asarray(number * factors.get(name, 1.0)) for name, number in paid.items()}
    numbers["total_loss"] = float(values({**known, **added}, ("total_loss",), **changed(ways))["total_loss"])
    if "joined" in ways:
        tokens = values(known, ("policy.counts", "loss.counted")) | {"kl_new.counts": rows["kl_new.used"]}
        bonus = float(use["loss.ent_coef"]) * paid["entropy"]
        numbers["total_loss"] = joined_total(use, tokens, ways["joined"], scale.get("policy_loss", 1.0), bonus)
    numbers = {name: number * factors.get(name, 1.0) for name, number in numbers.items()}
    numbers["adds.kl_loss"] = coef * numbers["kl_loss"]
    found.numbers |= numbers | ({} if apart else watched(of, laid, rows, use, ways, device))
    if sized:
        found.on_the_way = _on_the_way(of, rows, coef)
        steep = 1 + np.abs(of["policy.logprobs"] - of["old.logprobs"])
        found.room |= dict.fromkeys(("ratio", "token_loss", "token_loss.weighed", "token_loss.all", "kl_new"), steep)
        found.room["rollout_weights"] = _room_of_weights(of, rows, use)
        size = _sizes(of, laid, rows, use, coef, device)
        found.sizes |= {name: size.get(name, size["policy_loss"]) * abs(scale.get(name, 1.0)) for name in numbers}
        found.sizes |= {name: 1.0 + abs(found.numbers[name]) for name in found.numbers if name not in found.sizes}


def _of_empty(of: Fed, use: Settings, ways: Ways) -> float:
    """Returns what responses without a token add to the policy loss: of a whole response the ratio is 1 then, and it costs −A.

    Source: TRL 1.16.0, rloo_trainer.py, compute_loss: the mean of the losses of all sequences, those too that
    mask_truncated_completions leaves no token.
    """
    empty = np.asarray(of["response.tokens"].any(axis=1) == 0)
    if use["ratio.level"] != OF_WHOLE or not empty.any():
        return 0.0
    factors: Mapping[str, float] = ways.get("factor", {})
    lost = float((of["each"] * of["left"])[empty].mean())
    return -factors.get("in_loss", 1.0) * float(use["loss.factor"]) * lost * float(empty.mean())


def _on_the_way(of: Fed, rows: Fed, coef: float) -> dict[str, float]:
    """Returns by number how large the sum of what it is made of is, exponentials and losses of tokens, before it is divided."""
    with np.errstate(over="ignore"):
        ratio, token, kl = (
            float((np.abs(rows[name]) * of["response.tokens"]).sum())
            for name in ("ratio", "policy.token_loss", "kl_new.used")
        )
    loss = max(ratio, token)
    of_kl = dict.fromkeys(("kl_loss", "kl.mean_new", "adds.kl_loss"), kl)
    return of_kl | {"mean.ratio": ratio, "policy_loss": loss, "total_loss": max(loss, kl) if coef else loss}


OF_WHOLE = "product"
"""A ratio of the whole response: the product of those of its tokens."""
OF_LOSSES = ("ratio", "policy.token_loss", "rollout.counts", "kl_new.used")
"""Rows of tokens on the way to the losses."""
JUDGED, CLIPPED = ("rollout.judged",), ("clip.low", "clip.high")
"""Rows that say how much room there is, and what is logged beside the losses."""
NEAR_A_BOUND = 1e-3
"""Of weights that are 0 beyond a bound, rounding decides those that are nearer to it."""


def _room_of_weights(of: Fed, rows: Fed, use: Settings) -> Array:
    """Returns how steep the weight of a token is: of a whole response it is made of the log-probs of all its tokens."""
    apart = np.abs(of["old.logprobs"] - of["engine.logprobs"])
    steep = 1 + (apart if use["rollout.level"] == "token" else np.broadcast_to(apart.sum(axis=1)[:, None], apart.shape))
    if use["rollout.mode"] == "truncate":
        return np.asarray(steep)
    ends = [float(use[key]) for key in ("rollout.low", "rollout.high") if use[key] != OFF]
    near = [np.abs(rows["rollout.judged"] - end) <= NEAR_A_BOUND * (1 + end) for end in ends]
    return np.where(np.any(near, axis=0), np.inf, steep) if near else np.asarray(steep)


AVERAGED = ("policy_loss", "kl_loss", "entropy")


def _means(of: Fed, laid: Laid, rows: Fed, use: Settings, ways: Ways, device: str) -> dict[str, float]:
    """Returns the parts of the loss; as means over parts of the rows, those that stand one below the other in the file."""
    parts, paid = int(ways.get("parts", 1)), {"kl_new.counts": rows["kl_new.used"]}
    if parts == 1:
        sizes, known = laid
        some = [(sizes, {**known, **paid, **{name: rows[name] for name in ("policy.token_loss", "rollout.counts")}})]
    else:  # a part has no groups, but responses; and what is of a batch is its own
        count = len(of["group"])
        ready, size = {**of, **paid, "group": np.arange(count)}, -(-count // parts)
        each = ({name: row[at : at + size] for name, row in ready.items()} for at in range(0, count, size))
        some = [laid_out(part) for part in each]
    return EQUATIONS.means(use, some, AVERAGED, **changed(ways), device=device)


def _sizes(of: Fed, laid: Laid, rows: Fed, use: Settings, coef: float, device: str) -> dict[str, float]:
    """Returns the mean size of what each part of the loss averages."""
    policy = np.abs(rows["policy.token_loss"] * rows["rollout.counts"]) * abs(float(use["loss.factor"]))
    sizes, known = laid
    known = {
        **known, "policy.counts": policy, "kl_new.counts": np.abs(rows["kl_new.used"]),
        "policy.entropy": np.abs(of["policy.entropy"]), "loss.counted": of["response.tokens"],
    }  # fmt: skip
    found = {name: float(each) for name, each in EQUATIONS.values(use, sizes, known, AVERAGED, device=device).items()}
    kl = abs(coef) * found["kl_loss"] if coef else 0.0  # what is not paid may be infinite
    total = found["policy_loss"] + kl + abs(float(use["loss.ent_coef"])) * found["entropy"]
    return found | {"total_loss": total, "adds.kl_loss": kl}


def _of_unsure(of: Fed, entropy: float, use: Settings) -> float:
    """Returns the entropy of which a bonus is paid: of the tokens that the policy loss counts, where it leaves those of little
    entropy out (TRL 1.16.0), else as conventions average it."""
    least = float(use["loss.entropy_least"])
    if least == OFF:
        return entropy
    counts = of["response.tokens"] * (of["policy.entropy"] >= least)
    return float((of["policy.entropy"] * counts).sum() / max(1, counts.sum()))


def shares(batch: GroupedStep, use: Settings) -> dict[str, float]:
    """Returns what means over this file are multiplied by to be its share of those over a larger batch, as metadata say it."""
    share, lengths = batch.share, float(batch.mask.sum())
    if share is None:
        return {}
    of = {
        "token_mean": lengths / share.tokens * share.ranks if share.tokens else 1.0,
        "seq_mean_token_mean": len(batch.mask) / share.responses * share.ranks if share.responses else 1.0,
        "seq_mean_token_sum": len(batch.mask) / share.responses * share.ranks if share.responses else 1.0,
    }
    policy = of.get(str(use["loss.aggregation"]), 1.0)
    kl, entropy = str(use["kl.aggregation"]), str(use["loss.entropy_aggregation"])
    bonus = policy if entropy == "as_policy" else of.get(entropy, 1.0)
    if share.tokens and (batch.library or "").lower() == TRL:
        bonus = 1.0 / ((batch.place.microbatches if batch.place else None) or 1)
    return {"policy_loss": policy, "kl_loss": policy if kl == "as_policy" else of.get(kl, 1.0), "bonus": bonus}
