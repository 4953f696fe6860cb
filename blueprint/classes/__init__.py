"""A class: a variant of one worksheet for each student, and what comes back of them, marked."""

from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.files import content_of
from blueprint.quoting import QuotingError

if TYPE_CHECKING:
    from pydantic import ValidationError


class ClassError(QuotingError):
    """A roster, key, grading policy or folder that cannot be worked with; one sentence says what to write instead."""


def bytes_of(path: Path, what: str, largest: int, mend: str) -> bytes:
    """Reads a file that somebody names. what: what it should be; mend: what to do. Raises ClassError, also for a larger one."""
    try:
        found = content_of(path, largest)
    except OSError as error:
        says = (error.strerror or str(error)).lower()
        raise ClassError(f"{path} cannot be read as {what} ({says}): {mend}") from None
    if len(found) > largest:
        raise ClassError(f"{path} has more than {largest / 2**20:.0f} MiB, as {what} never has: {mend}")
    return found


def first_fault(error: "ValidationError") -> tuple[str, str, str]:
    """Returns where data first differ from their model, what is said of it, and the kind of the difference."""
    first = error.errors(include_url=False, include_input=False)[0]
    return ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, "), first["type"]
