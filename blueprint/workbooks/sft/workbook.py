"""The workbook of supervised fine-tuning at both levels, from texts to the loss; with its gradient, and steps along it."""

from collections.abc import Mapping

import numpy as np

from blueprint.inputs import Level, Numbers
from blueprint.language import Axis, Block
from blueprint.language.gradient import Declared
from blueprint.page.outline import Blueprint, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    EVERYWHERE,
    PRESET,
    Backward,
    Choices,
    Chosen,
    Distribution,
    Identity,
    InView,
    Made,
    Rows,
    Witnessed,
    checks,
    checks_sheet,
    chosen_of,
    conventions_in_use,
    conventions_sheet,
    facts_of,
    j,
    k,
    one,
    presets_sheet,
    rows_on,
    sheet_of,
    start_sheet,
    walk,
)
from blueprint.workbooks.common.conventions import Conventions
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.epochs import UPDATE, Beside, Drawn, repeated, with_epochs
from blueprint.workbooks.sft.definitions import LABELS, Derived, Labels, b, derived, n, o, t, v
from blueprint.workbooks.sft.schema import DEMONSTRATIONS, LABELLED, WEIGHTS, sft_presets
from blueprint.workbooks.sft.sheets import (
    charts_of,
    given_logits,
    in_view,
    inputs_sheet,
    policy_sheet,
    run_network,
    texts,
    walk_of,
)
from blueprint.workbooks.sft.start import PARTS, PIECES, SAYS, SHOWN, flow, pieces_of

SOFT_MAX_STEPS = ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p")


def of_policy(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivative that a textbook writes in one line: of the log-prob of the label, 1 − p or −p."""
    policy = Distribution(rows["policy.logits"], *(rows[f"policy.{step}"] for step in SOFT_MAX_STEPS))
    return [gradients.of_chosen_logprobs(rows["policy.logprobs"], policy, rows["policy.written"], EVERYWHERE)]


MOVED = Backward(policy=(WEIGHTS, ("policy.logits",)), critic=(), constant=("dft.used",), declared=of_policy)


BESIDE = Beside(
    "the same texts, step by step: the demonstrations become likelier, the perplexity falls",
    {
        "What is made smaller": ("total_loss",),
        "How well the policy predicts the labels": ("nll", "perplexity", "token_accuracy"),
        "How undecided it is": ("entropy",),
    },
    {
        "Loss": Drawn({"loss": "total_loss"}, "loss", "Falls while the steps are short enough, on these texts alone."),
        "Perplexity": Drawn(
            {"perplexity": "perplexity"}, "exp(NLL)", "Among as many equally likely tokens the policy would be as unsure."
        ),
        "Token accuracy and entropy": Drawn(
            {"token accuracy": "token_accuracy", "entropy": "entropy"}, "share; nats",
            "Accuracy leaps, a token at a time; the entropy falls as the policy makes up its mind.",
        ),
    },
)  # fmt: skip

EPOCHS = repeated(WEIGHTS, ("Policy", "Loss", "Diagnostics"), MOVED.of, BESIDE)


LOOKED_FOR = (
    "label.id", "label.counts", "label.total", "loss.share", "label.weight", "loss.of_token", "total_loss", "nll", "perplexity",
    "token_accuracy", "entropy",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("label.length", "label.region", "label.is_end", "microbatch.tokens", "dft.used", "loss.of_text", "microbatch.loss",
         "watch.nll_of_token", "watch.hit", "watch.logp")  # fmt: skip
"""Rows on the way that are not folded."""
NETWORK: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
LEADS = {
    "Labels": "the shift and the mask: which token each position has to predict, and which of them count",
    "Loss": "from the log-prob of each label to the loss: each token with its share",
    "Diagnostics": "what one watches while training; none of it enters the loss",
}


def labelled_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint from logits; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    return _whole(LABELLED, numbers, witnessed, given_logits(), texts(numbers.level))


def demonstrations_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint from weights, with the steps of an optimiser where there are any; witnessed: as above."""
    given = texts(numbers.level)
    made = _whole(DEMONSTRATIONS, numbers, witnessed, run_network(given), given)
    return with_epochs(made, numbers[UPDATE], EPOCHS)


def _whole(
    level: Level,
    numbers: Numbers,
    witnessed: Witnessed | None,
    policy: tuple[Block, tuple[Section, ...]],
    given: Rows,
) -> Blueprint:
    """Outlines the workbook. policy: its logits, and how they come about."""
    chosen = chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=sft_presets())
    made, sheets = _sheets(given, policy, chosen)
    head, every = in_view(given), {**given, **rows_on(*sheets)}
    opening, checked, tolerances = _judged(numbers, every, chosen, head, witnessed)
    walked, picked, first_choice = walk_of(every, head, made.labels.counts.block, _shown_first(numbers))
    pictures, drawn = charts_of(every, head.on("charts").rows)
    tokens, flags = (
        (given[name] for name in ("word_written", "end_word")),
        (given[name] for name in ("mask", "text.mask")),
    )
    return Blueprint(
        title=numbers.title,
        sheets=(opening, walked, conventions_sheet(chosen, ()), presets_sheet(chosen), *sheets, checked, pictures),
        sizes={**_sizes(level, numbers), PRESET: len(chosen.catalogue.presets)},
        typed=chosen.settings.typed | tolerances | first_choice | dict(drawn),
        names={**NETWORK, v: given["vocabulary"], PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **dict.fromkeys(tokens, given["vocabulary"])},
        ranges={**chosen.settings.ranges, **walk.ranges(picked), **dict.fromkeys(flags, (0, 1))},
        facts=_facts(numbers),
        result=made.loss.total.block,
        chosen=picked,
        whole="batch",
        heads={n: [f"text {place}" for place in range(1, 1 + len(numbers["text.texts"]))]},
    ).with_typed(level.typed(numbers))


