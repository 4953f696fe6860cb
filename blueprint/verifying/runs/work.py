"""The work on one step, as a process of its own does it: its files verified, and what they come to as plain data."""

import time
from pathlib import Path
from typing import Any

from blueprint.dumps import MinibatchError
from blueprint.quoting import sentence
from blueprint.verifying.runs.ledger import NOT_VERIFIED
from blueprint.verifying.runs.metrics import AT_FIRST_UPDATE, WATCHED, mean_of
from blueprint.verifying.runs.parts import Found, verified
from blueprint.verifying.runs.step import Step, key_of, program
from blueprint.verifying.verdict import VerifyOptions

AGREES, TOO_COARSE, NEEDS_OTHERS = "agrees", "too coarse", "needs the others"
DIFFERS, NOTHING = "differs", "nothing logged"
"""What a step may come to, besides `NOT_VERIFIED`: too coarse where no quantity of it can be told."""


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
    files = [{"name": file.name, "size": file.size, "mtime_ns": file.mtime_ns} for file in step.files]
    known = {"key": key_of(step, settings), "program": program()}
    return known | {"step": step.number, "name": step.name, "bytes": step.size, "files": files}


def refused(reason: str) -> dict[str, Any]:
    """Returns what a record says of a step that could not be verified."""
    nothing = dict.fromkeys(("first", "cause", "where", "text"), "")
    return {"outcome": NOT_VERIFIED, "reason": reason} | nothing | {"quantities": [], "data": [], "watched": {}}


def _verified(folder: Path, step: Step, settings: VerifyOptions) -> dict[str, Any]:
    found = verified([folder / file.name for file in step.files], settings)
    return {
        "outcome": _outcome(found),
        "reason": sentence("; ".join(found.unread)),
        "first": found.first,
        "cause": found.cause,
        "where": found.where.relative_to(folder).as_posix() if found.where else "",
        "text": found.text,
        "quantities": list(found.quantities),
        "data": list(found.data),
        "watched": _watched(found),
    }


def _outcome(found: Found) -> str:
    """Says in a word what a step comes to; what deviates does so whether or not all of its files can be read."""
    if found.first:
        return DIFFERS
    if found.unread:
        return NOT_VERIFIED
    return next((each for each in (AGREES, TOO_COARSE, NEEDS_OTHERS) if each in found.says), NOTHING)


def _watched(found: Found) -> dict[str, Any]:
    """Returns the numbers that are followed over the steps, and the ratio of the files before the first update."""
    pairs = {name: [each[name] for each in found.watched if name in each] for name in WATCHED}
    pairs[AT_FIRST_UPDATE] = [each["ratio"] for each in found.before if "ratio" in each]
    return {name: mean_of(each) for name, each in pairs.items() if each}
