"""The work on one step, as a process of its own does it: its files verified, and what they come to as plain data."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from blueprint.dumps import MinibatchError
from blueprint.quoting import sentence
from blueprint.verifying import Part, StepVerdict, VerifyOptions, data_of_step, read_dumps, text_of_step, verify_dumps
from blueprint.verifying.runs.ledger import NOT_VERIFIED
from blueprint.verifying.runs.step import Step, key_of, program

AGREES, TOO_COARSE, NEEDS_OTHERS = "agrees", "too coarse", "needs the others"
DIFFERS, NOTHING = "differs", "nothing logged"
"""What a step may come to, besides `NOT_VERIFIED`: too coarse where no quantity of it can be told."""


NOTHING_FIRST = dict.fromkeys(("first", "cause", "where", "text"), "")
"""What a record says of the first deviation where there is none."""


def record_of(folder: Path, step: Step, settings: VerifyOptions) -> dict[str, Any]:
    """Verifies a step and returns its record for the ledger; whatever goes wrong is in it, as a reason."""
    began = time.monotonic()
    try:
        found = _verified(folder, step, settings)
    except MinibatchError as error:
        found = refused(str(error))
    except MemoryError:
        found = refused("it needs more memory than there is: verify with fewer --workers, or where there is more")
    except Exception as error:  # the other steps are to be verified, whatever this one is
        found = refused(sentence(f"something unforeseen came up ({type(error).__name__}: {error})"))
    return head_of(step, settings) | found | {"seconds": round(time.monotonic() - began, 3)}


def head_of(step: Step, settings: VerifyOptions) -> dict[str, Any]:
    """Returns what a record begins with: which step it is, and what exactly was verified."""
    return {
        "key": key_of(step, settings),
        "program": program(),
        "step": step.number,
        "name": step.name,
        "bytes": step.size,
        "files": [asdict(file) for file in step.files],
    }


def refused(reason: str) -> dict[str, Any]:
    """Returns what a record says of a step that could not be verified."""
    return {"outcome": NOT_VERIFIED, "reason": reason, **NOTHING_FIRST, "quantities": [], "data": [], "watched": {}}


def _verified(folder: Path, step: Step, options: VerifyOptions) -> dict[str, Any]:
    """Returns what the files of a step come to, those of each kind together. Raises MinibatchError as `verify_step`."""
    dumps, unread = read_dumps([folder / file.name for file in step.files])
    kinds = dict.fromkeys(dump.kind for dump in dumps)
    verdicts = [verify_dumps([dump for dump in dumps if dump.kind == kind], options) for kind in kinds]
    reasons = [*unread.values(), *(reason for each in verdicts for reason in each.unread.values())]
    computed = [(each, data_of_step(each)) for each in verdicts if each.parts]
    first = next((_first(each, data, folder) for each, data in computed if each.first), NOTHING_FIRST)
    return {
        "outcome": _outcome(
            bool(first["first"]), reasons, {line.line.says for each in verdicts for line in each.lines}
        ),
        "reason": sentence("; ".join(reasons)),
        **first,
        "quantities": [quantity for _, data in computed for quantity in data["quantities"]],
        "data": [_shortened(data, bool(each.first)) for each, data in computed],
        "watched": _metrics([part for each in verdicts for part in each.parts]),
    }


def _first(step: StepVerdict, data: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Returns the quantity that deviates first, its likeliest cause, the file that it deviates in, and the report of it."""
    return {
        "first": step.first.name if step.first else "",
        "cause": step.causes[0].said if step.causes else "",
        "where": Path(data["first"]["file"]).relative_to(folder).as_posix(),
        "text": text_of_step(step),
    }


def _shortened(data: Mapping[str, Any], deviates: bool) -> dict[str, Any]:
    """Returns what a step comes to for programs, of single files only where one deviates."""
    return {name: each for name, each in data.items() if name != "quantities" and (deviates or name != "files")}


def _outcome(deviates: bool, unread: Sequence[str], verdicts: set[str]) -> str:
    """Says in a word what a step comes to; what deviates does so whether or not all of its files can be read."""
    if deviates:
        return DIFFERS
    if unread:
        return NOT_VERIFIED
    return next((each for each in (AGREES, TOO_COARSE, NEEDS_OTHERS) if each in verdicts), NOTHING)


AT_FIRST_UPDATE = "ratio_at_first_update"
METRICS = {
    "ratio": ("loss.mean_ratio", "ratio.mean"),
    "approx_kl": ("approx_kl.used", "approx_kl.k3", "approx_kl.k1"),
    "clip_fraction": ("clip_fraction.used", "clip_fraction"),
    "kl": ("kl.statistic",),
    "policy_loss": ("policy_loss",),
    "value_loss": ("value_loss",),
    "entropy": ("entropy", "entropy.watched"),
    "total_loss": ("total_loss",),
}
"""By what they are called here, their names among what is computed again; any of them may be logged."""


class Pair(NamedTuple):
    """A number of a file; None where nothing was logged, or it cannot be computed."""

    logged: float | None
    recomputed: float | None


def _metrics(parts: Sequence[Part]) -> dict[str, Any]:
    """Returns the metrics that are followed over the steps, and the ratio of the files before the first update."""
    places = [part.verdict.replayed.batch.place for part in parts]
    before = [part for part, place in zip(parts, places, strict=True) if place and place.before_first_update]
    found = {name: _mean(_pair(names, part) for part in parts) for name, names in METRICS.items()}
    found[AT_FIRST_UPDATE] = _mean(_pair(METRICS["ratio"], part) for part in before)
    return {name: pair._asdict() for name, pair in found.items() if pair != Pair(None, None)}


def _pair(names: Sequence[str], part: Part) -> Pair:
    """Returns a metric of a file: as it was compared, else what was computed."""
    for line in part.verdict.lines:
        if line.compared.name in names and line.compared.logged is not None:
            return Pair(_finite(line.compared.logged), _finite(line.compared.recomputed))
    computed = part.verdict.replayed.numbers
    return Pair(None, next((_finite(computed[name]) for name in names if name in computed), None))


def _mean(pairs: Iterable[Pair]) -> Pair:
    """Returns the means over the files of a step; if some of them log it, over those alone, so that both are of the same."""
    found = list(pairs)
    found = [pair for pair in found if pair.logged is not None] or found
    known = ([number for number in numbers if number is not None] for numbers in zip(*found, strict=True))
    return Pair(*(fmean(numbers) if numbers else None for numbers in known)) if found else Pair(None, None)


def _finite(value: float | None) -> float | None:
    """Returns a number that JSON can hold, or None."""
    return value if value is not None and math.isfinite(value) else None
