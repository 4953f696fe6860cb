"""Which number of a step of DPO went wrong first, all being computed again; the causes that are tried; and pairs as a workbook."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from math import isfinite

import numpy as np

from blueprint.dumps import SIDES, Array, MinibatchError, require
from blueprint.inputs import Numbers, NumbersError, counted
from blueprint.inputs.catalogue import OFF
from blueprint.language import at_most, constant, exp, less
from blueprint.misconceptions import becomes, equation
from blueprint.verifying import (
    Again,
    Agreement,
    Axes,
    Chosen,
    Conventions,
    Given,
    Mistakes,
    Quantity,
    Settings,
    Shown,
    SmallKind,
    Try,
    Verdict,
    View,
    ViewOptions,
    agreement_of,
    check_length,
    coefficient,
    computable,
    extremes,
    mistakes_in,
    multiplied,
    of_broadcast,
    of_equations,
    of_half_words,
    of_other_forms,
    of_what_is_read,
    off_by,
    ragged,
    spelled,
    sums_of,
    typed,
    view_of,
    words_of,
)
from blueprint.verifying.equations import Between
from blueprint.workbooks.dpo.definitions import n
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.schema import DPO, MOST_PAIRS, PER, WITHOUT, check_asked, dpo_presets, presets_of
from blueprint.workbooks.dpo.verifying.recompute import EQUATIONS, OF_LOGITS, TRUE, recompute, uses

PAIRS = Axes("pair", "", "pair")
POLICY, REFERENCE = ("chosen.logp", "rejected.logp"), ("chosen.logp_ref", "rejected.logp_ref")
LOGPS = (*POLICY, *REFERENCE)
TOKENS = tuple(f"{side}.{name}" for side in SIDES for name in ("logprobs", "logprobs_ref"))
REWARDS = tuple(f"{side}.reward" for side in SIDES)


def _sequence(side: str, name: str) -> Quantity:
    return Quantity(f"{side}.{name}", (), (f"{side}.logprobs{name.removeprefix('logp')}",), (
        (f"{side}.{name}.mean", "a mean over its tokens"),))  # fmt: skip


MADE_OF = (*LOGPS, *TOKENS)
QUANTITIES = (
    *(_sequence(side, name) for name in ("logp", "logp_ref") for side in SIDES),
    *(Quantity(f"logps.{side}", (f"{side}.logp",), MADE_OF, ((f"logps.{side}.mean", "means over tokens"),)) for side in SIDES),
    *(Quantity(f"{side}.reward", LOGPS, MADE_OF) for side in SIDES),
    Quantity("margin", (*LOGPS, *REWARDS), MADE_OF),
    *(Quantity(f"rewards.{side}", (*LOGPS, *REWARDS), MADE_OF) for side in SIDES),
    Quantity("rewards.margins", (*LOGPS, *REWARDS, "margin"), MADE_OF),
    Quantity("rewards.accuracies", (*LOGPS, *REWARDS), MADE_OF),
    Quantity("loss.pair", LOGPS, MADE_OF),
    Quantity("preference_loss", (*LOGPS, "loss.pair"), MADE_OF),
    Quantity("nll", (), TOKENS),
    Quantity("total_loss", (*LOGPS, "loss.pair", "preference_loss", "nll"), MADE_OF),
    *(Quantity(name) for name in OF_LOGITS),
)  # fmt: skip
ALL = {each.name: each for each in QUANTITIES}


REACH = {"beta": (1e-4, 1e3), "loss.gamma": (1e-4, 1e3), "loss.label_smoothing": (1e-4, 0.499)}
"""Where a number is looked for."""
PLACES, HALVED = 15, 18
MOST_NLL = 100.0


def fitted(batch: PairStep, settings: Settings, name: str, given: Given) -> Iterator[tuple[str, float]]:
    """Yields settings with the numbers that make a quantity what the file logged, as somebody would type them."""
    if "reward" in name or name == "margin":
        share = _share(batch, settings, name, given)
        yield from (("beta", each) for each in typed(float(settings["beta"]) * share, REACH["beta"][1]))
    elif name in batch.logged and isfinite(batch.logged[name]):
        off = off_by(recompute, batch, settings, name, given)
        nll = coefficient(partial(off, "loss.nll_coef"))
        yield from (("loss.nll_coef", each) for each in typed(nll, MOST_NLL))
        for key, (least, most) in REACH.items():
            for root in roots(least, most, partial(off, key)):
                yield from ((key, each) for each in typed(root, most))


def _share(batch: PairStep, settings: Settings, name: str, given: Given) -> float:
    """Returns by how much rewards are larger in the file: they are β times log-ratios, whatever is logged of them."""
    ours = recompute(batch, settings, given=given)
    if name in batch.tensors:
        theirs, mine = np.asarray(batch.tensors[name], np.float64), ours.rows[name]
        at = int(np.argmax(np.abs(mine)))
        return float(theirs[at] / mine[at]) if mine[at] else np.nan
    return batch.logged[name] / ours.numbers[name] if ours.numbers[name] else np.nan


def roots(least: float, most: float, off: Callable[[float], float]) -> Iterator[float]:
    """Halves intervals in which a difference changes its sign, on the scale of logarithms."""
    grid = np.geomspace(least, most, PLACES)
    found = [off(float(each)) for each in grid]
    for low, high, one, other in zip(grid, grid[1:], found, found[1:], strict=False):
        if not (isfinite(one) and isfinite(other)) or one * other > 0:
            continue
        a, b, sign = np.log(low), np.log(high), np.sign(one)
        for _ in range(HALVED):
            middle = (a + b) / 2
            a, b = (middle, b) if np.sign(off(float(np.exp(middle)))) == sign else (a, middle)
        yield float(np.exp((a + b) / 2))


NUMBERS: Mapping[str, tuple[float, ...]] = {
    "beta": (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0), "loss.gamma": (0.0, 0.5, 1.0, 1.5, 3.0),
    "loss.label_smoothing": (0.0, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3), "loss.exo_eps": (0.001, 0.01, 0.1),
    "loss.nll_coef": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0), "logp.alpha": (OFF, 0.25, 0.5), "logp.ld_alpha": (0.0, 0.3, 0.5, 1.0),
    "loss.bco_mix": (0.0, 1.0), "loss.mean_eps": (0.0, 1e-8), "loss.discopop_tau": (0.05, 0.1, 1.0), 
}  # fmt: skip
"""Numbers that libraries and papers use, by setting."""
OF_REWARDS = ("beta", "watch.rewards", "logp.of", "logp.ld", "reference.used")
"""Settings that move rewards."""
NEVER = {"loss.form": ("kto", "apo_zero_unpaired", *TRUE), "loss.weight": ("wpo", "wpo_shifted")}
"""Words that take what few files have: responses to other prompts, true rewards, probabilities of all tokens."""
INSTEAD = Conventions(dpo_presets, NUMBERS, NEVER)
TOGETHER: tuple[Mapping[str, float | str], ...] = (
    {"logp.of": "mean", "loss.form": "ipo"}, {"logp.of": "sum", "loss.form": "ipo"}, {"logp.of": "mean", "reference.used": "off"},
    {"logp.ld": "both", "logp.ld_alpha": 0.5}, {"loss.nll_coef": 1.0, "loss.nll_mean": "sequence_mean"},
    {"loss.nll_coef": 1.0, "loss.nll_mean": "sequence_sum"},
)  # fmt: skip
"""Settings that mean something together alone."""
LOSSES = ("loss.pair", "preference_loss", "total_loss")
SUMS = {"logp": "policy.sum", "logp_ref": "reference.sum"}
STANDS = {**{f"{side}.reward": f"{side}.logged" for side in SIDES}, "margin": "watch.margin"}
ROWS = STANDS | {f"{side}.{name}": row for side in SIDES for name, row in SUMS.items()}
"""By quantity the row of the definitions that it is, where it is called otherwise."""


SLIPS: Mistakes = {
    "logp": (
        ("the last token of each response left out, as where the pad is the end of a text and is masked", {"mask": "no_last"}),
        ("the first token of each response left out", {"mask": "no_first"}),
        ("the mask one token late, as where it is not shifted as the labels are", {"mask": "later"}),
        ("the token behind each response counted, too", {"mask": "one_more"}),
        ("the prompt counted, too", {"mask": "text"}),
        ("prompt and pads counted, too", {"mask": "all"}),
        ("the policy's log-probs one position late", {"moved": {"policy": 1}}),
        ("the policy's log-probs one position early", {"moved": {"policy": -1}}),
        ("chosen and rejected exchanged in the policy's log-probs", {"sides": ("policy",)}),
    ),
    "logp_ref": (
        ("the reference's log-probs one position late", {"moved": {"reference": 1}}),
        ("the reference's log-probs one position early", {"moved": {"reference": -1}}),
        ("chosen and rejected exchanged in the reference's log-probs", {"sides": ("reference",)}),
        ("the policy's log-probs in the place of the reference's", {"reference": "policy"}),
    ),
    "reward": (
        ("the reference left out", {"reference": "none"}),
        ("the log-ratio the other way round, reference over policy", {"inverted": True}),
        ("chosen and rejected exchanged", {"sides": ("policy", "reference")}),
        ("the policy's log-probs in the place of the reference's", {"reference": "policy"}),
        ("chosen and rejected exchanged in the reference's log-probs", {"sides": ("reference",)}),
    ),
    "accuracy": (
        ("two equal rewards counted as a success", {"equations": {
            "watch.right": equation(lambda b: at_most(b("rejected.logged"), b("chosen.logged")))}}),
        ("two equal rewards counted as half a success", {"equations": {"watch.right": equation(
            lambda b: (less(b("rejected.logged"), b("chosen.logged")) + at_most(b("rejected.logged"), b("chosen.logged"))) / 2)}}),
        ("a success for each side of which the reward has the right sign", {"equations": {"watch.right": equation(
            lambda b: (less(0, b("chosen.logged")) + less(b("rejected.logged"), 0)) / 2)}}),
        ("a success by the margin in the loss, not by the rewards that are logged", {"equations": {
            "watch.right": equation(lambda b: less(0, b("margin.argument")))}}),
        ("chosen and rejected exchanged", {"sides": ("policy", "reference")}),
    ),
    "loss": (
        ("1 − σ of the margin in the place of −log σ", {"equations": {
            "loss.pair": equation(lambda b: 1 - exp(-b("loss.pair")))}}),
        ("a sum over the pairs, not their mean", {"equations": {
            "loss.paired": becomes("loss.over", lambda b: constant(1))}}),
    ),
}  # fmt: skip
"""Mistakes, by what they concern."""
OF_LOSS = ("loss", "reward", "logp", "logp_ref")
OF: Mapping[str, tuple[str, ...]] = {
    "chosen.logp": ("logp",), "rejected.logp": ("logp",), "logps.chosen": ("logp",), "logps.rejected": ("logp",), "nll": ("logp",),
    "chosen.logp_ref": ("logp", "logp_ref"), "rejected.logp_ref": ("logp", "logp_ref"),
    "rewards.accuracies": ("accuracy", "reward", "logp"), "total_loss": OF_LOSS, "preference_loss": OF_LOSS, "loss.pair": OF_LOSS,
}  # fmt: skip
"""By quantity the mistakes that may show in it; in all others those of rewards."""


def tries(batch: PairStep, settings: Settings, name: str, given: Given, whole: PairStep | None) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it, for numbers that the file itself gives away. whole: all files of the step.
    """
    share = name == "rewards.accuracies"  # of some pairs it has few bits: only how a success is told is changed
    told = list[Try]()
    if share:
        told += of_equations(EQUATIONS, settings, "watch.right", ("chosen.logged", "rejected.logged"))
        told += extremes(EQUATIONS, settings, name)
    known = [*_slips(batch, settings, name, whole), *_conventions(settings, name), *told]
    if not share:
        stands = {row for each, row in STANDS.items() if each in given} | (
            set() if "logp" in name else {*SUMS.values()}
        )
        # the mean of margins may be made of rewards, not of the margins that are logged
        stands -= {ROWS.get(name, name), "watch.margin"}
        row = ROWS.get(name, name)
        equations = _of_each_loss(batch, settings, lambda use: of_equations(EQUATIONS, use, row, stands))
        # another mask and other places give the same numbers where the file has nothing outside of the responses
        alike = [each for each in known if "mask" in each.ways or ("logp" in name and each.ways)]
        yield [each for each in known if each not in alike]
        yield [*alike, *equations]
        reads = [of_what_is_read(EQUATIONS, use, row, stands, signs=False) for use in uses(batch, settings)]
        first = [each for of in reads for each in next(of)]
        yield _of_each_loss(batch, settings, lambda use: first)  # what one equation reads otherwise, all of them may
    else:
        yield known
    if name in LOSSES:
        yield [*INSTEAD.of_presets(settings), *_in_one_loss(batch, settings)]
        yield _of_each_loss(batch, settings, lambda use: _of_ratio(use, name))
        yield _of_each_loss(batch, settings, lambda use: of_broadcast(EQUATIONS, use, (row,), stands, batch.pairs))
    if not share:
        forms = [of_other_forms(EQUATIONS, use, (row,), stands) for use in uses(batch, settings)]
        stages = [chain(form, read) for form, read in zip(forms, reads, strict=True)]
        for both in zip(*stages, strict=True):
            yield _of_each_loss(batch, settings, lambda use, both=both: chain(*both))  # type: ignore[misc]
        words = [key for key, record in DPO.items() if record.words]
        yield _of_each_loss(
            batch, settings, lambda use: of_half_words(EQUATIONS, [*INSTEAD.others(use, words)], use, (row,), stands)
        )
    if "logp" not in name:
        own = fitted(batch, settings, name, given)
        yield [INSTEAD.changed(settings, {key: value}, fitted=True) for key, value in own]
    if name in LOSSES:
        yield list(INSTEAD.two_at_a_time(settings, ("loss.form", "logp.of", "reference.used")))


