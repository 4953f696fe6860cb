"""The work on one step, as a process of its own does it: its files verified, and what they come to as plain data."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from blueprint.minibatch import MinibatchError
from blueprint.quoting import sentence
from blueprint.runs.ledger import NOT_VERIFIED
from blueprint.runs.parts import Part, verified
from blueprint.runs.step import Settings, Step, key_of, program
from blueprint.runs.watched import AT_FIRST_UPDATE, WATCHED, mean_of

AGREES, TOO_COARSE, DIFFERS, NOTHING = "agrees", "too coarse", "differs", "nothing logged"
"""What a step may come to, besides `NOT_VERIFIED`: too coarse where no quantity of it can be told."""


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
    nothing = dict.fromkeys(("first", "cause", "where", "text"), "")
    return {"outcome": NOT_VERIFIED, "reason": reason} | nothing | {"parts": [], "watched": {}}


def _verified(folder: Path, step: Step, settings: Settings) -> dict[str, Any]:
    parts, unread = verified([folder / file.name for file in step.files], settings)
    wrong = next((part for part in parts if part.first), None)
    return {
        "outcome": _outcome(parts, unread),
        "reason": sentence("; ".join(unread.values())),
        "first": wrong.first if wrong else "",
        "cause": wrong.cause if wrong else "",
        "where": wrong.path.relative_to(folder).as_posix() if wrong else "",
        "text": wrong.text if wrong else "",
        "parts": [part.data | {"file": part.path.relative_to(folder).as_posix()} for part in parts],
        "watched": _watched(parts),
    }


def _outcome(parts: Sequence[Part], unread: Collection[Path]) -> str:
    """Says in a word what a step comes to; what deviates does so whether or not all of its files can be read."""
    if any(part.first for part in parts):
        return DIFFERS
    if unread:
        return NOT_VERIFIED
    says = [line.says for part in parts for line in part.lines]
    return NOTHING if not says else AGREES if AGREES in says else TOO_COARSE


def _watched(parts: Sequence[Part]) -> dict[str, Any]:
    """Returns the numbers that are followed over the steps, and the ratio of the files before the first update."""
    found = {name: [part.watched[name] for part in parts if name in part.watched] for name in WATCHED}
    first = [part for part in parts if part.place and part.place.before_first_update]
    found[AT_FIRST_UPDATE] = [part.watched["ratio"] for part in first if "ratio" in part.watched]
    return {name: mean_of(pairs) for name, pairs in found.items() if pairs}
