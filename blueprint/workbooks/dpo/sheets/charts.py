"""Charts of DPO: what the forms make of a margin, how each pulls, and where the pairs of the batch lie."""

from collections.abc import Mapping

from blueprint.language import Axis, Block, Max, Operand, block, exp, less, log, maximum, minimum, typed, where
from blueprint.page.outline import Chart, Item, Line, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common import Choices, Rows, charts
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.dpo.definitions.axes import p

PARTS = tuple(part / 10 for part in range(-10, 11))
"""Where the curves have points, as parts of the width of the picture."""
U = Axis("u", "point of the curves", start=1, size=len(PARTS))
END = Axis("e", "end of a line", start=1, size=2)
REWARDS = {"chosen response": "chosen.reward", "rejected response": "rejected.reward"}


def charts_of(rows: Rows, use: Choices) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    part = typed("curve.part", (U,), "part", "points of the curves, as parts of the width", decimals=1)
    far = block("curve.size", (p,), "|u|", "size of the margin of each pair")
    far[p] = abs(rows["margin.argument"][p])
    width = block("curve.width", (), "u_max", "width of the picture to either side")
    width[()] = maximum(2, 2 * Max(p, far[p]))
    x = _row("curve.u", U, "u_grid", "points of the curves: u = βh − γ", width * part[U])
    sure = _row("curve.sure", U, "σ(u)", "σ(u) there", exp(minimum(x[U], 0)) / (1 + exp(-abs(x[U]))))
    losses = _losses(rows, x, use, (Line((width,)), Table(part, role="fixed"), far, Table(x)), {part: PARTS})
    drawn = [losses, _pulls(rows, x, sure, use), _rewards(rows), _ratios(rows), _logprobs(rows)]
    return charts.charts_sheet(drawn, (), (p,))


def _losses(rows: Rows, x: Block, use: Choices, above: tuple[Item, ...], given: dict[Block, object]) -> Drawn:
    """Draws what forms make of a margin, each in a scale in which it can be compared."""
    u, smooth = x[U], use.used["loss.label_smoothing"]
    right = maximum(0, -u) + log(1 + exp(-abs(u)))
    plain = _row("curve.sigmoid", U, "L_σ", "DPO: −log σ(u)", right)
    smoothed = _row(
        "curve.smoothed", U, "L_ε", "with ε as it is set", (1 - smooth) * plain[U] + smooth * (plain[U] + u)
    )
    hinge = _row("curve.hinge", U, "L_h", "hinge: max(0, 1 − u)", maximum(0, 1 - u))
    square = _row("curve.ipo", U, "L_sq", "IPO in units of its start: (1 − 2u)²", (1 - 2 * u) * (1 - 2 * u))
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
    plain = _row("pull.sigmoid", U, "w_σ", "DPO: 1 − σ(u)", 1 - sure[U])
    smoothed = _row("pull.smoothed", U, "w_ε", "with ε as it is set", 1 - smooth - sure[U])
    hinge = _row("pull.hinge", U, "w_h", "hinge: 1 before u = 1", where(less(x[U], 1), 1, 0))
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
        block(f"even.{side}", (p,), f"|r_{side[0]}|", f"size of the {side} log-ratio")
        for side in ("chosen", "rejected")
    ]
    for size, side in zip(sizes, ("chosen", "rejected"), strict=True):
        size[p] = abs(rows[f"{side}.ratio"][p])
    far = block("even.far", (), "r_max", "how far the line goes")
    far[()] = maximum(1, maximum(Max(p, sizes[0][p]), Max(p, sizes[1][p])))
    line = _row("even.line", END, "even", "the line on which both have gained alike", far * ends[END])
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
        tuple(Series(says, rows[name], rows["pair.column"]) for says, name in names.items()),
        Scale("pair"), Scale("log-prob of the response"),
        "Each colour beside its reference: which has risen, which has fallen? Long responses are less likely from the start; "
        "only the distance to the reference counts.",
        charts.SHORT, wide=True,
    )  # fmt: skip
    return Drawn(chart, Section("Log-probs: rows of Pairs", ()), {})


def _row(name: str, axis: Axis, symbol: str, meaning: str, value: Operand) -> Block:
    made = block(name, (axis,), symbol, meaning)
    made[axis] = value
    return made
