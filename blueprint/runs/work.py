"""The work on one step, as a process of its own does it: its files verified, and what they come to as plain data."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from blueprint.minibatch import MinibatchError
from blueprint.quoting import sentence
from blueprint.runs.ledger import NOT_VERIFIED
from blueprint.runs.step import Settings, Step, key_of, program

if TYPE_CHECKING:
    from blueprint.replay import Part, StepVerdict, Verdict

AGREES, TOO_COARSE, DIFFERS, NOTHING = "agrees", "too coarse", "differs", "nothing logged"
"""What a step may come to, besides `NOT_VERIFIED`: too coarse where no quantity of it can be told."""

AT_FIRST_UPDATE = "ratio_at_first_update"
WATCHED = {
    "ratio": ("ratio", "loss.mean_ratio", "ratio.mean"),
    "approx_kl": ("approx_kl", "approx_kl.used"),
    "clip_fraction": ("clip_fraction", "clip_fraction.used"),
    "kl": ("kl", "kl.statistic"),
    "policy_loss": ("policy_loss", "policy_loss"),
    "value_loss": ("value_loss", "value_loss"),
    "entropy": ("entropy", "entropy", "entropy.watched"),
    "total_loss": ("total_loss", "total_loss"),
}
"""What is followed over the steps: what it needs, and its names among what is computed again, of which any may be logged."""


def record_of(folder: Path, step: Step, settings: Settings) -> dict[str, Any]:
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


def head_of(step: Step, settings: Settings) -> dict[str, Any]:
    """Returns what a record begins with: which step it is, and what exactly was verified."""
    files = [{"name": file.name, "size": file.size, "mtime_ns": file.mtime_ns} for file in step.files]
    known = {"key": key_of(step, settings), "program": program()}
    return known | {"step": step.number, "name": step.name, "bytes": step.size, "files": files}


def refused(reason: str) -> dict[str, Any]:
    """Returns what a record says of a step that could not be verified."""
    return {"outcome": NOT_VERIFIED, "reason": reason, "parts": [], "watched": {}}


def _verified(folder: Path, step: Step, settings: Settings) -> dict[str, Any]:
    from blueprint.replay import verify_step

    paths = [folder / file.name for file in step.files]
    found = verify_step(paths, settings.preset, settings.overrides, settings.tolerance, settings.device)
    return {
        "outcome": _outcome(found),
        "reason": sentence("; ".join(found.unread.values())),
        "parts": [_part(folder, each) for each in found.parts],
        "watched": _watched([part.verdict for part in found.parts]),
    }


def _part(folder: Path, part: Part) -> dict[str, Any]:
    """Returns the verdict on a file as data, with its report where something deviates; named as in the run's folder."""
    from blueprint.replay import data_of, text_of

    text = "" if part.verdict.agrees else f"{part.chosen}\n\n{text_of(part.verdict)}"
    return data_of(part.verdict) | {"file": part.path.relative_to(folder).as_posix(), "text": text}


def _outcome(found: StepVerdict) -> str:
    """Says in a word what a step comes to; what deviates does so whether or not all of its files can be read."""
    if not found.agrees:
        return DIFFERS
    if found.unread:
        return NOT_VERIFIED
    says = [line.says for part in found.parts for line in part.verdict.lines]
    return NOTHING if not says else AGREES if AGREES in says else TOO_COARSE


def _watched(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Returns the numbers that are followed over the steps, and the ratio of the files before the first update."""
    first = [each for each in verdicts if (place := each.replayed.batch.place) and place.before_first_update]
    found = {name: _mean(verdicts, *WATCHED[name]) for name in WATCHED} | {
        AT_FIRST_UPDATE: _mean(first, *WATCHED["ratio"])
    }
    return {name: each for name, each in found.items() if each}


def _mean(verdicts: Iterable[Verdict], needs: str, *names: str) -> dict[str, float | None]:
    """Returns a number as it was logged and recomputed, means over the files; if some log it, over those alone."""
    pairs = [_pair(each, names) for each in verdicts if each.replayed.available(needs)]
    pairs = [pair for pair in pairs if pair[0] is not None] or pairs
    if not pairs:
        return {}
    logged, recomputed = ([each for each in column if each is not None] for column in zip(*pairs, strict=True))
    return {"logged": fmean(logged) if logged else None, "recomputed": fmean(recomputed) if recomputed else None}


def _pair(verdict: Verdict, names: Sequence[str]) -> tuple[float | None, float | None]:
    """Returns what was logged, None if nothing was, and what was recomputed."""
    for line in verdict.lines:
        if line.compared.name in names and line.compared.logged is not None:
            return _number(line.compared.logged), _number(line.compared.recomputed)
    return None, _number(verdict.replayed.whole.get(names[0]))


def _number(value: float | None) -> float | None:
    """Returns a number that JSON can hold, or None."""
    return value if value is not None and math.isfinite(value) else None
