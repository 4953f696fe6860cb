"""The options of `blueprint verify` that are for a whole run, and what is asked by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from blueprint.commands.refusals import Refused


@dataclass(frozen=True)
class Asked:
    """What is asked of a whole run; the names are those of the options."""

    fail_fast: bool
    only: str | None
    workers: int | None
    ledger: Path | None
    ray: str | None
    csv: Path | None
    plot: Path | None

    def refuse_for_files(self) -> None:
        """Refuses options of a run where single files were named."""
        for name in (each.name for each in fields(self) if getattr(self, each.name)):
            raise Refused(
                f"--{name.replace('_', '-')} is for a whole run: name the folder with its steps instead of files"
            )


OPTIONS = (
    click.option("--fail-fast", is_flag=True, help="Of a folder: stop at the first step that deviates."),
    click.option("--only", metavar="PATTERN", help="Of a folder: only files whose names fit, as in '*.safetensors'."),
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Of a folder: steps at a time  [default: one per core]"),
    click.option(
        "--ledger", type=click.Path(path_type=Path), metavar="FILE",
        help="Of a folder: where finished steps are noted, so that the same command goes on  [default: in the folder]",
    ),
    click.option("--ray", metavar="ADDRESS", help="Of a folder: work on a Ray cluster, auto or an address; it sees the folder."),
    click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Of a folder: a line for each step."),
    click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Of a folder: a plot, .png, .svg or .pdf."),
)  # fmt: skip


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of a whole run; they come to it as one, `run`."""

    @wraps(command)
    def gathered(**given: Any) -> None:
        asked = Asked(**{each.name: given.pop(each.name) for each in fields(Asked)})
        command(run=asked, **given)

    for option in reversed(OPTIONS):
        gathered = option(gathered)
    return gathered