def _of_each_loss(batch: PairStep, settings: Settings, made: Callable[[Settings], Iterable[Try]]) -> list[Try]:
    """Returns causes by the equations of each loss that is added up, each once; in all losses that have such an equation."""
    found = {each.label: each for use in uses(batch, settings) for each in made(use)}
    return [each._replace(settings=settings) for each in found.values()]


def _in_one_loss(batch: PairStep, settings: Settings) -> Iterator[Try]:
    """Yields another value of a setting in one of several losses alone, as where what one of them needs is done to others, too."""
    for at, (name, use) in enumerate(zip(batch.losses, uses(batch, settings), strict=False)):
        for each in INSTEAD.others(use, DPO):
            changes = {key: value for key, value in each.settings.items() if value != use[key]}
            yield Try(f"{each.label}, in the loss {name} alone", settings, {"of_loss": (at, changes)})


def _of_ratio(settings: Settings, name: str) -> Iterator[Try]:
    """Yields changes of the mean of a log-ratio, which libraries divide by its length once: the definitions take two means."""
    if settings["logp.of"] != "mean" or settings["reference.used"] == "off":
        return
    rows = EQUATIONS.under(settings).rows
    policy, reference, over = (rows[row][n] for row in (*SUMS.values(), "policy.over"))
    ratio = (policy - reference) / over
    between = Between(EQUATIONS, settings, (name,), ())
    yield from spelled(between, "policy.logp", ratio, {"reference.logp": equation(lambda b: constant(0))})


