"""Charts: five pictures of the numbers, and the rows from which they are drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from blueprint.inputs.catalogue import OFF
from blueprint.language import Axis, Block, Operand, block, equal, join, less, maximum, minimum, typed, where
from blueprint.page.outline import Chart, Item, Line, Note, Scale, Section, Series, Sheet, Spread, Table
from blueprint.workbooks.common.definitions.losses import lowest_ratio, surrogate
from blueprint.workbooks.common.definitions.rewards_and_gae import Gae
from blueprint.workbooks.common.definitions.writing_rows import Choices, Step, Used, defined, limited, n, rows, t
from blueprint.workbooks.common.labels import source_of

LEAD = "the same numbers as pictures, which follow what you type; below them stand the rows from which they are drawn"
LAMBDAS = (0.0, 0.5, 0.95, 1.0)
LOW, HIGH = 0.2, 2.0
CORNERS = ((LOW, 0.0), (1.0, -1.0), (1.0, 0.0), (1.0, 1.0), (HIGH, 0.0))
"""The corners of the curves: from where, and how many ε further."""
ENDS = (LOW, LOW, 1.0, HIGH, HIGH)
"""Where the corners stand where the clip that makes them is off: at the ends of the picture."""
SHORT = "[<=-0.005]-0.00;[>=0.005]0.00;"
"""Two decimals, and nothing for what rounds to 0: there is no bar to be seen, and no number, least of all −0.00."""
PARTS = {
    5: ("policy", "value", "entropy", "KL", "total"),
    6: ("policy", "value", "entropy", "KL", "ref. KL", "total"),
}
"""Names below the bars, by how many there are."""
POLICIES = ("blue", "grey", "orange")
"""The colours of the old policy, of the reference and of the new policy, as everywhere."""
WITHIN = "Bars have the positions at which a response could have tokens when the file was made."
PARKED = "A ratio beyond an end of the picture is drawn at that end; a dot outside the response is parked at ρ = −1, out of sight."


Fade = Callable[[Block, Block], Block]
"""Defines a row as the advantages of the same TD errors for another λ."""


class Drawn(NamedTuple):
    """A chart, the section of the rows from which it is drawn, and what is typed in them."""

    chart: Chart
    rows: Section
    typed: dict[Block, object]


def curve(name: str, axis: Axis, symbol: str, meaning: str, value: Operand, decimals: int = 4) -> Block:
    """Defines a row of a picture by one equation."""
    return defined(block(name, (axis,), symbol, meaning, decimals=decimals), value)


class Within(NamedTuple):
    """Where a response can have tokens: rows that are 1 there, and one that is 1 where tokens are given."""

    among: tuple[Block, ...]
    given: Block | None = None

    @classmethod
    def of(cls, rows: Mapping[str, Block]) -> "Within":
        """Takes the rows that hang on no draw, where there are such: the prompt, and the room behind it."""
        live = all(name in rows for name in ("is_given", "rollout.allowed"))
        return cls((rows["rollout.allowed"],), rows["is_given"]) if live else cls((rows["mask"],))


class Points(NamedTuple):
    """What the clip is shown for: ratios, advantages, surrogates, the words beside them, and a mask (none: all count)."""

    ratio: Block
    advantages: Block
    surrogate: Block
    words: Block | None
    mask: Block | None = None


def charts_sheet(
    drawn: list[Drawn], head: tuple[Block, ...], across: tuple[Axis, ...] = (n, t)
) -> tuple[Sheet, dict[Block, object]]:
    """Outlines the gallery: the pictures above, their rows below. head: rows that stay in view, the mask last."""
    gallery = Section("The pictures", tuple(each.chart for each in drawn), numbered=False)
    given = {block: value for each in drawn for block, value in each.typed.items()}
    below = (replace(each.rows, items=(Note(each.chart.tells), *each.rows.items)) for each in drawn)
    return Sheet("Charts", LEAD, (gallery, *below), across, head, head[-1] if head else None), given


def clip_picture(points: Points, use: Choices) -> Drawn:
    """Draws the clipped surrogate over the ratio for advantages +1 and −1, without a dual clip, and this batch's words on it."""
    use = Choices({**use.used, "loss.dual_clip": cast(Used, OFF)}, use.switch)
    ratio, given, reach = _corners(use)
    good = defined(block("curve.good", ratio.axes, "Â+", "advantage +1"), 1)
    bad = defined(block("curve.bad", ratio.axes, "Â−", "advantage −1"), -good[ratio.axes])
    lowest = lowest_ratio(use, "curve.lowest")
    upper, lower = (surrogate(ratio, each, lowest, replace(use, prefix=f"{each.name}.")) for each in (good, bad))
    low = typed("dot.low", (), "ρ_low", "left end of the picture")
    high = typed("dot.high", (), "ρ_high", "right end of the picture")
    dots = _dots(points, low, high)
    given |= {low: LOW, high: HIGH}
    curves = (good, *upper.steps, upper.smaller, bad, *lower.steps, lower.smaller)
    corners = rows(*given, lowest, reach, ratio, *curves)
    chart = Chart(
        "Clip: surrogate of each token, per unit of advantage", "scatter",
        (Series("advantage +1", upper.smaller, ratio), Series("advantage −1", lower.smaller, ratio),
         Series("tokens of this batch", dots[-1], dots[0], dots=True, words=points.words)),
        Scale("ratio ρ", LOW, HIGH), Scale("surrogate / |advantage|"),
        "The curve for a good token is flat beyond 1 + ε, the one for a bad token is flat below 1 − ε: there it no longer pulls.",
    )  # fmt: skip
    # dots lie below their positions, or, for given cases, side by side
    parked: tuple[Item, ...] = (Note(PARKED), *dots) if points.mask is not None else ()
    lines = (*corners, *dots) if points.mask is None else corners
    return Drawn(chart, Section("The clip: curves and dots", (*(Line((each,)) for each in lines), *parked)), given)


