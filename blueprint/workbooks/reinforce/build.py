"""The blueprint of REINFORCE: what is typed, a policy over a few tokens, its gradient exactly and from draws, and what a baseline
does to both; sheets, sentences and charts.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import LONGEST, Draft, Level, Numbers, Part, check_vocabulary, settings_in
from blueprint.inputs.entries import Draw, Number, Text, Word
from blueprint.language import Axis, Block, Max, join, link, maximum, number, typed
from blueprint.page.outline import Blueprint, Chart, Item, Line, Row, Scale, Section, Series, Sheet, Table, key, minor
from blueprint.workbooks.common import (
    Choices,
    Lesson,
    Rows,
    Settings,
    Witnessed,
    all_in_range,
    checks_sheet,
    facts_of,
    lesson_sheet,
    made_by,
    named,
    settings,
    settings_sections,
    several,
)
from blueprint.workbooks.reinforce.definitions import LABELS, drawn, exact, j, moved, n, policy, reused, s, v, variances

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


REINFORCE = settings_in(Path(__file__).parent).settings
TYPED = {
    "text.vocabulary": "vocabulary", "policy.logits": "policy.logits", "policy.direction": "moved.direction",
    "policy.steps": "moved.step", "reward.scores": "reward.scores", "draws.uniform": "draws.uniform",
}  # fmt: skip
"""By key in a numbers file the block in which it is typed."""


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts: dict[str, Any] = {key: file.array(name) for key, name in TYPED.items()}
    parts["text.vocabulary"] = tuple(map(str, parts["text.vocabulary"]))
    parts["text.prompt"] = str(file.array("prompt", 0)[()])
    return Numbers(kind="reinforce", level="bandit", **file.head(), ppo=file.settings(), parts=parts)


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file. Raises NumbersError if two tokens are one."""
    parts = draft.fitted()
    check_vocabulary(parts["text.vocabulary"])
    return draft.numbers(parts)


