"""A class: a variant of one worksheet for each student, and what comes back of them, marked."""

import os
from contextlib import suppress

from blueprint.quoting import QuotingError


class ClassError(QuotingError):
    """A roster, key, grading policy or folder that cannot be worked with; one sentence says what to write instead."""


def cores() -> int:
    """Returns how many cores this process may use."""
    with suppress(AttributeError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
