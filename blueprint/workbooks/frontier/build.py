"""The blueprint of the frontier: every response of a small language, and how proxy, gold and KL move with β and with n; what it
says, its sheets and its charts stand in `lesson.toml`.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import WithJsonSchema

from blueprint.inputs import Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Number, Positive, Text, Word, must_be
from blueprint.language import Block, Sum, exp, maximum
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    all_in_range,
)
from blueprint.workbooks.common.lesson import Lesson, with_vocabulary
from blueprint.workbooks.frontier.definitions import (
    LABELS,
    PLACES,
    b,
    best_of_n,
    forms,
    k,
    o,
    optimum,
    order,
    responses,
    rewards,
    sweep,
    v,
    y,
)

FOLDER = Path(__file__).parent
FRONTIER = settings_in(FOLDER).settings
Share = Annotated[
    Number,
    must_be("a number above 0", lambda number: number > 0),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]


Draws = Annotated[
    Positive,
    must_be("a whole number of at most 100000", lambda number: number <= 100000),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 100000}),
]


def spelled(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """List every response, short ones first: it ends with the first token, or is cut after the last place."""
    end, *others = words
    ended = [(*said, end) for many in range(len(PLACES)) for said in product(others, repeat=many)]
    return [*ended, *product(others, repeat=len(PLACES))]


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what is typed of every response; a place that is not written is blank."""
    said = spelled(numbers["text.vocabulary"])
    return {
        "response": [" ".join(words) for words in said],
        **{f"word.{at}": [(*words, "", "")[int(at) - 1] for words in said] for at in PLACES},
    }


LEVEL = Level(
    "frontier",
    "proxy-and-gold",
    "a language of a few tokens, what a proxy and what people think of them, a row of β and a row of n",
    parts=(
        Part("text.prompt", Text, (), "what is asked; a response is three tokens at most", block="prompt"),
        Part("text.vocabulary", Word, ("token",), "the first one ends a response", noun="token", block="vocabulary"),
        Part("reference.weights", Share, ("token",), "how often each token comes, at every position; divided by their sum",
             block="reference.weights"),
        Part("proxy.once", Number, ("token",), "the proxy of a response in which the token occurs", block="proxy.once"),
        Part("proxy.each", Number, ("token",), "the proxy of each time that it occurs", block="proxy.each"),
        Part("gold.once", Number, ("token",), "the gold reward of a response in which the token occurs", block="gold.once"),
        Part("sweep.betas", Share, ("KL coefficient",), "the KL coefficients that are tried", block="sweep.beta"),
        Part("sweep.draws", Draws, ("number of draws",), "how many responses best-of-n draws", block="best.draws"),
    ),
    tables={
        "frontier": "settings; one that is left out is as here", "text": "what was asked, and the tokens of the language",
        "reference": "the policy before", "proxy": "what is optimised", "gold": "what is wanted", "sweep": "what is tried",
    },
    settings=FRONTIER,
    of_settings="frontier",
    limits={"token": (2, 4), "KL coefficient": (2, 32), "number of draws": (2, 32)},
    make=with_vocabulary,
    more_typed=_typed,
)  # fmt: skip


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0: probabilities add up, J is β·log Z, and the KL keeps its bound."""
    kl, bound = of["best.kl"], of["best.kl_bound"]
    return [
        use.one("check.all", abs(Sum(y, of["reference.chance"][y]) - 1)),
        use.one("check.best", abs(of["optimum.objective"] - of["optimum.best"])),
        use.along("check.sweep", (b,), abs(Sum(o, of["sweep.p"][b, o]) - 1)),
        use.along("check.kept_sum", (k,), abs(Sum(o, of["best.p"][k, o]) - 1)),
        use.along("check.kept", (k, o), abs(of["best.p"][k, o] - of["down.p"][o] * exp(of["best.log_ratio"][k, o]))),
        use.along("check.bound", (k,), maximum(0, kl[k] - bound[k])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=y,
    steps=(responses, rewards, optimum, order, sweep, best_of_n, forms),
    checks=checks_of,
    sizes={v: "vocabulary", y: "response", b: "sweep.beta", k: "best.draws"},
    names={v: "vocabulary", o: "response"},
)
