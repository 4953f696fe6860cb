"""Ways to check a file: from Python and by the command."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blueprint.checking import Checked
from blueprint.checking.checked_file import compute_together
from blueprint.checking.checker import check
from blueprint.checking.verdicts import Verdict
from blueprint.page.read import Found
from tests.commands import run_command

SIGNAL, LOSS = "Reward & advantage", "Loss"


def judged(path: Path) -> Verdict:
    """Checks one file."""
    return check([Checked(path)]).verdicts[0]


def judged_together(paths: Sequence[Path]) -> tuple[Verdict, ...]:
    """Checks files of one kind as the command does, with one call of the engine for all."""
    files = [Checked(path) for path in paths]
    with ThreadPoolExecutor(1) as pool:
        compute_together(files, pool)
        return check(files).verdicts


def row_of(places: dict[str, Found], name: str) -> int:
    """Returns the row of a block that has one."""
    return places[name].top


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs the command; returns exit code, stdout and stderr."""
    result = run_command("check", *arguments)
    return result.exit_code, result.stdout, result.stderr
