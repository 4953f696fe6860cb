"""How many cores of this machine there are for us."""

import os
from contextlib import suppress


def cores() -> int:
    """Returns how many cores this process may use."""
    with suppress(AttributeError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