LEVEL = Level(
    "reinforce",
    "bandit",
    "a policy over a few tokens, the reward of each, and uniform draws",
    parts=(
        Part("text.prompt", Text, (), "what is asked; the response is one token"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("policy.logits", Number, ("token",), "a logit per token: the policy is their soft-max"),
        Part("policy.direction", Number, ("token",), "where training takes the logits: what one step adds to each"),
        Part("policy.steps", Number, ("step",), "how many such steps other policies are away; 0 is the policy itself"),
        Part("reward.scores", Number, ("token",), "the reward of each token, whenever it is drawn"),
        Part("draws.uniform", Draw, ("draw",), "a number from 0.01 to 0.99 per draw"),
    ),
    tables={
        "reinforce": "settings; one that is left out is as in the preset",
        "text": "what was asked, and the tokens that may be the answer",
        "policy": "the policy that draws, and where others stand", "reward": "a number per token", "draws": "chance, typed",
    },
    settings=REINFORCE,
    of_settings="reinforce",
    limits={"token": (2, 16), "step": (1, 32), "draw": (2, LONGEST)},
    make=_numbers,
)  # fmt: skip


SHEETS = {
    "Policy": ("every token that may be drawn: its gradient, what it earns, and the averages, exactly", v, ("vocabulary",), {
        "The tokens: how likely they are, what they earn": (
            "vocabulary", "policy.logits", "policy.top", "policy.exponentials", "policy.logsumexp", "policy.log_p",
            "policy.p", "reward.scores",
        ),
        "The gradient of a log-prob: one-hot less the policy": (
            "token.column", "token.row", "token.is", "policy.p_down", "slope", "slope.square",
        ),
        "The gradient of the expected reward, exactly: every token counts as often as it is drawn": (
            "expected_reward", "reward.weighted", "gradient", "gradient.square",
        ),
        "A baseline leaves the mean as it is: ∇log π is 0 on average": (
            "slope.average", "baseline.fixed", "baseline.keeps", "advantage", "advantage.weighted", "gradient.with",
        ),
        "The variance of one draw’s estimate is another": (
            "reward.second", "variance.without", "reward.spread", "reward.spread_weighted", "reward.square", "baseline.varies",
            "advantage.second", "variance.with", "variance.share",
        ),
        "The best baseline weighs rewards by |∇log π|²": (
            "slope.square_mean", "slope.square_paid", "baseline.optimal", "least.advantage", "least.weighted", "least.second",
            "least.variance",
        ),
        "Read downwards elsewhere": ("policy.cumulative", "policy.logits_down", "reward.down", "policy.log_p_down"),
    }),
    "Draws": ("one column per draw: the token on which u falls, its reward, and two estimates of the same gradient", n,
              ("draws.word", "draws.reward"), {
        "Which token is drawn, and its gradient": ("draws.uniform", "draws.token", "draws.is", "draws.slope"),
        "No baseline: reward times gradient": (
            "draws.count", "without.estimate", "without.running", "without.mean", "without.mean_square", "without.variance",
        ),
        "With a baseline: reward less baseline, times gradient": (
            "draws.reward_sum", "draws.reward_mean", "draws.others", "draws.baseline", "draws.advantage", "with.estimate",
            "with.running", "with.mean", "with.mean_square", "with.variance",
        ),
        "For the charts": ("chart.id", "chart.draw", "chart.without", "chart.with", "chart.exact"),
    }),
    "Another policy": (
        "one column per policy, so many steps away: its gradient from fresh draws, and from old ones times ρ", s, ("moved.step",), {
        "The policy after these steps": (
            "moved.step", "moved.direction", "moved.logits", "moved.top", "moved.exponentials", "moved.logsumexp",
            "moved.log_p", "moved.p", "moved.reward",
        ),
        "The ratio, and what old draws are worth": (
            "moved.ratio", "moved.ratio_largest", "moved.weighted", "moved.effective", "advantage.down", "moved.p_square",
            "moved.slope_square",
        ),
        "Fresh draws: tokens as likely as this policy has them": (
            "fresh.weight", "fresh.sum", "fresh.gradient", "fresh.second", "fresh.square", "fresh.variance",
        ),
        "Old draws, each times its ratio: the same mean": (
            "moved.gain", "reused.weight", "reused.sum", "reused.gradient", "moved.gap", "reused.second", "reused.square",
            "reused.variance", "reused.adds",
        ),
        "These very draws, each times its ratio": (
            "draws.share", "seen.weight", "seen.sum", "seen.gradient", "seen.second", "seen.square", "seen.variance",
        ),
        "Old draws without the ratio: another gradient": ("bare.weight", "bare.sum", "bare.gradient"),
    }),
}  # fmt: skip
"""Title, lead, columns, rows that stay in view, and sections with the names of their rows."""
LOOKED_FOR = (
    "slope", "gradient", "slope.average", "gradient.with", "variance.without", "variance.with", "baseline.optimal",
    "without.estimate", "with.estimate", "without.mean", "with.mean", "without.variance", "with.variance", "moved.ratio",
    "fresh.gradient", "reused.gradient", "seen.gradient", "fresh.variance", "reused.variance", "expected_reward",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
MINOR = (
    "policy.top", "policy.exponentials", "policy.logsumexp", "token.column", "token.row", "token.is", "policy.p_down",
    "reward.second", "reward.spread", "reward.spread_weighted", "advantage.second", "least.advantage", "least.weighted",
    "least.second", "policy.cumulative", "policy.logits_down", "reward.down", "policy.log_p_down", "draws.is",
    "without.mean_square", "with.mean_square", "chart.id", "chart.draw", "chart.without", "chart.with", "chart.exact",
    "moved.top", "moved.exponentials", "moved.logsumexp", "moved.p_square", "moved.slope_square", "fresh.sum", "fresh.second",
    "fresh.square", "reused.sum", "reused.second", "reused.square", "seen.sum", "seen.second", "seen.square", "bare.sum",
)  # fmt: skip
"""Steps on the way, which may be folded away."""
ALL, ONE, THESE = "exact, over all tokens", "exact, of one draw", "of all draws"
_PIECES = {
    "expected reward": ("expected_reward", ALL),
    "variance, no baseline": ("variance.without", ONE),
    "variance, with the baseline": ("variance.with", ONE),
    "what is left of it": ("variance.share", ONE),
    "best baseline": ("baseline.optimal", ALL),
    "least variance": ("least.variance", ONE),
    "variance seen, no baseline": ("without.variance", THESE),
    "variance seen, with it": ("with.variance", THESE),
    "mean reward seen": ("draws.reward_mean", THESE),
}
"""By title: the number that is shown, and what it is taken over."""
_READING = (
    "A policy picks one token, which earns a reward. REINFORCE pushes every logit along (reward − baseline)·∇log π: on average",
    "that is the gradient of the expected reward, whatever the baseline is. How far one draw is from it, is not.",
    "Policy computes the averages exactly, over all tokens; Draws from a hundred typed draws; Charts shows both.",
    "Another policy: the same draws serve a policy that has moved, each times ρ; the mean is right, the variance grows: PPO clips.",
    "GRPO, RLOO and PPO are this, with other baselines and with ρ. Type into cream cells; everything else follows.",
)
_TRY = (
    "On Policy add 10 to every reward: ∇J stays, the variance without a baseline is 17 times as large, with it the same.",
    "On Inputs choose “typed” and 0: both estimates are one. Then 6: a bad baseline, and still the right mean.",
    "Choose “optimal”: hardly less than “expected”, which a critic can learn; so libraries take that one.",
    "Choose “batch”, then look at “keep” on Policy: the own reward is part of the baseline; “leave_one_out” mends it.",
    "On Another policy type 6 for the last step: the largest ratio, and the share of draws that is left.",
)
_FLOW = (
    (("policy π", "policy.p"), ("a draw", "draws.token"), ("its reward", "draws.reward"), ("less baseline", "draws.advantage"),
     ("times ∇log π", "with.estimate"), ("their mean", "with.mean")),
    (("policy π", "policy.p"), ("expected reward", "expected_reward"), ("∇J, exactly", "gradient"),
     ("with baseline", "gradient.with"), ("its variance", "variance.with"), ("the least", "least.variance")),
    (("a policy that moved", "moved.p"), ("ratio ρ", "moved.ratio"), ("old draws × ρ", "reused.gradient"),
     ("their variance", "reused.variance")),
)  # fmt: skip
"""From draws to the gradient, the same exactly, and the draws used again: the title of each box, and the row to which it leads."""
LESSON = Lesson("REINFORCE by hand", _READING, _TRY, _PIECES, _FLOW)
"""What its first sheet says."""


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


def reinforce(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    chosen = settings(numbers.ppo, REINFORCE)
    use = Choices(chosen.used, chosen.switch, n=n, labels=LABELS)
    prompt = typed("prompt", (), "prompt", "what is asked; the response is one token", text=True)
    rows, given = rows_of(use)
    residuals = checks_of(rows, chosen, use)
    shown = [rows[name] for name, _ in LESSON.pieces.values()]
    head = link("checks.word", rows["draws.word"])
    checked, verdict, tolerances = checks_sheet((head,), residuals, [], witnessed, shown)
    facts = facts_of(numbers.name, "bandit")
    about = Section("What is asked", (prompt,))
    inputs = Sheet("Inputs", "the settings; tokens, rewards and draws are typed where they are used",
                   (about, *settings_sections(chosen)), widths=(13,) * 8)  # fmt: skip
    start = lesson_sheet(LESSON, f"{numbers.title}: {numbers.about}", rows, verdict, made_by(facts))
    return Blueprint(
        title=numbers.title,
        sheets=(start, inputs, *_sheets(rows), charts_sheet(rows), replace(checked, across=(n,), grey=None)),
        sizes={v: len(numbers["text.vocabulary"]), n: len(numbers["draws.uniform"]), s: len(numbers["policy.steps"])},
        typed=chosen.typed | tolerances | given | {prompt: numbers["text.prompt"]},
        names={v: rows["vocabulary"], j: rows["vocabulary"]},
        choices=chosen.choices,
        ranges={**chosen.ranges, rows["draws.uniform"]: (0.01, 0.99)},
        facts=facts,
        result=rows["variance.with"],
        whole="policy",
    ).with_typed({name: _array(numbers[key]) for key, name in TYPED.items()})


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


def _array(value: object) -> object:
    return np.array(value, dtype=object) if isinstance(value, tuple) else value


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


def _sheets(of: Rows) -> list[Sheet]:
    """Outlines the sheets of steps."""
    sheets = []
    for title, (lead, across, head, sections) in SHEETS.items():
        made = tuple(Section(name, tuple(_item(of[row], of) for row in rows)) for name, rows in sections.items())
        shown = (link(f"head.{each.name}", each) if each.typed else each for each in several(of, *head))
        sheets.append(Sheet(title, lead, made, (across,), tuple(shown)))
    return sheets


def _item(row: Block, of: Rows) -> Row:
    if row.text:
        return Row(row, "text")
    if row.name in LOOKED_FOR:
        return key(row)
    return minor(row) if row.name in MINOR else Row(row, "probability" if row.name in ("policy.p", "moved.p") else "")
