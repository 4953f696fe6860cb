"""Reading: a file that somebody names, to its end or to a bound; what would never end, or never begin, is not opened."""

import errno
import os
import stat
from pathlib import Path

LARGEST = 1 << 28
"""Bytes of a file of text: thousands of times the largest of ours."""


def content_of(path: Path, most: int = LARGEST) -> bytes:
    """Returns the bytes of a file, and of a longer one those up to the bound and one more.

    Raises OSError, whose `strerror` says why: it cannot be opened, or is a pipe or a device, of which nobody knows when it ends.
    """
    if not (stat.S_ISREG(mode := os.stat(path).st_mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, and no file", str(path))
    with path.open("rb") as file:
        return file.read(most + 1)
