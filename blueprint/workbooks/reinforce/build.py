"""The blueprint of REINFORCE: a policy over a few tokens, its gradient exactly and from draws, and what a baseline does to both."""

from dataclasses import replace

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, Max, link, maximum, typed
from blueprint.page.outline import Blueprint, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Witnessed,
    all_in_range,
    checks_sheet,
    facts_of,
    lesson_sheet,
    made_by,
    settings,
    settings_sections,
    several,
)
from blueprint.workbooks.reinforce.charts import charts_sheet, running, variance_rows
from blueprint.workbooks.reinforce.definitions import LABELS, drawn, exact, j, moved, n, policy, reused, s, v, variances
from blueprint.workbooks.reinforce.schema import REINFORCE, TYPED
from blueprint.workbooks.reinforce.words import LESSON, LOOKED_FOR, MINOR, SHEETS


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
