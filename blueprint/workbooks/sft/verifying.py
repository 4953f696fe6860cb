"""A step of fine-tuning computed again by the definitions, from the log-probs of its tokens on; the causes that are tried; and some
of its texts as a workbook.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: a word of `counted`. moved: log-probs stand one column later (1) or earlier (−1). over: how many tokens, or texts, the loss
is a mean of; 0: those of the file, whatever it says. factor: by quantity, what it is multiplied by. equations: by row, how its
equation is changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from blueprint.dumps import Array, require
from blueprint.inputs import LONGEST, ROWS, Numbers
from blueprint.language import Axis
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    UNITS,
    Again,
    Agreement,
    Axes,
    Chosen,
    Conventions,
    Definitions,
    Given,
    Known,
    Mistakes,
    Quantity,
    Settings,
    Shown,
    SmallKind,
    Try,
    Verdict,
    View,
    ViewOptions,
    Ways,
    agreement_of,
    changed,
    coarsest,
    counted,
    digits,
    factor_of,
    from_here_on,
    logits_of_two,
    mistakes_in,
    multiplied,
    of_equations,
    sums,
    view_of,
)
from blueprint.workbooks.sft.definitions import LABELS, b, derived, n, o, t
from blueprint.workbooks.sft.dumps import FineTuned
from blueprint.workbooks.sft.schema import SFT, sft_presets

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
        texts = found.rows["text_loss"]
        found.on_the_way = {
            "text_mean": np.abs(texts),
            **sums(dict.fromkeys(("nll", "perplexity", "total_loss"), texts)),
        }
    return found


def _known(batch: FineTuned, settings: Settings, ways: Ways) -> tuple[dict[Axis, int], dict[str, Array]]:
    """Returns the sizes, and what stands in the blocks: what counts and what it costs, and the counts of a larger batch."""
    mask = counted(batch.mask, str(ways.get("mask", "")))
    texts, positions = mask.shape
    logprobs = np.roll(np.asarray(batch.tensors["logprobs"], np.float64), int(ways.get("moved", 0)), axis=1)
    logprobs = np.where(mask & np.isfinite(logprobs), logprobs, 0.0)
    entropy = np.where(
        mask, np.nan_to_num(np.asarray(batch.tensors.get("entropy", np.zeros(mask.shape)), np.float64)), 0.0
    )
    there = from_here_on(mask) > 0
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


def _add_room(found: Again) -> None:
    """Adds the room of every row and number: a mean is off by no more than the mean of what its tokens are off."""
    batch: FineTuned = found.batch
    held = coarsest(batch.dtypes, MADE_OF)
    unit = max(UNITS[held], UNITS.get(str(batch.forward_dtype), 0.0))
    nll = found.numbers["nll"]
    off, numbers, rows = unit * (1 + abs(nll)), found.numbers, found.rows
    most = float(np.max(batch.mask.sum(axis=1), initial=1))
    found.sizes = {name: abs(number) for name, number in numbers.items()}
    found.room = {
        "nll": off,
        "perplexity": off * numbers["perplexity"],
        "entropy": UNITS[coarsest(batch.dtypes, ("entropy",))] * (1 + abs(numbers.get("entropy", 0.0))),
        "total_loss": off * (abs(numbers["total_loss"] / nll) if nll else 1.0),
        "text_loss": unit * (most + float(np.max(rows["text_loss"], initial=0.0))),
        "text_mean": unit * (1 + float(np.max(rows["text_mean"], initial=0.0))),
    }


SLIPS: Mistakes = {
    "mask": (
        ("every position counted, pads and prompt, too", {"mask": "all"}),
        ("the token behind each text counted, too", {"mask": "one_more"}),
        ("the last token of each text left out, as where the end token is taken for a pad", {"mask": "no_last"}),
        ("the first token of each text left out", {"mask": "no_first"}),
        ("the mask one token late, as where it is not shifted as the labels are", {"mask": "later"}),
        ("log-probs one position late against the mask", {"moved": 1}),
        ("log-probs one position early against the mask", {"moved": -1}),
    ),
}  # fmt: skip
SAYS = {
    "tokens": "a mean over all tokens that count", "microbatches": "the mean of the means of microbatches",
    "row_means": "the mean of each text's own mean", "row_sums": "the sum over each text, and the mean over texts",
    "labels": "divided by the labels before the shift, first tokens among them",
    "nonzero": "divided by the tokens whose probability is not 1",
}  # fmt: skip
"""By word of loss.normaliser, what it is."""
READ = ("loss.normaliser", "loss.mean_eps", "loss.dft", "microbatches")
"""Settings that a loss of log-probs and a mask reads; which tokens count, the mask says."""
INSTEAD = Conventions(sft_presets, {"loss.mean_eps": (0.0, 1e-8), "microbatches": (2.0, 4.0, 8.0)})
MOST = 8


def tries(
    batch: FineTuned, settings: Settings, name: str, given: Given, whole: FineTuned | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. whole: all files of the step, where there are several.
    """
    mistakes = mistakes_in(SLIPS, SLIPS, settings)
    if name != "total_loss":
        yield [*mistakes, multiplied(settings, name, -1.0, f"the opposite sign of {name}")]
        if name in EQUATIONS.live:
            yield list(of_equations(EQUATIONS, settings, name, KNOWN))
        return
    yield [*_shares(batch, settings, whole), *_settings(settings), *mistakes, *_factors(settings)]
    yield list(of_equations(EQUATIONS, settings, name, KNOWN))
    yield list(INSTEAD.of_presets(settings, READ))


