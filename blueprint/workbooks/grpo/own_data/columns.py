"""Which column is which: by what people call them, or as somebody says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint.inputs import NumbersError, data_in
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data import check_needed, check_there, named_in, told_in

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
    names = named_in(found, CALLED)
    weights = {names["reward"]: 1.0} if "reward" in names else {}
    for each in told:
        what, column = told_in(each, CALLED)
        weighted = _weighted(column) if what == "reward" and column not in found else {column: 1.0}
        for one in weighted:
            check_there(one, found, each, name)
        names[what] = next(iter(weighted))
        weights = weighted if what == "reward" else weights
    check_needed(names, NEEDED, found, name)
    return Columns(names, weights)


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
