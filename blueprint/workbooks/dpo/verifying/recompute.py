"""A step of DPO computed again by the definitions, in float64, from the log-probs that its file has: what stands in the blocks,
what a file lacks, and how far rounding may move it.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: a word of `counted`, or "text": prompt and response. moved: log-probs that stand so many columns later (1) or earlier (−1).
sides: models, "policy" or "reference", whose chosen and rejected responses are exchanged. reference: "none" where it is left out,
"policy" where the policy stands for it; inverted: the log-ratio is reference over policy.
factor: by quantity, what it is multiplied by. equations: by row of the definitions, how its equation is changed.
parts: losses are means over so many parts of the pairs, one below the other. shares: the weights of several losses.
of_loss: which of them has conventions of its own, and which.
until: the one quantity that is asked for; "": all.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from blueprint.dumps import SIDES, Array
from blueprint.language import Axis
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    Again,
    Definitions,
    Given,
    Selection,
    Settings,
    Ways,
    changed,
    coarsest,
    counted,
    factor_of,
    from_here_on,
    parts_of,
    places,
    sums,
)
from blueprint.workbooks.dpo.definitions import LABELS, derived, n, o, p, t
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.schema import DPO

OF_LOGITS = ("logits.chosen", "logits.rejected", "entropy", "token_accuracy")
REFERENCE = "log-probs under the reference"
WATCHED = ("rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies")
TRUE = ("rpo_squared", "rpo_backward", "rpo_forward")
TYPED = {
    **dict.fromkeys(("policy.logprobs", "reference.logprobs", "policy.square", "response.tokens", "text.tokens"), (n, t)),
    **dict.fromkeys(("response.chosen", "true.reward", "mismatched.ratio"), (n,)), "count.pairs": (),
    **dict.fromkeys(("pair.chosen", "pair.rejected", "pair.either"), (o, n)),
    **dict.fromkeys(("pair.same", "pair.before"), (o, p)),
}  # fmt: skip
EQUATIONS = Definitions(
    DPO, LABELS.labels, TYPED, lambda given, use: derived(given, use).rows, {"text.tokens": (t.first - 1,)},
    ("response.tokens", "text.tokens"), "response.chosen",
)  # fmt: skip


def lacking(batch: PairStep, settings: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it."""
    known = bool({"chosen.logp_ref", "chosen.logprobs_ref"} & batch.tensors.keys())
    tokens = [] if "chosen.logprobs" in batch.tensors else ["log-probs of each token"]
    reference = [] if known or settings["reference.used"] == "off" else [REFERENCE]
    watched = settings["watch.rewards"]
    rewards = [] if watched == "sum" and known else [*reference, *(tokens if settings["logp.of"] != "sum" else [])]
    if watched in ("sum", "with_reference") and not known:
        rewards = [REFERENCE]
    loss = list[str]()
    for use in uses(batch, settings):
        form, squares = use["loss.form"], use["loss.weight"] != "off" and "chosen.log_squares" not in batch.tensors
        loss += [*reference, *(tokens if use["logp.of"] != "sum" or form == "orpo_tokens" else [])]
        loss += ["log-probs of responses to other prompts"] * (form == "kto")
        loss += ["true rewards"] * (form in TRUE) + ["log_sum_sq_probs"] * squares
    nll = tokens if float(settings["loss.nll_coef"]) else []
    takes = {
        "nll": tokens, "preference_loss": loss, "loss.pair": loss, "total_loss": [*loss, *nll],
        **dict.fromkeys((*(f"{side}.reward" for side in SIDES), "margin", *WATCHED), rewards),
    }  # fmt: skip
    missing = {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}
    return dict.fromkeys(OF_LOGITS, "logits") | missing


def uses(batch: PairStep, settings: Settings) -> list[Settings]:
    """Returns the conventions of each loss of which the loss is the sum; usually there is one."""
    return [{**settings, **own} for _, own in batch.terms] or [settings]


MODELS = {"policy": "logprobs", "reference": "logprobs_ref"}
WHOLE = {"policy": "logp", "reference": "logp_ref"}
Fed = dict[str, Array]
"""By block what stands in it: of each response, chosen ones first, [2P] or [2P, T]; of each pair, [P]; or of the step, []."""


