"""A step of KTO computed again by the definitions, in float64, from the log-probs that its file has; the causes that are tried; and
some of its responses as a workbook.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: a word of `counted`. moved: by model, its log-probs stand so many columns later (1) or earlier (−1). sides: good and bad
exchanged. own: the KL of the responses themselves. factor: by quantity, what it is multiplied by. equations: by row of the
definitions, how its equation is changed.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from blueprint.dumps import Array, require
from blueprint.inputs import LONGEST, ROWS, Numbers
from blueprint.language import constant
from blueprint.misconceptions import becomes, equation
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
    coefficient,
    computable,
    counted,
    digits,
    factor_of,
    mistakes_in,
    multiplied,
    of_equations,
    off_by,
    ragged,
    sums,
    typed,
    view_of,
)
from blueprint.workbooks.kto.dumps import SingleResponses
from blueprint.workbooks.kto.lesson import GIVEN, LABELS, SETTINGS, derived, kto_presets, n, t

EQUATIONS = Definitions(SETTINGS, LABELS, GIVEN, derived, masks=("mask",))
MODELS = {
    "policy": ("logprobs", "logp", "elsewhere.logp"), "reference": ("logprobs_ref", "logp_ref", "elsewhere.logp_ref"),
}  # fmt: skip
"""By model its tensors: log-probs of tokens, of whole responses, and of responses to other prompts."""
ROWS_OF = {
    "logp": "single.policy", "logp_ref": "single.reference", "reward": "single.reward", "loss.response": "single.loss",
}  # fmt: skip
NUMBERS = {
    "kl": "single.z", "logps.chosen": "single.logps.chosen", "logps.rejected": "single.logps.rejected",
    "rewards.chosen": "single.reward.chosen", "rewards.rejected": "single.reward.rejected", "rewards.margins": "single.margin",
    "total_loss": "total_loss",
}  # fmt: skip
"""By quantity the row of the definitions that it is."""
LOSSES = ("loss.response", "total_loss")
REWARDS = ("rewards.chosen", "rewards.rejected", "rewards.margins")
OF_LOGITS = ("logits.chosen", "logits.rejected", "entropy")
LOGPS = ("logp", "logp_ref")
OF_OTHERS = ("elsewhere.logp", "elsewhere.logp_ref")
MADE_OF = (*LOGPS, "logprobs", "logprobs_ref")
ALL = {
    each.name: each
    for each in (
        Quantity("logp", (), ("logprobs",)),
        Quantity("logp_ref", (), ("logprobs_ref",)),
        Quantity("logps.chosen", ("logp",), MADE_OF),
        Quantity("logps.rejected", ("logp",), MADE_OF),
        Quantity("reward", LOGPS, MADE_OF),
        *(Quantity(name, (*LOGPS, "reward"), MADE_OF) for name in REWARDS),
        Quantity("kl", (), OF_OTHERS),
        Quantity("loss.response", LOGPS, (*MADE_OF, *OF_OTHERS)),
        Quantity("total_loss", (*LOGPS, "loss.response"), (*MADE_OF, *OF_OTHERS)),
        *map(Quantity, OF_LOGITS),
    )
}


def lacking(batch: SingleResponses, settings: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it."""
    found = dict.fromkeys(OF_LOGITS, "logits")
    if settings["loss_type"] == "kto" and (batch.of_all_ranks or OF_OTHERS[0] not in batch.tensors):
        found["kl"] = "the responses of all ranks" if batch.of_all_ranks else "log-probs of responses to other prompts"
        if "kl" not in batch.logged:  # the library's own z stands for what only others know
            found |= dict.fromkeys(LOSSES, found["kl"])
    good = batch.tensors["good"]
    for side, word, some in (("chosen", "good", good), ("rejected", "bad", ~good)):
        if not some.any():
            found |= dict.fromkeys((f"rewards.{side}", f"logps.{side}", "rewards.margins"), f"a {word} response")
    return found


