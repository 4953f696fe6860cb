"""The texts in a pickle, by which a checkpoint is told from a dump: its codes are gone through, and nothing in it is run."""

import pickletools
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from blueprint.dumps.formats.raw import LONGEST_HEADER

MOST_TEXTS = 1 << 16
"""Texts that are looked at: the names of a large model's weights."""


def texts_of(path: Path) -> tuple[str, ...] | None:
    """Returns the texts in a pickle, or in that of a file of torch.save; None for a file that is none, or is damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_HEADER)
        if head.startswith(b"PK"):
            with zipfile.ZipFile(path) as archive:
                name = next((each for each in archive.namelist() if each.endswith("data.pkl")), None)
                if name is None:
                    return None
                with archive.open(name) as entry:
                    head = entry.read(LONGEST_HEADER)
        return tuple(dict.fromkeys(_texts(head))) if head[:1] == b"\x80" else None
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        return None


def _texts(content: bytes) -> list[str]:
    """Returns the texts of the pickles that stand one behind the other, as old versions of torch write five.

    Raises ValueError where the first of them is damaged; behind them stand numbers.
    """
    found, stream = list[str](), BytesIO(content)
    while stream.tell() < len(content) and len(found) < MOST_TEXTS:
        begun = stream.tell()
        try:
            found += [each for code, each, _ in pickletools.genops(stream) if isinstance(each, str)]
        except (ValueError, OverflowError, UnicodeDecodeError):
            if not begun:
                raise
            break
    return found
