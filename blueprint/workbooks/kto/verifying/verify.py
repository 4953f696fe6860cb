"""Which number of a step of KTO went wrong first, all being computed again; and the causes that are tried."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path

import numpy as np

from blueprint.dumps import whole_of
from blueprint.language import constant
from blueprint.misconceptions import becomes, equation
from blueprint.verifying import (
    Given,
    Judge,
    Settings,
    SmallTrial,
    StepVerdict,
    Try,
    VerifyOptions,
    Watch,
    Way,
    Ways,
    given_of,
    of_equations,
    one_thread,
    shown,
    verdict_of,
    verify_parts,
)
from blueprint.workbooks.kto.build import KTO
from blueprint.workbooks.kto.dumps import SingleResponses
from blueprint.workbooks.kto.verifying.recompute import (
    ALL,
    EQUATIONS,
    LOGPS,
    LOSSES,
    NUMBERS,
    RESPONSES,
    ROWS,
    recompute,
)

MASKS: tuple[tuple[str, Ways], ...] = (
    ("the last token of each response left out, as where the pad is the end of a text and is masked", {"mask": "no_last"}),
    ("the first token of each response left out", {"mask": "one_less"}),
    ("the token behind each response counted, too", {"mask": "one_more"}),
    ("prompt and pads counted, too", {"mask": "all"}),
    *((f"the {model}'s log-probs one position {how}", {"moved": {model: by}})
      for model in ("policy", "reference") for how, by in (("late", 1), ("early", -1))),
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
SLIPS: Mapping[str, tuple[tuple[str, Ways], ...]] = {
    "logp": MASKS, "logp_ref": MASKS, "kl": OTHERS, "total_loss": (SIDES, *OTHERS, SUM, *MASKS),
    "loss.response": (SIDES, *OTHERS, *MASKS),
}  # fmt: skip
"""By quantity the mistakes that may show in it; in all others those of sides and masks."""
NUMBERS_TRIED: Mapping[str, tuple[float, ...]] = {
    "beta": (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0), "desirable_weight": (1.0, 1.33, 1.5, 2.0),
    "undesirable_weight": (1.0, 1.33, 1.5, 2.0),
}  # fmt: skip
READ = {"kl": ("loss_type",)}
"""By quantity the settings that it reads; a loss reads all, a reward β."""
MOST, DIGITS = 8, 3


def tries(
    batch: SingleResponses, settings: Settings, name: str, given: Given, whole: SingleResponses | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. whole: all files of the step, where there are several.
    """
    slips = [Try(label, settings, ways) for label, ways in SLIPS.get(name, (SIDES, *MASKS))]
    known = {ROWS[each] for each in given} | (set() if name in LOGPS else {"single.policy", "single.reference"})
    yield [*slips, *_settings(settings, name)]
    yield list(of_equations(EQUATIONS, settings, {**ROWS, **NUMBERS}.get(name, name), known))
    yield [*_factors(batch, settings, name, whole), *_fitted(batch, settings, name, given)]


def _settings(settings: Settings, name: str) -> Iterator[Try]:
    """Yields every setting that the quantity reads with its other values."""
    read = KTO if name in LOSSES else READ.get(name, ("beta",) if "reward" in name else ())
    for key in read:
        for value in KTO[key].words or NUMBERS_TRIED[key]:
            if value != settings[key]:
                yield Try(f"kto.{key} = {shown(value)}", {**settings, key: value})


def _factors(batch: SingleResponses, settings: Settings, name: str, whole: SingleResponses | None) -> Iterator[Try]:
    """Yields a number of the other sign, multiplied or divided by a few."""
    yield Try(f"the opposite sign of {name}", settings, {"factor": {name: -1.0}})
    if whole is not None:
        yield Try("a number of all files of the step together, not of this one", settings, {"whole": True})
    for count in sorted({*range(2, MOST + 1), batch.responses}):
        yield Try(f"everything multiplied by {count}", settings, {"factor": {name: float(count)}})
        yield Try(f"everything divided by {count}", settings, {"factor": {name: 1.0 / count}})


def _fitted(batch: SingleResponses, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields the β of rewards, or the weight of a loss, that makes a number what the file logged, to three digits."""
    ours = recompute(batch, settings, given=given)
    if name == "reward" or (name.startswith("rewards.") and name in batch.logged):
        mine = ours.rows["reward"] if name == "reward" else np.array([ours.numbers[name]])
        theirs = np.asarray(batch.tensors["reward"] if name == "reward" else [batch.logged[name]], np.float64)
        at = int(np.argmax(np.abs(mine)))
        values = {"beta": float(settings["beta"]) * float(theirs[at] / mine[at])} if mine[at] else {}
    elif name == "total_loss" and name in batch.logged:
        values = {}
        for key in ("desirable_weight", "undesirable_weight"):
            none, one = (recompute(batch, {**settings, key: each}, given=given).numbers[name] for each in (0.0, 1.0))
            values |= {key: (batch.logged[name] - none) / (one - none)} if one != none else {}
    else:
        return
    for key, value in values.items():
        if isfinite(value) and 0 < value <= KTO[key].high:
            typed = float(f"{value:.{DIGITS}g}")
            yield Try(f"kto.{key} = {shown(typed)}", {**settings, key: typed}, fitted=True)


def trial_of(
    batch: SingleResponses, settings: Settings, options: VerifyOptions, steps: Sequence[SingleResponses] = ()
) -> SmallTrial:
    """Computes a step again under settings, to be compared with what its file logged; steps: all files of the step."""
    again = partial(recompute, device=options.device)
    found = again(batch, settings, sized=True)
    judge, given = Judge(batch, found, ALL, options.tolerance, RESPONSES), given_of(batch, ROWS)
    return SmallTrial(batch, settings, found, judge, given, whole_of(batch, steps), again, tries, LOSSES, ALL)


@one_thread()
def verify_steps(
    batches: Sequence[SingleResponses], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step, each with its own responses."""
    return verify_parts(Way(ALL, trial_of, verdict_of), batches, options, watch, not_read)
