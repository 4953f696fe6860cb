"""`blueprint import`: a dump is verified, and a part of it made into a workbook that is held against it. No maths."""

from __future__ import annotations

from pathlib import Path

from blueprint.book import Book
from blueprint.commands.console import say
from blueprint.commands.refusals import Refused, Unreadable
from blueprint.commands.verify_files import verified
from blueprint.dumps import Dump, MinibatchError, read_dump
from blueprint.language import NotationError
from blueprint.verifying import Part, VerifyOptions, text_of, verifier_of
from blueprint.verifying.kind import Shown, ViewOptions
from blueprint.verifying.step import alone
from blueprint.workbooks.registry import blueprint_of


def book_of(path: Path, options: VerifyOptions, view: ViewOptions, name: str) -> tuple[Book, bool]:
    """Verifies a dump, prints what it comes to, and makes a workbook; also returns whether everything agreed."""
    try:
        dump = read_dump(path)
    except MinibatchError as error:
        raise Unreadable(str(error)) from error
    part, verifier = _verified(dump, options), verifier_of(dump)
    try:
        shown = verifier.shown(part.verdict, part.chosen, view)
    except MinibatchError as error:
        raise Refused(str(error)) from error
    return _book(shown, name), part.verdict.agrees


def _verified(dump: Dump, options: VerifyOptions) -> Part:
    """Verifies a dump, and prints what it comes to; a part of a larger batch is whitened as that was."""
    part = alone(verified([dump], options, {}))
    say(f"{part.chosen}\n\n{text_of(part.verdict)}\n")
    fitted = "; ".join(f"{name} with {line}" for name, line in part.verdict.left_open.items() if line)
    if not fitted:
        return part
    say(f"The workbook whitens as the larger batch was, by what was fitted: {fitted}.")
    return alone(verified([verifier_of(dump).whitened_alike(part.verdict)], options, {}))


def _book(shown: Shown, name: str) -> Book:
    """Makes the workbook, and compares it with the replay. Refuses a dump of which no loss can be made."""
    try:
        book = Book(blueprint_of(shown.numbers(name)))
    except (MinibatchError, NotationError) as error:
        raise Unreadable(str(error)) from error
    made = shown.agreement({block.name: array for block, array in book.values.arrays.items()})
    say("\n".join([*shown.remarks, f"Shown: {shown.told}."]))
    if made.apart:
        raise Unreadable(f"the workbook parts from the replay at {', '.join(made.apart[:5])}: please report this dump")
    say(f"the workbook's {len(made.distances)} rows and numbers are the replay's (largest difference {made.worst:.1e})")
    return book