def _shares(batch: FineTuned, settings: Settings, whole: FineTuned | None) -> Iterator[Try]:
    """Yields other counts of which the loss may be a mean."""
    if batch.share is not None:
        yield Try("a mean over this file alone, not its share of the larger batch's", settings, {"over": 0})
        if batch.share.ranks > 1:
            over = batch.share.tokens or batch.share.responses
            yield Try("the share of its own rank, not multiplied with the ranks", settings, {"over": over})
    if whole is not None:
        yield Try("a share of the mean over the tokens of all files of the step", settings, {"over": whole.many})
    yield Try("divided by the number of positions, pads and prompt among them", settings, {"over": batch.mask.size})


def _settings(settings: Settings) -> Iterator[Try]:
    """Yields every setting that is read with its other values; how many microbatches there are counts where means are theirs."""
    for key in READ:
        of_parts: Settings = {"loss.normaliser": "microbatches"} if key == "microbatches" else {}
        for value in INSTEAD.values(settings, key):
            label = " and ".join(INSTEAD.said({each: one}) for each, one in {**of_parts, key: value}.items())
            says = f": {SAYS[value]}" if isinstance(value, str) and value in SAYS else ""
            yield Try(f"{label}{says}", {**settings, **of_parts, key: value})


def _factors(settings: Settings) -> Iterator[Try]:
    """Yields a loss of the other sign, multiplied or divided, as by the microbatches of an update or the ranks."""
    yield multiplied(settings, "total_loss", -1.0, "the opposite sign of the loss")
    for count in range(2, MOST + 1):
        yield multiplied(settings, "total_loss", float(count), f"everything multiplied by {count}")
        yield multiplied(settings, "total_loss", 1.0 / count, f"everything divided by {count}")


NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits."""
OTHER, TOKEN = "<other>", "token"
TWO_TOKENS = (
    "The dump has no logits: each label is “token” and all others together “<other>”, so that the entropy and the accuracy are not "
    "the library's."
)
SHOWN_ALONE = "The loss is that of the texts shown; of the whole step it is what verify says."


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows texts of a step, up to their last token.

    Raises MinibatchError for rows that are not there, or more or longer ones than fit.
    """
    found: Again = verdict.replayed
    batch: FineTuned = found.batch
    view = view_of(found, chosen, options, found.rows["text_loss"], ROWS[1], "texts")
    columns = np.flatnonzero(view.step.mask.any(axis=0))
    require(len(columns) > 0, f"{batch.path} has no token to be learned there: name other texts with --rows")
    first, behind = int(columns[0]), int(columns[-1]) + 1
    require(
        behind - first <= LONGEST,
        f"{batch.path} has {behind - first} positions there: a workbook shows {LONGEST}; --rows others",
    )
    cut = {name: each[:, first:behind] if each.ndim > 1 else each for name, each in view.step.tensors.items()}
    view = replace(view, step=replace(view.step, tensors=cut, share=None))
    again = recompute(view.step, found.settings)
    remarks = [TWO_TOKENS, *([SHOWN_ALONE] if not view.all or batch.share else [])]
    return view.shown(remarks, lambda name: numbers_of(view, name), lambda arrays: agreement(arrays, again))


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at logits, 15 digits of each."""
    mask = view.step.mask
    texts, positions = mask.shape
    p, others = logits_of_two(np.where(mask, np.asarray(view.step.tensors["logprobs"], np.float64), -np.log(2.0)))
    parts = {
        "preset": view.preset,
        "text.vocabulary": (OTHER, TOKEN),
        "text.end_word": OTHER,
        "text.texts": tuple((TOKEN,) * (positions + 1) for _ in range(texts)),
        "text.response": mask * 1.0,
        "text.there": (from_here_on(mask) > 0) * 1.0,
        "policy.logits": digits(np.stack([others, p], axis=-1)),
    }
    asked = view.asked | {
        "region": "response",
        "packing": "none",
        "end_token": "in",
    }  # the mask says which tokens count
    what = f"{texts} text{'s' * (texts > 1)} of a step of {view.step.library or 'fine-tuning'}"
    return view.numbers("labelled", name, what, asked, parts)


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares the sums of the texts and the losses of a workbook with the texts computed again."""
    rows = {"watch.logp": -ours.rows["text_loss"]}
    return agreement_of(arrays, rows | {name: np.asarray(ours.numbers[name]) for name in ("nll", "total_loss")}, NEAR)


KIND = SmallKind(ALL, lambda device: partial(recompute, device=device), tries, ("total_loss",), TEXTS)
VERIFIER = KIND.verifier(shown)