def fed(batch: PairStep, ways: Ways) -> Fed:
    """Returns what a file has; no reference stands there as 0, and the log-prob of a whole response on its first token."""
    count, way, mask = batch.pairs, str(ways.get("mask")), batch.mask.astype(bool)
    mask = _text(batch, mask) if way == "text" else counted(mask, way).astype(np.float64)
    squares = {"policy.square": np.exp(np.where(mask > 0, _both(batch, "log_squares"), 0.0))} if _weighs(batch) else {}
    return {
        **{f"{model}.logprobs": _model(batch, model, mask, ways) for model in MODELS},
        "response.tokens": mask,
        "text.tokens": np.concatenate([np.ones((2 * count, 1)), np.maximum(_text(batch, mask), mask)], axis=1),
        "response.chosen": np.repeat([1.0, 0.0], count),
        # RPO is lacking true rewards, and KTO the other responses, which APO without pairs does not read.
        **dict.fromkeys(("true.reward", "mismatched.ratio"), np.zeros(2 * count)),
        **squares,
    }


def _weighs(batch: PairStep) -> bool:
    """Whether a file has what weights of pairs are made of."""
    return "chosen.log_squares" in batch.tensors


def laid_out(of: Fed, pairs: Array | None = None) -> tuple[dict[Axis, int], dict[str, Array | Selection]]:
    """Returns the sizes, and what stands in the blocks, of some pairs; None: of all."""
    count = len(of["response.chosen"]) // 2
    rows = np.arange(count) if pairs is None else pairs
    lined = {count: rows, 2 * count: np.concatenate([rows, rows + count])}
    at = places(len(rows))
    known = {name: each[lined[len(each)]] if each.ndim and pairs is not None else each for name, each in of.items()}
    first, second = ("chosen", "rejected") if of["response.chosen"][0] else ("rejected", "chosen")
    return {n: 2 * len(rows), p: len(rows), t: of["response.tokens"].shape[1]}, {
        **known, "pair.chosen": at[first], "pair.rejected": at[second], "pair.either": at["chosen"], "pair.same": at["same"],
        "count.pairs": np.asarray(float(len(rows))),
    }  # fmt: skip


