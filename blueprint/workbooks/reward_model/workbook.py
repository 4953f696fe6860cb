"""The workbook of a reward model at both levels: what stands around the steps, the gradient of the loss, and steps along it.

First the sheets: texts and pairs that are given, where −log σ overflows, and the picture of the loss.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blueprint.inputs import Level, Numbers
from blueprint.language import (
    Axis,
    Block,
    Sum,
    at_most,
    block,
    equal,
    exp,
    filled,
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
    Blueprint,
    Chart,
    Item,
    Line,
    Note,
    Row,
    Scale,
    Section,
    Series,
    Sheet,
    Table,
    key,
    minor,
)
from blueprint.workbooks.common import (
    FIXED,
    Backward,
    Identity,
    InView,
    Rows,
    Witnessed,
    charts,
    checks,
    epochs,
    head_weights,
    j,
    k,
    memory_weights,
    named,
    one,
    rnn,
    rows_on,
    scalar_head,
    several,
    sheet_of,
    update,
)
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.epochs import beside_in, repeated
from blueprint.workbooks.common.preference_pairs import columns
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.common.sheets.models import memory_sections
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.sheets.walk import shown_in
from blueprint.workbooks.common.workbook import Start, Steps, chosen_in, workbook
from blueprint.workbooks.reward_model.definitions import LABELS, derived, n, o, p, q, t, u, v
from blueprint.workbooks.reward_model.definitions import Steps as Definitions
from blueprint.workbooks.reward_model.schema import (
    OF_PAIRS,
    RANKED_WORDS,
    RANKINGS,
    SCORED_HEAD,
    SCORED_WORDS,
    SCORES,
    columns_of,
    rm_presets,
)

LEAD_INPUTS = "the texts whose responses were compared: a column for each token, and the number of each response"
LEAD_RANKINGS = "which response is better: a column for each pair; every two responses of a ranking are a pair"
ONE = "A text is a prompt and its response, the end token with it. An empty cell behind it is a pad, which a model reads as id 0."
COMPARED = (
    "A pair is the number of the better and the number of the worse response; one response may stand in several pairs."
)
RANKED = "A ranking of K responses makes K(K − 1)/2 pairs. A pair that comes from none is a ranking of its own."
COUNTS = "0 leaves a pair out, as NeMo-RL does with an invalid one."
SHIFT, SCALE, SHEET, FLOAT32 = 10.0, 2.0, 708.0, 88.7
"""The shift and the factor on Pairs; from where on e^x is no number in a sheet, and in float32."""


def texts(words: str) -> dict[str, Block]:
    """Makes what is typed of texts and pairs, and what follows from it, by name. words: what the typed texts are called."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    word = typed(words, (n, t), "token", "token that is read; blank: a pad", text=True)
    end = typed("text.end", (), "end", "token that ends a text", text=True)
    number = typed("response.number", (n,), "no", "number of the response", decimals=0)
    end_id = LABELS.one("text.end_id", match(v, vocabulary[v], end))
    ids = LABELS.row("token.id", where(filled(word[n, t]), match(v, vocabulary[v], word[n, t]), 0))
    text = LABELS.row("text.there", filled(word[n, t]))
    as_end = LABELS.row("token.as_end", equal(ids[n, t], end_id))
    is_end = LABELS.row("token.is_end", text[n, t] * as_end[n, t])
    count = LABELS.one("count.responses", size(n))
    found = named(vocabulary, word, end, number, end_id, ids, text, as_end, is_end, count)
    numbers = (
        typed("shift", (), "s", "added to every score", decimals=1),
        typed("scale", (), "k", "by which every score is multiplied", decimals=1),
        typed("overflow.sheet", (), "most", "from here on e^x is no number in a sheet", decimals=1),
        typed("overflow.float32", (), "most_32", "from here on e^x is infinite in float32", decimals=1),
    )
    return {**found, **named(*numbers), **_pairs(number)}


def _pairs(number: Block) -> dict[str, Block]:
    """Makes what is typed of pairs, (p), and says which response and which ranking each is of."""
    chosen, rejected = (
        typed(f"{side}.number", (p,), f"no_{sign}", f"number of the {side} response", decimals=0)
        for side, sign in (("chosen", "w"), ("rejected", "l"))
    )
    column = typed("pair.column", (p,), "pair", "number of the pair in this column", decimals=0)
    margin = typed("pair.margin", (p,), "m", "how far the two are meant to be apart", decimals=2)
    ranking = typed("pair.ranking", (p,), "ranking", "number of the ranking of the pair", decimals=0)
    counts = typed("pair.counts", (p,), "counts", "1 on pairs that count", unit="0 or 1", decimals=0)
    laid = columns(column, LABELS)
    apart = LABELS.along("ranking.apart", (q, p))
    apart[q.first - 1, p] = ranking[p]
    apart[q, p] = apart[q - 1, p] - 1
    of = LABELS.along("pair.of_ranking", (q, p), equal(apart[q, p], 0))
    found = {**named(chosen, rejected, column, margin, ranking, counts, apart, of), **laid}
    for side in ("chosen", "rejected"):
        down = LABELS.along(f"{side}.number.column", (o,), Sum(p, laid["pair.same"][o, p] * found[f"{side}.number"][p]))
        found |= named(down, LABELS.along(f"{side}.is", (o, n), equal(down[o], number[n])))
    return found


