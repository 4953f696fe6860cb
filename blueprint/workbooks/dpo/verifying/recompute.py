"""A step of DPO computed again in torch, in float64, from the log-probs that its file has: what its formulas are fed with, what is
logged of them, what a file lacks, and how far rounding may move it.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: of which tokens a response is: "no_last" without the last one, "one_more" with the one behind, "one_less" without the first,
"text" with the prompt, "all" with prompt and pads. moved: log-probs that stand so many columns later (1) or earlier (−1).
sides: models, "policy" or "reference", whose chosen and rejected responses are exchanged. reference: "none" where it is left out,
"policy" where the policy stands for it; inverted: the log-ratio is reference over policy.
factor: by quantity, what it is multiplied by. ties: how much of a success two equal rewards are.
accuracy_of: "margin" for that in the loss. likely: losses are 1 − σ and no −log σ. summed: sums over pairs and no means.
parts: losses are means over so many parts of the pairs, one below the other. shares: the weights of several losses.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import SIDES, Array
from blueprint.verifying import NO_RESULTS, PLAIN, Again, Given, Settings, Ways, coarsest
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.verifying.formulas import Fed, Rows, derived

OF_LOGITS = ("logits.chosen", "logits.rejected", "entropy", "token_accuracy")
REFERENCE = "log-probs under the reference"
TRUE = ("rpo_squared", "rpo_backward", "rpo_forward")


def lacking(batch: PairStep, settings: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it."""
    known = bool({"chosen.logp_ref", "chosen.logprobs_ref"} & batch.tensors.keys())
    tokens = [] if "chosen.logprobs" in batch.tensors else ["log-probs of each token"]
    reference = [] if known or settings["reference.used"] == "off" else [REFERENCE]
    watched = settings["watch.rewards"]
    rewards = [] if watched == "sum" and known else [*reference, *(tokens if settings["logp.of"] != "sum" else [])]
    if watched in ("sum", "with_reference") and not known:
        rewards = [REFERENCE]
    loss = [each for use in uses(batch, settings) for each in (*reference, *_of_loss(batch, use, tokens))]
    nll = tokens if float(settings["loss.nll_coef"]) else []
    found = dict.fromkeys(OF_LOGITS, "logits")
    takes = {
        "nll": tokens, "preference_loss": loss, "loss.pair": loss, "total_loss": [*loss, *nll],
        **dict.fromkeys((*(f"{side}.reward" for side in SIDES), "margin"), rewards),
        **dict.fromkeys(("rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies"), rewards),
    }  # fmt: skip
    return found | {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}


def uses(batch: PairStep, settings: Settings) -> list[Settings]:
    """Returns the conventions of each loss of which the loss is the sum; usually there is one."""
    return [{**settings, **own} for _, own in batch.terms] or [settings]


def _of_loss(batch: PairStep, use: Settings, tokens: list[str]) -> list[str]:
    """Returns what one loss takes besides the reference."""
    form = use["loss.form"]
    found = tokens if use["logp.of"] != "sum" or form == "orpo_tokens" else []
    squares = use["loss.weight"] != "off" and "chosen.log_squares" not in batch.tensors
    return [
        *found,
        *(["log-probs of responses to other prompts"] if form == "kto" else []),
        *(["true rewards"] if form in TRUE else []),
        *(["log_sum_sq_probs"] if squares else []),
    ]


MODELS = {"policy": "logprobs", "reference": "logprobs_ref"}
WHOLE = {"policy": "logp", "reference": "logp_ref"}


def fed(batch: PairStep, ways: Ways, device: str = "cpu") -> Fed:
    """Returns what `derived` takes, chosen responses first, [2P, T]; no reference stands there as 0.

    Log-probs of whole responses stand on the first token of each, so that their sums are these.
    """
    mask = _mask(batch, ways)
    count = batch.pairs
    found = {f"{model}.logprobs": _model(batch, model, mask, ways) for model in MODELS}
    found["response.tokens"] = mask
    found["text.tokens"] = np.concatenate([np.ones((2 * count, 1)), np.maximum(_text(batch, mask), mask)], axis=1)
    found["response.chosen"] = np.repeat([1.0, 0.0], count)
    found["true.reward"] = np.zeros(2 * count)
    found["mismatched.ratio"] = np.zeros(2 * count)  # APO without pairs reads no other responses; KTO is lacking them
    if "chosen.log_squares" in batch.tensors:
        found["policy.square"] = np.exp(np.where(mask > 0, _both(batch, "log_squares"), 0.0))
    return {name: torch.from_numpy(np.ascontiguousarray(each, np.float64)).to(device) for name, each in found.items()}


