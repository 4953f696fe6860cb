"""`blueprint import` of a rollout of classic PPO: it picks what is shown, and has a workbook made of it. No maths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.commands.console import say
from blueprint.commands.refusals import Refused, Unreadable
from blueprint.commands.verify_rollout import told, verified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blueprint.book import Book
    from blueprint.dumps.classic import Rollout
    from blueprint.verifying import Chosen
    from blueprint.verifying.classic import Verdict

NEAR = 1e-9
"""How far the workbook's advantages may be from the replay's: both are of float64."""


def book_of_rollout(
    rollout: Rollout,
    preset: str | None,
    overrides: tuple[str, ...],
    environments: Sequence[int] | None,
    width: int,
    name: str,
) -> tuple[Book, bool]:
    """Verifies a rollout, prints what it comes to, and makes its workbook; also returns whether everything agreed."""
    from blueprint.verifying.classic.export import remarks

    chosen, verdict = verified(rollout, preset, overrides)
    say(f"{told(chosen, verdict)}\n")
    book = _book(chosen, verdict, environments, width, name)
    for each in remarks(rollout):
        say(f"Note: {each}")
    return book, verdict.agrees


def _book(chosen: Chosen, verdict: Verdict, environments: Sequence[int] | None, width: int, name: str) -> Book:
    from blueprint.book import Book
    from blueprint.dumps import MinibatchError
    from blueprint.language import NotationError
    from blueprint.verifying.classic.export import agreement, numbers_of, window_on
    from blueprint.workbooks.registry import blueprint_of

    rollout, spot = verdict.rollout, verdict.first.compared.spot if verdict.first else None
    at = (spot.row, spot.first) if spot and verdict.first and verdict.first.compared.axes.column else None
    try:
        window = window_on(rollout, environments, width, at)
    except MinibatchError as error:
        raise Refused(str(error)) from error
    try:
        numbers = numbers_of(rollout, verdict.replayed, chosen.values, chosen.preset.name, window, name)
        book = Book(blueprint_of(numbers))
    except (MinibatchError, NotationError) as error:
        raise Unreadable(str(error)) from error
    apart = agreement({block.name: array for block, array in book.values.arrays.items()}, verdict.replayed, window)
    say(f"Shown: {window.told(rollout.shape)}.")
    if not apart <= NEAR * (1 + abs(verdict.replayed.rows["advantages"]).max()):
        raise Unreadable(f"the workbook's advantages part from the replay's by {apart:.1e}: please report this dump")
    say(f"the workbook's advantages and returns are the replay's (largest difference {apart:.1e})")
    return book
