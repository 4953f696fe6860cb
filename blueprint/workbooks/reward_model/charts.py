"""The picture of a reward model: σ of the difference, the loss, and where the pairs of this batch lie."""

from collections.abc import Mapping

from blueprint.language import Axis, Block, block, exp, log, maximum, minimum, typed
from blueprint.page.outline import Chart, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common import Rows, charts
from blueprint.workbooks.common.sheets.charts import Drawn

FROM, TO, STEP = -6.0, 6.0, 0.5


def charts_of(rows: Rows, head: tuple[Block, ...]) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    grid = [FROM + STEP * at for at in range(round((TO - FROM) / STEP) + 1)]
    axis = Axis("g", "difference", start=1, size=len(grid))
    x = typed("curve.difference", (axis,), "Δ_g", "difference of two scores", decimals=1)
    likely = block("curve.probability", (axis,), "σ_g", "probability that the chosen one is preferred")
    likely[axis] = exp(minimum(x[axis], 0)) / (1 + exp(-abs(x[axis])))
    lost = block("curve.loss", (axis,), "l_g", "loss −log σ")
    lost[axis] = maximum(0, -x[axis]) + log(1 + exp(-abs(x[axis])))
    items = tuple(Table(each, role="fixed" if each.typed else "plain") for each in (x, likely, lost))
    drawn = [
        Drawn(_probability(rows, x, likely), Section("Probability over difference: the curve", items), {x: grid}),
        Drawn(_loss(rows, x, lost), Section("Loss over difference: rows of Pairs, and the curve above", ()), {}),
    ]
    return charts.charts_sheet(drawn, head)


def _probability(rows: Rows, x: Block, likely: Block) -> Chart:
    """Draws σ of the difference, with the pairs on it."""
    return Chart(
        "Probability that the chosen response is preferred", "scatter",
        (Series("σ(Δ)", likely, x), Series("pairs of this batch", rows["probability"], rows["difference"], dots=True)),
        Scale("difference of the scores Δ = r_w − r_l", FROM, TO, 2), Scale("probability", 0, 1, 0.25),
        "At a difference of 0 the model knows nothing: ½. The difference is the log-odds, so that 4.5 means .989, and 9 not twice "
        "that. Left of 0 the model prefers the rejected response: this pair is not in the accuracy.",
    )  # fmt: skip


def _loss(rows: Rows, x: Block, lost: Block) -> Chart:
    """Draws the loss over the difference less the margin, with the pairs on it."""
    return Chart(
        "Loss of a pair over the difference less its margin", "scatter",
        (Series("−log σ", lost, x), Series("pairs of this batch", rows["loss.logsigmoid"], rows["argument"], dots=True)),
        Scale("difference less margin", FROM, TO, 2), Scale("loss", 0),
        "Far on the left the loss is the difference itself, and its slope −1: a pair that is wrong by 710 costs 710. On the right "
        "it never is 0: a pair that is right still pulls, ever less.",
    )  # fmt: skip