def exchanged(of: Fed, ways: Ways) -> Fed:
    """Returns what is fed, with models or sides in the place of others."""
    made = {model: of[f"{model}.logprobs"] for model in MODELS}
    sides = ways.get("sides", ())
    if len(sides) == len(MODELS):
        return {**of, "response.chosen": 1 - of["response.chosen"]}
    for model in sides:
        made[model] = made[model].roll(len(made[model]) // 2, 0)
    stands = {"none": torch.zeros_like(made["policy"]), "policy": made["policy"]}
    made["reference"] = stands.get(str(ways.get("reference")), made["reference"])
    if ways.get("inverted"):
        made = dict(zip(made, reversed(made.values()), strict=True))
    return {**of, **{f"{model}.logprobs": each for model, each in made.items()}}


def put(of: Fed, model: str, sums: Tensor, wanted: Tensor) -> None:
    """Moves the first token of each response so that its log-prob, [2P], is the one that is wanted; an empty one stays."""
    mask = of["response.tokens"]
    first = torch.zeros_like(mask).scatter_(1, mask.argmax(1, keepdim=True), 1.0) * mask
    of[f"{model}.logprobs"] = of[f"{model}.logprobs"] + first * (wanted - sums)[:, None]


def given_sums(given: Given, model: str) -> Array | None:
    """Returns the log-probs of responses that stand in place of computed ones, [2P]; None where they do not."""
    names = [f"{side}.{WHOLE[model]}" for side in SIDES]
    return np.concatenate([given[name] for name in names]) if all(name in given for name in names) else None


def _both(batch: PairStep, name: str) -> Array:
    return np.concatenate([np.asarray(batch.tensors[f"{side}.{name}"], np.float64) for side in SIDES])


def _mask(batch: PairStep, ways: Ways) -> Array:
    """Returns which tokens count, [2P, T]."""
    mask, way = batch.mask.astype(bool), ways.get("mask")
    behind = np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1)
    made = {
        "no_last": mask & (behind > 1),
        "one_less": mask & (np.cumsum(mask, axis=1) > 1),
        "one_more": mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1],
        "text": _text(batch, mask) > 0,
        "all": np.ones_like(mask),
    }
    return np.asarray(made.get(str(way), mask), np.float64)


def _text(batch: PairStep, mask: Array) -> Array:
    """Returns 1 on prompt and response, [2P, T]; where nothing tells, on all that stands in front of the response, too."""
    if "chosen.text" in batch.tensors:
        return _both(batch, "text")
    return np.asarray(np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1) > 0, np.float64)


def _model(batch: PairStep, model: str, mask: Array, ways: Ways) -> Array:
    """Returns log-probs of tokens under a model, [2P, T], 0 where nothing counts."""
    name, whole = MODELS[model], WHOLE[model]
    if f"chosen.{name}" in batch.tensors:
        made = np.roll(np.nan_to_num(_both(batch, name), neginf=-np.inf), ways.get("moved", {}).get(model, 0), axis=1)
        made = np.where(mask > 0, made, 0.0)
    elif f"chosen.{whole}" in batch.tensors:
        made = np.zeros_like(mask)
        made[np.arange(len(mask)), mask.argmax(axis=1)] = _both(batch, whole)
        made *= mask
    else:
        made = np.zeros_like(mask)
    return made


Terms = Sequence[tuple[float, Settings]]
"""The losses that are added up, each with its weight and all conventions in force; usually there is one, of weight 1."""


def terms_of(batch: PairStep, settings: Settings, ways: Ways) -> Terms:
    """Returns the losses of a file's sum; `shares` of ways are other weights."""
    shares = ways.get("shares", [share for share, _ in batch.terms] or [1.0])
    return list(zip(shares, uses(batch, settings), strict=True))


def losses(of: Fed, rows: Rows, plain: Rows, terms: Terms, ways: Ways) -> dict[str, Tensor]:
    """Returns the loss of each pair, [P], and the numbers that are made of them.

    rows: what is fed, derived under the first conventions; plain: the file's own tokens, whose NLL it is, whatever log-probs of
    whole responses the file has.
    """
    made, nll = _summed(of, terms, rows), plain["nll"]
    pairs, preference = made["loss.pair"], made["preference_loss"]
    if ways.get("likely"):
        pairs = -torch.expm1(-pairs)
        preference = pairs.mean()
    if ways.get("summed"):
        preference = pairs.sum()
    elif "parts" in ways and not ways.get("likely"):
        preference, nll = _in_parts(of, terms, ways["parts"])
    total = preference + float(terms[0][1]["loss.nll_coef"]) * nll
    return {"loss.pair": pairs, "preference_loss": preference, "nll": nll, "total_loss": total}


