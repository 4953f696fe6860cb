"""`blueprint verify` of files, each step as a whole; `blueprint import`: a part of a dump made into a workbook. No maths."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from blueprint.book import Book
from blueprint.commands import console, errors
from blueprint.dumps import Dump, MinibatchError, is_bundle, metadata_of, read_dump
from blueprint.language import NotationError
from blueprint.verifying import (
    Part,
    Shown,
    StepVerdict,
    VerifyOptions,
    ViewOptions,
    Watch,
    choose,
    data_of,
    data_of_step,
    read_dumps,
    step,
    text_of,
    text_of_step,
    verifier_of,
    verify_dumps,
)
from blueprint.workbooks.registry import blueprint_of

LONG = 1 << 22
"""Words from which on progress is shown."""


def verify_files(files: Sequence[Path], options: VerifyOptions, as_json: bool, each: bool) -> NoReturn:
    """Verifies files, step by step, prints what they come to, and ends with the exit code that says it."""
    folder = next((file for file in files if file.is_dir() and not is_bundle(file)), None)
    errors.require(folder is None, f"{folder} is a folder: verify it alone, as a whole run, or name the files in it")
    found = [verdict for paths in _by_step(files) for verdict in _step(paths, options)]
    if not any(verdict.parts for verdict in found):
        raise errors.Unreadable(next(reason for verdict in found for reason in verdict.unread.values()))
    console.say("\n\n".join(_json(verdict) if as_json else text_of_step(verdict, each) for verdict in found))
    if not all(verdict.agrees for verdict in found):
        sys.exit(errors.DIFFERENCE)
    if any(verdict.unread for verdict in found):
        sys.exit(errors.UNREADABLE)
    sys.exit(0 if any(verdict.compared for verdict in found) else errors.NOT_COMPARED)


def _by_step(files: Sequence[Path]) -> list[list[Path]]:
    """Groups files by their step, in order; those that cannot be read go with the others where these are of one step."""
    numbers = {file: _step_number(file) for file in files}
    known = sorted({number for number in numbers.values() if number is not None})
    groups = {number: [file for file in files if numbers[file] == number] for number in known}
    unknown = [file for file in files if numbers[file] is None]
    if len(known) == 1:
        return [[*groups[known[0]], *unknown]]
    return [*groups.values(), *([unknown] if unknown else [])]


def _step_number(file: Path) -> int | None:
    """Returns the number of a file's step, −1 where it says none, and None where it cannot be read."""
    try:
        return int(metadata_of(file).get("step", -1))
    except (TypeError, ValueError, OverflowError) as error:
        return None if isinstance(error, MinibatchError) else -1


def _step(files: Sequence[Path], options: VerifyOptions) -> Iterator[StepVerdict]:
    """Verifies the files of one step, those of each kind together."""
    dumps, unread = read_dumps(files, options.above_zero)
    kinds = [[dump for dump in dumps if dump.kind == kind] for kind in dict.fromkeys(dump.kind for dump in dumps)]
    if not kinds:
        yield StepVerdict(None, (), unread)
    for of_kind in kinds:
        yield verified(of_kind, options, unread)
        unread = {}


def verified(dumps: Sequence[Dump], options: VerifyOptions, unread: Mapping[Path, str]) -> StepVerdict:
    """Verifies dumps of one step, with progress on stderr where they are large."""
    with errors.ending_in(errors.Refused, MinibatchError):
        for dump in dumps[:1]:
            choose(dump, options)
            verifier_of(dump).check_device(options.device)
    with _bars(sum(dump.size for dump in dumps)) as watch:
        return verify_dumps(dumps, options, watch, unread)


def _all_of(dumps: Sequence[Dump], options: VerifyOptions) -> StepVerdict:
    """Verifies dumps of one step; refuses them if none can be computed."""
    found = verified(dumps, options, {})
    if not found.parts:
        raise errors.Unreadable(next(iter(found.unread.values())))
    return found


def book_of(paths: Sequence[Path], options: VerifyOptions, view: ViewOptions, name: str) -> tuple[Book, bool]:
    """Verifies a dump, or those of a step, prints what they come to, and makes a workbook; also returns whether everything agreed.

    A part of a larger batch is whitened as that was, and its losses are divided as there.
    """
    dumps = [read_dump(path) for path in paths]
    verifier, whole = verifier_of(dumps[0]), _all_of(dumps, options)
    again = replace(options, causes=False)  # what is computed from here on is shown, and causes are said above
    part, agrees = (step.alone(whole) if len(dumps) == 1 else _together(dumps, whole, again)), whole.agrees
    console.say(f"{text_of_step(whole)}\n" if len(dumps) > 1 else f"{part.chosen}\n\n{text_of(part.verdict)}\n")
    fitted = "; ".join(f"{name} with {line}" for name, line in part.verdict.left_open.items() if line)
    if fitted:
        console.say(f"The workbook whitens as the larger batch was, by what was fitted: {fitted}.")
    if part.verdict.left_open:
        part = step.alone(_all_of([verifier.as_part(part.verdict)], again))
    with errors.ending_in(errors.Refused, MinibatchError):
        shown = verifier.shown(part.verdict, part.chosen, view)
    return _book(shown, name, view.gradients), agrees


def _together(dumps: Sequence[Dump], found: StepVerdict, options: VerifyOptions) -> Part:
    """Returns the files of a step as one dump, verified. Refuses kinds whose files are shown one by one."""
    together = verifier_of(dumps[0]).together
    if together is None:
        raise errors.Refused(f"{len(dumps)} files are named, of dumps that are shown one by one: import each by itself")
    with errors.ending_in(errors.Refused, MinibatchError):
        one = together([part.verdict.replayed.batch for part in found.parts])
    return step.alone(_all_of([one], options))


def _book(shown: Shown, name: str, gradients: bool) -> Book:
    """Makes the workbook, and compares it with the replay. Refuses a dump of which no loss can be made."""
    with errors.ending_in(errors.Unreadable, MinibatchError, NotationError):
        book = Book(blueprint_of(replace(shown.numbers(name), gradients=gradients)))
    made = shown.agreement({block.name: array for block, array in book.values.arrays.items()})
    console.say("\n".join([*shown.remarks, f"Shown: {shown.what}."]))
    if made.apart:
        raise errors.Unreadable(
            f"the workbook parts from the replay at {', '.join(made.apart[:5])}: please report this dump"
        )
    console.say(
        f"the workbook's {len(made.distances)} rows and numbers are the replay's (largest difference {made.worst:.1e})"
    )
    return book


@contextmanager
def _bars(words: int) -> Iterator[Watch]:
    """Gives what shows progress on stderr, one bar after another, where there are many words."""
    with ExitStack() as bars:

        def begin(what: str, length: int) -> Callable[[int], None]:
            bars.close()
            if words < LONG:
                return lambda done: None
            return bars.enter_context(click.progressbar(length=length, label=what, file=sys.stderr)).update

        yield begin


def _json(found: StepVerdict) -> str:
    if not found.parts:
        not_read = {str(path): reason for path, reason in found.unread.items()}
        nothing = {"step": found.step, "agrees": None, "deviates": False, "not_read": not_read}
        return json.dumps(nothing, ensure_ascii=False, indent=1)
    first, single = found.parts[0], len(found.parts) == 1 and not found.unread
    data = data_of(first.verdict) | {"lacking": list(found.lacking)} if single else data_of_step(found)
    data |= {"why": first.chosen.why, "differs_from_preset": list(first.chosen.differs)}
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
