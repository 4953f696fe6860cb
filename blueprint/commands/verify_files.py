"""`blueprint verify` of files: grouped by step, each step verified as a whole, and printed. No maths."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

import click

from blueprint.commands.console import say
from blueprint.commands.refusals import Refused, Unreadable
from blueprint.dumps import Dump, MinibatchError, metadata_of
from blueprint.verifying import (
    StepVerdict,
    VerifyOptions,
    choose,
    data_of,
    data_of_step,
    read_dumps,
    text_of_step,
    verifier_of,
    verify_dumps,
)
from blueprint.verifying.verdict import Watch

DIFFERENCE, UNREADABLE = 1, 3
LONG = 1 << 22
"""Words from which on progress is shown."""


def verify_files(files: Sequence[Path], options: VerifyOptions, as_json: bool, each: bool) -> NoReturn:
    """Verifies files, step by step, prints what they come to, and ends with the exit code that says it."""
    folder = next((file for file in files if file.is_dir()), None)
    if folder is not None:
        raise Refused(f"{folder} is a folder: verify it alone, as a whole run, or name the files in it")
    by_step = groupby(sorted(files, key=_step_number), key=_step_number) if len(files) > 1 else [(None, iter(files))]
    found = [verdict for _, paths in by_step for verdict in _step(list(paths), options)]
    say("\n\n".join(_json(verdict) if as_json else text_of_step(verdict, each) for verdict in found))
    if not all(verdict.agrees for verdict in found):
        sys.exit(DIFFERENCE)
    sys.exit(UNREADABLE if any(verdict.unread for verdict in found) else 0)


def _step_number(file: Path) -> int:
    """Returns the number of a file's step, −1 where it says none that could be read."""
    try:
        return int(metadata_of(file).get("step", -1))
    except (MinibatchError, TypeError, ValueError):
        return -1


def _step(files: Sequence[Path], options: VerifyOptions) -> Iterator[StepVerdict]:
    """Verifies the files of one step, those of each kind together."""
    dumps, unread = read_dumps(files)
    kinds = [[dump for dump in dumps if dump.kind == kind] for kind in dict.fromkeys(dump.kind for dump in dumps)]
    for of_kind in kinds or [[]]:
        yield verified(of_kind, options, unread)
        unread = {}


def verified(dumps: Sequence[Dump], options: VerifyOptions, unread: Mapping[Path, str]) -> StepVerdict:
    """Verifies dumps of one step, with progress on stderr where they are large; refuses them if none can be computed."""
    try:
        for dump in dumps[:1]:
            choose(dump, options)
            verifier_of(dump).check_device(options.device)
    except MinibatchError as error:
        raise Refused(str(error)) from error
    try:
        with _bars(sum(dump.size for dump in dumps)) as watch:
            found = verify_dumps(dumps, options, watch, unread)
    except MinibatchError as error:
        raise Unreadable(str(error)) from error
    if not found.parts:
        raise Unreadable(next(iter(found.unread.values())))
    return found


@contextmanager
def _bars(words: int) -> Iterator[Watch]:
    """Gives what shows progress on stderr, one bar after another, where there are many words."""
    bar: Any = None

    def begin(what: str, length: int) -> Callable[[int], None]:
        nonlocal bar
        end()
        if words < LONG:
            return lambda done: None
        bar = click.progressbar(length=length, label=what, file=sys.stderr).__enter__()
        return lambda done: bar.update(done)

    def end() -> None:
        if bar is not None:
            bar.render_finish()

    try:
        yield begin
    finally:
        end()


def _json(found: StepVerdict) -> str:
    chosen = found.parts[0].chosen
    said: dict[str, Any] = {"why": chosen.why, "differs_from_preset": list(chosen.differs)}
    alone = len(found.parts) == 1 and not found.unread
    told = data_of(found.parts[0].verdict) | {"lacking": list(found.lacking)} if alone else data_of_step(found)
    return json.dumps(told | said, ensure_ascii=False, indent=1, allow_nan=False)
