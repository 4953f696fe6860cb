"""The adaptive KL controller: what it is fed, and how it raises the KL coefficient β where the KL is above its target, and lowers
it below; and misconceptions about it.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from blueprint.inputs import LONGEST, ROWS, Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Number, Positive
from blueprint.language import Axis, Block, Sum, link, maximum, minimum, size, typed
from blueprint.misconceptions import (
    becomes,
    equation,
    instead,
    of,
    operand,
    operation,
    row,
    swapped,
    turned,
    upside_down,
    without,
)
from blueprint.page.outline import Blueprint, Flow, Note, Piece, Section, Sheet, Tour, key
from blueprint.workbooks.common import (
    ABOUT,
    COLUMNS,
    COMES,
    LEGEND,
    MAP,
    Choices,
    Identity,
    Rows,
    Settings,
    Witnessed,
    all_in_range,
    checks_sheet,
    facts_of,
    first_sheet,
    how_to_check,
    judged,
    labels,
    lines_of_flow,
    made_by,
    named,
    not_negative,
    settings,
    settings_sections,
    several,
    with_,
)

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


CONTROLLER = settings_in(Path(__file__).parent).settings
LEVEL = Level(
    "kl_controller",
    "controller",
    "what the KL controller is fed",
    parts=(
        Part(
            "responses.kl_sums",
            Number,
            ("update", "response"),
            "KL to the reference, summed over the tokens of a response",
        ),
        Part("responses.lengths", Positive, ("update", "response"), "tokens of a response, in the shape of kl_sums"),
    ),
    tables={
        "controller": "settings; one that is left out is as in the preset",
        "responses": "a row per update, an entry per response",
    },
    settings=CONTROLLER,
    of_settings="controller",
    limits={"update": (1, LONGEST), "response": ROWS},
)


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a file, or, of a blank one, numbers of its sizes."""
    lengths = np.array(file.whole("responses.length"))
    parts = {"responses.kl_sums": file.array("responses.kl", 2), "responses.lengths": lengths}
    return Numbers(kind="kl_controller", level="controller", **file.head(), ppo=file.settings(), parts=parts)


u = Axis("u", "update", start=1)
i = Axis("i", "response", start=1)
READING = (
    "RLHF penalises KL to the reference with a coefficient β. With a fixed β one gets the KL that one gets; the controller turns",
    "this round: one names the KL, and β follows it, update by update. By default in lm-human-preferences and TRL 0.7 to 0.11.4.",
    "A column is one update, made after one batch of responses. Type into cream cells; everything else follows.",
)
STATISTICS = (
    "seq_sum: the KL summed over the tokens of a response, then their mean (lm-human-preferences cbfd210, TRL 0.11.4).",
    "token_mean: the mean over the tokens of a response, then the mean over responses (OpenRLHF 0.11.2, verl 0.9.1).",
    "The target is in the same unit: 6 nats per response, or about 0.1 nats per token. In the wrong one β only shrinks, or grows.",
    "trlX 3340c2f feeds the mean sum of k3 with its ratio the wrong way round, prompt tokens included, once per inner epoch.",
    "OpenRLHF, verl and trlX keep β fixed unless a target is set; TRL 1.12, DeepSpeed-Chat, NeMo and torchtune always do.",
)
ORDER = (
    "The rewards of a batch are made with the old β; only then is β updated by the KL of that batch. Both stand here."
)
LEAD = "from the KL of a batch of responses to the KL coefficient β of the next batch"
LOOKS = tuple(look for look in LEGEND if look.role in ("line", "fixed", "", "key", "edge") and not look.faded)
LONGEST_RESPONSE = 1_000_000
FLOW = (
    (("KL of the responses", "responses.kl"), ("mean that is fed", "kl.fed"), ("off the target", "error"), ("factor", "factor"),
     ("β after", "kl_coef.after"), ("β in the end", "final_kl_coef")),
)  # fmt: skip
"""From the KL of a batch to β: the title of each box, and the row to which it leads."""


