"""Printing: pages in which everything can be seen, also on consoles that know few letters; and what is said of a saved workbook."""

import codecs
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

import click

from blueprint.book import Book
from blueprint.language.spelling.numbers import is_tiny, printed
from blueprint.quoting import page, printable

MOST_ENDED = 5
"""Quantities without a number that are named one by one."""
PLAIN = {
    "−": "-", "·": "*", "≤": "<=", "≥": ">=", "‖": "||", "∣": "|", "√": "sqrt", "²": "^2", "…": "...", "“": '"', "”": '"',
    "↓": "down", "→": "->", "Σ": "sum", "Â": "A^", "Δ": "Delta", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps",
    "θ": "theta", "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma",
}  # fmt: skip


def say(text: str, err: bool = False) -> None:
    """Prints a page in which everything can be seen, whatever it quotes of a file."""
    click.echo(page(text), err=err)


def speak_plainly() -> None:
    """Makes the standard streams spell out what their encoding has no letter for (Windows, redirected output)."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def saved(book: Book, path: Path, proof: bool, remarks: Iterable[str] = ()) -> bool:
    """Saves a workbook, has it proved, and says what everything in it leads to; False if not every formula was proved."""
    formulas = book.save(path)
    say(f"{printable(str(path))}: {len(book.layout.body)} sheets, {formulas:,} formulas")
    for line in (*remarks, *ended(book), *failing(book)):
        say(line)
    agrees = not proof or proved(book, path)
    _tell_result(book)
    return agrees


def ended(book: Book) -> Iterator[str]:
    """Says of each quantity in which a computation ended that nothing needed reads it, and why it has no number."""
    roots, values = book.values.roots, book.values
    for block, places in [*roots.items()][:MOST_ENDED]:
        where = book.layout.address(block, places).replace("'", "")
        yield f"no number: {block.name} ({where}): {values.why[block]}; the result does not read it"
    if more := len(roots) - MOST_ENDED:
        yield from [f"no number: {more} more quantities, which the result does not read"] if more > 0 else []


def failing(book: Book) -> Iterator[str]:
    """Says of each of the workbook's own checks that fails what must hold, and how far off it is."""
    values = book.values
    for name, verdict in book.blocks.items():
        stem = name.removesuffix(".verdict")
        worst, allowed = book.blocks.get(f"{stem}.worst"), book.blocks.get(f"{stem}.tolerance")
        if name == stem or worst is None or allowed is None or verdict in values.ended or values.cell(verdict) == "OK":
            continue
        off, near = (f"{values.cell(each):.6g}" for each in (worst, allowed))
        where = book.layout.address(verdict, ()).replace("'", "")
        yield f"a check fails: {worst.about.meaning}: {off} off, {near} allowed ({where}), and Start says LOOK"


def proved(book: Book, path: Path) -> bool:
    """Says how many formulas an independent engine recalculated to our number, and the first that it did not."""
    from blueprint.page.engine import EngineMissing

    try:
        proof = book.prove(path)
    except RuntimeError as error:
        missing = isinstance(error, EngineMissing)
        say(f"not proved: {error}", err=not missing)
        return missing
    say(
        f"proof: ironcalc recalculated {proof.agreeing:,} of {proof.total:,} formulas to the same value "
        f"(largest difference {proof.worst:.1e})"
    )
    for failure in proof.failures[:5]:
        say(f"  {failure}", err=True)
    return not proof.failures


def _tell_result(book: Book) -> None:
    """Prints what everything leads to: the equation, its numbers, and its parts by name; or the rows of a quantity."""
    result = book.blueprint.result
    if result is None or book.blueprint.blanks:  # of a worksheet it may be an answer, or may lead to one
        return
    title = result.name.replace("_", " ")
    if result.axes:
        member = book.blueprint.called(result.axes[0]).meaning
        for number, row in enumerate(book.values[result], result.axes[0].start):
            say(f"{title}, {member} {number}: {' '.join(f'{value:.4f}' for value in row)}")
        return
    shown = book.show(result)
    say(f"{title} {shown.value:.6g}: {shown.equation}\n  {shown.numbers}")
    for left in filter(is_tiny, (book.values.cell(part) for part in book.blueprint.parts)):
        say(f"  {printed(left)} is 0: it is what rounding has left")
    for part in book.blueprint.parts:
        say(f"  {round(float(book.values.cell(part)), 6) + 0.0:>10.6f}  {part.about.meaning}")


@contextmanager
def bar(label: str, steps: int, known: int = 0) -> Iterator[Callable[[int], None]]:
    """Gives what moves the progress bar on from what is known already; there is none where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=steps, label=label, file=sys.stderr, show_pos=True) as bar:
        bar.update(known)
        yield bar.update
