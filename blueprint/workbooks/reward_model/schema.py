"""Levels of a reward model: "scores", where scores after each token are given, and "rankings", where a model makes them; with the
texts, and the pairs that are compared, typed or made of rankings, of both.
"""

from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    Catalogue,
    Draft,
    Level,
    Numbers,
    Part,
    Values,
    catalogue,
    check_vocabulary,
    counted,
    padded,
    refusal,
    settings_in,
)
from blueprint.inputs.entries import Flag, Number, Positive, Prompt, Word
from blueprint.workbooks.common import numbers_file, update
from blueprint.workbooks.common.numbers_file import PRESET, check_words

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
REWARD_MODEL = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
SETTINGS = "settings; one that is left out is as in the preset"
MOST_RESPONSES, MOST_PAIRS = 32, 48
TEXTS = (
    PRESET,
    Part(
        "text.vocabulary",
        Word,
        ("token",),
        "a pad is read as the first one; tokens differ by more than capitals",
        noun="token",
        block="vocabulary",
    ),
    Part("text.end", Word, (), "the token that ends a text", noun="token", block="text.end"),
    Part(
        "text.texts",
        Prompt,
        ("response",),
        "prompt and response, a text for each response; pads are left out",
        noun="text",
    ),
)
OF_PAIRS = (
    Part("pairs.rankings", Positive, ("ranking", "place"), "numbers of responses, the best first; every two are a pair",
         None, [[2, 1, 3]], "none"),
    Part("pairs.chosen", Positive, ("pair",), "number of the chosen response of each further pair", None, [1, 3],
         block="chosen.number"),
    Part("pairs.rejected", Positive, ("pair",), "number of the rejected response of each further pair", None, [2, 4],
         block="rejected.number"),
    Part("pairs.margin", Number, ("compared pair",), "how far the two of each pair are meant to be apart; of all pairs",
         None, [0.5, 1], "0", block="pair.margin"),
    Part("pairs.ranking", Positive, ("compared pair",), "number of the ranking of each pair, of all pairs", None, [1, 1],
         "by rankings, else its own", block="pair.ranking"),
    Part("pairs.counts", Flag, ("compared pair",), "1 for a pair that counts, else 0; of all pairs", None, [1, 0], "1",
         block="pair.counts"),
)  # fmt: skip
TABLES = {
    **dict.fromkeys(RECORDS.titles, SETTINGS), "text": "prompts with their responses", "pairs": "which response is better",
}  # fmt: skip
RAGGED = ("place",)


@cache
def rm_presets() -> Catalogue:
    """Read the presets of reward models: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def checked(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a file with its texts as tokens, and all pairs, those of rankings first.

    Raises:
        NumbersError: if there is no such preset, a token is unknown, or a pair names a response that there is not.
    """
    rm_presets().preset(parts["preset"])
    check_vocabulary(parts["text.vocabulary"])
    if parts["text.end"].casefold() not in {each.casefold() for each in parts["text.vocabulary"]}:
        raise refusal("text.end", parts["text.end"], "a token of text.vocabulary")
    check_words(parts, "text.texts")
    return {key: each for key, each in {**parts, **_pairs(parts)}.items() if key != "pairs.rankings"}


def _pairs(parts: dict[str, Any]) -> dict[str, Any]:
    """Return what is typed of every pair."""
    chosen, rejected = ([int(each) for each in parts.get(f"pairs.{side}", ())] for side in ("chosen", "rejected"))
    if len(chosen) != len(rejected):
        raise refusal("pairs.rejected", f"{len(rejected)} numbers", f"{len(chosen)}, one per pair, as pairs.chosen has")
    rankings, given = [list(each) for each in parts.get("pairs.rankings", ())], [*zip(chosen, rejected, strict=True)]
    ranked = [(at, pair) for at, each in enumerate(rankings, start=1) for pair in combinations(each, 2)]
    every = [*(pair for _, pair in ranked), *given]
    if not 1 <= len(every) <= MOST_PAIRS:
        raise refusal("pairs", f"{len(every)} pairs", f"1 to {MOST_PAIRS}")
    responses = len(parts["text.texts"])
    if stray := next((number for pair in every for number in pair if not 1 <= number <= responses), 0):
        raise refusal("pairs", f"response {stray}", f"a number from 1 to {responses}, as text.texts has")
    own = [at for at, _ in ranked] + [len(rankings) + 1 + at for at in range(len(given))]
    made = {"pairs.chosen": [pair[0] for pair in every], "pairs.rejected": [pair[1] for pair in every]}
    for key, otherwise in (("margin", np.zeros(len(every))), ("ranking", own), ("counts", np.ones(len(every)))):
        made[f"pairs.{key}"] = _of_all(f"pairs.{key}", parts.get(f"pairs.{key}", ()), otherwise)
    if (stray := max(made["pairs.ranking"])) > len(every):
        raise refusal(
            "pairs.ranking",
            f"{stray:.0f}",
            f"numbers from 1 to {len(every)}, since there are no more rankings than pairs",
        )
    return {key: np.array(value, dtype=float) for key, value in made.items()}


