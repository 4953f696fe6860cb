"""A step of fine-tuning computed again by the definitions, from the log-probs of its tokens on.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: "all" where every position counts, "one_more" with the one behind each text, "no_last" and "no_first" without its last or
first token. moved: log-probs stand one column later (1) or earlier (−1). over: how many tokens, or texts, the loss is a mean of;
0: those of the file, whatever it says. factor: by quantity, what it is multiplied by. equations: by row, how its equation is
changed.
"""

import numpy as np

from blueprint.dumps import Array
from blueprint.language import Axis
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    Again,
    Axes,
    Definitions,
    Given,
    Known,
    Quantity,
    Settings,
    Ways,
    changed,
    coarsest,
    factor_of,
)
from blueprint.workbooks.sft.definitions import LABELS, b, derived, n, o, t
from blueprint.workbooks.sft.dumps import FineTuned
from blueprint.workbooks.sft.schema import SFT

TEXTS = Axes("text", "", "text")
SAID = ("policy.logprobs", "policy.top", "policy.label_logit", "policy.entropy")
TYPED = {
    **dict.fromkeys(("rollout.written", "response.tokens", "text.tokens", "text.mask", *SAID), (n, t)),
    **dict.fromkeys(("text.first", "text.number"), (n,)), **dict.fromkeys(("end.id", "count.texts"), ()),
}  # fmt: skip
EQUATIONS = Definitions(
    SFT, LABELS.labels, TYPED,
    lambda given, use: derived(given, lambda labels: {name: given[name] for name in SAID}, use).rows,
    {"text.tokens": (t.first - 1,)},
)  # fmt: skip
KNOWN = ("policy.logprobs", "label.counts")
"""Rows in which the computation begins."""
NUMBERS = ("nll", "perplexity", "entropy", "total_loss")
MADE_OF = ("logprobs",)
ALL = {
    each.name: each
    for each in (
        Quantity("text_loss", (), MADE_OF, (("text_mean", "its mean over the tokens of a text"),)),
        *(Quantity(name, (), MADE_OF) for name in ("nll", "perplexity")),
        Quantity("entropy", (), ("entropy",)),
        Quantity("token_accuracy", (), MADE_OF),
        Quantity("total_loss", (), MADE_OF),
    )
}
OF_TOKENS, OF_TEXTS = ("tokens", "labels", "nonzero"), ("row_means", "row_sums")
"""Words of loss.normaliser whose count may be that of a larger batch."""
COUNTS = {"tokens": "label.total", "labels": "label.before_shift", "nonzero": "label.nonzero"}
"""By word the row that counts."""


def recompute(
    batch: FineTuned,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    device: str = "cpu",
) -> Again:
    """Computes a step again under the values of a preset; sized: whether it is asked how far rounding may move what comes out."""
    found = Again(batch, settings)
    sizes, known = _known(batch, settings, ways)
    ranks = batch.share.ranks if batch.share and ways.get("over") != 0 and "over" not in ways else 1.0
    wanted = [name for name in NUMBERS if name != "entropy" or "entropy" in batch.tensors]
    made = EQUATIONS.values(
        settings, sizes, known, (*wanted, "watch.logp", "label.length"), **changed(ways), device=device
    )
    if "entropy" in wanted:  # a metric of the file's own tokens, of however many the loss is a mean
        own = {name: each for name, each in known.items() if name not in COUNTS.values()}
        own["count.texts"] = np.asarray(float(len(batch.mask)))
        made |= EQUATIONS.values(settings, sizes, own, ("entropy",), **changed(ways), device=device)
    numbers = {name: float(made[name]) * (ranks if name == "total_loss" else 1.0) for name in wanted}
    found.numbers = {name: number * factor_of(ways, name) for name, number in numbers.items()}
    factor = factor_of(ways, "text_loss")
    found.rows["text_loss"] = -made["watch.logp"] * factor
    with np.errstate(divide="ignore", invalid="ignore"):
        found.rows["text_mean"] = np.nan_to_num(-made["watch.logp"] / made["label.length"]) * factor
    found.lacks = {"token_accuracy": "which token is the likeliest, of which log-probs say nothing"}
    if "entropy" not in batch.tensors:
        found.lacks["entropy"] = "`entropy` [B, T]"
    if sized:
        _add_room(found)
    return found