def exchanged(of: Fed, ways: Ways) -> Fed:
    """Returns what is fed, with models or sides in the place of others."""
    sides = ways.get("sides", ())
    if len(sides) == len(MODELS):
        return {**of, "response.chosen": 1 - of["response.chosen"]}
    made = {
        model: {row: of[f"{model}.{row}"] for row in ("logprobs", "sum") if f"{model}.{row}" in of} for model in MODELS
    }
    for model in sides:
        made[model] = {row: np.roll(each, len(each) // 2, axis=0) for row, each in made[model].items()}
    stands = {"none": {"logprobs": np.zeros_like(of["policy.logprobs"])}, "policy": made["policy"]}
    made["reference"] = stands.get(str(ways.get("reference")), made["reference"])
    if ways.get("inverted"):
        made = dict(zip(made, reversed(made.values()), strict=True))
    others = {
        name: each for name, each in of.items() if name.partition(".")[0] not in MODELS or name == "policy.square"
    }
    return others | {f"{model}.{row}": each for model, rows in made.items() for row, each in rows.items()}


def _both(batch: PairStep, name: str) -> Array:
    return np.concatenate([np.asarray(batch.tensors[f"{side}.{name}"], np.float64) for side in SIDES])


def _text(batch: PairStep, mask: Array) -> Array:
    """Returns 1 on prompt and response, [2P, T]; where nothing tells, on all that stands in front of the response, too."""
    if "chosen.text" in batch.tensors:
        return _both(batch, "text")
    return np.asarray(from_here_on(mask) > 0, np.float64)


def _model(batch: PairStep, model: str, mask: Array, ways: Ways) -> Array:
    """Returns log-probs of tokens under a model, [2P, T]; where nothing counts what the file has there, as far as it is a number:
    another mask may count it."""
    name, whole = MODELS[model], WHOLE[model]
    if f"chosen.{name}" in batch.tensors:
        made = np.roll(np.nan_to_num(_both(batch, name), neginf=-np.inf), ways.get("moved", {}).get(model, 0), axis=1)
        made = np.where((mask > 0) | np.isfinite(made), made, 0.0)
    elif f"chosen.{whole}" in batch.tensors:
        made = np.zeros_like(mask)
        made[np.arange(len(mask)), mask.argmax(axis=1)] = _both(batch, whole)
        made *= mask
    else:
        made = np.zeros_like(mask)
    return made


Terms = Sequence[tuple[float, Settings]]
"""The losses that are added up, each with its weight and all conventions in force; usually there is one, of weight 1."""


ORDERED = {"aot": ("sorted.policy", "sorted.reference"), "aot_unpaired": ("chosen.ratio", "rejected.ratio")}
"""By loss the rows that it reads in order of size."""
OF_PAIRS = ("loss.pair", "preference_loss", "nll")


def losses(of: Fed, terms: Terms, ways: Ways, device: str) -> dict[str, Array]:
    """Returns the loss of each pair, [P], and the numbers that are made of them; of several losses, their sum."""
    first, parts = terms[0][1], [laid_out(of, rows) for rows in parts_of(len(of["response.chosen"]) // 2, ways)]
    shares = [share for share, _ in terms]
    each = [[_of_pairs(use, *part, ways, device) for part in parts] for _, use in terms]

    def added(name: str, joined: Callable[[list[Array]], Any]) -> Array:
        terms = [joined([part[name] for part in term]) for term in each]
        return np.asarray(sum(share * term if share != 1 else term for share, term in zip(shares, terms, strict=True)))

    found = {
        "preference_loss": added("preference_loss", np.mean),
        "nll": np.asarray(np.mean([part["nll"] for part in each[0]])),
    }
    total = EQUATIONS.values(first, *laid_out(of | found), ("total_loss",), **changed(ways), device=device)
    return {**found, **total, "loss.pair": added("loss.pair", np.concatenate)}


def _of_pairs(
    use: Settings, sizes: Mapping[Axis, int], known: Mapping[str, Array | Selection], ways: Ways, device: str
) -> dict[str, Array]:
    """Returns the losses of pairs, their mean, and the NLL, by one loss."""
    form = str(use["loss.form"])
    if form in ORDERED:  # in one go: pair by pair, as it is defined, takes the square of their number
        rows = EQUATIONS.values(use, sizes, known, ORDERED[form], device=device)
        sorted_rows = zip(("first", "second"), rows.values(), strict=True)
        known = {**known, **{f"{form}.{which}.sorted": np.sort(row) for which, row in sorted_rows}}
    return EQUATIONS.values(use, sizes, known, OF_PAIRS, **changed(ways), device=device)


UNIT = {"float64": 1e-11, "float32": 1e-6, "float16": 2.0**-8, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob of a response may be off, of 1 + its size: about 16 units in the last place. Pairwise sums
of thousands of tokens, and differences of two of them, stay below that."""
OF_LOGPROBS = ("logprobs", "logprobs_ref", "logp", "logp_ref")


def add_room(found: Again, of: Fed, losses: Callable[[Fed], Mapping[str, Array]]) -> None:
    """Adds the room of every row and number. of: what was fed; losses: makes them of something else that is fed.

    Of rewards it is the room of log-probs times β; of an accuracy the share of pairs that are nearer than that to a tie; of losses
    what comes of log-probs that are off by as much, either side at a time, up or down; the NLL stays.
    """
    unit = UNIT[coarsest(found.batch.dtypes, [f"{side}.{name}" for side in SIDES for name in OF_LOGPROBS])]
    off = unit * (1 + sum(_largest((of[f"{model}.logprobs"] * of["response.tokens"]).sum(axis=1)) for model in MODELS))
    beta = 1.0 if found.settings["watch.rewards"] == "no_beta" else abs(float(found.settings["beta"]))
    margin, rewards, usual = np.abs(found.rows["margin"]), 2 * beta * off, losses(of)
    found.room |= {name: off if ".logp" in name else unit * (1 + _largest(row)) for name, row in found.rows.items()}
    found.room |= dict.fromkeys((*(f"{side}.reward" for side in SIDES), "margin", *WATCHED), rewards)
    found.room |= dict.fromkeys((f"logps.{side}{more}" for side in SIDES for more in ("", ".mean")), off)
    found.room["rewards.accuracies"] = 1e-6
    found.extra["rewards.accuracies"] = float(((margin > 0) & (margin <= 2 * rewards)).mean())
    far = dict.fromkeys(usual, 0.0)
    for side in (1.0, 0.0):
        by = off * (of["response.chosen"] == side)
        both = [losses(_moved(of | {"nll": usual["nll"]}, sign * by)) for sign in (1, -1)]
        with np.errstate(invalid="ignore"):
            far = {name: has + max(_largest(each[name] - usual[name]) for each in both) for name, has in far.items()}
    found.room |= {name: by + unit * (1 + _largest(usual[name])) for name, by in far.items()}


def _moved(of: Fed, by: Array) -> Fed:
    """Returns what is fed, with the policy's log-prob of each response moved, [2P]: on its first token; an empty one stays."""
    mask, found = of["response.tokens"], dict(of)
    first = (np.arange(mask.shape[1]) == mask.argmax(axis=1)[:, None]) * mask
    found["policy.logprobs"] = of["policy.logprobs"] + first * by[:, None]
    if "policy.sum" in of:
        found["policy.sum"] = of["policy.sum"] + by * mask.any(axis=1)
    return found


def _largest(row: Array) -> float:
    return float(np.abs(row[np.isfinite(row)]).max(initial=0.0))


LOSSES = ("preference_loss", "nll", "total_loss")


def recompute(
    batch: PairStep,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    device: str = "cpu",
) -> Again:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. sized: whether it is asked how far rounding may move what
    comes out.
    """
    found = Again(batch, settings, lacks=lacking(batch, settings))
    shares = ways.get("shares", [share for share, _ in batch.terms] or [1.0])
    use = uses(batch, settings)
    if "of_loss" in ways:
        at, changes = ways["of_loss"]
        use[at] = {**use[at], **changes}
    terms = list(zip(shares, use, strict=True))
    if not _weighs(batch):  # what is made of weights is lacking, all else is not
        terms = [(share, {**use, "loss.weight": "off"}) for share, use in terms]
    plain = "kept" in ways and not ways.keys() & {"mask", "moved"}
    of = ways["kept"].once("fed", batch, lambda: fed(batch, ways)) if plain else fed(batch, ways)
    asked = _asked(str(ways.get("until", "")))
    if "sequences" in asked:
        _sequences(found, exchanged(of, _of_logprobs(ways)), ways, device)
    known = _with_given(of, settings, given, device)
    of = exchanged(known, ways)
    if "watched" in asked:
        _watched(found, of, ways, given, device)
        found.sizes["rewards.accuracies"] = abs(found.numbers["rewards.accuracies"])
    if "logps" in asked:
        _logps(found, exchanged(known, _of_logprobs(ways)), ways, device)
    found.numbers = {name: number * factor_of(ways, name) for name, number in found.numbers.items()}
    if "losses" not in asked:
        return found
    made = losses(of, terms, ways, device)
    found.rows["loss.pair"] = made["loss.pair"] * factor_of(ways, "loss.pair")
    for name in LOSSES:
        found.numbers[name] = float(made[name]) * factor_of(ways, name)
        found.sizes[name] = abs(found.numbers[name])
    if sized:
        add_room(found, of, lambda moved: losses(moved, terms, ways, device))
        found.on_the_way = _on_the_way(found, of, terms, device)
    return found


DISCOPOP = "discopop"
"""A loss with e^−u times σ(u/τ): where u is far below 0 a library multiplies infinity with 0."""


def _on_the_way(found: Again, of: Fed, terms: Terms, device: str) -> dict[str, Any]:
    """Returns how large what rows and numbers are made of is, on the way: no number where a library has none in any dtype."""
    pairs = np.abs(found.rows["loss.pair"])
    for _, use in terms:
        if use["loss.form"] == DISCOPOP:
            u = EQUATIONS.values(use, *laid_out(of), ("margin.argument",), device=device)["margin.argument"]
            with np.errstate(over="ignore"):
                beside = np.exp(-u)
            pairs = np.maximum(pairs, np.where(np.isfinite(beside), beside, np.nan))
    means = {f"rewards.{side}": found.rows[f"{side}.reward"] for side in SIDES} | {
        "rewards.margins": found.rows["margin"]
    }
    means |= {f"logps.{side}": found.rows[name] for side in SIDES if (name := f"{side}.logp") in found.rows}
    return {"loss.pair": pairs, **sums({**means, "preference_loss": pairs, "total_loss": pairs})}


def _asked(until: str) -> Collection[str]:
    """Returns which parts of a step are computed where one quantity is asked for: the part that makes it."""
    if until in (*LOSSES, "loss.pair"):
        return ("losses",)
    if until.startswith("logps."):
        return ("logps",)
    if "logp" in until:
        return ("sequences",)
    return ("watched",) if until else ("sequences", "watched", "logps", "losses")


def _of_logprobs(ways: Ways) -> Ways:
    """Returns what of it is seen in log-probs, too: not what is done where they are taken from each other."""
    of_ratios = ("inverted", True), ("reference", "none")
    return {key: each for key, each in ways.items() if (key, each) not in of_ratios}


def _sequences(found: Again, of: Fed, ways: Ways, device: str) -> None:
    """Takes the log-probs of whole responses where those of tokens are there: as the loss has them, and their sums."""
    names = {"": "sum"} | ({".mean": "mean"} if found.settings["logp.of"] != "sum" else {})
    there = [model for model, name in MODELS.items() if f"chosen.{name}" in found.batch.tensors]
    wanted = [f"{model}.{row}" for model in there for row in names.values()]
    rows = EQUATIONS.values(found.settings, *laid_out(of), wanted, **changed(ways), device=device) if wanted else {}
    for model in there:
        for more, row in names.items():
            for side, each in zip(SIDES, np.split(rows[f"{model}.{row}"], 2), strict=True):
                found.rows[f"{side}.{WHOLE[model]}{more}"] = each * factor_of(ways, f"{side}.{WHOLE[model]}")


def _with_given(of: Fed, settings: Settings, given: Given, device: str) -> Fed:
    """Returns what is fed, with the file's own log-probs of responses in place of the sums of its tokens.

    Where the loss takes means, the file may have these: then each counts as its own sum.
    """
    found = dict(of)
    for model, whole in WHOLE.items():
        if any(f"{side}.{whole}" not in given for side in SIDES):
            continue
        theirs = np.concatenate([given[f"{side}.{whole}"] for side in SIDES])
        if settings["logp.of"] != "sum":
            rows = EQUATIONS.values(
                settings, *laid_out(of), [f"{model}.{row}" for row in ("sum", "mean", "over")], device=device
            )
            total, mean, over = rows.values()
            with np.errstate(invalid="ignore"):
                theirs = theirs * over if np.abs(theirs - mean).sum() < np.abs(theirs - total).sum() else theirs
        found[f"{model}.sum"] = theirs
    return found


def _watched(found: Again, of: Fed, ways: Ways, given: Given, device: str) -> None:
    """Takes rewards, margins and the means that are logged of them; two rewards that are equal are no success."""
    use, logged = found.settings, [f"{side}.logged" for side in SIDES]
    rows = EQUATIONS.values(use, *laid_out(of), logged, **changed(ways), device=device)
    for side, name in zip(SIDES, logged, strict=True):
        found.rows[f"{side}.reward"] = rows[name] * factor_of(ways, f"{side}.reward")
        rows[name] = np.asarray(given.get(f"{side}.reward", found.rows[f"{side}.reward"]))
    margin = EQUATIONS.values(use, *laid_out(of | rows), ("watch.margin",), **changed(ways), device=device)[
        "watch.margin"
    ]
    found.rows["margin"] = margin * factor_of(ways, "margin")
    own = "watch.margin" in ways.get("equations", {})  # then what is logged of margins is not made of those in the file
    rows["watch.margin"] = found.rows["margin"] if own else np.asarray(given.get("margin", found.rows["margin"]))
    parts = [laid_out(of | rows, some) for some in parts_of(found.batch.pairs, ways)]
    found.numbers |= EQUATIONS.means(use, parts, WATCHED, **changed(ways), device=device)
    found.sizes |= dict(zip(WATCHED, map(_mean_size, rows.values()), strict=False))


def _logps(found: Again, of: Fed, ways: Ways, device: str) -> None:
    """Takes the mean log-probs of either side: of sums, and, where the loss takes means of tokens, of these."""
    names, means = [f"logps.{side}" for side in SIDES], {"": "sum"}
    parts = [laid_out(of, some) for some in parts_of(found.batch.pairs, ways)]
    if "chosen.logprobs" in found.batch.tensors and found.settings["logp.of"] != "sum":
        means[".mean"] = "same"
    for more, word in means.items():
        use = {**found.settings, "watch.rewards": word}
        for name, number in EQUATIONS.means(use, parts, names, **changed(ways), device=device).items():
            found.numbers[name + more], found.sizes[name + more] = number, abs(number)


def _mean_size(row: Array) -> float:
    finite = np.abs(row[np.isfinite(row)])
    return float(finite.mean()) if finite.size else 1.0