def _sheets(given: Rows, policy: tuple[Block, tuple[Section, ...]], chosen: Chosen) -> tuple[Derived, list[Sheet]]:
    """Runs the definitions, and outlines their sheets in reading order: the policy stands between labels and loss."""
    head, said = in_view(given), list[Sheet]()

    def says(of: Labels) -> Rows:
        sheet, rows = policy_sheet(*policy, of.id, head)
        said.append(sheet)
        return rows

    made = derived(given, says, Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels))
    before, *after = (_steps(title, made, head) for title in LEADS)
    return made, [inputs_sheet(given), before, *said, *after]


def _judged(
    numbers: Numbers, rows: Rows, chosen: Chosen, head: InView, witnessed: Witnessed | None
) -> tuple[Sheet, Sheet, dict[Block, object]]:
    """Outlines Start and Checks; returns them, and the tolerances that are typed."""
    parts, pieces = pieces_of(PARTS, rows), pieces_of(PIECES, rows)
    shown = [piece.shown for piece in (*parts, *pieces)]
    residuals: list[Block | Identity] = [
        checks.is_0_or_1("mask", rows["mask"], rows["text.mask"], use=LABELS),
        checks.sums_to_one("policy", rows["policy.p"], LABELS),
        checks.not_positive("policy", rows["policy.logprobs"], LABELS),
        checks.all_in_range(chosen.settings),
    ]
    checked, verdict, tolerances = checks_sheet(head.on("checks").rows, residuals, [], witnessed, shown)
    told = Made(numbers.title, numbers.about, _facts(numbers), SAYS)
    return (
        start_sheet(told, parts, pieces, flow(rows), verdict, conventions_in_use(chosen, SHOWN)),
        checked,
        tolerances,
    )


def _facts(numbers: Numbers) -> dict[str, str]:
    """Returns what the workbook says of its own making."""
    return facts_of(numbers.name, numbers.level) | {"preset": numbers["preset"], "conventions": "live"}


def _steps(title: str, made: Derived, head: InView) -> Sheet:
    """Outlines a sheet of steps: rows that one looks for are marked, the others folded."""
    sections = [
        Section(name, tuple(map(_row, rows))) for name, rows in made.steps.sections.items() if made.sheet(name) == title
    ]
    return sheet_of(title, LEADS[title], sections, head.on(f"on_{title.lower()}"))


def _row(row: Block) -> Row:
    if row.name in LOOKED_FOR:
        return key(row)
    return Row(row) if row.name in PLAIN or not row.axes else minor(row)


def _sizes(level: Level, numbers: Numbers) -> dict[Axis, int]:
    """Counts the members of every axis."""
    size = level.sizes(numbers)
    found = {n: size["text"], o: size["text"], b: size["text"], t: size["position"], v: size["token"]}
    return found | {axis: size[name] for axis, name in ((k, "embedding"), (j, "hidden")) if name in size}


def _shown_first(numbers: Numbers) -> tuple[int, int]:
    """Returns the text and the position that Walk shows at first: the first of a response."""
    found = np.argwhere(np.asarray(numbers["text.response"], float) > 0)
    return (int(found[0][0]) + 1, int(found[0][1]) + 1) if len(found) else (1, 1)
