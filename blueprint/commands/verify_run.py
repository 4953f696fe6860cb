"""`blueprint verify` of a whole run: it parses, has every step of a folder verified, and prints. No maths."""

import json
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn

from blueprint import interrupted
from blueprint.cluster import cores
from blueprint.commands import console, errors
from blueprint.dumps import MinibatchError, dump_kinds
from blueprint.quoting import encodable
from blueprint.verifying import VerifyOptions, known_device
from blueprint.verifying.runs import executors, report, steps
from blueprint.verifying.runs.ledger import NAME, NOT_VERIFIED, Ledger
from blueprint.verifying.runs.report import Summary, csv_of, summary_of
from blueprint.verifying.settings import check_options


class RunOptions(NamedTuple):
    """The options for a whole run, by their names."""

    fail_fast: bool
    only: str | None
    workers: int | None
    ledger: Path | None
    ray: str | None
    csv: Path | None
    plot: Path | None


def verify_run(folder: Path, settings: VerifyOptions, options: RunOptions, as_json: bool) -> NoReturn:
    """Verifies every step of a folder, prints what they come to, and ends with the exit code that says it."""
    _check(settings, options)
    found = steps.find(folder, options.only)
    if not found.steps:
        raise errors.Unreadable(
            f"{folder} holds no dump of a training step{f' that is called {options.only}' if options.only else ''}: "
            "docs/dump-hooks.md tells how to write them"
        )
    with Ledger(options.ledger or folder / NAME) as ledger:
        run = _gone_through(found, settings, options, ledger)
        summary = summary_of(run.records())
        if as_json:
            for record in run.records():
                console.say(json.dumps(record, ensure_ascii=False, allow_nan=False))
    notes = [*found.notes, *run.notes]
    console.say(_json(found, summary, notes) if as_json else report.text_of(summary, notes))
    _write(summary, options)
    if summary.deviation:
        sys.exit(errors.DIFFERENCE)
    if summary.counts[NOT_VERIFIED]:
        sys.exit(errors.UNREADABLE)
    sys.exit(0 if summary.compared else errors.NOT_COMPARED)


def _check(settings: VerifyOptions, options: RunOptions) -> None:
    """Refuses, before hours of work, what no step could be verified with, or what could not be shown in the end."""
    with errors.ending_in(errors.Refused, MinibatchError):
        _check_conventions(settings)
        if not options.ray:
            known_device(settings.device)
    if options.plot:
        report.check_plot(options.plot)
    errors.require_folder_of(options.csv)
    errors.require_folder_of(options.plot)


def _check_conventions(options: VerifyOptions) -> None:
    """Raises MinibatchError for a preset or an override that no kind of dump has."""
    refusals = []
    for kind in dump_kinds():
        try:
            return check_options(options, kind.catalogue())
        except MinibatchError as error:
            refusals.append(error)
    raise refusals[-1]


def _gone_through(found: steps.Found, settings: VerifyOptions, options: RunOptions, ledger: Ledger) -> executors.Run:
    """Goes through all steps with a progress bar; Ctrl-C ends it with what is finished in the ledger."""
    run = executors.Run(found.steps, settings, ledger, options.fail_fast)
    try:
        bar = console.bar("verifying", len(run.steps), run.known)
        with closing(_executor(found, settings, options)) as executor, bar as finished:
            run.go(executor, finished)
    except KeyboardInterrupt:
        console.say(
            f"\nInterrupted: {sum(key in ledger for key in run.keys):,} of {len(run.steps):,} steps are done; the same "
            "command goes on from there.",
            err=True,
        )
        sys.exit(interrupted.CODE)
    if ledger.failed:
        console.say(
            f"Note: the ledger {ledger.path} could not be written to its end ({ledger.failed}): not all is noted there.",
            err=True,
        )
    return run


def _executor(found: steps.Found, settings: VerifyOptions, options: RunOptions) -> steps.Executor:
    """Returns what goes through the steps; processes that share one accelerator share its memory."""
    work = partial(executors.record_of, found.folder.absolute(), settings=settings)
    on_cpu = settings.device.startswith("cpu")
    if options.ray:
        return executors.OnRay(work, options.ray, options.workers, 0 if on_cpu else 1)
    return executors.Processes(work, options.workers or (cores() if on_cpu else 1))


def _json(found: steps.Found, summary: Summary, notes: list[str]) -> str:
    counts = {
        "folder": str(found.folder),
        "steps": len(summary.steps),
        "outcomes": dict(summary.counts),
        "notes": notes,
    }
    return json.dumps({"summary": counts, "says": report.summed(summary)}, ensure_ascii=False, allow_nan=False)


def _write(summary: Summary, options: RunOptions) -> None:
    try:
        if options.csv:
            options.csv.write_text(encodable(csv_of(summary)), encoding="utf-8", newline="")
        if options.plot:
            report.draw(summary, options.plot)
    except OSError as error:
        raise errors.Refused(
            f"{error.filename or 'the table'} cannot be written: {(error.strerror or str(error)).lower()}"
        ) from error
