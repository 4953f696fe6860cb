"""The blueprint of the optimum: every response of a small language, the best policy, and two losses that lead to it; what it says,
its sheets and its charts stand in `lesson.toml`.
"""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import Level, Numbers, Part, Values, settings_in
from blueprint.inputs.entries import Number, Text, Word
from blueprint.language import Block, Max, Sum
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    all_in_range,
)
from blueprint.workbooks.common.lesson import Lesson, with_vocabulary
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

FOLDER = Path(__file__).parent
OPTIMUM = settings_in(FOLDER).settings
TABLES = ("reward.scores", "policy.beside")
"""What is a table in a numbers file, by first and second token, and a row in the workbook."""


def _typed(numbers: Numbers) -> dict[str, Any]:
    """Lists what is typed of every response and every pair."""
    words = numbers["text.vocabulary"]
    firsts, seconds = np.array([*product(words, repeat=2)], dtype=object).T
    both = np.array([*combinations(range(1, 1 + len(firsts)), 2)], dtype=float)
    return {
        **{name: np.ravel(numbers[name]) for name in TABLES},
        "word.first": firsts,
        "word.second": seconds,
        "response": firsts + " " + seconds,
        "pair.left": both[:, 0],
        "pair.right": both[:, 1],
    }


def _saved(file: Any, parts: Values) -> Values:
    """Return the tables of a saved workbook."""
    many = len(parts["text.vocabulary"])
    return {name: file.array(name, 1).reshape(many, many) for name in TABLES}


_TABLE = ("first token", "token")
LEVEL = Level(
    "optimum",
    "enumerated",
    "a language of a few tokens, and the reward of every response of two of them",
    parts=(
        Part("text.prompt", Text, (), "what is asked; a response is two tokens", block="prompt"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("reference.first", Number, ("token",), "the logit of each first token, under the reference", block="reference.first"),
        Part("reference.second", Number, _TABLE, "those of the second token: a row for each first one", block="reference.second"),
        Part("reward.scores", Number, _TABLE, "the reward of each response: a row for each first token, a column for each second"),
        Part("policy.beside", Number, _TABLE, "what is added to the policy's logit of each response; 0 is on the way"),
        Part("way.steps", Number, ("step",), "which policies on the way are shown; 0 is the reference, 1 the optimum",
             block="way.step"),
    ),
    tables={
        "optimum": "settings; one that is left out is as here", "text": "what was asked, and the tokens of the language",
        "reference": "logits, token by token", "reward": "a number per response", "policy": "where it stands beside the way",
        "way": "what the charts show",
    },
    settings=OPTIMUM,
    of_settings="optimum",
    limits={"token": (2, 5), "first token": (2, 5), "step": (2, 32)},
    make=with_vocabulary,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


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


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=y,
    steps=(responses, optimum, policy, objective, pairs, downwards, pull_of, along_the_way),
    checks=checks_of,
    sizes={v: "vocabulary", y: "response", q: "pair.left", s: "way.step"},
    names={v: "vocabulary", u: "vocabulary", o: "response"},
)
