"""Charts of GRPO: what the group makes of a success rate, equal rewards, length, whitening, and the clip."""

from collections.abc import Mapping

from blueprint.language import Axis, Block, Max, block, equal, maximum, sqrt, typed, where
from blueprint.page.outline import Chart, Item, Line, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common import Choices, Rows, charts
from blueprint.workbooks.common.sheets.charts import Drawn
from blueprint.workbooks.grpo.definitions.axes import n, t

RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
LENGTHS = tuple(range(1, 13))
ODDS, LENGTH = Axis("p", "success rate", size=len(RATES)), Axis("l", "length", size=len(LENGTHS))


def charts_of(rows: Rows, head: tuple[Block, ...], use: Choices) -> tuple[Sheet, Mapping[Block, object]]:
    """Outlines the gallery, and returns it with what is typed there."""
    named = block("bar.word", (n, t), "token", "token of the response, below its bars")
    named[n, t] = where(equal(rows["mask"][n, t], 1), rows["word_written"][n, t], "")
    drawn = [_clip(rows, use), _odds(rows, use), _groups(rows), _lengths(rows), _whitening(rows, named)]
    return charts.charts_sheet(drawn, head)


def _odds(rows: Rows, use: Choices) -> Drawn:
    """Draws the advantages of right and wrong responses over the share of right ones."""
    p = typed("odds.p", (ODDS,), "p", "success rate: share of right responses", decimals=2)
    G, ddof = rows["count.group"], use.used["group.ddof"]
    square = p[ODDS] * (1 - p[ODDS]) * G / maximum(G - ddof, 1)
    spread = _row(
        "odds.spread", ODDS, "σ_p", "standard deviation of rewards 1 and 0: √(p(1 − p)), by G − ddof", sqrt(square)
    )
    right = _row(
        "odds.right", ODDS, "A_right", "right response: √((1 − p)/p), by G − ddof", (1 - p[ODDS]) / spread[ODDS]
    )
    wrong = _row("odds.wrong", ODDS, "A_wrong", "wrong response: −√(p/(1 − p)), by G − ddof", -(p[ODDS] / spread[ODDS]))
    left = _row("odds.right_left", ODDS, "1−p", "right response, not divided", 1 - p[ODDS])
    under = _row("odds.wrong_left", ODDS, "−p", "wrong response, not divided", -p[ODDS])
    chart = Chart(
        "Advantage over success rate", "scatter",
        (Series("right", right, p), Series("wrong", wrong, p), Series("right, no std", left, p),
         Series("wrong, no std", under, p),
         Series("responses of this batch", rows["group.advantage"], rows["seen.mean"], dots=True)),
        Scale("mean reward of the group (success rate p, if rewards are 0 or 1)", 0, 1, 0.25), Scale("advantage"),
        "Divided by the std, the only right response to a hard question counts most, and the only wrong one to an easy question; "
        "without the std no advantage is beyond ±1. A group of equal rewards lies at 0.",
    )  # fmt: skip
    return Drawn(
        chart, Section("Advantage over success rate: curves", _tables(p, spread, right, wrong, left, under)), {p: RATES}
    )


def _row(name: str, axis: Axis, symbol: str, meaning: str, value: object, decimals: int = 4) -> Block:
    made = block(name, (axis,), symbol, meaning, decimals=decimals)
    made[axis] = value  # type: ignore[assignment]
    return made


def _tables(*blocks: Block) -> tuple[Item, ...]:
    return tuple(Table(each, role="fixed" if each.typed else "plain") for each in blocks)


def _groups(rows: Rows) -> Drawn:
    """Draws rewards and advantages of the responses, from cells without gaps: between groups of columns some would be empty."""
    number = _row("bar.number", n, "no_bar", "number of the response", rows["response.number"][n], decimals=0)
    reward = _row("bar.reward", n, "R_bar", "reward of the response", rows["reward"][n])
    advantage = _row("bar.advantage", n, "A_bar", "advantage of the response", rows["advantage.response"][n])
    chart = Chart(
        "Reward and advantage of every response", "bars",
        (Series("reward", reward, number), Series("advantage", advantage, number)),
        Scale("number of the response"), Scale("reward, advantage"),
        "What a response is worth depends on its group: the same reward lifts it in one and not in the other. "
        "Where all rewards are equal there is no advantage: nothing is learned from that group.",
        charts.SHORT,
    )  # fmt: skip
    return Drawn(chart, Section("Reward and advantage: bars", _tables(number, reward, advantage)), {})


def _lengths(rows: Rows) -> Drawn:
    """Draws the weight of a token over the length of its response, by aggregation."""
    l = typed("length.grid", (LENGTH,), "len_l", "tokens of a response", decimals=0)  # noqa: E741
    count, mean = rows["average.rows"], rows["average.token_mean"]
    longest = block("length.most", (), "len_max", "tokens of the longest response", decimals=0)
    longest[()] = maximum(Max(n, rows["average.length"][n]), 1)
    seq = _row("length.seq_mean", LENGTH, "1/Blen", "weight of a token: mean of means", 1 / (count * l[LENGTH]))
    token = _row("length.token_mean", LENGTH, "1/N_l", "weight of a token: mean over all tokens", mean + 0 * l[LENGTH])
    constant = _row(
        "length.constant", LENGTH, "1/Bmax", "weight of a token: constant", 1 / (count * longest) + 0 * l[LENGTH]
    )
    chart = Chart(
        "Weight of a token over the length of its response", "scatter",
        (Series("mean of means: 1/(B·len)", seq, l), Series("token mean: 1/N", token, l),
         Series("constant: 1/(B·longest)", constant, l),
         Series("responses of this batch", rows["weight.policy"], rows["average.length"], dots=True)),
        Scale("tokens of the response that count", 0), Scale("weight of each of its tokens", 0),
        "With a mean of means a token of a long response counts less: long wrong responses are punished less, token by token. "
        "With a token mean or a constant all tokens count alike.",
    )  # fmt: skip
    below: tuple[Item, ...] = (
        Line((longest,)),
        *(Table(each, role="fixed" if each.typed else "plain") for each in (l, seq, token, constant)),
    )
    return Drawn(chart, Section("Weight over length: curves", below), {l: LENGTHS})


def _whitening(rows: Rows, named: Block) -> Drawn:
    """Draws the advantages of all tokens, as they are and whitened over the batch."""
    within = charts.Within.of(rows)
    chart = Chart(
        "Advantage of every token, as it is and whitened", "bars",
        (Series("A", rows["advantage.token"], named), Series("A, whitened over tokens", rows["advantage.whitened"], named)),
        Scale("tokens of the responses, response after response"), Scale("advantage"),
        "Whitening takes the mean over all tokens off and divides by their spread: long responses pull the mean, and "
        "a group of equal rewards, at 0 before, is pushed after all.",
        charts.SHORT, wide=True, among=within.among, given=within.given,
    )  # fmt: skip
    return Drawn(chart, Section("The tokens below the bars", (named,)), {})


def _clip(rows: Rows, use: Choices) -> Drawn:
    """Draws the clip of these conventions, with the tokens of this batch on it."""
    ends = {"clip_range": use.used["loss.clip_low"], "loss.clip_range_high": use.used["loss.clip_high"]}
    points = charts.Points(*(rows[name] for name in ("ratio", "advantages", "surrogate", "word_written", "mask")))
    return charts.clip_picture(points, Choices({**use.used, **ends}, use.switch, labels=use.labels))
