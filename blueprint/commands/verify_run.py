"""`blueprint verify` of a whole run: it parses, has every step of a folder verified, and prints. No maths."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from blueprint.commands.console import say
from blueprint.commands.refusals import Refused, Unreadable
from blueprint.commands.run_options import Asked
from blueprint.dumps import MinibatchError, dump_kinds
from blueprint.verifying import known_device
from blueprint.verifying.choose import check_asked
from blueprint.verifying.runs.finding import Found, find
from blueprint.verifying.runs.going import Run
from blueprint.verifying.runs.ledger import NAME, NOT_VERIFIED, Ledger, LedgerError
from blueprint.verifying.runs.on_ray import OnRay, RayError
from blueprint.verifying.runs.plot import PlotError, check_plot, draw
from blueprint.verifying.runs.processes import Processes, cores
from blueprint.verifying.runs.report import summed, text_of
from blueprint.verifying.runs.step import Executor, Work
from blueprint.verifying.runs.summary import Summary, csv_of, summary_of
from blueprint.verifying.runs.work import record_of
from blueprint.verifying.verdict import VerifyOptions

DIFFERENCE, UNREADABLE, INTERRUPTED = 1, 3, 130


def verify_run(folder: Path, settings: VerifyOptions, asked: Asked, as_json: bool) -> NoReturn:
    """Verifies every step of a folder, prints what they come to, and ends with the exit code that says it."""
    _check(settings, asked)
    found = _found(folder, asked)
    try:
        ledger = Ledger(asked.ledger or folder / NAME)
    except LedgerError as error:
        raise Refused(str(error)) from error
    with ledger:
        run = _gone_through(found, settings, asked, ledger)
        summary = summary_of(run.records())
        if as_json:
            for record in run.records():
                say(json.dumps(record, ensure_ascii=False, allow_nan=False))
    _tell(found, run, summary, as_json)
    _write(summary, asked)
    sys.exit(DIFFERENCE if summary.deviation else UNREADABLE if summary.counts[NOT_VERIFIED] else 0)


def _check(settings: VerifyOptions, asked: Asked) -> None:
    """Refuses, before hours of work, what no step could be verified with, or what could not be shown in the end."""

    try:
        _check_conventions(settings)
        if not asked.ray:
            known_device(settings.device)
        if asked.plot:
            check_plot(asked.plot)
    except (MinibatchError, PlotError) as error:
        raise Refused(str(error)) from error
    for path in filter(None, (asked.csv, asked.plot)):
        if not path.absolute().parent.is_dir():
            raise Refused(f"{path} cannot be written: there is no folder {path.parent}")


def _check_conventions(options: VerifyOptions) -> None:
    """Raises MinibatchError for a preset or an override that no kind of dump has."""

    refusals = []
    for kind in dump_kinds():
        try:
            check_asked(options, kind.catalogue())
        except MinibatchError as error:
            refusals.append(error)
        else:
            return
    raise refusals[-1]


def _found(folder: Path, asked: Asked) -> Found:

    found = find(folder, asked.only)
    if not found.steps:
        called = f" that is called {asked.only}" if asked.only else ""
        raise Unreadable(
            f"{folder} holds no dump of a training step{called}: docs/dump-hooks.md tells how to write them"
        )
    return found


def _gone_through(found: Found, settings: VerifyOptions, asked: Asked, ledger: Any) -> Run:
    """Goes through all steps with a progress bar; Ctrl-C ends it with what is finished in the ledger."""

    run = Run(found.steps, settings, ledger, asked.fail_fast)
    work = partial(record_of, found.folder.absolute(), settings=settings)
    try:
        with _executor(work, settings, asked) as executor, _bar(len(run.steps), run.known) as finished:
            run.go(executor, finished)
    except KeyboardInterrupt:
        done = sum(key in ledger for key in run.keys)
        say(
            f"\nInterrupted: {done:,} of {len(run.steps):,} steps are done; the same command goes on from there.",
            err=True,
        )
        sys.exit(INTERRUPTED)
    if ledger.failed:
        say(
            f"Note: the ledger {ledger.path} could not be written to its end ({ledger.failed}): not all is noted there.",
            err=True,
        )
    return run


@contextmanager
def _executor(work: Work, settings: VerifyOptions, asked: Asked) -> Iterator[Executor]:
    """Gives what goes through the steps, and ends it."""

    on_cpu = settings.device.startswith("cpu")  # processes that share one accelerator share its memory
    executor: Executor
    if asked.ray:
        executor = _on_ray(work, asked, 0 if on_cpu else 1)
    else:
        executor = Processes(work, asked.workers or (cores() if on_cpu else 1))
    try:
        yield executor
    finally:
        executor.close()


def _on_ray(work: Work, asked: Asked, gpus: int) -> Executor:

    assert asked.ray is not None
    try:
        return OnRay(work, asked.ray, asked.workers, gpus)
    except RayError as error:
        raise Refused(str(error)) from error


@contextmanager
def _bar(steps: int, known: int) -> Iterator[Callable[[int], None]]:
    """Gives what moves the progress bar on; there is none where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=steps, label="verifying", file=sys.stderr, show_pos=True) as bar:
        bar.update(known)
        yield bar.update


def _tell(found: Found, run: Run, summary: Summary, as_json: bool) -> None:

    notes = [*found.notes, *run.notes]
    if as_json:
        counts = {
            "folder": str(found.folder),
            "steps": len(summary.steps),
            "outcomes": dict(summary.counts),
            "notes": notes,
        }
        say(json.dumps({"summary": counts, "says": summed(summary)}, ensure_ascii=False, allow_nan=False))
    else:
        say(text_of(summary, notes))


def _write(summary: Summary, asked: Asked) -> None:

    try:
        if asked.csv:
            asked.csv.write_text(csv_of(summary), encoding="utf-8", newline="")
        if asked.plot:
            draw(summary, asked.plot)
    except OSError as error:
        raise Refused(
            f"{error.filename or 'the table'} cannot be written: {(error.strerror or str(error)).lower()}"
        ) from error