def _slips(batch: PairStep, settings: Settings, name: str, whole: PairStep | None) -> Iterator[Try]:
    """Yields mistakes, and numbers that were averaged in parts, multiplied or divided."""
    yield from mistakes_in(SLIPS, OF.get(name, ("reward", "logp", "logp_ref")), settings)
    if name in LOSSES:
        shares, names = [share for share, _ in batch.terms], batch.losses
        yield from (Try(label, settings, {"shares": each}) for label, each in _shares(shares, names))
    yield multiplied(settings, name, -1.0, f"the opposite sign of {name}")
    if whole is not None:
        yield Try("a number of all files of the step together, not of this one", settings, {"whole": True})
    beta = float(settings["beta"])
    if "reward" in name or name == "margin":
        yield multiplied(settings, name, 1 / beta, "β missing")
        yield multiplied(settings, name, beta, "β multiplied twice")
    if "." in name and not name.startswith(("rewards.", "logps.")) and name != "loss.pair":
        return
    yield from sums_of(batch.pairs, settings, name)


def _shares(shares: list[float], names: list[str]) -> Iterator[tuple[str, list[float]]]:
    """Yields other weights of the losses that are added up: none of them, in another order, or one loss left out."""
    if shares:
        yield "the weights of the losses left out", [1.0] * len(shares)
        yield "the weights of the losses the other way round", shares[::-1]
    for at, name in enumerate(names):
        yield f"the loss {name} left out", [*shares[:at], 0.0, *shares[at + 1 :]]
        yield f"the loss {name} alone", [float(other == at) for other, _ in enumerate(shares)]


