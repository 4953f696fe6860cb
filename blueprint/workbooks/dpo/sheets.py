"""The sheets of DPO: pairs and what two models say of them, the steps in order, Walk through one pair, and charts; and what the
page "Which DPO is it?" says.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from blueprint.language import (
    Axis,
    Block,
    Max,
    Sum,
    block,
    equal,
    exp,
    less,
    link,
    log,
    match,
    maximum,
    minimum,
    needs,
    size,
    typed,
    where,
)
from blueprint.page.outline import (
    Chart,
    Choice,
    Item,
    Line,
    Note,
    Row,
    Scale,
    Section,
    Series,
    Sheet,
    Table,
    Told,
    key,
    minor,
)
from blueprint.workbooks.common import (
    Choices,
    InView,
    Rows,
    behind,
    charts,
    chosen_logprobs,
    defined,
    named,
    several,
    sheet_of,
    softmax,
    walk,
)
from blueprint.workbooks.common.conventions import Values, comparison_in
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.common.preference_pairs import columns
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.common.sheets.walk import shown_in
from blueprint.workbooks.dpo.definitions import LABELS, WATCHED, Steps, n, o, p, t, v
from blueprint.workbooks.dpo.schema import DPO

LEAD_INPUTS = (
    "pairs of a chosen and a rejected response to the same prompt, side by side; "
    "logits stand on the sheets of their models"
)
PAIRS = (
    "The two responses of a pair bear the same number; 1 marks the chosen one. A pair is a column on the sheet Pairs."
)
WHY_MISMATCHED = (
    "KTO asks how far the policy is from the reference where nothing was chosen: on the answer to another prompt."
)
LEFT_OUT = "Where a file does not give it, each text itself stands here, of which both models say the same: the log-ratio is 0."
MODELS = {
    "policy": ("Policy", "π_θ, the policy in training, reads both texts of each pair; the loss moves it"),
    "reference": ("Reference", "π_ref, the frozen model from before, reads the same texts"),
    "mismatched.policy": ("Policy elsewhere", "π_θ reads each prompt with the response to another one; only KTO asks for it"),
    "mismatched.reference": ("Reference elsewhere", "π_ref reads them, too; only KTO asks for it"),
}  # fmt: skip
"""Title and lead of each model's sheet."""