def inputs_sheet(given: Rows, words: str, made: Definitions) -> Sheet:
    """Outlines vocabulary, texts, and where positions stand in a column."""
    ids = ("text.there", "token.as_end", "token.is_end")
    singles = ("count.responses", "text.end_id")
    more = tuple(Section(title, tuple(map(minor, made.sections[title]))) for title in made.sheets.get("Inputs", ()))
    sections = (
        Section("Vocabulary", (Table(given["vocabulary"], role="text"), Line((given["text.end"],), "text"),
                               *(Line((given[name],)) for name in singles))),
        Section("The texts", (Note(ONE), given["response.number"], Row(given[words], "text"), given["token.id"],
                              *map(minor, several(given, *ids)))),
        Section("Which response is which of each pair", tuple(minor(given[f"{side}.is"]) for side in ("chosen", "rejected"))),
        *more,
    )  # fmt: skip
    return Sheet("Inputs", LEAD_INPUTS, sections, (n, t))


def rankings_sheet(given: Rows, made: Definitions) -> Sheet:
    """Outlines the pairs, and of which ranking each is."""
    places = ("pair.left", "pair.same", "pair.before", "chosen.number.column", "rejected.number.column")
    typed_: tuple[Item, ...] = tuple(
        given[name] for name in ("pair.column", *(part.block for part in OF_PAIRS if part.block))
    )
    sections = (
        Section("The pairs", (*map(Note, (COMPARED, RANKED, COUNTS)), *typed_)),
        Section("Which pair stands where", tuple(minor(given[name]) for name in places)),
        Section(
            "Which pair is of which ranking", tuple(map(minor, several(given, "ranking.apart", "pair.of_ranking")))
        ),
        *(Section(title, tuple(_pair(row) for row in made.sections[title])) for title in made.sheets["Rankings"]),
        Section(
            "What Pairs tries: only differences count",
            (Line((given["shift"],), "line"), Line((given["scale"],), "line")),
        ),
        Section(FIXED, tuple(map(Row, made.sections[FIXED]))),
    )
    return Sheet("Rankings", LEAD_RANKINGS, sections, (p,), closed=True)


def _pair(row: Block) -> Row:
    return key(row) if row.name == "weight.pair" else Row(row) if not row.axes else minor(row)


TYPED = {"shift": SHIFT, "scale": SCALE, "overflow.sheet": SHEET, "overflow.float32": FLOAT32}
"""What is typed besides numbers of a file, by the names of the blocks."""


c = Axis("c", "case", start=1)
CASES = (-710.0, -708.0, -88.8, -30.0, -4.5, 0.0, 4.5, 40.0, 710.0)
LEAD_OVERFLOW = (
    "why −log σ(x) is not written −LN(1/(1+EXP(−x))): what that gives for differences that a bad start may well have"
)
WHY_OVERFLOW = (
    "A sheet answers #NUM! to EXP(710), and the form one writes first needs it at x = −710, where the loss is simply 710.",
    "A library in float32 has no e^89: log(sigmoid(x)) is −inf there, and its slope is no number. e^−x is held here, so that a row",
    "has numbers at all.",
    "For large x the naive form loses its digits instead: at x = 40 it says 0, and the loss is e^−40.",
)

AS_LARGE_AS_E_708 = "[>=1000000]0.0E+00;0.0000"
"""The format of a row whose numbers may have 308 digits: no cell is as wide as those."""


