"""Three more pictures: how strongly each token pulls over its ratio, which way, and how long the gradient of each weight is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from blueprint.language import Axis, Block, block, join, less, typed, where
from blueprint.page.outline import Blueprint, Chart, Line, Note, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common.definitions.choices import defined
from blueprint.workbooks.common.sheets.charts import HIGH, LOW, Drawn, Within

CHARTS, GALLERY = "Charts", "The pictures"
BENDS = {"good": ("Â+", (0, 3, 3, 4), (1, 1, 0, 0)), "bad": ("Â−", (0, 1, 1, 4), (0, 0, -1, -1))}
"""Of each curve: its symbol, at which corners of the clip's picture it bends, and what it multiplies the ratio by there."""
NEEDED = ("curve.ratio", "dot.ratio", "dot.size", "ratio", "ratio.grad", "surrogate.grad", "loss.grad.tiny")
BARS = ("policy.logprobs.grad", "bar.word")
FINE = "[<=-0.0005]-0.000;[>=0.0005]0.000;"
"""Three decimals, and nothing for what rounds to 0: there is no bar to be seen, and no number."""


def with_charts(blueprint: Blueprint) -> Blueprint:
    """Adds the pictures to the gallery, as far as there is what they show."""
    rows = {each.name: each for each in blueprint.blocks()}
    norms = [each for name, each in rows.items() if name.endswith(".grad.norm") and not (each.link or "loss." in name)]
    found = {
        1: _pull_picture(rows) if rows.keys() >= {*NEEDED} else None,
        3: _token_picture(rows) if rows.keys() >= {*BARS} else None,
        8: _norm_picture(norms) if norms else None,
    }
    drawn = {at: each for at, each in found.items() if each is not None}
    sheets = (_extended(sheet, drawn) if sheet.title == CHARTS else sheet for sheet in blueprint.sheets)
    given = {cell: value for each in drawn.values() for cell, value in each.typed.items()}
    return replace(blueprint, sheets=tuple(sheets), typed={**blueprint.typed, **given})


def _extended(sheet: Sheet, drawn: Mapping[int, Drawn]) -> Sheet:
    gallery, *others = sheet.sections
    pictures = [*gallery.items]
    for at, each in drawn.items():
        pictures.insert(at, each.chart)
    below = (replace(each.rows, items=(Note(each.chart.tells), *each.rows.items)) for each in drawn.values())
    return replace(
        sheet, sections=(replace(gallery, items=tuple(pictures)), *others, *(each for each in below if each.items[1:]))
    )


def _pull_picture(rows: Mapping[str, Block]) -> Drawn:
    """Draws the slope of the clip's picture times the ratio: what a token's log-prob feels, per unit of advantage."""
    curves = {way: _curve(way, rows["curve.ratio"]) for way in BENDS}
    g, rho, U, size = (rows[name] for name in ("ratio.grad", "ratio", "surrogate.grad", "dot.size"))
    at = rho.axes
    pull = block("dot.grad.pull", at, "dot_pull", "how high: its pull / |Â|")
    pull[at] = where(less(rows["loss.grad.tiny"], abs(U[at]) * size[at]), g[at] * rho[at] / U[at] / size[at], 0)
    chart = Chart(
        "Clip: pull of each token, per unit of advantage", "scatter",
        (*(Series(f"advantage {sign}1", curves[way][-1], curves[way][-2]) for way, sign in (("good", "+"), ("bad", "−"))),
         Series("tokens of this batch", pull, rows["dot.ratio"], dots=True, words=rows.get("word_written"))),
        Scale("ratio ρ", LOW, HIGH), Scale("pull on log π / |advantage|"),
        "The slope of the picture beside it, times ρ: where that is flat the pull is 0, and a step leaves the token alone.",
    )  # fmt: skip
    lines = tuple(Line((row,)) for way in curves.values() for row in way)
    given: dict[Block, object] = {
        curves[way][i]: values for way, (_, *both) in BENDS.items() for i, values in enumerate(both)
    }
    return Drawn(chart, Section("The pull: curves and dots", (*lines, pull)), given)


def _curve(way: str, ratio: Block) -> tuple[Block, Block, Block, Block]:
    """Makes a curve through four bends: which corners they are, by what the ratio is multiplied, where, and how high."""
    bend, symbol = Axis("c", "bend", start=1, size=4), BENDS[way][0]
    corner = typed(f"curve.grad.{way}.corner", (bend,), f"at_{symbol}", "corners at which it bends", decimals=0)
    times = typed(f"curve.grad.{way}.times", (bend,), f"on_{symbol}", "by what the ratio is multiplied", decimals=0)
    where_, high = (
        block(f"curve.grad.{way}.{name}", (bend,), f"{sign}_{symbol}", meaning)
        for name, sign, meaning in (("ratio", "ρ", "ratio at the bend"), ("pull", "pull", "pull at the bend"))
    )
    defined(where_, ratio[corner[bend]])
    return corner, times, where_, defined(high, times[bend] * where_[bend])


def _token_picture(rows: Mapping[str, Block]) -> Drawn:
    """Draws the slope of the loss by the log-prob of each token."""
    (pull, words), within = (rows[name] for name in BARS), Within.of(rows)
    chart = Chart(
        "Gradient of every token: below 0 it is made likelier", "bars", (Series("∂L/∂log π", pull, words),),
        Scale("tokens of the responses, episode after episode"), Scale("∂L/∂log π"),
        "Below 0 a step makes the token likelier, above 0 less likely; without a bar the clip holds it, or its advantage is 0.",
        FINE, among=within.among, given=within.given,
    )  # fmt: skip
    return Drawn(chart, Section("", ()), {})


def _norm_picture(norms: list[Block]) -> Drawn:
    """Draws how long the gradient of each weight is."""
    single = tuple(Axis(f"w{place}", "gradient", size=1) for place, _ in enumerate(norms, 1))
    each = join("w", "gradient", *single)
    names = typed("norms.grad.names", (each,), "gradient", "of what it is the gradient", text=True)
    values = block("norms.grad.bars", (each,), "norm", "how long it is")
    for axis, norm in zip(single, norms, strict=True):
        values[axis] = norm
    chart = Chart(
        "How long the gradient of each weight is", "bars", (Series("norm", values, names),),
        Scale("weight, and all of a model"), Scale("norm of the gradient", 0),
        "Of the policy and of the critic, weight by weight, and all together: what clipping by the norm would scale down.",
        FINE,
    )  # fmt: skip
    section = Section("Norms of the gradients", (Table(names, role="fixed"), Table(values, role="plain")))
    return Drawn(chart, section, {names: [_called(norm) for norm in norms]})


def _called(norm: Block) -> str:
    """Returns what stands below a bar: the model and the weight, or the model alone."""
    model, *weight = norm.name.removesuffix(".grad.norm").split(".")
    return f"{model} {weight[-1]}" if weight else model
