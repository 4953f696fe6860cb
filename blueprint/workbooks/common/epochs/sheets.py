"""The sheet of a step: from the gradient to the new weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blueprint.language import Block
from blueprint.page.outline import AGAIN, READ, Item, Line, Section, Sheet, Table
from blueprint.workbooks.common.definitions.optimiser import Stepped
from blueprint.workbooks.common.definitions.rates import of_step


@dataclass(frozen=True)
class Epoch:
    """A pass, or a minibatch of it: its blocks by the names that they have in the first one, its sheets, and its step.

    number: 2, or with minibatches 2.1.
    """

    number: str
    rows: Mapping[str, Block]
    sheets: tuple[Sheet, ...]
    stepped: Stepped


def mark(made: Block, number: str) -> None:
    """Says in the symbol of a block of which step it is: L⁽²⁾."""
    made.about = replace(made.about, symbol=of_step(made.symbol, number))


def update_sheet(epoch: Epoch, rates: list[Block]) -> Sheet:
    """Outlines a step: the norm of the gradient and its limit, then weight by weight from the gradient to the new weight.

    rates: what is typed of the optimiser, on the first of these sheets.
    """
    stepped = epoch.stepped
    of = {name: [each for each in stepped.rows if _belongs(each, name)] for name in stepped.new}
    laid = {each for rows in of.values() for each in rows}
    singles = [each for each in stepped.rows if each not in laid]
    sections = [Section("The gradient's norm, and what is left of it", tuple(singles))]
    if rates:
        kind, *others = (Line((each,)) for each in rates)
        sections.insert(0, Section("The optimiser (typed)", (replace(kind, role="fixed"), *others)))
    sections += [Section(_titled(name), tuple(map(_laid, rows))) for name, rows in of.items()]
    title = "Update" if rates else f"Update {epoch.number}"
    lead = f"epoch {epoch.number}: from the gradient to the new weights"
    return Sheet(title, lead, tuple(sections), tab=READ if rates else AGAIN)


def _titled(weight: str) -> str:
    model, _, part = weight.partition(".")
    return f"{model.replace('_', ' ').capitalize()}: {part.removeprefix('head.')}, from its gradient to what it is after the step"


def _belongs(row: Block, weight: str) -> bool:
    """Tells whether a row is on the way from the gradient of a weight to the new weight."""
    return row.name.endswith(f".{weight}") and ".square." not in row.name


def _laid(table: Block) -> Item:
    return Table(table, table.axes[1] if len(table.axes) > 1 else None, "plain") if table.axes else Line((table,))