def _known(batch: FineTuned, settings: Settings, ways: Ways) -> tuple[dict[Axis, int], dict[str, Array]]:
    """Returns the sizes, and what stands in the blocks: what counts and what it costs, and the counts of a larger batch."""
    mask = _mask(batch.mask, str(ways.get("mask", "")))
    texts, positions = mask.shape
    logprobs = np.roll(np.asarray(batch.tensors["logprobs"], np.float64), int(ways.get("moved", 0)), axis=1)
    logprobs = np.where(mask & np.isfinite(logprobs), logprobs, 0.0)
    entropy = np.where(
        mask, np.nan_to_num(np.asarray(batch.tensors.get("entropy", np.zeros(mask.shape)), np.float64)), 0.0
    )
    there = np.flip(np.maximum.accumulate(np.flip(mask, 1), axis=1), 1)
    known: Known = {
        **dict.fromkeys(("rollout.written", "policy.top", "policy.label_logit"), np.zeros(mask.shape)),
        "text.first": np.zeros(texts), "end.id": np.asarray(0.0), "response.tokens": mask * 1.0, "text.mask": there * 1.0,
        "text.tokens": np.pad(there * 1.0, ((0, 0), (1, 0)), constant_values=1.0), "label.counts": mask * 1.0,
        "policy.logprobs": logprobs, "policy.entropy": entropy,
        "count.texts": np.asarray(float(texts)), "text.number": np.arange(texts) + 1.0,
    }  # fmt: skip
    over, share, word = ways.get("over"), batch.share, settings["loss.normaliser"]
    tokens, rows = (over, over) if over is not None else (share.tokens, share.responses) if share else (None, None)
    found = dict(known)
    if tokens and word in OF_TOKENS:
        found[COUNTS[str(word)]] = np.asarray(float(tokens))
    if rows and word in OF_TEXTS:
        found["count.texts"] = np.asarray(float(rows))
    return {n: texts, o: texts, b: texts, t: positions}, found  # type: ignore[return-value]  # none of them a selection


def _mask(mask: Array, otherwise: str) -> Array:
    """Returns which tokens count, as they do or by mistake."""
    if otherwise == "all":
        return np.ones_like(mask)
    if otherwise == "one_more":
        return np.asarray(mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1])
    if otherwise == "no_last":
        return np.asarray(mask & (np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1) > 1))
    return np.asarray(mask & (np.cumsum(mask, axis=1) > 1)) if otherwise == "no_first" else mask


UNIT = {"float64": 1e-12, "float32": 1e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob may be off, of 1 + its size: as of scores, about 16 units in the last place."""


def _add_room(found: Again) -> None:
    """Adds the room of every row and number: a mean is off by no more than the mean of what its tokens are off."""
    batch: FineTuned = found.batch
    held = coarsest(batch.dtypes, MADE_OF)
    unit = max(UNIT[held], UNIT.get(str(batch.forward_dtype), 0.0))
    nll = found.numbers["nll"]
    found.sizes = {name: abs(number) for name, number in found.numbers.items()}
    off = unit * (1 + abs(nll))
    found.room = {"nll": off, "perplexity": off * found.numbers["perplexity"]}
    found.room["entropy"] = UNIT[coarsest(batch.dtypes, ("entropy",))] * (1 + abs(found.numbers.get("entropy", 0.0)))
    found.room["total_loss"] = off * (abs(found.numbers["total_loss"] / nll) if nll else 1.0)
    most = float(np.max(batch.mask.sum(axis=1), initial=1))
    found.room["text_loss"] = unit * (most + float(np.max(found.rows["text_loss"], initial=0.0)))
    found.room["text_mean"] = unit * (1 + float(np.max(found.rows["text_mean"], initial=0.0)))
