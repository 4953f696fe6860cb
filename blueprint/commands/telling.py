"""What commands say of a workbook that they have saved: its size, its proof, and what everything in it leads to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.commands.console import say
from blueprint.quoting import printable

if TYPE_CHECKING:
    from blueprint.book import Book
    from blueprint.page.recalculate import Proof


def tell_saved(book: Book, path: Path, formulas: int) -> None:
    """Says how much was written."""
    say(f"{printable(str(path))}: {len(book.layout.body)} sheets, {formulas:,} formulas")


def tell_proof(book: Book, path: Path) -> bool:
    """Says how many formulas an independent engine recalculated to our number; False if not all."""
    from blueprint.page.recalculate import EngineMissing

    try:
        proof = book.prove(path)
    except EngineMissing as error:
        say(f"not proved: {error}")
        return True
    except RuntimeError as error:
        say(f"not proved: {error}", err=True)
        return False
    agree = f"{proof.agreeing:,} of {proof.total:,} formulas to the same value"
    say(f"proof: ironcalc recalculated {agree} (largest difference {proof.worst:.1e})")
    return _complain(proof)


def _complain(proof: Proof) -> bool:
    """Names the first cells that an engine did not agree with; True if there are none."""
    for failure in proof.failures[:5]:
        say(f"  {failure}", err=True)
    return not proof.failures


def tell_result(book: Book) -> None:
    """Prints what everything leads to: the equation, its numbers, and its parts by name; or the rows of a quantity."""
    result = book.blueprint.result
    if result is None:
        return
    title = result.name.replace("_", " ")
    if result.axes:
        for number, row in enumerate(book.values[result], result.axes[0].start):
            say(f"{title}, {result.axes[0].meaning} {number}: {' '.join(f'{value:.4f}' for value in row)}")
        return
    shown = book.show(result)
    say(f"{title} {shown.value:.6g}: {shown.equation}")
    say(f"  {shown.numbers}")
    for part in book.blueprint.parts:
        say(f"  {float(book.values.cell(part)) + 0.0:>10.6f}  {part.about.meaning}")