def _corners(use: Choices) -> tuple[Block, dict[Block, object], Step]:
    """Places the corners of the curves: the ends of the picture, 1 − ε, 1 and 1 + ε.

    Returns the corners, what is typed for them, and how far each reaches, where that may differ above 1.
    """
    corner = Axis("c", "corner", start=1, size=len(CORNERS))
    below, above = use.used["clip_range"], use.used["loss.clip_range_high"]
    begin = typed("curve.from", (corner,), "from", "corners of the curves: from here", decimals=1)
    by = typed("curve.by", (corner,), "by", "so many ε further", decimals=0)
    ratio = block("curve.ratio", (corner,), "ρ_grid", "corners of the curves")
    given: dict[Block, object] = dict(zip((begin, by), zip(*CORNERS, strict=True), strict=True))
    if above is below:
        return defined(ratio, begin[corner] + by[corner] * below), given, Step(below)
    end = typed("curve.end", (corner,), "else", "corners of the curves: here, if ε is off", decimals=1)
    reach = use.step(True, "curve.reach", where(less(0, by[corner]), above, below), (corner,))
    far = limited(reach.cell, end[corner], lambda far: begin[corner] + by[corner] * far)
    return defined(ratio, far), given | {end: ENDS}, reach


def _dots(points: Points, low: Block, high: Block) -> tuple[Block, Block, Block]:
    """Places a dot for every word: its ratio, and its surrogate per unit of advantage, which lies on a curve."""
    at, m = points.ratio.axes, points.mask
    held = maximum(low, minimum(high, points.ratio[at]))
    x = block("dot.ratio", at, "dot_ρ", "where the dot is: its ratio, or the end")
    size = block("dot.size", at, "|Â|", "size of the advantage used", unit="≥ 0")
    y = block("dot.surrogate", at, "dot_U", "how high: U_min / |Â|")
    x[at] = held if m is None else m[at] * held - (1 - m[at])
    size[at] = abs(points.advantages[at])
    y[at] = where(less(0, size[at]), points.surrogate[at] / size[at], 0)
    return x, size, y


