"""The blueprint of the optimum: every response of a small language, the best policy, and two losses that lead to it; what is typed,
sheets, sentences and charts.
"""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import Draft, Level, Numbers, Part, check_vocabulary, settings_in
from blueprint.inputs.entries import Number, Text, Word
from blueprint.language import Axis, Block, Max, Sum, link, typed
from blueprint.page.outline import Blueprint, Chart, Item, Row, Scale, Section, Series, Sheet, Table, key, minor
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
    settings,
    settings_sections,
    several,
)
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

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


OPTIMUM = settings_in(Path(__file__).parent).settings
TYPED = {
    "text.vocabulary": "vocabulary", "reference.first": "reference.first", "reference.second": "reference.second",
    "way.steps": "way.step",
}  # fmt: skip
"""By key in a numbers file the block in which it is typed."""
TABLES = {"reward.scores": "reward.scores", "policy.beside": "policy.beside"}
"""Likewise, of what is a table in the file, by first and second token, and a row in the workbook."""


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts: dict[str, Any] = {key: file.array(name) for key, name in TYPED.items()}
    parts["text.vocabulary"] = tuple(map(str, parts["text.vocabulary"]))
    many = len(parts["text.vocabulary"])
    parts |= {key: file.array(name, 1).reshape(many, many) for key, name in TABLES.items()}
    parts["text.prompt"] = str(file.array("prompt", 0)[()])
    return Numbers(kind="optimum", level="enumerated", **file.head(), ppo=file.settings(), parts=parts)


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file. Raises NumbersError if two tokens are one."""
    parts = draft.fitted()
    check_vocabulary(parts["text.vocabulary"])
    return draft.numbers(parts)


_TABLE = ("first token", "token")
LEVEL = Level(
    "optimum",
    "enumerated",
    "a language of a few tokens, and the reward of every response of two of them",
    parts=(
        Part("text.prompt", Text, (), "what is asked; a response is two tokens"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("reference.first", Number, ("token",), "the logit of each first token, under the reference"),
        Part("reference.second", Number, _TABLE, "those of the second token: a row for each first one"),
        Part("reward.scores", Number, _TABLE, "the reward of each response: a row for each first token, a column for each second"),
        Part("policy.beside", Number, _TABLE, "what is added to the policy's logit of each response; 0 is on the way"),
        Part("way.steps", Number, ("step",), "which policies on the way are shown; 0 is the reference, 1 the optimum"),
    ),
    tables={
        "optimum": "settings; one that is left out is as here", "text": "what was asked, and the tokens of the language",
        "reference": "logits, token by token", "reward": "a number per response", "policy": "where it stands beside the way",
        "way": "what the charts show",
    },
    settings=OPTIMUM,
    of_settings="optimum",
    limits={"token": (2, 5), "first token": (2, 5), "step": (2, 32)},
    make=_numbers,
)  # fmt: skip


SHEETS = {
    "Reference": ("one column per response: how likely π_ref finds it, token by token", y, ("word.first", "word.second"), {
        "Every response of two tokens": ("word.first", "word.second", "response", "id.first", "id.second"),
        "The first token: soft-max of its logits": (
            "reference.first", "first.top", "first.exponentials", "first.logsumexp", "first.log_p", "first.p",
        ),
        "The second token, after the first one": (
            "reference.second", "second.logits", "second.top", "second.exponentials", "second.logsumexp", "second.log_p",
            "second.p",
        ),
        "The whole response: the sum of both log-probs": ("first.logprobs", "second.logprobs", "reference.logp", "response.p"),
    }),
    "Optimum": ("one column per response, all of them: the optimum, the policy, PPO’s objective, and the DPO loss", y,
                ("response",), {
        "The optimum: the reference, tilted by the reward": (
            "reward.scores", "optimum.logits", "optimum.top", "optimum.exponentials", "optimum.logsumexp", "optimum.log_p",
            "optimum.p", "objective.best",
        ),
        "A policy on the way there, or beside it": (
            "policy.beside", "policy.theta", "policy.top", "policy.exponentials", "policy.logsumexp", "policy.log_p", "policy.p",
        ),
        "What PPO climbs: reward less β·KL to the reference": (
            "policy.log_ratio", "reward.penalised", "mean_reward", "kl.reference", "objective", "objective.gradient",
        ),
        "How far it is from the best: β·KL to the optimum": ("policy.away", "kl.optimum", "objective.below"),
        "What DPO makes small: its reward is β·log(π/π_ref)": (
            "implicit.reward", "implicit.left", "dpo_loss", "dpo_loss.best", "dpo_loss.above", "response.place", "dpo.gradient",
        ),
        "Read downwards elsewhere": ("response.down", "reference.logp_down", "reward.scores_down", "optimum.log_p_down"),
    }),
    "Pairs": ("one column per pair of responses: who is preferred, and what the policy says of it", q,
              ("pair.left", "pair.right"), {
        "Who is preferred: the log-odds are the difference of the rewards": (
            "pair.left", "pair.right", "pair.place.left", "pair.place.right",
            "pair.reward.left", "pair.reward.right", "pair.difference", "prefers.p",
            "prefers.rest", "prefers.log_p", "prefers.log_not", "prefers.not", "prefers.log_odds", "prefers.gap",
        ),
        "What the policy says: the margin of its implicit rewards": (
            "pair.implicit.left", "pair.implicit.right", "pair.margin", "says.p", "says.rest", "says.log_p", "says.log_not",
        ),
        "The DPO loss, each answer as often as it is given": ("count.pairs", "pair.loss", "pair.least", "pair.pull"),
        "What pulls on each response": ("pair.side", "dpo.gradient_down"),
        "Read downwards elsewhere": ("pair.down", "pair.difference_down", "prefers.p_down", "prefers.not_down"),
    }),
    "The way": ("one column per policy on the way from the reference (0) through the optimum (1) and beyond", s, ("way.step",), {
        "The policies": ("way.step", "way.logits", "way.top", "way.exponentials", "way.logsumexp", "way.log_p", "way.p"),
        "PPO’s objective: how far below the best": ("way.away", "way.below"),
        "The DPO loss: how far above the least": (
            "way.margin", "way.says.rest", "way.says.log_p", "way.says.log_not", "way.loss", "way.above",
        ),
    }),
}  # fmt: skip
"""Title, lead, columns, rows that stay in view, and sections with the names of their rows."""
LOOKED_FOR = (
    "response.p", "optimum.logsumexp", "optimum.p", "objective.best", "policy.p", "objective", "objective.gradient", "kl.optimum",
    "objective.below", "implicit.reward", "implicit.left", "dpo_loss", "dpo_loss.above", "dpo.gradient", "prefers.p",
    "prefers.log_odds", "pair.margin", "pair.loss", "way.below", "way.above",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
MINOR = (
    "first.top", "first.exponentials", "first.logsumexp", "first.log_p", "id.first", "id.second", "second.top",
    "second.exponentials",
    "second.logsumexp", "second.log_p", "optimum.top", "optimum.exponentials", "policy.top", "policy.exponentials",
    "policy.logsumexp", "response.place", "response.down", "reference.logp_down", "reward.scores_down", "optimum.log_p_down",
    "pair.place.left", "pair.place.right", "prefers.rest", "prefers.gap", "says.rest", "pair.side", "dpo.gradient_down",
    "pair.down",
    "pair.difference_down", "prefers.p_down", "prefers.not_down", "way.top", "way.exponentials", "way.logsumexp", "way.away",
    "way.logits", "way.log_p", "way.margin", "way.says.rest", "way.says.log_p", "way.says.log_not", "way.loss",
)  # fmt: skip
"""Steps on the way, which may be folded away."""
EXACT, PAIRS = "exact, over all responses", "mean of all pairs"
_PIECES = {
    "PPO’s objective J": ("objective", EXACT),
    "the best it can be, β·log Z": ("objective.best", EXACT),
    "short by β·KL to π*": ("objective.below", EXACT),
    "DPO loss": ("dpo_loss", PAIRS),
    "the least it can be": ("dpo_loss.best", PAIRS),
    "above it": ("dpo_loss.above", PAIRS),
    "expected reward": ("mean_reward", EXACT),
    "KL to the reference": ("kl.reference", EXACT),
    "KL to the optimum": ("kl.optimum", EXACT),
}
"""By title: the number that is shown, and what it is taken over."""
_READING = (
    "Of all policies one is best for reward less β·KL to the reference: π* = π_ref·exp(r/β)/Z. Here every response is a column,",
    "so that Z is a sum one can see. PPO climbs to π* by draws; DPO fits π* to preferences, and never needs Z: in the",
    "difference of two responses it cancels. Optimum has both gradients, by the same logits: at step 1 both are 0.",
    "Pairs asks of every two responses which is preferred: the log-odds of that, not the probability, are Δr.",
    "Type into cream cells; everything else follows.",
)
_TRY = (
    "On Inputs type 1 for step, and 0 in both cream cells of δ that are not: J = J*, the DPO loss is least, all gradients are 0.",
    "Then 0: the policy is the reference, h = 0 and the DPO loss ln 2 = 0.693, whatever the rewards are.",
    "Type β = 0.05: π* takes the best response nearly always; β = 5: π* hardly leaves the reference.",
    "Add 3 to every reward: π*, P and the DPO loss stay, β·log Z grows by 3. Only differences of rewards are identified.",
    "On Charts: both curves touch 0 at step 1, the one that PPO sees and the one that DPO sees.",
)
_FLOW = (
    (("reference π_ref", "reference.logp"), ("plus r/β", "optimum.logits"), ("optimum π*", "optimum.p"),
     ("best J*", "objective.best")),
    (("policy on its way", "policy.p"), ("KL to π_ref", "kl.reference"), ("PPO climbs J", "objective"),
     ("below J*", "objective.below")),
    (("implicit reward h", "implicit.reward"), ("margin of a pair", "pair.margin"), ("DPO loss", "dpo_loss"),
     ("above the least", "dpo_loss.above")),
)  # fmt: skip
"""The optimum, and the two ways to it: the title of each box, and the row to which it leads."""
_DIFFERENCES = {
    "objective.below": ("objective.best", "objective"),
    "dpo_loss.above": ("dpo_loss", "dpo_loss.best"),
}
LESSON = Lesson("The optimum by hand", _READING, _TRY, _PIECES, _FLOW, _DIFFERENCES)
"""What its first sheet says."""


LEAD = "the same numbers as pictures, which follow what you type"


def charts_sheet(of: Rows) -> Sheet:
    """Outlines the sheet."""
    return Sheet("Charts", LEAD, (Section("Pictures", (_way(of), _policies(of), _preferences(of))),))


def _way(of: Rows) -> Chart:
    x = of["way.step"]
    return Chart(
        "From the reference through the optimum, as PPO and as DPO see it", "scatter",
        (Series("J* − J: PPO", of["way.below"], x), Series("L − L*: DPO", of["way.above"], x)),
        Scale("step: 0 is π_ref, 1 is π*"), Scale("distance from the best", 0),
        "Both touch 0 at the same policy, though one counts responses as often as they are drawn, and the other pairs.",
    )  # fmt: skip


def _policies(of: Rows) -> Chart:
    words = of["response"]
    return Chart(
        "Every response under the reference, the policy and the optimum", "bars",
        (Series("π_ref", of["response.p"], words), Series("π", of["policy.p"], words), Series("π*", of["optimum.p"], words)),
        Scale("response"), Scale("probability"),
        "A good response gains as much as its reward is above the others; one the reference never gives stays at 0.",
        "0.00",
    )  # fmt: skip


def _preferences(of: Rows) -> Chart:
    return Chart(
        "How often the left response is preferred, over the difference of rewards", "scatter",
        (Series("Bradley–Terry: σ(Δr)", of["prefers.p"], of["pair.difference"], dots=True),
         Series("what the policy says: σ(h)", of["says.p"], of["pair.difference"], dots=True)),
        Scale("Δr = r_i − r_k"), Scale("preferred", 0),
        "An S, no straight line: the log-odds are proportional to Δr, the probability is not. At π* the dots coincide.",
    )  # fmt: skip


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