def _of_all(key: str, found: Any, otherwise: Any) -> Any:
    """Return what is given for every pair, or what holds otherwise."""
    if len(found) not in (0, len(otherwise)):
        raise refusal(key, f"{len(found)} numbers", f"{len(otherwise)}, one for each pair, those of rankings first")
    return found if len(found) else otherwise


def texts_in(words: str, file: Any, parts: Values) -> Values:
    """Return the texts in a saved workbook, and how weights move, where there are any. words: the block of the texts."""
    # Of a blank workbook one knows how many columns there are, and takes them for those of the texts.
    width = file.array(words, 2).shape[1] if file.blank else 0
    found = tuple(tuple(filter(None, row)) or parts["text.vocabulary"][-1:] * width for row in file.rows(words))
    return {"text.texts": found} | (update.saved_update(file, parts) if words == RANKED_WORDS else {})


def columns_of(numbers: Numbers) -> int:
    """Return how many columns the texts have: as many as scores are typed after tokens, else those of the longest."""
    scores = numbers.parts.get("scores.head")
    return max(map(len, numbers["text.texts"])) if scores is None else np.shape(scores)[1]


def typed_texts(words: str, numbers: Numbers) -> Values:
    """Return the texts, and the numbers of responses and pairs. words: as above."""
    return {
        words: padded(numbers["text.texts"], columns_of(numbers)),
        "response.number": np.arange(1.0, 1 + len(numbers["text.texts"])),
        "pair.column": np.arange(1.0, 1 + len(numbers["pairs.chosen"])),
    }


SCORED_WORDS, RANKED_WORDS = "scored.word", "ranked.word"
"""By level the block of the typed texts."""
SCORED_HEAD = "head.score"
"""The block of the score after each token, where that is typed."""


def _level(word: str, begins: str, words: str, parts: tuple[Part, ...], tables: Values, **more: Any) -> Level:
    return Level(
        "reward_model", word, begins, (*TEXTS, *OF_PAIRS, *parts), {**TABLES, **tables}, settings=REWARD_MODEL,
        of_settings="reward", presets=rm_presets, ragged=RAGGED, more_typed=partial(typed_texts, words),
        more_saved=partial(texts_in, words), **more,
    )  # fmt: skip


def _checked_scores(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, a token is unknown, a pair names a response that there is not, or a text is longer
            than its scores.
    """
    parts = checked(draft.fitted())
    responses, columns = np.shape(parts["scores.head"])
    if len(parts["text.texts"]) != responses:
        raise refusal("scores.head", counted(responses, "row"), f"{len(parts['text.texts'])}, one per response")
    for place, text in enumerate(parts["text.texts"], start=1):
        if len(text) > columns:
            raise refusal(
                f"text.texts, row {place}",
                counted(len(text), "token"),
                f"at most {columns}, as scores.head has columns",
            )
    return draft.numbers(parts)


SCORES = _level(
    "scores",
    "a score after every token of every response is given",
    SCORED_WORDS,
    (
        Part("scores.head", Number, ("response", "position"), "the score after each token, and after pads: a row per response",
             block=SCORED_HEAD),
    ),
    {"scores": "what the head says after each token"},
    limits={"response": (1, MOST_RESPONSES), "position": (1, LONGEST), "token": (2, 64)},
    make=_checked_scores,
)  # fmt: skip


def _checked_rankings(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: as `checked`, or if W has not a row for each number of x and of h, and one for 1.
    """
    parts = update.with_update(draft, checked(draft.fitted()))
    numbers_file.check_inputs(parts, "reward_model")
    return draft.numbers(parts)


RANKINGS = _level(
    "rankings",
    "a small model reads texts, and learns which responses were preferred",
    RANKED_WORDS,
    (*update.PARTS, *(numbers_file.weight(f"reward_model.{part}") for part in ("E", "W", "w", "b"))),
    {"update": update.ABOUT, "reward_model": "the model in training, and its head"},
    limits={**numbers_file.LIMITS, "response": (1, MOST_RESPONSES)},
    make=_checked_rankings,
    values=update.stated,
)
