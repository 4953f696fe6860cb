"""The workbook of supervised fine-tuning at both levels, from texts to the loss; with its gradient, and steps along it.

First the sheets around the steps: the texts that are given, what the policy says of them, Walk through one label, and charts.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from blueprint.inputs import Level, Numbers
from blueprint.language import Axis, Block, block, equal, link, log, match, size, typed, where
from blueprint.page.outline import Blueprint, Chart, Line, Note, Row, Scale, Section, Series, Sheet, Table, key, minor
from blueprint.workbooks.common import (
    PRESET,
    Backward,
    InView,
    Rows,
    Witnessed,
    charts,
    checks,
    chosen_logprobs,
    defined,
    entropy,
    j,
    k,
    logits,
    memory_weights,
    named,
    of_written,
    one,
    rnn,
    rows_on,
    sheet_of,
    softmax,
    word_weights,
)
from blueprint.workbooks.common.epochs import beside_in, repeated, with_epochs
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.common.sheets.models import memory_sections
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.sheets.walk import shown_in
from blueprint.workbooks.common.update import UPDATE
from blueprint.workbooks.common.workbook import Start, Steps, chosen_in, workbook
from blueprint.workbooks.sft.definitions import LABELS, b, derived, n, o, t, v
from blueprint.workbooks.sft.definitions import Steps as Definitions
from blueprint.workbooks.sft.schema import DEMONSTRATIONS, LABELLED, WEIGHTS, sft_presets

LEAD_INPUTS = (
    "texts that somebody wrote: a prompt, and the response that the policy is to learn; everything typed but the policy"
)
TEXTS = "One text after the other. A column writes the token above it; the first token of a text stands in the start column."
FLAGS = "1 in both rows: response; 1 in the second alone: prompt; 0 in both: a pad, whichever token stands there."
END = "A response ends with this token. Where pads are the same token, the rows of 0 and 1 tell them apart."


def texts(level: str) -> Rows:
    """Makes what is typed of texts, and what follows from it, by name; the number of a text is called after the level."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True, edges=(t.first - 1,))
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    there = typed("text.mask", (n, t), "text_mask", "1 on prompt and response, 0 on pads", unit="0 or 1", decimals=0)
    end = typed("end_word", (), "end", "token that ends a response", text=True)
    place = typed(f"{level}.number", (n,), "no", "number of the text", decimals=0)
    count = LABELS.one("count.texts", size(n))
    ids = defined(LABELS.row("rollout.written"), match(v, vocabulary[v], written[n, t]))
    read = defined(LABELS.row("rollout.read"), match(v, vocabulary[v], written[n, t - 1]))
    first = LABELS.each("text.first", match(v, vocabulary[v], written[n, t.first - 1]))
    end_id = LABELS.one("end.id", match(v, vocabulary[v], end))
    m, text = LABELS.row("response.tokens", mask[n, t]), LABELS.row("text.tokens")
    text[n, t.first - 1] = 1
    text[n, t] = there[n, t]
    found = named(vocabulary, written, mask, there, end, count, ids, read, first, end_id, m, text)
    return {**found, "text.number": place}


def inputs_sheet(given: Rows) -> Sheet:
    """Outlines vocabulary and texts."""
    flags = ("mask", "text.mask", "response.tokens", "text.tokens")
    sections = (
        Section("Vocabulary", (Note(END), Line((given["end_word"], given["end.id"])), Table(given["vocabulary"], role="text"))),
        Section("The texts", (
            Note(TEXTS), Line((given["count.texts"],), "line"), Row(given["text.number"], "fixed"),
            Row(given["word_written"], "text"), given["rollout.read"], given["rollout.written"], given["text.first"],
        )),
        Section("What is response, prompt and pad", (Note(FLAGS), *(given[name] for name in flags))),
    )  # fmt: skip
    return Sheet("Inputs", LEAD_INPUTS, sections, (n, t))


LEAD_POLICY = "π_θ, the policy in training, reads each text and says how likely it finds every label; the loss moves it"


def given_logits() -> tuple[Block, tuple[Section, ...]]:
    """Makes typed logits."""
    z = typed("policy.logits", (n, t, v), "z", "logit of every next token", decimals=2)
    return z, (Section("Logit of every next token (typed)", (z,)),)