def recompute(
    batch: SingleResponses,
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
    own = _known(batch, ways)
    known = own | {ROWS_OF[name]: row for name, row in given.items()}
    if "kl" in found.lacks:
        known["elsewhere.kl"] = np.asarray(float(batch.logged.get("kl", 0.0)))
    if ways.get("own"):
        known["elsewhere.ratio"] = known["single.policy"] - known["single.reference"]
    sizes = {n: batch.responses, t: known["mask"].shape[1]}
    wanted = {name: row for name, row in (ROWS_OF | NUMBERS).items() if name not in LOGPS}
    made = EQUATIONS.values(settings, sizes, known, wanted.values(), **changed(ways), device=device)
    of = {name: made[row] * factor_of(ways, name) for name, row in wanted.items()}
    of |= {
        name: own[ROWS_OF[name]] * factor_of(ways, name)
        for tokens, name, _ in MODELS.values()
        if tokens in batch.tensors
    }
    found.rows = {name: row for name, row in of.items() if name in ROWS_OF}
    found.numbers = {name: float(number) for name, number in of.items() if name in NUMBERS}
    found.sizes = {name: abs(number) for name, number in found.numbers.items()}
    if sized:
        _add_room(found, known)
        apart = known["elsewhere.policy"] - known["elsewhere.reference"]
        found.on_the_way = sums(
            {
                **dict.fromkeys(("logps.chosen", "logps.rejected"), known["single.policy"]),
                **dict.fromkeys(REWARDS, found.rows["reward"]),
                **{"kl": apart, "total_loss": found.rows["loss.response"]},
            }
        )
    return found


def _known(batch: SingleResponses, ways: Ways) -> dict[str, Array]:
    """Returns what stands in the blocks; a log-prob of a whole response stands as that."""
    mask, tensors = counted(batch.mask, str(ways.get("mask", ""))), batch.tensors
    good = tensors["good"] != bool(ways.get("sides"))
    found = {"mask": mask * 1.0, "response.good": good * 1.0}
    for model, (tokens, whole, other) in MODELS.items():
        moved = np.roll(tensors.get(tokens, np.zeros(mask.shape)), ways.get("moved", {}).get(model, 0), axis=1)
        logprobs = np.where(mask & np.isfinite(moved), np.asarray(moved, np.float64), 0.0)
        found[f"elsewhere.{model}"] = np.asarray(tensors.get(other, np.zeros(len(good))), np.float64)
        found[f"{model}.logprobs"] = logprobs
        found[f"single.{model}"] = np.asarray(logprobs.sum(axis=1) if tokens in tensors else tensors[whole], np.float64)
    return found


def _add_room(found: Again, known: Mapping[str, Array]) -> None:
    """Adds the room of every row and number: σ moves by a quarter of what its argument moves, and z by as much as a response."""
    batch, use = found.batch, found.settings
    unit = UNITS[coarsest(batch.dtypes, (*MADE_OF, *OF_OTHERS))]
    names = ("single.policy", "single.reference", "elsewhere.policy", "elsewhere.reference")
    off = unit * (1 + max(float(np.abs(known[name]).max(initial=0.0)) for name in names))
    beta, weight = float(use["beta"]), max(float(use["desirable_weight"]), float(use["undesirable_weight"]))
    found.room = {
        **dict.fromkeys((*LOGPS, "logps.chosen", "logps.rejected"), off),
        **dict.fromkeys(("reward", *REWARDS), 2 * beta * off + unit),
        **dict.fromkeys(LOSSES, weight * (beta * off + unit)),
        "kl": 2 * off,
    }


MASKS: tuple[tuple[str, Ways], ...] = (
    ("the last token of each response left out, as where the pad is the end of a text and is masked", {"mask": "no_last"}),
    ("the first token of each response left out", {"mask": "no_first"}),
    ("the mask one token late, as where it is not shifted as the labels are", {"mask": "later"}),
    ("the token behind each response counted, too", {"mask": "one_more"}),
    ("prompt and pads counted, too", {"mask": "all"}),
    *((f"the {model}'s log-probs one position {how}", {"moved": {model: by}})
      for model in MODELS for how, by in (("late", 1), ("early", -1))),
)  # fmt: skip
OTHERS: tuple[tuple[str, Ways], ...] = (
    ("the KL of the responses themselves, not of those to other prompts, as with one response in a batch", {"own": True}),
    ("the KL not held at 0, and below it here", {"equations": {"elsewhere.kl": equation(lambda b: b("elsewhere.mean"))}}),
    ("the sum of the log-ratios elsewhere, not their mean", {"equations": {
        "elsewhere.mean": becomes("single.count", lambda b: constant(1))}}),
)  # fmt: skip
SIDES: tuple[str, Ways] = ("good and bad responses exchanged", {"sides": True})
SUM: tuple[str, Ways] = (
    "a sum over the responses, not their mean",
    {"equations": {"total_loss": becomes("single.count", lambda b: constant(1))}},
)
ANY = "any"
SLIPS: Mistakes = {
    "logp": MASKS, "logp_ref": MASKS, "kl": OTHERS, "total_loss": (SIDES, *OTHERS, SUM, *MASKS),
    "loss.response": (SIDES, *OTHERS, *MASKS), ANY: (SIDES, *MASKS),
}  # fmt: skip
"""By quantity the mistakes that may show in it; in all others those of sides and masks."""
INSTEAD = Conventions(kto_presets, {
    "beta": (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0), "desirable_weight": (1.0, 1.33, 1.5, 2.0),
    "undesirable_weight": (1.0, 1.33, 1.5, 2.0),
})  # fmt: skip
MOST = 8


def tries(
    batch: SingleResponses, settings: Settings, name: str, given: Given, whole: SingleResponses | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. whole: all files of the step, where there are several.
    """
    reads = SETTINGS if name in LOSSES else ("loss_type",) if name == "kl" else ("beta",) if "reward" in name else ()
    yield [*mistakes_in(SLIPS, (name if name in SLIPS else ANY,), settings), *INSTEAD.others(settings, reads)]
    known = {ROWS_OF[each] for each in given} | (set() if name in LOGPS else {"single.policy", "single.reference"})
    yield list(of_equations(EQUATIONS, settings, (ROWS_OF | NUMBERS).get(name, name), known))
    yield [*_factors(batch, settings, name, whole), *_fitted(batch, settings, name, given)]


def _factors(batch: SingleResponses, settings: Settings, name: str, whole: SingleResponses | None) -> Iterator[Try]:
    """Yields a number of the other sign, multiplied or divided by a few."""
    yield multiplied(settings, name, -1.0, f"the opposite sign of {name}")
    if whole is not None:
        yield Try("a number of all files of the step together, not of this one", settings, {"whole": True})
    for count in sorted({*range(2, MOST + 1), batch.responses}):
        yield multiplied(settings, name, float(count), f"everything multiplied by {count}")
        yield multiplied(settings, name, 1.0 / count, f"everything divided by {count}")


def _fitted(batch: SingleResponses, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields the β of rewards, or the weight of a loss, that makes a number what the file logged, to three digits."""
    values = dict[str, float]()
    if name == "reward" or (name.startswith("rewards.") and name in batch.logged):
        ours = recompute(batch, settings, given=given)
        mine = ours.rows["reward"] if name == "reward" else np.array([ours.numbers[name]])
        theirs = np.asarray(batch.tensors["reward"] if name == "reward" else [batch.logged[name]], np.float64)
        at = int(np.argmax(np.abs(mine)))
        values = {"beta": float(settings["beta"]) * float(theirs[at] / mine[at])} if mine[at] else {}
    elif name == "total_loss" and name in batch.logged:
        off = off_by(recompute, batch, settings, name, given)
        values = {key: coefficient(partial(off, key)) for key in ("desirable_weight", "undesirable_weight")}
    for key, value in values.items():
        for number in typed(value, SETTINGS[key].high):
            yield INSTEAD.changed(settings, {key: number}, fitted=True)


NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, and a cell has 15 digits."""
SHOWN_ALONE = "Loss and KL are those of the responses shown; of the whole step they are what verify says."


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows responses of a step. Raises MinibatchError for rows that are not there, or more or longer ones than fit."""
    found: Again = verdict.replayed
    computable(found, "total_loss", " missing")
    view = view_of(found, chosen, options, found.rows["loss.response"], ROWS[1], "responses")
    longest = int(view.step.mask.sum(axis=1).max())
    require(
        0 < longest <= LONGEST,
        f"{view.step.path} has a longest response of {longest} tokens there: a workbook shows 1 to {LONGEST}; --rows others",
    )
    again = recompute(view.step, found.settings)
    remarks = [] if view.all and not found.batch.of_all_ranks else [SHOWN_ALONE]
    return view.shown(remarks, lambda name: numbers_of(view, name), lambda arrays: agreement(arrays, again))


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook, 15 digits of each; a log-prob of a whole response stands as its only token."""
    step, count = view.step, len(view.rows)
    of_tokens = "logprobs" in step.tensors and "logprobs_ref" in step.tensors
    again = _known(step, PLAIN)
    parts: dict[str, object] = {
        "responses.prompts": tuple(f"row {row}" for row in view.rows),
        "responses.good": step.tensors["good"] * 1.0,
    }
    for model in MODELS:
        logprobs, mask = (
            (again[f"{model}.logprobs"], step.mask)
            if of_tokens
            else (again[f"single.{model}"][:, None], np.ones((count, 1), np.bool_))
        )
        parts[f"{model}.logprobs"] = ragged(np.minimum(logprobs, 0.0), mask)
        parts[f"{model}.elsewhere"] = digits(np.minimum(again[f"elsewhere.{model}"], 0.0))
    asked = {key: value for key, value in view.settings.items() if value != SETTINGS[key].value}
    return view.numbers(
        "single-responses",
        name,
        f"{count} response{'s' * (count > 1)} of a step of {step.library or 'KTO'}",
        asked,
        parts,
    )


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares rows and losses of a workbook with the responses computed again."""
    rows = {"single.reward": ours.rows["reward"], "single.loss": ours.rows["loss.response"]}
    return agreement_of(arrays, rows | {row: np.asarray(ours.numbers[name]) for name, row in NUMBERS.items()}, NEAR)


KIND = SmallKind(ALL, lambda device: partial(recompute, device=device), tries, LOSSES, Axes("response", "", "response"))
VERIFIER = KIND.verifier(shown)