def overflow_sheet(given: Rows) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the sheet; returns it, and what is typed on it."""
    x = typed("overflow.x", (c,), "x", "difference of two scores", decimals=1)
    most, single = given["overflow.sheet"], given["overflow.float32"]

    def row(name: str, value: object) -> Block:
        return LABELS.along(f"overflow.{name}", (c,), value)  # type: ignore[arg-type]

    held = row("held", minimum(-x[c], most))
    label = LABELS.labels.of("overflow.exponential")
    e = block("overflow.exponential", (c,), label.symbol, label.meaning, reads=AS_LARGE_AS_E_708)
    e[c] = exp(held[c])
    likely = row("sigmoid", 1 / (1 + e[c]))
    naive = row("naive", -log(likely[c]))
    right = row("right", -(maximum(0, -x[c]) + log(1 + exp(-abs(x[c])))))
    stable = row("stable", -right[c])
    fails = row("in_sheet", 1 - at_most(-x[c], most))
    fails_32 = row("in_float32", 1 - at_most(-x[c], single))
    sections = (
        Section("The cases", (Row(x, "text"), Line((most,)), Line((single,)))),
        Section("As one writes it first", (*map(Note, WHY_OVERFLOW), held, e, likely, naive)),
        Section("As this workbook computes it", (right, key(stable))),
        Section("Where the first form fails", (fails, fails_32, row("lost", naive[c] - stable[c]))),
    )
    return Sheet("Overflow", LEAD_OVERFLOW, sections, (c,)), {x: CASES}


FROM, TO, STEP = -6.0, 6.0, 0.5


def charts_of(rows: Rows, head: tuple[Block, ...]) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    grid = [FROM + STEP * at for at in range(round((TO - FROM) / STEP) + 1)]
    axis = Axis("g", "difference", start=1, size=len(grid))
    x = typed("curve.difference", (axis,), "Δ_g", "difference of two scores", decimals=1)
    likely = charts.curve(
        "curve.probability", axis, "σ_g", "probability that the chosen one is preferred",
        exp(minimum(x[axis], 0)) / (1 + exp(-abs(x[axis]))),
    )  # fmt: skip
    lost = charts.curve("curve.loss", axis, "l_g", "loss −log σ", maximum(0, -x[axis]) + log(1 + exp(-abs(x[axis]))))
    items = tuple(Table(each, role="fixed" if each.typed else "plain") for each in (x, likely, lost))
    probability = Chart(
        "Probability that the chosen response is preferred", "scatter",
        (Series("σ(Δ)", likely, x), Series("pairs of this batch", rows["probability"], rows["difference"], dots=True)),
        Scale("difference of the scores Δ = r_w − r_l", FROM, TO, 2), Scale("probability", 0, 1, 0.25),
        "At a difference of 0 the model knows nothing: ½. The difference is the log-odds, so that 4.5 means .989, and 9 not twice "
        "that. Left of 0 the model prefers the rejected response: this pair is not in the accuracy.",
    )  # fmt: skip
    loss = Chart(
        "Loss of a pair over the difference less its margin", "scatter",
        (Series("−log σ", lost, x), Series("pairs of this batch", rows["loss.logsigmoid"], rows["argument"], dots=True)),
        Scale("difference less margin", FROM, TO, 2), Scale("loss", 0),
        "Far on the left the loss is the difference itself, and its slope −1: a pair that is wrong by 710 costs 710. On the right "
        "it never is 0: a pair that is right still pulls, ever less.",
    )  # fmt: skip
    below = Section("Loss over difference: rows of Pairs, and the curve above", ())
    curves = Drawn(probability, Section("Probability over difference: the curve", items), {x: grid})
    return charts.charts_sheet([curves, Drawn(loss, below, {})], head)


LOG_SIGMOIDS = ("argument.right", "position.right")
"""Rows that are log σ of the one row that they read."""
WEIGHTS = ("reward_model.E", "reward_model.W", "reward_model.head.w", "reward_model.head.b")
KEPT = ("score", "difference")
"""Rows whose slope one looks for: ∓σ(−x) over the number of pairs."""


MOVED = Backward(
    policy=(WEIGHTS, ("head.score",)),
    critic=(),
    constant=("softmax.held",),
    # A textbook writes that of log σ, whose steps have a kink at 0, in one line.
    declared=lambda rows: [gradients.of_log_sigmoid(rows[name], next(needs(rows[name])).read) for name in LOG_SIGMOIDS],
    keep=KEPT,
)
EPOCHS = repeated(WEIGHTS, ("Reward model", "Scores", "Positions", "Pairs"), MOVED.of, beside_in(Path(__file__).parent))


SHOWN = shown_in(Path(__file__).parent)
OPENING = opening_in(Path(__file__).parent)


def scores_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    head = typed(SCORED_HEAD, (n, t), "r_t", "score that the head gives after the token", decimals=2)
    given, size = {**texts(SCORED_WORDS), "head": head}, SCORES.sizes(numbers)
    return _whole(numbers, SCORES, given, SCORED_WORDS, {n: size["response"], t: size["position"]}, witnessed)


LEAD_MODEL = "r_φ, the model in training, reads each text; its head says a number after every token. The loss moves all its weights"


NETWORK: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint from weights, with the steps of an optimiser where there are any; witnessed: as above."""
    given, size = texts(RANKED_WORDS), RANKINGS.sizes(numbers)
    sheet, given["head"] = _model(given)
    sizes = {n: size["response"], t: columns_of(numbers), k: size["embedding"], j: size["hidden"]}
    made = _whole(numbers, RANKINGS, given, RANKED_WORDS, sizes, witnessed, NETWORK, (sheet,))
    return epochs.with_epochs(made, numbers[update.UPDATE], EPOCHS)


