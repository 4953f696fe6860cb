"""The files of a folder that are dumps, or were meant to be; none of them is opened."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.dumps.formats import is_bundle

ENDINGS = (".safetensors", ".npz", ".jsonl", ".parquet", ".pt", ".pth")
"""What ends so is a dump, or was meant to be one: if it is damaged, its step counts as not verified."""


def files_in(folder: Path) -> Iterator[Path]:
    """Yields the files of a folder and of those in it, but for hidden ones; a folder that is one dump is named itself.

    Raises OSError for a folder that cannot be listed: its steps would be missing unseen.
    """
    for at, folders, names in os.walk(folder, onerror=_raised):
        shown = sorted((each for each in folders if not each.startswith(".")), key=natural)
        bundles = [each for each in shown if is_bundle(Path(at, each))]
        folders[:] = [each for each in shown if each not in bundles]
        yield from (Path(at, each) for each in bundles)
        yield from (Path(at, name) for name in sorted(names, key=natural) if not name.startswith("."))


def ends_as_dump(path: Path) -> bool:
    """Tells by its name whether a file may be a dump."""
    return path.suffix.lower() in ENDINGS or is_bundle(path)


def natural(name: str) -> list[tuple[int, str]]:
    """Returns by what names are sorted so that 10 stands behind 9."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d{1,15})", name)]


def _raised(error: OSError) -> None:
    raise error
