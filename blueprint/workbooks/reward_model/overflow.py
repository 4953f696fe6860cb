"""The sheet Overflow: −log σ(x) as one writes it first, and in the form that this workbook computes."""

from collections.abc import Mapping

from blueprint.language import Axis, Block, at_most, exp, log, maximum, minimum, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, key
from blueprint.workbooks.common import Rows
from blueprint.workbooks.reward_model.definitions.steps import LABELS

c = Axis("c", "case", start=1)
CASES = (-710.0, -708.0, -88.8, -30.0, -4.5, 0.0, 4.5, 40.0, 710.0)
LEAD = "why −log σ(x) is not written −LN(1/(1+EXP(−x))): what that gives for differences that a bad start may well have"
WHY = (
    "A sheet answers #NUM! to EXP(710), and the form one writes first needs it at x = −710, where the loss is simply 710.",
    "A library in float32 has no e^89: log(sigmoid(x)) is −inf there, and its slope is no number. e^−x is held here, so that a row",
    "has numbers at all.",
    "For large x the naive form loses its digits instead: at x = 40 it says 0, and the loss is e^−40.",
)


def overflow_sheet(given: Rows) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the sheet; returns it, and what is typed on it."""
    x = typed("overflow.x", (c,), "x", "difference of two scores", decimals=1)
    most, single = given["overflow.sheet"], given["overflow.float32"]

    def row(name: str, value: object) -> Block:
        return LABELS.along(f"overflow.{name}", (c,), value)  # type: ignore[arg-type]

    held = row("held", minimum(-x[c], most))
    e = row("exponential", exp(held[c]))
    likely = row("sigmoid", 1 / (1 + e[c]))
    naive = row("naive", -log(likely[c]))
    right = row("right", -(maximum(0, -x[c]) + log(1 + exp(-abs(x[c])))))
    stable = row("stable", -right[c])
    fails = row("in_sheet", 1 - at_most(-x[c], most))
    fails_32 = row("in_float32", 1 - at_most(-x[c], single))
    sections = (
        Section("The cases", (Row(x, "text"), Line((most,)), Line((single,)))),
        Section("As one writes it first", (*map(Note, WHY), held, e, likely, naive)),
        Section("As this workbook computes it", (right, key(stable))),
        Section("Where the first form fails", (fails, fails_32, row("lost", naive[c] - stable[c]))),
    )
    return Sheet("Overflow", LEAD, sections, (c,)), {x: CASES}