def _summed(of: Fed, terms: Terms, rows: Rows | None = None) -> Rows:
    """Returns the loss of each pair, their mean and the NLL, of all losses together; rows: of the only one, if it is known."""
    if len(terms) == 1 and terms[0][0] == 1:
        return derived(of, terms[0][1]) if rows is None else rows
    each = [(share, derived(of, use)) for share, use in terms]

    def total(name: str) -> Tensor:
        return torch.stack([share * made[name] for share, made in each]).sum(0)

    return {"nll": each[0][1]["nll"], "loss.pair": total("loss.pair"), "preference_loss": total("preference_loss")}


def _in_parts(of: Fed, terms: Terms, parts: int) -> tuple[Tensor, Tensor]:
    """Returns means over parts of the pairs, each averaged by itself."""
    count = len(of["response.chosen"]) // 2
    found = []
    for rows in torch.arange(count).chunk(parts):
        both = torch.cat([rows, rows + count])
        some = {name: each[both] for name, each in of.items()}
        found.append(_summed(some, terms))
    return tuple(torch.stack([each[name] for each in found]).mean() for name in ("preference_loss", "nll"))  # type: ignore[return-value]


UNIT = {"float64": 1e-11, "float32": 1e-6, "float16": 2.0**-8, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob of a response may be off, of 1 + its size: about 16 units in the last place. Pairwise sums
of thousands of tokens, and differences of two of them, stay below that."""
OF_LOGPROBS = ("logprobs", "logprobs_ref", "logp", "logp_ref")


def add_room(found: Again, of: Fed, losses: Callable[[Fed], Mapping[str, Tensor]]) -> None:
    """Adds the room of every row and number. of: what was fed; losses: makes them of something else that is fed."""
    unit = UNIT[coarsest(found.batch.dtypes, [f"{side}.{name}" for side in SIDES for name in OF_LOGPROBS])]
    sums = {name: (of[f"{name}.logprobs"] * of["response.tokens"]).sum(1).abs() for name in ("policy", "reference")}
    finite = [each[each.isfinite()].max().item() if each.isfinite().any() else 0.0 for each in sums.values()]
    off = unit * (1 + sum(finite))
    for name, row in found.rows.items():
        largest = float(np.abs(row[np.isfinite(row)]).max(initial=0.0))
        found.room[name] = off if ".logp" in name else unit * (1 + largest)
    _room_of_rewards(found, off)
    _room_of_losses(found, of, off, unit, losses)


def _room_of_rewards(found: Again, off: float) -> None:
    """Of rewards that is the room of log-probs times β; of an accuracy the share of pairs that are nearer than that to a tie."""
    beta = 1.0 if found.settings["watch.rewards"] == "no_beta" else abs(float(found.settings["beta"]))
    for name in (*(f"{side}.reward" for side in SIDES), "margin"):
        found.room[name] = 2 * beta * off
    for name in ("chosen", "rejected", "margins"):
        found.room[f"rewards.{name}"] = 2 * beta * off
    margin = np.abs(found.rows["margin"])
    found.room["rewards.accuracies"] = 1e-6
    found.extra["rewards.accuracies"] = float(((margin > 0) & (margin <= 4 * beta * off)).mean())
    for side in SIDES:
        found.room[f"logps.{side}"] = found.room[f"logps.{side}.mean"] = off


def _room_of_losses(
    found: Again, of: Fed, off: float, unit: float, losses: Callable[[Fed], Mapping[str, Tensor]]
) -> None:
    """Of losses it is what comes of log-probs that are off by as much, either side at a time, up or down."""
    usual, mask = losses(of), of["response.tokens"]
    first = mask.new_zeros(mask.shape).scatter_(1, mask.argmax(1, keepdim=True), 1.0) * mask
    moved: dict[str, float] = {}
    for chosen in (1.0, 0.0):
        one_side = first * (of["response.chosen"][:, None] == chosen)
        both = [losses({**of, "policy.logprobs": of["policy.logprobs"] + sign * off * one_side}) for sign in (1, -1)]
        for name in usual:
            far = max(_apart(each[name], usual[name]) for each in both)
            moved[name] = moved.get(name, 0.0) + far
    for name, far in moved.items():
        size = _largest(usual[name])
        found.room[name] = far + unit * (1 + size)


def _apart(one: Tensor, other: Tensor) -> float:
    return _largest(one - other)


def _largest(row: Tensor) -> float:
    finite = row[row.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


EXCHANGE = frozenset({"sides", "reference", "inverted"})
"""Ways in which models or sides stand in the place of others."""
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
    if "chosen.log_squares" not in batch.tensors:
        settings = {**settings, "loss.weight": "off"}  # what is made of weights is lacking, all else is not
    with torch.no_grad():
        of = fed(batch, ways, device)
        plain = derived(exchanged(of, ways), settings)
        _sequences(found, plain, ways)
        known = _with_given(of, plain if EXCHANGE.isdisjoint(ways) else derived(of, settings), given, settings)
        used = exchanged(known, ways)
        rows = plain if known is of else derived(used, settings)
        _watched(found, rows, ways, given)
        terms = terms_of(batch, settings, ways)
        _take_losses(found, losses(used, rows, plain, terms, ways), ways)
        if sized:
            add_room(found, used, lambda moved: losses(moved, derived(moved, settings), plain, terms, ways))
    return found


def _sequences(found: Again, rows: Rows, ways: Ways) -> None:
    """Takes the log-probs of whole responses where those of tokens are there: as the loss has them, and their sums."""
    names = {"": "sum"} | ({".mean": "mean"} if found.settings["logp.of"] != "sum" else {})
    for model, name in MODELS.items():
        if f"chosen.{name}" not in found.batch.tensors:
            continue
        for more, row in names.items():
            both = rows[f"{model}.{row}"].chunk(2)
            for side, each in zip(SIDES, both, strict=True):
                found.rows[f"{side}.{WHOLE[model]}{more}"] = _numbers(each) * _factor(ways, f"{side}.{WHOLE[model]}")


def _with_given(of: Fed, rows: Rows, given: Given, settings: Settings) -> Fed:
    """Returns what is fed, with the file's own log-probs of responses in place of the sums of its tokens.

    Where the loss takes means, the file may have these: then each counts as its own sum.
    """
    known = {model: given_sums(given, model) for model in MODELS}
    if all(each is None for each in known.values()):
        return of
    used = dict(of)
    for model, theirs in known.items():
        if theirs is None:
            continue
        sums, wanted = rows[f"{model}.sum"], torch.from_numpy(theirs).to(rows[f"{model}.sum"])
        if settings["logp.of"] != "sum" and (wanted - rows[f"{model}.mean"]).abs().sum() < (wanted - sums).abs().sum():
            wanted = wanted * rows[f"{model}.count"]
        put(used, model, sums, wanted)
    return used


def _watched(found: Again, rows: Rows, ways: Ways, given: Given) -> None:
    """Takes rewards, margins and the means that are logged of them; two rewards that are equal are no success."""
    both = [_numbers(rows[f"{side}.logged"]) * _factor(ways, f"{side}.reward") for side in SIDES]
    for side, each in zip(SIDES, both, strict=True):
        found.rows[f"{side}.reward"] = each
    used = [np.asarray(given.get(f"{side}.reward", each)) for side, each in zip(SIDES, both, strict=True)]
    margin = found.rows["margin"] = (used[0] - used[1]) * _factor(ways, "margin")
    ahead = _numbers(rows["margin.argument"]) if ways.get("accuracy_of") == "margin" else margin
    right = (ahead > 0) + ways.get("ties", 0.0) * (ahead == 0)
    margin = np.asarray(given.get("margin", margin))
    means = {
        "rewards.chosen": used[0],
        "rewards.rejected": used[1],
        "rewards.margins": margin,
        "rewards.accuracies": right,
    }
    for side in SIDES:
        row = given.get(f"{side}.logp", found.rows.get(f"{side}.logp", found.batch.tensors.get(f"{side}.logp")))
        means |= {} if row is None else {f"logps.{side}": np.asarray(row)}
        if f"{side}.logp.mean" in found.rows:
            means[f"logps.{side}.mean"] = found.rows[f"{side}.logp.mean"]
    over = found.batch.pairs / (found.batch.pairs + float(found.settings["loss.mean_eps"]))
    for name, row in means.items():
        mean = float(_averaged(torch.from_numpy(np.asarray(row, np.float64)), ways)) * _factor(ways, name)
        found.numbers[name] = mean * over if name.startswith("rewards.") else mean
        found.sizes[name] = float(np.abs(row[np.isfinite(row)]).mean()) if np.isfinite(row).any() else 1.0


def _take_losses(found: Again, made: Mapping[str, Tensor], ways: Ways) -> None:
    found.rows["loss.pair"] = _numbers(made["loss.pair"]) * _factor(ways, "loss.pair")
    for name in LOSSES:
        found.numbers[name] = float(made[name]) * _factor(ways, name)
        found.sizes[name] = abs(found.numbers[name])


def _averaged(terms: Tensor, ways: Ways) -> Tensor:
    if "parts" in ways:
        return torch.stack([each.mean() for each in terms.chunk(ways["parts"])]).mean()
    return terms.mean()


def _factor(ways: Ways, name: str) -> float:
    return float(ways.get("factor", {}).get(name, 1.0))


def _numbers(row: Tensor) -> Array:
    return np.asarray(row.cpu().numpy(), np.float64)
