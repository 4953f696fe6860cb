"""The blueprint of REINFORCE: what is typed, a policy over a few tokens, its gradient exactly and from draws, and what a baseline
does to both; what it says, its sheets and its charts stand in `lesson.toml`.
"""

from pathlib import Path

from blueprint.inputs import LONGEST, Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Draw, Number, Text, Word
from blueprint.language import Axis, Block, Max, join, maximum, number, typed
from blueprint.page.outline import Blueprint, Section, Sheet
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Witnessed,
    all_in_range,
    named,
    settings,
    settings_sections,
    several,
)
from blueprint.workbooks.common.lesson import lesson, with_vocabulary
from blueprint.workbooks.reinforce.definitions import LABELS, drawn, exact, j, moved, n, policy, reused, s, v, variances

FOLDER = Path(__file__).parent
REINFORCE = settings_in(FOLDER).settings


LEVEL = Level(
    "reinforce",
    "bandit",
    "a policy over a few tokens, the reward of each, and uniform draws",
    parts=(
        Part("text.prompt", Text, (), "what is asked; the response is one token", block="prompt"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("policy.logits", Number, ("token",), "a logit per token: the policy is their soft-max", block="policy.logits"),
        Part("policy.direction", Number, ("token",), "where training takes the logits: what one step adds to each",
             block="moved.direction"),
        Part("policy.steps", Number, ("step",), "how many such steps other policies are away; 0 is the policy itself",
             block="moved.step"),
        Part("reward.scores", Number, ("token",), "the reward of each token, whenever it is drawn", block="reward.scores"),
        Part("draws.uniform", Draw, ("draw",), "a number from 0.01 to 0.99 per draw", block="draws.uniform"),
    ),
    tables={
        "reinforce": "settings; one that is left out is as in the preset",
        "text": "what was asked, and the tokens that may be the answer",
        "policy": "the policy that draws, and where others stand", "reward": "a number per token", "draws": "chance, typed",
    },
    settings=REINFORCE,
    of_settings="reinforce",
    limits={"token": (2, 16), "step": (1, 32), "draw": (2, LONGEST)},
    make=with_vocabulary,
)  # fmt: skip


GRID = Axis("c", "baseline tried", start=1, size=21)
SHARES = tuple(place / 10 for place in range(-10, 11))
KNOWN = ("none", "in use")


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


def reinforce(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    chosen = settings(numbers.ppo, REINFORCE)
    use = Choices(chosen.used, chosen.switch, n=n, labels=LABELS)
    prompt = typed("prompt", (), "prompt", "what is asked; the response is one token", text=True)
    rows, given = rows_of(use)
    sections = (Section("What is asked", (prompt,)), *settings_sections(chosen))
    inputs = Sheet(
        "Inputs", "the settings; tokens, rewards and draws are typed where they are used", sections, widths=(13,) * 8
    )
    count = LEVEL.sizes(numbers)
    return lesson(
        FOLDER,
        numbers,
        chosen,
        rows,
        checks_of(rows, chosen, use),
        inputs,
        witnessed,
        sizes={v: count["token"], n: count["draw"], s: count["step"]},
        names={v: rows["vocabulary"], j: rows["vocabulary"]},
        typed=given,
    ).with_typed(LEVEL.typed(numbers))


def rows_of(use: Choices) -> tuple[Rows, dict[Block, object]]:
    """Runs the definitions one after the other; returns every row by its name, and what is typed for the charts."""
    of = dict(policy(use))
    of |= exact(of, use)
    of |= drawn(of, use)
    of |= variances(of, of["draws.count"], use)
    of |= moved(of, use)
    of |= {**reused(of, use), **running(of, use)}
    pictured, given = variance_rows(of, use)
    return {**of, **pictured}, given


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measures how far from 0 is what must be 0: what is known of the gradient otherwise, and of means and variances."""
    gradient, least, best = several(of, "gradient", "least.variance", "baseline.optimal")
    known = of["policy.p_down"][j] * (of["reward.down"][j] - of["expected_reward"])
    whole = of["variance.without"]
    return [
        use.along("check.gradient", (j,), abs(gradient[j] - known)),
        use.along("check.mean", (j,), abs(of["slope.average"][j])),
        use.along("check.baseline", (j,), abs(of["gradient.with"][j] - of["baseline.keeps"] * gradient[j])),
        use.one("check.variance", abs(whole - least - of["slope.square_mean"] * best * best) / maximum(1, whole)),
        use.one("check.reused", Max((s, j), of["moved.gap"][s, j])),
        all_in_range(chosen),
    ]
