"""The blueprint of the optimum: every response of a small language, the best policy, and two losses that lead to it."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis, Block, Max, Sum, link, typed
from blueprint.page.outline import Blueprint, Item, Row, Section, Sheet, Table, key, minor
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
from blueprint.workbooks.optimum.charts import charts_sheet
from blueprint.workbooks.optimum.definitions import (
    LABELS,
    along_the_way,
    downwards,
    o,
    objective,
    optimum,
    pairs,
    policy,
    pull_of,
    q,
    responses,
    s,
    u,
    v,
    y,
)
from blueprint.workbooks.optimum.schema import OPTIMUM, TABLES, TYPED
from blueprint.workbooks.optimum.words import LESSON, LOOKED_FOR, MINOR, SHEETS

CHANCES = tuple(f"{name}.p" for name in ("reference", "optimum", "policy", "way", "first", "second"))
STEPS = (responses, optimum, policy, objective, pairs, downwards, pull_of, along_the_way)


def optimum_of(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    chosen = settings(numbers.ppo, OPTIMUM)
    use = Choices(chosen.used, chosen.switch, n=y, labels=LABELS)
    prompt = typed("prompt", (), "prompt", "what is asked; a response is two tokens", text=True)
    rows: dict[str, Block] = {}
    for step in STEPS:
        rows |= step(rows, use)
    rows |= {"response": typed("response", (y,), "response", "both tokens of the response", text=True)}
    shown = [rows[name] for name, _ in LESSON.pieces.values()]
    head = (link("checks.response", rows["response"]),)
    checked, verdict, tolerances = checks_sheet(head, checks_of(rows, chosen, use), [], witnessed, shown)
    facts = facts_of(numbers.name, "enumerated")
    about = Section("What is asked", (prompt, Row(rows["vocabulary"], "text")))
    inputs = Sheet("Inputs", "the settings; tokens, logits and rewards are typed where they are used",
                   (about, *settings_sections(chosen)), widths=(13,) * 8)  # fmt: skip
    start = lesson_sheet(LESSON, f"{numbers.title}: {numbers.about}", rows, verdict, made_by(facts))
    typed_in, sizes = _typed(numbers)
    return Blueprint(
        title=numbers.title,
        sheets=(start, inputs, *_sheets(rows), charts_sheet(rows), replace(checked, across=(y,), grey=None)),
        sizes={**sizes, s: len(numbers["way.steps"])},
        typed=chosen.typed | tolerances | {prompt: numbers["text.prompt"]},
        names={v: rows["vocabulary"], u: rows["vocabulary"], o: rows["response"]},
        choices=chosen.choices,
        ranges=chosen.ranges,
        facts=facts,
        result=rows["dpo_loss"],
        whole="policy",
    ).with_typed(typed_in)


def _typed(numbers: Numbers) -> tuple[dict[str, object], dict[Axis, int]]:
    """Lists what is typed by the names of its blocks, every response and every pair enumerated; and counts them."""
    words = numbers["text.vocabulary"]
    responses_ = [(first, second) for first in words for second in words]
    both = np.array(list(combinations(range(1, 1 + len(responses_)), 2)), dtype=float)
    given = {name: _array(numbers[key]) for key, name in TYPED.items()}
    given |= {name: np.ravel(numbers[key]) for key, name in TABLES.items()}
    firsts, seconds = zip(*responses_, strict=True)
    given |= {"word.first": _array(firsts), "word.second": _array(seconds)}
    given |= {"response": _array(tuple(map(" ".join, responses_))), "pair.left": both[:, 0], "pair.right": both[:, 1]}
    return given, {v: len(words), y: len(responses_), q: len(both)}


def _array(value: object) -> object:
    return np.array(value, dtype=object) if isinstance(value, tuple) else value


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measures how far from 0 is what must be 0: the identities that tie the two objectives to the optimum."""
    beta, best = use.used["beta"], of["objective.best"]
    tilted = beta * (of["optimum.log_p"][y] - of["reference.logp"][y])
    return [
        use.one("check.reference", abs(Sum(y, of["response.p"][y]) - 1)),
        use.one("check.below", abs(of["objective.below"] - beta * of["kl.optimum"])),
        use.along("check.left", (y,), abs(of["reward.scores"][y] - tilted - best)),
        use.one("check.odds", Max(q, of["prefers.gap"][q])),
        use.one("check.slope", abs(Sum(y, of["dpo.gradient"][y]))),
        all_in_range(chosen),
    ]


def _sheets(of: Rows) -> list[Sheet]:
    """Outlines the sheets of steps."""
    sheets = []
    for title, (lead, across, head, sections) in SHEETS.items():
        made = tuple(Section(name, tuple(_item(of[row]) for row in rows)) for name, rows in sections.items())
        shown = (link(f"{title.lower()}.{each.name}", each) if each.typed else each for each in several(of, *head))
        sheets.append(Sheet(title, lead, made, (across,), tuple(shown)))
    return sheets


def _item(row: Block) -> Item:
    if row.axes == (u, v):
        return Table(row, across=u)
    if row.text:
        return Row(row, "text")
    if row.name in LOOKED_FOR:
        return key(row)
    return minor(row) if row.name in MINOR else Row(row, "probability" if row.name in CHANCES else "")