def texts_of_pairs() -> Rows:
    """Makes what is typed of pairs, and what follows from it, by name."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True, edges=(t.first - 1,))
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    there = typed("text.mask", (n, t), "text_mask", "1 on prompt and response, 0 on pads", unit="0 or 1", decimals=0)
    other = typed("mismatched.word_written", (n, t), "writes'", "token of the mismatched text", text=True)
    other_mask = typed("mismatched.tokens", (n, t), "m'", "1 on the mismatched response", unit="0 or 1", decimals=0)
    ids = defined(LABELS.row("rollout.written"), match(v, vocabulary[v], written[n, t]))
    others = defined(LABELS.row("mismatched.written"), match(v, vocabulary[v], other[n, t]))
    m, text = LABELS.row("response.tokens", mask[n, t]), LABELS.row("text.tokens")
    text[n, t.first - 1] = 1
    text[n, t] = there[n, t]
    return {**named(vocabulary, written, mask, there, other, other_mask, ids, others, m, text), **belonging()}


def belonging() -> Rows:
    """Makes what is typed of each response: its pair, whether it was chosen, its true reward; and what follows from it."""
    pair = typed("pair.number", (n,), "no", "number of the pair", decimals=0)
    good = typed("response.chosen", (n,), "chosen", "1 on the chosen response", unit="0 or 1", decimals=0)
    true = typed("true.reward", (n,), "r*", "true reward, which RPO alone reads", decimals=2)
    return {**named(pair, good, true), **places(pair, good)}


def selecting() -> tuple[str, ...]:
    """Names the rows that say which response is which of which pair."""
    return ("pair.apart", "pair.of_row", "pair.chosen", "pair.rejected")


def places(pair: Block, good: Block) -> dict[str, Block]:
    """Says which response belongs to which pair. pair, good: (n), the number of the pair, 1 on the chosen response."""
    count = LABELS.one("count.pairs", size(p))
    apart = LABELS.along("pair.apart", (o, n))
    apart[o.first - 1, n] = pair[n]
    apart[o, n] = apart[o - 1, n] - 1
    either = LABELS.along("pair.of_row", (o, n), equal(apart[o, n], 0))
    chosen = LABELS.along("pair.chosen", (o, n), either[o, n] * good[n])
    rejected = LABELS.along("pair.rejected", (o, n), either[o, n] - chosen[o, n])
    number = typed("pair.column", (p,), "pair", "number of the pair in this column", decimals=0)
    found = named(count, apart, either, chosen, rejected, number)
    return {**found, **columns(number, LABELS), "pair.either": either}


def inputs_sheet(given: Rows) -> Sheet:
    """Outlines vocabulary and pairs."""
    texts_ = ("word_written", "mask", "text.mask", "rollout.written", "response.tokens", "text.tokens")
    others = ("mismatched.word_written", "mismatched.tokens", "mismatched.written")
    sections = (
        Section("Vocabulary", (Line((given["count.pairs"],), "line"), Table(given["vocabulary"], role="text"))),
        Section("The pairs", (Note(PAIRS), given["pair.number"], given["response.chosen"],
                              *(Row(given[name], "text" if name == "word_written" else "") for name in texts_),
                              given["true.reward"])),
        Section("Which response is which", tuple(minor(given[name]) for name in selecting())),
        Section("Mismatched texts",
                (Note(f"{WHY_MISMATCHED} {LEFT_OUT}"), Row(given[others[0]], "text"), *map(minor, several(given, *others[1:])))),
    )  # fmt: skip
    return Sheet("Inputs", LEAD_INPUTS, sections, (n, t))


def model_sheet(
    name: str,
    given: Rows,
    head: InView,
    logits: tuple[Block, ...] = (),
    above: tuple[Section, ...] = (),
    first: int = 1,
) -> tuple[Sheet, Rows]:
    """Outlines what a model says of every token: soft-max of its logits, and the log-prob of the token written.

    logits: what a network made of the tokens read, in the sections `above`, of which the first has the number `first`; without
    them they are typed.
    """
    title, lead = MODELS[name]
    z = logits or (typed(f"{name}.logits", (n, t, v), "z", "logit of every next token", decimals=2),)
    words = softmax(name, z[-1], LABELS)
    here = head.on(name)
    written = link(f"{name}.written", given["mismatched.written" if "." in name else "rollout.written"])
    logprobs = chosen_logprobs(name, words.logp, written, use=LABELS)
    steps = map(minor, (words.top, words.exponentials, words.logsumexp, words.logp))
    made = [logprobs]
    if name == "policy":
        made.append(LABELS.row("policy.square", Sum(v, words.p[n, t, v] * words.p[n, t, v])))
    sections = [
        *above,
        Section("Probability of every next token: soft-max", (*z, *steps, Row(words.p, "probability"))),
        Section("The token that was written", (written, words.p_log_p, key(logprobs), *map(minor, made[1:]))),
    ]
    return sheet_of(title, lead, sections, here, first), named(*made)


SHOWN = shown_in(Path(__file__).parent)


def step_sheets(made: Steps, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded, and those that none reads left out."""
    looked_for = [row for name, row in made.rows.items() if name in SHOWN.looked_for]
    needed = behind([*made.sections[WATCHED], *looked_for])
    sections: dict[bool, list[Section]] = {False: [], True: []}
    for title, rows in made.sections.items():
        for paired, those in sections.items():
            if kept := [row for row in rows if row in needed and of_pairs(row, rows) == paired]:
                those.append(Section(title, tuple(SHOWN.row(row, not row.axes) for row in kept)))
    where = (Row(given["pair.column"]), *(minor(given[f"pair.{name}"]) for name in ("left", "same", "before")))
    pairs, here = (Section("Which pair stands where", where), *sections[True]), head.on("on_log-probs")
    lead, lead_pairs = (SHOWN.sheets[name]["lead"] for name in ("Log-probs", "Pairs"))
    return [
        Sheet("Log-probs", lead, tuple(sections[False]), (n, t), here.rows, here.mask, closed=True),
        Sheet("Pairs", lead_pairs, pairs, (p,), closed=True),
    ]


def of_pairs(row: Block, beside: Sequence[Block]) -> bool:
    """Tells whether a row stands among columns of pairs: a column of pairs does where it is made of one, and a single number
    where any row of its section does."""
    if row.axes and row.axes[-1] is not o:
        return row.axes[-1] is p
    near = [need.read for need in needs(row)] if row.axes else beside
    return any(p in each.axes for each in near)


LOGP_OF = {"policy": "logp", "reference": "logp_ref"}
"""By model the log-prob of a whole response."""


def walk_of(rows: Rows) -> tuple[Sheet, Choice, dict[Block, object]]:
    """Outlines the sheet; returns it, the choice of the pair, and what is typed."""
    picked, first = walk.picking((p,), {typed("walk.pair", (), "p", "pair to walk through", decimals=0): 1})
    return walk.walk_sheet(picked, (), SHOWN.walked(rows, *_tokens(rows)), SHOWN.walk_lead), picked, first


