"""Does the loss do what its gradient says? A check in the sheet: after each step the change of the loss beside the promised one.

Promised is the step times the mean of the gradients at both its ends: the trapezoidal rule, off by the third power of the
step's length where the loss has no bend on the way. A gradient that is wrong along the step promises something else. What is
wrong only at ratios other than 1, short steps from the old policy do not come across.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import NamedTuple

from blueprint.language import Arithmetic, Axis, Block, Sum, at_most, block, typed, where
from blueprint.page.outline import Blueprint, Item, Line, Note, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import v
from blueprint.workbooks.rlhf_ppo.backward import WEIGHTS
from blueprint.workbooks.rlhf_ppo.sheets.start import with_order

LEAD = "a check of all gradients at once: does the loss change as they promise?"
TOLD = (
    "Promised: the step, times the mean of the gradients before and after it. Past a clip the loss bends; long steps tell nothing.",
    "Short ones are judged: type 0.0001 as the learning rate lr on Update; off falls to some millionths, and the verdict counts.",
)
LONGEST, ALLOWED = 1e-3, 1e-4
"""A step of 0.001 was seen to be off by 1e-5, shorter ones by the square of that less, and rounding by 1e-9; of gradients that are
wrong on purpose the nearest is off by 4e-4 (`tests/workbooks/test_slope.py`)."""
Rows = Mapping[str, Block]


class Pass(NamedTuple):
    """What is read of a pass: its loss, the length of its gradient, and weights and gradients by the names of the weights."""

    loss: Block
    norm: Block
    weights: Rows
    slopes: Rows


def explained(made: Blueprint) -> Blueprint:
    """Adds to a workbook with several steps the check, and in which order it is read."""
    return with_order(with_slope(made))


def with_slope(made: Blueprint) -> Blueprint:
    """Adds the sheet Slope to a workbook with several passes over one loss; with minibatches each step has another loss."""
    rows = {each.name: each for each in made.blocks()}
    passes = [_pass(rows, "")] if not {"epoch1.2.total_loss", "critic_loss"} & rows.keys() else []
    while passes and f"epoch{len(passes) + 1}.total_loss" in rows:
        passes.append(_pass(rows, f"epoch{len(passes) + 1}."))
    if len(passes) < 2:
        return made
    sheet, given = _sheet(passes)
    at = next(place for place, each in enumerate(made.sheets) if each.title == "Epochs")
    return replace(made, sheets=(*made.sheets[: at + 1], sheet, *made.sheets[at + 1 :]), typed={**made.typed, **given})


def _pass(rows: Rows, prefix: str) -> Pass:
    def of(name: str) -> Block:
        return rows[f"{prefix}{name}"]

    weights, slopes = {name: of(name) for name in WEIGHTS}, {name: of(f"{name}.grad") for name in WEIGHTS}
    return Pass(of("total_loss"), of("loss.grad.norm"), weights, slopes)


def _sheet(passes: list[Pass]) -> tuple[Sheet, dict[Block, object]]:
    """Outlines the check, a column for each step; returns what is typed there, too."""
    parts = [Axis(f"e{number}", "step", start=number, size=1) for number in range(1, len(passes))]
    e = Axis("e", "step", start=1, parts=tuple(parts)) if len(parts) > 1 else parts[0]
    each = [_row(e, name, f"of_{name}", f"step of {name} · mean gradient") for name in WEIGHTS]
    came = _row(e, "came", "came", "how much the loss changed")
    length = _row(e, "length", "length", "length of the step along the gradient")
    promised = _row(e, "promised", "promised", "how much it should have, by its slope")
    moved: list[Block] = []
    for (before, after), part in zip(pairwise(passes), parts, strict=True):
        for row, name in zip(each, WEIGHTS, strict=True):
            moved.append(_moved(f"slope.step{part.start}.{name}", before.weights[name], after.weights[name]))
            row[part] = (_times(before.slopes[name], moved[-1]) + _times(after.slopes[name], moved[-1])) / 2
        came[part] = after.loss - before.loss
        length[part] = abs(promised[part]) / before.norm
    promised[e] = reduce(add, (row[e] for row in each))
    judged, given = _judged(e, came, promised, length)
    tables = tuple(Table(row, _across(row), "plain") if row.axes else Line((row,)) for row in moved)
    sections = (
        Section(
            "Does the loss do what its gradient says?", (*map(Note, TOLD), *map(minor, each), promised, came, *judged)
        ),
        Section("The steps of the weights", tables),
    )
    return Sheet("Slope", LEAD, sections, across=(e,)), given


def _across(row: Block) -> Axis | None:
    """Returns the axis that runs to the right in the table of a weight, and so in that of its gradient: tokens, else the second."""
    return v if v in set(row.axes) else next(iter(row.axes[1:]), None)


def _judged(e: Axis, came: Block, promised: Block, length: Block) -> tuple[tuple[Item, ...], dict[Block, object]]:
    """Judges the steps that are short enough."""
    off = _row(e, "off", "off", "|came − promised| / |promised|")
    held, verdict = (_row(e, name, name, meaning) for name, meaning in SAYS.items())
    longest = typed("slope.longest", (), "longest", "longer steps are not judged", decimals=4)
    allowed = typed("slope.allowed", (), "allowed", "how far off a step may be", decimals=4)
    off[e] = where(at_most(abs(promised[e]), 0), abs(came[e]), abs(came[e] - promised[e]) / abs(promised[e]))
    held[e] = where(at_most(off[e], allowed), "OK", "LOOK")
    verdict[e] = where(at_most(length[e], longest), held[e], "too long")
    limits = Line((longest,), "line"), Line((allowed,), "line")
    return (off, length, *limits, minor(held), key(verdict)), {longest: LONGEST, allowed: ALLOWED}


SAYS = {"held": "OK, or LOOK at the gradients", "verdict": "the same, of short steps alone"}


def _row(e: Axis, name: str, symbol: str, meaning: str) -> Block:
    return block(f"slope.{name}", (e,), symbol, meaning, decimals=6)


def _moved(name: str, old: Block, new: Block) -> Block:
    made = block(name, old.axes, f"Δ{new.symbol}", f"step of {old.symbol}", decimals=6)
    made[made.axes] = new[new.axes] - old[old.axes]
    return made


def _times(g: Block, step: Block) -> Arithmetic:
    return Sum(g.axes, g[g.axes] * step[step.axes]) if g.axes else g * step
