"""Say in one sentence what was refused, and show what was found without flooding the line."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from blueprint.quoting import QuotingError, printable, unquoted

_LONGEST_NAME = 100


class NumbersError(QuotingError):
    """Say in one sentence why a numbers file or an override was refused."""


def refusal(where: str, found: str, expected: str) -> NumbersError:
    """Build the usual sentence: where, what was found, what is expected there."""
    return NumbersError(f"{where}: found {found}, expected {expected}.")


CLOSE = 0.605
"""Likeness (`difflib`'s ratio) of a name that was probably meant, at least: `nope` and `openai` have 0.6."""


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Find the known name that was probably meant, if any: `delta_E` for `E`, `dog` for `Dog`, `cat` for `cot`."""
    same_ending = [each for mark in "._" for each in known if each.endswith(mark + name)]
    same_but_for_case = [each for each in known if each.lower() == name.lower()]
    return next(iter([*same_ending, *same_but_for_case, *get_close_matches(name, known, 1, CLOSE)]), None)


def suggestion(meant: str | None, known: Sequence[str]) -> str:
    """Ask for the name that was probably meant; where there is none, list the first dozen."""
    some = f"write one of {', '.join(known[:12])}{', …' if len(known) > 12 else '.'}"
    return f"did you mean {meant}?" if meant else some


def counted(number: int, noun: str, several: str = "") -> str:
    """Spell a count with its noun: 1 word, 2 words; several: its plural, where that is not with an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {several or f'{noun}s'}"


def shown(value: object) -> str:
    """Spell a value as TOML would, shortened; lists and tables are only named."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() if value.bit_length() > 64:  # Python refuses to print whole numbers of thousands of digits
            return "a huge whole number"
        case str():
            return f'"{unquoted(value)}"'
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "a table"
        case _:
            return str(value)


def place(loc: Sequence[int | str], rows: bool = False) -> str:
    """Spell a place in the file: the dotted key, then row and item, counted from 1; a single number is an item, or a row."""
    keys = ".".join(unquoted(step) for step in loc if isinstance(step, str))
    match [step + 1 for step in loc if isinstance(step, int)]:
        case [only]:
            return f"{keys}, {'row' if rows else 'item'} {only}"
        case [row, item, *_]:
            return f"{keys}, row {row}, item {item}"
        case _:
            return keys


def name_of(path: Path) -> str:
    """Name numbers by their file, as a title and a file of their own may be called; a file's name may hold anything."""
    return printable(path.stem)[:_LONGEST_NAME]