def run_network(given: Rows) -> tuple[Block, tuple[Section, ...]]:
    """Runs the network over the texts, whose own tokens it reads, whatever it finds likely (teacher forcing)."""
    memory, Y, read = memory_weights("policy"), word_weights("policy"), link("policy.read", given["rollout.read"])
    network = rnn("policy", read, memory)
    z = logits("policy", network.h, Y)
    return z, (*memory_sections(memory, Y, read, network), Section("Logit of every next token", (z,)))


def policy_sheet(z: Block, above: tuple[Section, ...], label: Block, head: InView) -> tuple[Sheet, Rows]:
    """Outlines the policy from its logits on; returns the sheet, and what is read of it. above: how the logits came about."""
    words = softmax("policy", z, LABELS)
    written = link("policy.written", label)
    logprobs = chosen_logprobs("policy", words.logp, written, use=LABELS)
    chosen = LABELS.row("policy.label_logit", z[n, t, written[n, t]])
    unsure = entropy("policy", words.p_log_p, use=LABELS)
    steps = map(minor, (words.top, words.exponentials, words.logsumexp, words.logp))
    sections = [
        *above,
        Section("Probability of every next token: soft-max", (*steps, Row(words.p, "probability"))),
        Section("The label", (written, minor(chosen), key(logprobs), minor(words.p_log_p), unsure)),
    ]
    sheet = sheet_of("Policy", LEAD_POLICY, sections, head.on("policy"))
    return sheet, named(words.top, words.p, logprobs, chosen, unsure)


SHOWN = shown_in(Path(__file__).parent)


LIKELY = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
GRID = Axis("g", "probability", start=1, size=len(LIKELY))
OUT_OF_SIGHT = "A label that does not count is parked at probability −1, out of sight."


def charts_of(rows: Rows, head: tuple[Block, ...]) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    return charts.charts_sheet([_cost_and_pull(rows), _nll_of_labels(rows)], head)


def _cost_and_pull(rows: Rows) -> Drawn:
    """Draws what a label costs, and how strongly it pulls, over its probability; with the labels of the texts."""
    p = typed("curve.p", (GRID,), "π_g", "probability of the label", decimals=2)
    cost = charts.curve("curve.cost", GRID, "−logπ_g", "what it costs: −log π", -log(p[GRID]))
    pull = charts.curve("curve.pull", GRID, "1−π_g", "how strongly its logit is pulled: 1 − π", 1 - p[GRID])
    m = rows["label.counts"][n, t]
    x = block("dot.p", (n, t), "dot_π", "where the dot is: the label's probability")
    x[n, t] = m * rows["dft.probability"][n, t] - (1 - m)
    y = block("dot.cost", (n, t), "dot_nll", "how high: minus its log-prob")
    y[n, t] = -(m * rows["policy.logprobs"][n, t])
    chart = Chart(
        "What a label costs, and how it pulls", "scatter",
        (Series("cost: −log π", cost, p), Series("pull on its logit: 1 − π", pull, p),
         Series("labels of the texts", y, x, dots=True, words=rows["word_written"])),
        Scale("probability of the label", 0, 1, 0.25), Scale("cost, pull", 0),
        "What is unlikely costs much, without a bound; the pull is never above 1. A label of probability 1 costs nothing.",
    )  # fmt: skip
    return Drawn(
        chart,
        Section("Cost and pull: curves and dots", (*map(Table, (p, cost, pull)), Note(OUT_OF_SIGHT), x, y)),
        {p: LIKELY},
    )


def _nll_of_labels(rows: Rows) -> Drawn:
    """Draws what each label costs, and what of it the loss takes, text by text."""
    named = block("bar.word", (n, t), "token", "label that counts, below its bars")
    named[n, t] = where(equal(rows["label.counts"][n, t], 1), rows["word_written"][n, t], "")
    chart = Chart(
        "NLL of every label", "bars",
        (Series("−log π", rows["watch.nll_of_token"], named), Series("what it adds to the loss", rows["loss.of_token"], named)),
        Scale("labels, text after text"), Scale("nats"),
        "The tall bars are what the policy would not have written: there it learns. The second bar is its share in the loss.",
        charts.SHORT, wide=True,
    )  # fmt: skip
    return Drawn(chart, Section("The tokens below the bars", (named,)), {})


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
        member="text",
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