def _tokens(rows: Rows) -> Iterator[tuple[str, tuple[Block | Told, ...]]]:
    """Yields what both models say of each token of the chosen response, and of the rejected one; and of the whole of it."""
    words, counts = rows["word_written"], rows["response.tokens"]
    for side in ("chosen", "rejected"):
        lines = list[Block | Told]()
        for model, of in LOGP_OF.items():
            whole, says = rows[f"{side}.{of}"], f"its tokens, by the {model}"
            lines += [Told(rows[f"{model}.logprobs"], words, counts, rows[f"pair.{side}"], whole, says), whole]
        length = (rows[f"{side}.length"],) if f"{side}.length" in rows else ()
        yield f"The {side} response, token by token", (*length, *lines)


PARTS = tuple(part / 10 for part in range(-10, 11))
"""Where the curves have points, as parts of the width of the picture."""
U = Axis("u", "point of the curves", start=1, size=len(PARTS))
END = Axis("e", "end of a line", start=1, size=2)
REWARDS = {"chosen response": "chosen.reward", "rejected response": "rejected.reward"}


def charts_of(rows: Rows, use: Choices) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    part = typed("curve.part", (U,), "part", "points of the curves, as parts of the width", decimals=1)
    far = charts.curve("curve.size", p, "|u|", "size of the margin of each pair", abs(rows["margin.argument"][p]))
    width = block("curve.width", (), "u_max", "width of the picture to either side")
    width[()] = maximum(2, 2 * Max(p, far[p]))
    x = charts.curve("curve.u", U, "u_grid", "points of the curves: u = βh − γ", width * part[U])
    sure = charts.curve("curve.sure", U, "σ(u)", "σ(u) there", exp(minimum(x[U], 0)) / (1 + exp(-abs(x[U]))))
    losses = _losses(rows, x, use, (Line((width,)), Table(part, role="fixed"), far, Table(x)), {part: PARTS})
    drawn = [losses, _pulls(rows, x, sure, use), _rewards(rows), _ratios(rows), _logprobs(rows)]
    return charts.charts_sheet(drawn, (), (p,))


def _losses(rows: Rows, x: Block, use: Choices, above: tuple[Item, ...], given: dict[Block, object]) -> Drawn:
    """Draws what forms make of a margin, each in a scale in which it can be compared."""
    u, smooth = x[U], use.used["loss.label_smoothing"]
    right = maximum(0, -u) + log(1 + exp(-abs(u)))
    plain = charts.curve("curve.sigmoid", U, "L_σ", "DPO: −log σ(u)", right)
    smoothed = charts.curve(
        "curve.smoothed", U, "L_ε", "with ε as it is set", (1 - smooth) * plain[U] + smooth * (plain[U] + u)
    )
    hinge = charts.curve("curve.hinge", U, "L_h", "hinge: max(0, 1 − u)", maximum(0, 1 - u))
    square = charts.curve("curve.ipo", U, "L_sq", "IPO in units of its start: (1 − 2u)²", (1 - 2 * u) * (1 - 2 * u))
    chart = Chart(
        "Loss of a pair over its margin", "scatter",
        (Series("DPO: −log σ(u)", plain, x), Series("DPO with ε as set", smoothed, x), Series("hinge", hinge, x),
         Series("IPO · 4β²", square, x),
         Series("pairs of this batch", rows["loss.sigmoid"], rows["margin.argument"], dots=True)),
        Scale("u = βh − γ: how far the chosen response is ahead"), Scale("loss", 0, 6),
        "All of them fall while the chosen response gets ahead. DPO's never ends; the hinge is 0 beyond 1, and IPO rises again "
        "beyond u = ½, so that the policy stops. At u = 0, as in the first step, they are ln 2, 1 and 1.",
    )  # fmt: skip
    below = tuple(map(Table, (plain, smoothed, hinge, square)))
    return Drawn(chart, Section("Loss over margin: curves", (*above, *below)), given)


def _pulls(rows: Rows, x: Block, sure: Block, use: Choices) -> Drawn:
    """Draws the weight of the gradient: how strongly a pair pulls, without β."""
    smooth = use.used["loss.label_smoothing"]
    plain = charts.curve("pull.sigmoid", U, "w_σ", "DPO: 1 − σ(u)", 1 - sure[U])
    smoothed = charts.curve("pull.smoothed", U, "w_ε", "with ε as it is set", 1 - smooth - sure[U])
    hinge = charts.curve("pull.hinge", U, "w_h", "hinge: 1 before u = 1", where(less(x[U], 1), 1, 0))
    chart = Chart(
        "How strongly a pair pulls", "scatter",
        (Series("DPO: σ(−u)", plain, x), Series("DPO with ε as set", smoothed, x), Series("hinge", hinge, x),
         Series("pairs of this batch", rows["loss.unsure"], rows["margin.argument"], dots=True)),
        Scale("u = βh − γ: how far the chosen response is ahead"), Scale("weight of the gradient, without β", -0.5, 1.5, 0.5),
        "A pair that is wrong pulls with almost its full weight, one that is won hardly at all; all begin at ½. "
        "With ε above 0 the weight gets negative: a pair that is too far ahead is drawn back.",
    )  # fmt: skip
    return Drawn(chart, Section("How a pair pulls: curves", tuple(map(Table, (sure, plain, smoothed, hinge)))), {})