def advantage_picture(words: Block, raw: Block, used: Block, m: Block, within: Within) -> tuple[Drawn, Block]:
    """Draws the advantages, raw and as the loss uses them, word by word; returns the row of words below the bars, too."""
    named = block("bar.word", (n, t), "token", "token of the response, below its bars")
    defined(named, where(equal(m[n, t], 1), words[n, t], ""))
    chart = Chart(
        "Advantage of every token", "bars",
        (Series("A, raw", raw, named), Series("Â, as the loss uses it", used, named)),
        Scale("tokens of the responses, episode after episode"), Scale("advantage"),
        "Above 0 the loss asks for more of the token, below 0 for less; the step moves shared weights, so it may go the other way.",
        SHORT, among=within.among, given=within.given,
    )  # fmt: skip
    return Drawn(chart, Section("The tokens below the bars", (Note(WITHIN), named)), {}), named


def gae_picture(used: Gae, words: Block, fade: Fade, within: Within) -> Drawn:
    """Draws generalised advantage estimates of the same TD errors for four λ; `fade` is the recursion."""
    names = {f"{number}": value for number, value in enumerate(LAMBDAS, 1)}
    lambdas = [typed(f"gae_at.lambda{i}", (), f"λ{i}", "λ of each curve", decimals=2) for i in names]
    rows = [
        block(f"gae_at.{i}", used.advantages.axes, f"A_λ={x:g}", f"advantage for λ = {x:g}", source=source_of("GAE"))
        for i, x in names.items()
    ]
    for row, lam in zip(rows, lambdas, strict=True):
        fade(row, lam)
    chart = Chart(
        "How far ahead GAE looks, for four λ", "bars",
        (*(Series(f"λ = {value:g}", row, words) for row, value in zip(rows, LAMBDAS, strict=True)),
         Series("λ as set", used.advantages, words)),
        Scale("tokens of the responses, episode after episode"), Scale("advantage"),
        "With λ = 0 a token gets its own TD error only; with λ = 1 all later rewards: less bias, more variance.",
        SHORT, wide=True, among=within.among, given=within.given,
    )  # fmt: skip
    section = Section("GAE for four λ: the recursion of Reward & advantage", (Line(tuple(lambdas), "fixed"), *rows))
    return Drawn(chart, section, dict(zip(lambdas, LAMBDAS, strict=True)))


def next_word_picture(policies: dict[str, Block], vocabulary: Block) -> Drawn:
    """Draws the probabilities of the next token at the position chosen on Walk."""
    chart = Chart(
        "Next token, at the position chosen on Walk", "bars",
        tuple(Series(name, p, vocabulary, colour=colour) for (name, p), colour in zip(policies.items(), POLICIES, strict=True)),
        Scale("token"), Scale("probability", 0),
        "How likely each next token is to the old policy, the reference and the new policy, at one position.",
        SHORT,
    )  # fmt: skip
    how = Note("Pick the episode and the position on Walk.")
    return Drawn(chart, Section("Probabilities of the next token", (how, Spread(policies))), {})


def side_by_side(
    axis: tuple[str, str], names: Sequence[str], values: Sequence[str], bars: Sequence[Block], each: str = ""
) -> tuple[Block, Block]:
    """Sets single numbers side by side, for bars: the typed row of their names, and the numbers.

    axis: its letter, and what its members are called. names, values: of either row the name, symbol and meaning. each: what one of
    the numbers is called by itself, if otherwise.
    """
    letter, member = axis
    single = tuple(Axis(f"{letter}{place}", each or member, size=1) for place, _ in enumerate(bars, 1))
    along = join(letter, member, *single)
    named, row = typed(names[0], (along,), *names[1:], text=True), block(values[0], (along,), *values[1:])
    for one, bar in zip(single, bars, strict=True):
        row[one] = bar
    return named, row


def parts_picture(parts: dict[str, Block]) -> Drawn:
    """Draws where the total loss comes from."""
    told = ("parts.names", "part", "what adds to the total, and the total")
    adds = ("parts", "adds", "what each adds")
    names, values = side_by_side(("q", "part"), told, adds, [*parts.values()], "part of the loss")
    chart = Chart(
        "Where the total loss comes from", "bars", (Series("adds to the loss", values, names),),
        Scale("part, and the total"), Scale("loss"),
        "The policy loss, what the value loss, the entropy bonus and the policy KL add to it, and their sum.",
        "0.0000",
    )  # fmt: skip
    section = Section("The parts of the total loss", (Table(names, role="fixed"), Table(values, role="plain")))
    return Drawn(chart, section, {names: list(parts)})