def _model(given: Rows) -> tuple[Sheet, Any]:
    """Outlines the network over the texts; returns its sheet, and the score after every token."""
    read = link("reward_model.read", given["token.id"])
    memory, head = memory_weights("reward_model"), head_weights("reward_model")
    network = rnn("reward_model", read, memory)
    out = scalar_head("reward_model", "RM", "score after the token just read", network.h, head)
    sections = (
        *memory_sections(memory, head.w, read, network),
        Section("One number from the hidden state", (Line((head.b,), "weights"), out)),
    )
    here = InView(given[RANKED_WORDS], given["text.there"]).on("reward_model")
    return sheet_of("Reward model", LEAD_MODEL, sections, here), out


def _whole(
    numbers: Numbers,
    level: Level,
    given: Rows,
    words: str,
    sizes: Mapping[Axis, int],
    witnessed: Witnessed | None,
    names: Mapping[Axis, Block | str] = MappingProxyType({}),
    models: tuple[Sheet, ...] = (),
) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any.

    words: the name of the typed texts; sizes: of responses and models; names, models: what stands at the heads of columns, and
    sheets, of models, where there are any. Among what is given is `head`, the score after every token.
    """
    pairs, responses = len(numbers["pairs.chosen"]), (1, sizes[n])
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, rm_presets()),
        given=given,
        head=InView(given[words], given["text.there"]),
        # A pair that comes from no ranking is one of its own.
        sizes={**sizes, p: pairs, q: pairs, v: len(numbers["text.vocabulary"]), c: len(CASES)},
        names={**names, v: given["vocabulary"]},
        typed=level.typed(numbers) | TYPED,
        words=(words, "text.end"),
        ranges={"pair.counts": (0, 1), "chosen.number": responses, "rejected.number": responses},
    )
    made = derived(given, start.choices(LABELS.labels))
    overflow, cases = overflow_sheet(given)
    inputs, ranked = inputs_sheet(given, words, made), rankings_sheet(given, made)
    sheets = [inputs, ranked, *models, *_steps(made, given, start.head), overflow]
    rows = {**given, **rows_on(*sheets)}
    steps = Steps(
        sheets=sheets,
        rows=rows,
        total=rows["total_loss"],
        parts=tuple(rows[part] for part in ("preference_loss", "adds.center", "adds.l2")),
        checked=_residuals(rows),
        charts=charts_of(rows, start.head.on("charts").rows),
        typed=cases,
        heads={n: [f"response {number}" for number in range(1, 1 + sizes[n])]},
        on_checks=(link("on_checks.word", rows[words]), link("on_checks.text", rows["text.there"])),
    )
    return workbook(start, steps, OPENING, witnessed)


def _residuals(rows: Rows) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    places = LABELS.along(
        "check.places", (o,), sum((abs(Sum(n, rows[f"{side}.is"][o, n]) - 1) for side in ("chosen", "rejected")), 0)
    )
    apart, shifted = rows["difference"], rows["shifted.difference"]
    off = abs(shifted[p] - apart[p]) / maximum(1, abs(apart[p]))
    return [
        places,
        checks.is_0_or_1("counts", rows["pair.counts"], use=LABELS),
        LABELS.along("check.shift", (p,), off),
    ]


def _steps(steps: Definitions, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded."""
    here = head.on("on_scores")
    column = link("on_pairs.column", given["pair.column"])
    sections = {
        title: [Section(each, tuple(map(_row, steps.sections[each]))) for each in steps.sheets[title]]
        for title in SHOWN.sheets
    }
    if "head" in given and given["head"].typed:
        sections["Scores"].insert(0, Section("The score after each token", (given["head"],)))
    return [
        Sheet(
            "Scores",
            SHOWN.sheets["Scores"]["lead"],
            tuple(sections["Scores"]),
            (n, t),
            here.rows,
            here.mask,
            closed=True,
        ),
        Sheet("Positions", SHOWN.sheets["Positions"]["lead"], tuple(sections["Positions"]), closed=True),
        Sheet("Pairs", SHOWN.sheets["Pairs"]["lead"], tuple(sections["Pairs"]), (p,), (column,), closed=True),
    ]


def _row(row: Block) -> Row | Table:
    if row.axes[:1] == (o,) and row.axes[-1] is u:
        return Table(row, u, "plain")
    return SHOWN.row(row, not row.axes)