def _conventions(settings: Settings, name: str) -> Iterator[Try]:
    """Yields every setting with its other values, and some together."""
    rewards, of_logprobs = "reward" in name or name == "margin", "logp" in name
    yield from INSTEAD.others(
        settings,
        [key for key in DPO if (not rewards or key in OF_REWARDS) and (not of_logprobs or key.startswith("logp"))],
    )
    for more in () if rewards or of_logprobs else TOGETHER:
        changes = {key: value for key, value in more.items() if settings[key] != value}
        yield from [INSTEAD.changed(settings, changes)] if changes else []


NEAR = 1e-10
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits, and losses are steep."""
SHOWN_ROWS = {"chosen.logged": "chosen.reward", "rejected.logged": "rejected.reward", "loss.pair": "loss.pair"}
SHOWN_NUMBERS = ("rewards.margins", "rewards.accuracies", "preference_loss", "total_loss")
SHOWN_OF_REWARDS = ("chosen.logged", "rejected.logged", "rewards.margins", "rewards.accuracies")
"""What is made of rewards as they are watched."""
REWARDS_OF_SUMS = (
    "The rewards shown are of log-probs per token, which the loss takes; those that the library logs are of sums, and only verify "
    "has them: with the log-probs of all tokens, of the reference too, a workbook would."
)
IDS_SHOWN = 30


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows pairs of a step. Raises MinibatchError for rows that are not there, more than fit, or conventions that read more."""
    found: Again = verdict.replayed
    batch: PairStep = found.batch
    computable(found, "total_loss", " missing")
    require(
        not batch.terms,
        f"{batch.path} cannot be made into a workbook: its loss is {batch.mixture}, and a workbook has one loss: "
        "verify computes the sum",
    )
    view = view_of(found, chosen, options, -found.rows["margin"], MOST_PAIRS[1], "pairs")
    longest = int(view.step.mask.sum(axis=1).max())
    if per_of(view) == PER[0]:
        check_length(batch.path, longest, "a response")
    require(
        longest > 0, f"{batch.path} has no token in any of the responses there: a workbook needs one; --rows others"
    )
    try:
        check_asked(_parts(view), _asked(view))
    except NumbersError as error:
        raise MinibatchError(f"{batch.path} cannot be made into a workbook: {error}") from error
    again = recompute(view.step, view.settings)
    # Of a library that watches rewards of sums only the means that its loss takes can be given.
    other = per_of(view) == PER[1] and view.settings["logp.of"] != "sum" and view.settings["watch.rewards"] == "sum"
    return view.shown(
        [*view.partly, *([REWARDS_OF_SUMS] if other else [])],
        lambda name: numbers_of(view, name),
        lambda arrays: agreement(arrays, again, SHOWN_OF_REWARDS if other else ()),
    )


