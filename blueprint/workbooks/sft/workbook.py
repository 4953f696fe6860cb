"""The workbook of supervised fine-tuning at both levels, from texts to the loss; with its gradient, and steps along it."""

from pathlib import Path

import numpy as np

from blueprint.inputs import Level, Numbers
from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Section, Sheet
from blueprint.workbooks.common import (
    PRESET,
    Backward,
    InView,
    Rows,
    Witnessed,
    checks,
    j,
    k,
    of_written,
    one,
    rows_on,
    sheet_of,
)
from blueprint.workbooks.common.epochs import beside_in, repeated, with_epochs
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.update import UPDATE
from blueprint.workbooks.common.workbook import Start, Steps, chosen_in, workbook
from blueprint.workbooks.sft.definitions import LABELS, b, derived, n, o, t, v
from blueprint.workbooks.sft.definitions import Steps as Definitions
from blueprint.workbooks.sft.schema import DEMONSTRATIONS, LABELLED, WEIGHTS, sft_presets
from blueprint.workbooks.sft.sheets import (
    SHOWN,
    charts_of,
    given_logits,
    inputs_sheet,
    policy_sheet,
    run_network,
    texts,
)

MOVED = Backward(
    policy=(WEIGHTS, ("policy.logits",)),
    critic=(),
    constant=("dft.used",),
    declared=lambda rows: [
        of_written(rows)
    ],  # of the log-prob of the label, 1 − p or −p, which a textbook writes in one line
)
EPOCHS = repeated(WEIGHTS, ("Policy", "Loss", "Diagnostics"), MOVED.of, beside_in(Path(__file__).parent))


NETWORK: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}


def labelled_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint from logits; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    return _whole(LABELLED, numbers, witnessed, given_logits(), texts(numbers.level))


def demonstrations_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint from weights, with the steps of an optimiser where there are any; witnessed: as above."""
    given = texts(numbers.level)
    made = _whole(DEMONSTRATIONS, numbers, witnessed, run_network(given), given)
    return with_epochs(made, numbers[UPDATE], EPOCHS)


OPENING = opening_in(Path(__file__).parent)


def _whole(
    level: Level,
    numbers: Numbers,
    witnessed: Witnessed | None,
    policy: tuple[Block, tuple[Section, ...]],
    given: Rows,
) -> Blueprint:
    """Outlines the workbook. policy: its logits, and how they come about."""
    size, head = level.sizes(numbers), InView(given["word_written"], given["response.tokens"])
    sizes = {**dict.fromkeys((n, o, b), size["text"]), t: size["position"], v: size["token"]}
    sizes[PRESET] = len(sft_presets().presets)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, sft_presets()),
        given=given,
        head=head,
        sizes=sizes | {axis: size[name] for axis, name in ((k, "embedding"), (j, "hidden")) if name in size},
        names={**NETWORK, v: given["vocabulary"]},
        typed=level.typed(numbers),
        ranges={"mask": (0, 1), "text.mask": (0, 1)},
        words=("word_written", "end_word"),
    )
    sheets = [inputs_sheet(given)]

    def says(label: Block) -> Rows:
        sheet, rows = policy_sheet(*policy, label, head)
        sheets.append(sheet)
        return rows

    made = derived(given, says, start.choices(LABELS.labels))
    before, *after = (_steps(title, made, head) for title in SHOWN.sheets)
    sheets = [sheets[0], before, sheets[1], *after]
    rows = {**given, **rows_on(*sheets)}
    first = next(
        zip(*np.nonzero(numbers["text.response"]), strict=True), (0, 0)
    )  # Walk begins at the first of a response
    steps = Steps(
        sheets=sheets,
        rows=rows,
        total=rows["total_loss"],
        checked=(
            checks.is_0_or_1("mask", rows["mask"], rows["text.mask"], use=LABELS),
            checks.sums_to_one("policy", rows["policy.p"], LABELS),
            checks.not_positive("policy", rows["policy.logprobs"], LABELS),
            checks.in_one_part("microbatch", rows["microbatch.inside"], LABELS),
        ),
        walk=SHOWN.walk_of(rows, head, rows["label.counts"], (int(first[0]) + 1, int(first[1]) + 1), "text"),
        charts=charts_of(rows, head.on("charts").rows),
        heads={n: [f"text {place}" for place in range(1, 1 + size["text"])]},
    )
    return workbook(start, steps, OPENING, witnessed)


def _steps(title: str, made: Definitions, head: InView) -> Sheet:
    """Outlines a sheet of steps: rows that one looks for are marked, the others folded."""
    sections = [
        Section(name, tuple(SHOWN.row(row, not row.axes) for row in rows))
        for name, rows in made.sections.items()
        if made.sheet(name) == title
    ]
    return sheet_of(title, SHOWN.sheets[title]["lead"], sections, head.on(f"on_{title.lower()}"))
