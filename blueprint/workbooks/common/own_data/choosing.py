"""What of a file is taken: some of its prompts, and what of a text a workbook shows."""

from collections.abc import Iterable, Sequence

from blueprint.inputs import ROWS, NumbersError
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.records import Record

SHOWN = 72
"""Letters of a prompt that stand above its responses."""


def chosen_rows(records: Sequence[Record], asked: str | None, name: str, most: int, noun: str) -> list[Record]:
    """Takes the rows that are asked for, such as 1-3,7; without that, all. noun: what a row is.

    Raises:
        NumbersError: if there is no such row, or there are too many.
    """
    numbers = range(1, 1 + len(records)) if asked is None else asked_for(asked, len(records))
    if len(numbers) > most:
        few = choose(list(numbers)[:most])
        raise NumbersError(f"{name}: {len(numbers):,} {noun}, but a workbook shows up to {most}: {few}.")
    return [records[number - 1] for number in numbers]


def choose(numbers: Iterable[int]) -> str:
    """Says how some prompts are chosen, by their numbers."""
    some = list(numbers)[: ROWS[1]]
    runs = f"{some[0]}-{some[-1]}" if len(some) > 2 and some == list(range(some[0], some[-1] + 1)) else ""
    return f"choose them, such as --prompts {runs or ','.join(map(str, some[:12]))}"


def asked_for(asked: str, last: int) -> list[int]:
    """Reads 1-3,7. Raises NumbersError for what is none, and for prompts that there are not."""
    found: list[int] = []
    for part in asked.split(","):
        begin, _, end = part.strip().partition("-")
        ends = [each.strip() for each in (begin, end or begin)]
        if not all(each.isdecimal() and len(each) < 7 and 1 <= int(each) <= last for each in ends):
            raise NumbersError(f"--prompts {unquoted(asked)}: write numbers from 1 to {last}, such as 1-3 or 1,2.")
        found += range(int(ends[0]), int(ends[1]) + 1)
    if not found or len(set(found)) < len(found):
        raise NumbersError(
            f"--prompts {unquoted(asked)}: write each number once, the smaller one first, such as 1-3,7."
        )
    return found


def heading(prompt: str) -> tuple[str, bool]:
    """Returns a prompt as it stands above its responses, and whether it was cut."""
    return (prompt, False) if len(prompt) <= SHOWN else (prompt[: SHOWN - 1] + "…", True)