def _rewards(rows: Rows) -> Drawn:
    """Draws both implicit rewards, pair by pair."""
    chart = Chart(
        "Implicit rewards, pair by pair", "bars",
        tuple(Series(says, rows[name], rows["pair.column"]) for says, name in REWARDS.items()),
        Scale("pair"), Scale("β · log-ratio to the reference"),
        "What is trained is how much higher the left bar of a pair is. Both may lie below 0, and the loss be none the worse.",
        charts.SHORT,
    )  # fmt: skip
    return Drawn(chart, Section("Implicit rewards: rows of Pairs", ()), {})


def _ratios(rows: Rows) -> Drawn:
    """Draws both log-ratios against each other, with the line on which nobody is ahead."""
    ends = typed("even.part", (END,), "end", "which end of the line", decimals=0)
    sizes = [
        charts.curve(
            f"even.{side}", p, f"|r_{side[0]}|", f"size of the {side} log-ratio", abs(rows[f"{side}.ratio"][p])
        )
        for side in ("chosen", "rejected")
    ]
    far = block("even.far", (), "r_max", "how far the line goes")
    far[()] = maximum(1, maximum(Max(p, sizes[0][p]), Max(p, sizes[1][p])))
    line = charts.curve("even.line", END, "even", "the line on which both have gained alike", far * ends[END])
    chart = Chart(
        "Which of the two has gained more?", "scatter",
        (Series("both alike: margin 0", line, line),
         Series("pairs of this batch", rows["rejected.ratio"], rows["chosen.ratio"], dots=True)),
        Scale("log-ratio of the chosen response"), Scale("log-ratio of the rejected response"),
        "Below the line a pair is right, on it and above it wrong. Left of 0 the chosen response has become less likely: below "
        "the line such a pair is right all the same. In the first step all pairs are at 0, on the line.",
    )  # fmt: skip
    below: tuple[Item, ...] = (*sizes, Line((far,)), Table(ends, role="fixed"), Table(line))
    return Drawn(chart, Section("Which has gained more: the line", below), {ends: (-1, 1)})


def _logprobs(rows: Rows) -> Drawn:
    """Draws log-probs of both responses, by reference and policy."""
    names = {"chosen, reference": "chosen.logp_ref", "chosen, policy": "chosen.logp", "rejected, reference": "rejected.logp_ref",
             "rejected, policy": "rejected.logp"}  # fmt: skip
    chart = Chart(
        "Log-probs of both responses, before and now", "bars",
        tuple(Series(says, rows[name], rows["pair.column"], colour="grey" if name.endswith("_ref") else "orange")
              for says, name in names.items()),
        Scale("pair"), Scale("log-prob of the response"),
        "Each colour beside its reference: which has risen, which has fallen? Long responses are less likely from the start; "
        "only the distance to the reference counts.",
        charts.SHORT, wide=True,
    )  # fmt: skip
    return Drawn(chart, Section("Log-probs: rows of Pairs", ()), {})


FORM, REFERENCE, NLL = "loss.form", "reference.used", "loss.nll_coef"
READ_BY = {
    "loss.exo_eps": ("exo",), "loss.discopop_tau": ("discopop",), "loss.aot_tie": ("aot", "aot_unpaired"),
    "loss.bco_threshold": ("bco",), "loss.odds_one": ("orpo", "orpo_tokens"), "loss.desirable": ("kto", "apo_zero_unpaired"),
    "loss.undesirable": ("kto", "apo_zero_unpaired"),
    "loss.label_smoothing": ("sigmoid", "robust", "hinge", "aot", "aot_unpaired"), "loss.gamma": ("sigmoid", "hinge"),
}  # fmt: skip
"""Settings with the forms that read them."""


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: what only other forms read, and parts of what is not done."""
    found = [key for key, forms in READ_BY.items() if values[FORM] not in forms]
    if not values[NLL]:
        found += [key for key, each in DPO.items() if each.part_of == NLL]
    if values["logp.ld"] == "off":
        found += [key for key, each in DPO.items() if each.part_of == "logp.ld"]
    if values[REFERENCE] == "off":
        found.append("margin.divergence")
    return tuple(dict.fromkeys(found))


COMPARISON = comparison_in(Path(__file__).parent, silent=silent, parts={EVERY_WORD: True})