def kl_controller(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of the adaptive KL controller; with a witness's number beside β after all updates if there is one."""
    chosen = settings(numbers.ppo, CONTROLLER)
    use = Choices(chosen.used, chosen.switch, n=u, t=i, labels=labels(own=__package__))
    rows = controlled(use)
    final = rows["final_kl_coef"]
    residuals, product = checks_of(rows, chosen, use)
    head = (link("checks.kl", rows["kl.fed"]),)
    checked, verdict, tolerances = checks_sheet(head, residuals, [product], witnessed, [final])
    facts = facts_of(numbers.name, "controller")
    sections = (*settings_sections(chosen), Section("What libraries feed", tuple(map(Note, STATISTICS))))
    inputs = Sheet("Inputs", "the settings; the KL of the responses is typed on Controller", sections, widths=(12,) * 8)
    start = _start(f"{numbers.title}: {numbers.about}", rows, verdict, made_by(facts))
    sums, lengths = numbers["responses.kl_sums"], np.array(numbers["responses.lengths"], dtype=float)
    return Blueprint(
        title=numbers.title,
        sheets=(start, inputs, _controller(rows), replace(checked, across=(u,), grey=None)),
        sizes={u: len(sums), i: len(sums[0])},
        typed=chosen.typed | tolerances,
        choices=chosen.choices,
        ranges=chosen.ranges | {rows["responses.length"]: (1, LONGEST_RESPONSE)},
        facts=facts,
        result=final,
    ).with_typed({"responses.kl": sums, "responses.length": lengths})


def controlled(use: Choices) -> Rows:
    """Adapts β to the KL of the responses: β ← β·(1 + e·n/K) with e = KL/target − 1, clipped. β has a start column.

    What is fed is the KL of whole responses, or their mean per token.
    """
    by = use.used
    sums = typed("responses.kl", (u, i), "KL_sum", "KL of the response, summed over its tokens", decimals=1)
    lengths = typed("responses.length", (u, i), "len", "tokens of the response", unit="≥ 1", decimals=0)
    responses = use.one("responses.count", size(i))
    per_token = use.row("responses.kl_per_word", sums[u, i] / lengths[u, i])
    seq_sum = use.each("kl.seq_sum", Sum(i, sums[u, i]) / responses)
    token_mean = use.each("kl.token_mean", Sum(i, per_token[u, i]) / responses)
    fed = use.each("kl.fed", use.switch["kl_stat"].choose(seq_sum=seq_sum[u], token_mean=token_mean[u]))
    raw = use.each("error.raw", fed[u] / by["target"] - 1)
    error = use.each("error", maximum(-by["error_clip"], minimum(by["error_clip"], raw[u])))
    factor = use.each("factor", 1 + error[u] * by["n_steps"] / by["horizon"])
    after = use.each("kl_coef.after")
    after[u.first - 1] = by["kl_coef"]
    before = use.each("kl_coef.before", after[u - 1])
    after[u] = before[u] * factor[u]
    updates = use.one("updates", size(u))
    last = use.one("last_update", updates - 1)
    final = use.one("final_kl_coef", after[last])
    return named(
        *(sums, lengths, responses, per_token, seq_sum, token_mean, fed),
        *(raw, error, factor, before, after, updates, last, final),
    )


def checks_of(rows: Rows, chosen: Settings, use: Choices) -> tuple[list[Block], Identity]:
    """Measures how far factors, directions, β and lengths are from what they must be; and β from the product of all factors."""
    by, factor, after = use.used, rows["factor"], rows["kl_coef.after"]
    largest = by["error_clip"] * by["n_steps"] / by["horizon"]
    residuals = [
        use.each("check.factor", maximum(0, abs(factor[u] - 1) - largest)),
        use.each("check.way", maximum(0, -rows["error"][u] * (rows["kl.fed"][u] - by["target"]))),
        not_negative("positive", after),
        use.row("check.length", maximum(0, 1 - rows["responses.length"][u, i])),
        all_in_range(chosen),
    ]
    product = use.each("identity.product")
    product[u.first - 1] = 1
    product[u] = product[u - 1] * factor[u]
    return residuals, Identity((product,), use.each("check.product", abs(by["kl_coef"] * product[u] - after[u])))


def _controller(rows: Rows) -> Sheet:
    """Outlines the sheet from the KL of responses to β."""
    given = several(rows, "responses.kl", "responses.length", "responses.count")
    means = several(rows, "kl.seq_sum", "responses.kl_per_word", "kl.token_mean")
    error, factor, before, after, final = map(
        key, several(rows, "error", "factor", "kl_coef.before", "kl_coef.after", "final_kl_coef")
    )
    sections = (
        Section(
            "The KL of the responses of each batch",
            (Note("These responses stand for the n of a batch: only their mean enters."), *given),
        ),
        Section("The one number that is fed", (*means, key(rows["kl.fed"]))),
        Section("How far off the target, and by how much β changes", (rows["error.raw"], error, factor)),
        Section("β before and after the update", (Note(ORDER), before, after)),
        Section("After all updates", (*several(rows, "updates", "last_update"), final)),
    )
    return Sheet("Controller", LEAD, sections, (u,))


def _start(lead: str, rows: Rows, verdict: Block, made: str) -> Sheet:
    """Outlines the first sheet."""
    final = Piece("β after all updates", rows["final_kl_coef"], rows["kl_coef.after"], of="the last of its row")
    before = ("",) * 8 + (with_("β before", rows["kl_coef.before"]),)
    sections = (
        judged(verdict),
        Section(COMES, (final,), COLUMNS),
        Section(MAP, (Flow((*lines_of_flow(FLOW, rows), before)),)),
        Section(ABOUT, tuple(map(Note, READING))),
        Section("The sheets", (Tour(),)),
        Section("Colours", LOOKS),
        how_to_check(final.about, made),
    )
    return first_sheet(lead, sections, "The adaptive KL controller by hand")


# fmt: off
MISCONCEPTIONS = (
    *of("kl.seq_sum",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div"))),
    *of("responses.kl_per_word",
        ("not-per-token", "The KL of a response is not divided by its length.", operand("div"))),
    *of("kl.token_mean",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("sums-for-means", "The responses' sums are averaged, not their means per token.",
         instead("responses.kl_per_word", "responses.kl"))),
    *of("kl.fed",
        ("mean-per-token-fed", "The mean per token is fed; which statistic is in use is said on Inputs.", row("kl.token_mean")),
        ("sum-per-response-fed", "The sum per response is fed; which statistic is in use is said on Inputs.", row("kl.seq_sum"))),
    *of("error.raw",
        ("one-forgotten", "The − 1 is forgotten: the error is how far KL/KL_goal is from 1.", operand("sub")),
        ("error-turned", "The sign is turned: too much KL is an error above 0.", turned()),
        ("difference-for-proportion", "The difference is not divided by the goal: the error is a proportion, KL/KL_goal − 1.",
         equation(lambda b: b("kl.fed") - b("target"))),
        ("upside-down", "The proportion is upside down: it is KL/KL_goal.", upside_down)),
    *of("error",
        ("not-clipped", "The error is not clipped.", row("error.raw")),
        ("below-not-clipped", "The error is not clipped from below.", operand("maximum", 1)),
        ("above-not-clipped", "The error is not clipped from above.", operand("minimum", 1))),
    *of("factor",
        ("error-turned", "The error is subtracted: with too much KL, β grows.", turned("error")),
        ("one-forgotten", "The 1 is forgotten: β is multiplied by 1 + e·n/K.", operand("add", 1)),
        ("raw-for-clipped", "The raw error stands where the clipped one should.", instead("error", "error.raw")),
        ("upside-down", "n/K is upside down: the horizon divides.", swapped("n_steps", "horizon")),
        ("steps-forgotten", "n, the number of steps, is forgotten.", without("n_steps"))),
    *of("kl_coef.after",
        ("divided-for-multiplied", "β is divided by the factor: it is multiplied.", operation("mul", "div")),
        ("factor-added", "The factor is added: β is multiplied by it.", operation("mul", "add")),
        ("from-the-start", "It begins at β_0 again: each update goes on from the β before it.",
         becomes("kl_coef.before", lambda b: b("kl_coef")))),
)
# fmt: on
