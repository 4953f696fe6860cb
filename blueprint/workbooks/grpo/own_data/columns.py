"""Which column is which: by what people call them, or as somebody says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint.inputs import NumbersError, data_in, nearest
from blueprint.quoting import unquoted

CALLED = data_in(Path(__file__).parent / "columns.toml")
"""By what is looked for the names of its columns."""
NEEDED = {"response": ("response", "tokens"), "reward": ("reward",), "prompt": ("prompt", "group")}
"""What no file may lack, and by which columns it is told."""


@dataclass(frozen=True)
class Columns:
    """By what is looked for the name of its column, and how much each of the rewards counts, by column."""

    names: dict[str, str]
    weights: dict[str, float]

    @property
    def said(self) -> list[str]:
        """Says which column was taken for what, where its name is another."""
        others = {what: name for what, name in self.names.items() if what != name and what != "reward"}
        rewards = [name if weight == 1 else f"{weight:g}·{name}" for name, weight in self.weights.items()]
        read = [
            *(f"{what} = {unquoted(name)}" for what, name in others.items()),
            f"reward = {unquoted(' + '.join(rewards))}",
        ]
        return [f"columns: {', '.join(read)}"]


def columns_of(found: Sequence[str], told: Sequence[str], name: str) -> Columns:
    """Finds the columns among those that a file has. told: `what=column`, of a reward also `reward=right + 0.5*format`.

    Raises:
        NumbersError: if there is no such column, or what is needed is not among them.
    """
    by_name = {_plain(each): each for each in reversed(found)}
    names = {
        what: by_name[called] for what, several in CALLED.items() for called in reversed(several) if called in by_name
    }
    weights = {names["reward"]: 1.0} if "reward" in names else {}
    for each in told:
        what, equals, column = (part.strip() for part in each.partition("="))
        if not equals or what not in CALLED:
            raise NumbersError(
                f"--column {unquoted(each)}: write what=column, where what is one of {', '.join(CALLED)}."
            )
        weighted = _weighted(column) if what == "reward" and column not in found else {column: 1.0}
        for one in weighted:
            if one not in found:
                meant = nearest(one, list(found))
                there = f"did you mean {unquoted(meant)}?" if meant else f"there are {_listed(found)}."
                raise NumbersError(f"--column {unquoted(each)}: {name} has no column {unquoted(one)}; {there}")
        names[what] = next(iter(weighted))
        weights = weighted if what == "reward" else weights
    for what, ways in NEEDED.items():
        if not any(way in names for way in ways):
            raise NumbersError(
                f"{name}: no column is called as a {what} is ({_listed(found)}); say which one is: --column {what}=NAME."
            )
    return Columns(names, weights)


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().casefold())


def _weighted(text: str) -> dict[str, float]:
    """Reads `right + 0.5*format`: by column how much it counts."""
    found = {}
    for part in text.split("+"):
        number, times, column = part.rpartition("*")
        try:
            found[column.strip()] = float(number) if times else 1.0
        except ValueError:
            raise NumbersError(f"--column reward={unquoted(text)}: write it as right + 0.5*format.") from None
    return found


def _listed(names: Sequence[str]) -> str:
    some = [unquoted(each, 20) for each in names[:12]]
    return ", ".join(some) + (", …" if len(names) > 12 else "")
