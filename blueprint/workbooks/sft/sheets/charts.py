"""Charts of supervised fine-tuning: what a label costs and how it pulls over its probability, and the labels of the texts."""

from collections.abc import Mapping

from blueprint.language import Axis, Block, block, equal, log, typed, where
from blueprint.page.outline import Chart, Note, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common import Rows, charts
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.sft.definitions.axes import n, t

LIKELY = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
GRID = Axis("g", "probability", start=1, size=len(LIKELY))
OUT_OF_SIGHT = "A label that does not count is parked at probability −1, out of sight."


def charts_of(rows: Rows, head: tuple[Block, ...]) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    return charts.charts_sheet([_cost(rows), _labels(rows)], head)


def _cost(rows: Rows) -> Drawn:
    """Draws what a label costs, and how strongly it pulls, over its probability; with the labels of the texts."""
    p = typed("curve.p", (GRID,), "π_g", "probability of the label", decimals=2)
    cost, pull = (block(f"curve.{name}", (GRID,), symbol, meaning) for name, symbol, meaning in (
        ("cost", "−logπ_g", "what it costs: −log π"), ("pull", "1−π_g", "how strongly its logit is pulled: 1 − π")))  # fmt: skip
    cost[GRID], pull[GRID] = -log(p[GRID]), 1 - p[GRID]
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


def _labels(rows: Rows) -> Drawn:
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
