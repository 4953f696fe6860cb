"""A copy of the package in which something new is made, to see how many files that takes and where it then stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import blueprint

PACKAGE = Path(blueprint.__file__).parent
REPOSITORY = PACKAGE.parent


def copied(folder: Path) -> Path:
    """Copies the package into a folder, and returns the folder."""
    shutil.copytree(PACKAGE, folder / "blueprint", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def changed(copy: Path) -> list[str]:
    """Lists the files that are others than in the package, by their path in it."""
    files = sorted(path for path in (copy / "blueprint").rglob("*") if path.is_file() and path.suffix != ".pyc")
    inside = [path.relative_to(copy / "blueprint") for path in files]
    return [
        path.as_posix()
        for path in inside
        if not (PACKAGE / path).is_file() or (PACKAGE / path).read_bytes() != (copy / "blueprint" / path).read_bytes()
    ]


def run(copy: Path, *command: str) -> str:
    """Runs Python on the copy, with the repository's tests beside it, and returns what it prints; it must not fail."""
    way = os.pathsep.join([str(copy), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": way, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
