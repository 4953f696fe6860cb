"""Which column is which: by what people call them, or as somebody says."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blueprint.inputs import NumbersError, nearest
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.records import Record

Called = Mapping[str, Sequence[str]]
"""By what is looked for the names of its columns; of several that a file has, the first one counts."""


def some_cells(records: Iterable[Record]) -> list[Any]:
    """Lists the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(name for record in records for name in record.cells))


def named_in(found: Sequence[str], called: Called) -> dict[str, str]:
    """Returns by what is looked for the name of its column, of those that a file has; capitals, blanks and dashes do not matter."""
    by_name = {_plain(each): each for each in reversed(found)}
    return {what: by_name[name] for what, several in called.items() for name in reversed(several) if name in by_name}


def names_of(found: Sequence[str], told: Sequence[str], called: Called, name: str) -> dict[str, str]:
    """Returns by what is looked for the name of its column, by its usual names or as somebody says: `what=column`.

    Raises:
        NumbersError: if there is no such column.
    """
    names = named_in(found, called)
    for each in told:
        what, column = told_in(each, called)
        check_there(column, found, each, name)
        names[what] = column
    return {what: names[what] for what in called if what in names}


def said_of(names: Mapping[str, str]) -> list[str]:
    """Says which column was taken for what, where its name is another."""
    others = [f"{what} = {unquoted(name)}" for what, name in names.items() if what != name]
    return [f"columns: {', '.join(others)}"] if others else []


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().casefold())


def told_in(each: str, called: Called) -> tuple[str, str]:
    """Reads `what=column`. Raises NumbersError where nothing is looked for by that name."""
    what, equals, column = (part.strip() for part in each.partition("="))
    if not equals or what not in called:
        raise NumbersError(f"--column {unquoted(each)}: write what=column, where what is one of {', '.join(called)}.")
    return what, column


def check_there(one: str, found: Sequence[str], each: str, name: str) -> None:
    """Checks that a file has a column that somebody named. Raises NumbersError, with the nearest name."""
    if one not in found:
        meant = nearest(one, list(found))
        there = f"did you mean {unquoted(meant)}?" if meant else f"there are {_listed(found)}."
        raise NumbersError(f"--column {unquoted(each)}: {name} has no column {unquoted(one)}; {there}")


def check_needed(names: Iterable[str], needed: Mapping[str, Sequence[str]], found: Sequence[str], name: str) -> None:
    """Checks that nothing is missing. needed: what no file may lack, and by which columns it is told. Raises NumbersError."""
    for what, ways in needed.items():
        if not set(ways) & set(names):
            raise NumbersError(
                f"{name}: no column is called as a {what} is ({_listed(found)}); say which one is: --column {what}=NAME."
            )


def _listed(names: Sequence[str]) -> str:
    some = [unquoted(each, 20) for each in names[:12]]
    return ", ".join(some) + (", …" if len(names) > 12 else "")