def per_of(view: View) -> str:
    """Returns what has a log-prob, a word of `PER`: each token, where those of both models are known, else each response."""
    known = all(f"chosen.{name}" in view.step.tensors for name in ("logprobs", "logprobs_ref"))
    return PER[0] if known else PER[1]


def _asked(view: View) -> dict[str, float | str]:
    """Returns the settings that are not as the preset has them, of those that log-probs alone say."""
    per = per_of(view)
    usual, offered = presets_of(per).presets.get(view.preset), presets_of(per).settings
    alone = {key: words[0] for key, words in WITHOUT[per].items() if len(words) == 1 and key != "logp.of"}
    odd = [key for key, word in alone.items() if view.settings[key] != word and _read(view, key)]
    instead = "".join(f"{key}={alone[key]}" for key in odd[:1])
    require(
        not odd,
        f"{view.step.path} cannot be made into a workbook: {''.join(odd[:1])} reads more than log-probs; "
        f"--set {instead} shows the step without it",
    )
    return {
        key: view.settings[key]
        for key in offered
        if _read(view, key) and (usual is None or view.settings[key] != usual.values.get(key))
    }


def _read(view: View, key: str) -> bool:
    """Whether a setting counts: those of the NLL do only where it has a weight, and those of LD-DPO where that is on."""
    if key.startswith("loss.nll"):
        return bool(float(view.settings["loss.nll_coef"]))
    return not key.startswith("logp.ld_") or view.settings["logp.ld"] != "off"


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at log-probs, 15 digits of each."""
    what = f"{counted(len(view.rows), 'pair')} of a step of {view.step.library or 'DPO'}"
    return view.numbers("pair-logprobs", name, what, _asked(view), _parts(view))


def _parts(view: View) -> dict[str, object]:
    """Returns what is typed, by the keys of a numbers file."""
    step, per = view.step, per_of(view)
    parts: dict[str, object] = {"preset": view.preset, "per": per, "text.prompts": _prompts(view)}
    for at, side in enumerate(SIDES):
        mask, ids = step.mask[at * step.pairs :][: step.pairs], step.tensors.get(f"{side}.tokens")
        of_tokens = per == PER[0]
        whole = tuple((f"{side} response {row}",) for row in view.rows)
        parts[f"text.{side}"] = words_of(ids, mask, lambda at: "?") if of_tokens else whole
        for model, tokens, name in (("policy", "logprobs", "logp"), ("reference", "logprobs_ref", "logp_ref")):
            if of_tokens:
                logprobs, there = step.tensors[f"{side}.{tokens}"], mask
            else:
                logprobs, there = _whole(view, side, tokens, name, mask)[:, None], np.ones((step.pairs, 1), np.bool_)
            parts[f"{model}.{side}"] = ragged(np.minimum(logprobs, 0.0), there)
    return parts


def _whole(view: View, side: str, tokens: str, whole: str, mask: Array) -> Array:
    """Returns the log-prob of each response as the loss takes it, a sum or a mean; 0 where there is no reference."""
    tensors = view.step.tensors
    if f"{side}.{tokens}" in tensors:
        found = (tensors[f"{side}.{tokens}"].astype(np.float64) * mask).sum(axis=1)
    else:
        found = tensors.get(f"{side}.{whole}", np.zeros(len(mask)))
    return np.asarray(found / np.maximum(mask.sum(axis=1), 1) if view.settings["logp.of"] != "sum" else found, float)


def _prompts(view: View) -> tuple[str, ...]:
    """Returns the prompt of each pair, the ids of its tokens as far as they fit."""
    ids, mask = view.step.tensors.get("chosen.tokens"), view.step.tensors.get("chosen.mask")
    if ids is None or mask is None:
        return tuple(f"prompt {row}" for row in view.rows)
    ends = mask.argmax(axis=1) + ids.shape[1] - mask.shape[1]
    return tuple(" ".join(f"#{each}" for each in row[:end][-IDS_SHOWN:]) for row, end in zip(ids, ends, strict=True))


def agreement(arrays: Mapping[str, Array], ours: Again, other: Collection[str] = ()) -> Agreement:
    """Compares rows and losses of a workbook with the pairs computed again. other: rows that are something else there."""
    found = {block: ours.rows[row] for block, row in SHOWN_ROWS.items()} | {
        name: np.asarray(ours.numbers[name]) for name in SHOWN_NUMBERS
    }
    return agreement_of(arrays, {name: row for name, row in found.items() if name not in other}, NEAR)


KIND = SmallKind(ALL, lambda device: partial(recompute, device=device), tries, LOSSES, PAIRS, as_good=LOGPS)
VERIFIER = KIND.verifier(shown)
