"""The charts of REINFORCE: the mean of the estimates so far, the variance over the baseline, the gradients, reused draws."""

from blueprint.language import Axis, Block, join, maximum, number, typed
from blueprint.page.outline import Chart, Item, Line, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common import Choices, Rows, named, several
from blueprint.workbooks.reinforce.definitions import n

GRID = Axis("c", "baseline tried", start=1, size=21)
SHARES = tuple(place / 10 - 1 for place in range(21))
KNOWN = ("none", "in use")
LEAD = "the same numbers as pictures, which follow what you type; below them stand the rows from which they are drawn"


def running(of: Rows, use: Choices) -> Rows:
    """Makes the rows of the first chart: the slope by the first logit, as the draws so far estimate it."""
    first = use.one("chart.id", 0)
    at = {name: use.along(f"chart.{name}", (n,), of[f"{name}.running"][n, first]) for name in ("without", "with")}
    exact = use.along("chart.exact", (n,), of["gradient"][first])
    return named(first, use.along("chart.draw", (n,), number(n)), *at.values(), exact)


def variance_rows(of: Rows, use: Choices) -> tuple[Rows, dict[Block, object]]:
    """Makes the rows of the second chart: the least variance, and E|∇|² times the squared distance from its baseline.

    Source: Greensmith et al. 2004. Returns them, and what is typed.
    """
    best, least, mass = several(of, "baseline.optimal", "least.variance", "slope.square_mean")
    share = typed("chart.share", (GRID,), "x", "how far from b_best, in reaches", decimals=2)
    reach = use.one("chart.reach", maximum(1, abs(best)))
    b = use.along("chart.baseline", (GRID,), best + share[GRID] * reach)
    varies = use.along("chart.variance", (GRID,), least + mass * (b[GRID] - best) * (b[GRID] - best))
    single = tuple(Axis(f"b{place}", "baseline", size=1) for place, _ in enumerate(KNOWN, 1))
    known = join("b", "baseline", *single)
    names = typed("chart.names", (known,), "name", "baselines that have a name", text=True)
    where_, height = use.along("chart.known", (known,)), use.along("chart.known_variance", (known,))
    where_[single[0]], where_[single[1]] = 0, of["baseline.fixed"]
    height[known] = least + mass * (where_[known] - best) * (where_[known] - best)
    return named(share, reach, b, varies, names, where_, height), {share: SHARES, names: KNOWN}


def charts_sheet(of: Rows) -> Sheet:
    """Outlines the sheet."""
    tables = ("chart.share", "chart.baseline", "chart.variance", "chart.names", "chart.known", "chart.known_variance")
    below: tuple[Item, ...] = (
        Line((of["chart.reach"],)),
        *(Table(each, role="fixed" if each.typed else "plain") for each in several(of, *tables)),
    )
    return Sheet("Charts", LEAD, (Section("Pictures", (_running(of), _variance(of), _gradients(of), _reused(of))),
                                  Section("The variance over the baseline", below)))  # fmt: skip


def _running(of: Rows) -> Chart:
    x = of["chart.draw"]
    return Chart(
        "The slope by the first logit, estimated from the draws so far", "scatter",
        (Series("no baseline", of["chart.without"], x), Series("with the baseline", of["chart.with"], x),
         Series("exact", of["chart.exact"], x)),
        Scale("draws so far", 0), Scale("mean of the estimates"),
        "Both come to the exact slope; without a baseline the way there is longer, and swings wider.",
    )  # fmt: skip


def _variance(of: Rows) -> Chart:
    return Chart(
        "Variance of one draw’s estimate, over the baseline", "scatter",
        (Series("any baseline", of["chart.variance"], of["chart.baseline"]),
         Series("those with a name", of["chart.known_variance"], of["chart.known"], dots=True, words=of["chart.names"])),
        Scale("baseline b"), Scale("variance", 0),
        "A parabola: no baseline is far up its side; the expected reward lies near the lowest point, though not on it.",
    )  # fmt: skip


def _gradients(of: Rows) -> Chart:
    words = of["vocabulary"]
    return Chart(
        "The gradient: exact, and from all draws", "bars",
        (Series("exact", of["gradient"], words), Series("no baseline", of["without.mean"], words),
         Series("with the baseline", of["with.mean"], words)),
        Scale("logit of the token"), Scale("slope of the expected reward"),
        "Tokens better than expected are pushed up, worse ones down; the baseline brings the estimate closer.",
        "0.00",
    )  # fmt: skip


def _reused(of: Rows) -> Chart:
    x = of["moved.step"]
    return Chart(
        "Draws used again for a policy that has moved on", "scatter",
        (Series("fresh draws", of["fresh.variance"], x), Series("old draws, times ρ", of["reused.variance"], x),
         Series("these very draws, times ρ", of["seen.variance"], x)),
        Scale("steps away from the policy that drew"), Scale("variance of one draw’s estimate", 0),
        "The mean is the same; the variance is several times that of fresh draws. So PPO clips, and draws anew after a few steps.",
    )  # fmt: skip
