"""Levels "logits" and "per-token" of RLHF PPO: the output of models is given, and no model is run.

One begins at three policies' logits, two critics' values and scores; the other at log-probs, values and scores of each token.
"""

from dataclasses import replace

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Draft,
    Level,
    Numbers,
    NumbersError,
    Part,
    check_known,
    check_vocabulary,
    refusal,
)
from blueprint.inputs.entries import Flag, LogProb, Number, Ratio, Token, Word
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT, rlhf
from blueprint.workbooks.rlhf_ppo.inputs.result import (
    PARTS,
    TABLES,
    RlhfNumbers,
    check_plain,
    conventions_of,
    values_of,
)
from blueprint.workbooks.rlhf_ppo.inputs.sizes import LIMITS

POLICIES = {
    "old": "the policy that wrote the responses",
    "reference": "the frozen policy from which drifting costs",
    "policy": "the policy after the update",
}
CRITICS = {
    "old_critic": "its values give the advantages and the value targets",
    "critic": "the critic after the update",
}
_SLOTS, _TOKENS = ("response", "position"), ("episode", "token")
_PRESET, _CONVENTIONS, _COMPARE = PARTS


def _numbers(draft: Draft) -> RlhfNumbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if a word is not in the vocabulary, or an episode does not exist.
    """
    if draft.parts.get("conventions") == "plain":
        raise NumbersError("conventions: found plain, expected live, the only ones of numbers that begin at logits.")
    settings, conventions = conventions_of(draft)
    parts = draft.fitted()
    words, vocabulary = parts["text.responses"], parts["text.vocabulary"]
    check_vocabulary(vocabulary)
    for row, response in enumerate(words, start=1):
        for item, word in enumerate(response, start=1):
            check_known(f"text.responses, row {row}, item {item}", word, vocabulary)
    end = parts.setdefault("text.end_word", vocabulary[0])
    check_known("text.end_word", end, vocabulary)
    is_end = np.array([[word == end for word in row] for row in words])
    parts.setdefault("text.mask", np.asarray(np.cumsum(is_end, axis=1) - is_end == 0, dtype=float))
    rows = _rows(parts.pop("text.episodes", None), len(words))
    per_response = [part.key for part in LOGITS.parts if part.axes[:1] == ("response",)]
    parts |= {key: np.array(parts[key])[rows] for key in per_response if key != "text.responses"}
    parts["text.responses"] = tuple(words[row] for row in rows)
    head = {key: each for key, each in parts.items() if key not in (part.key for part in PARTS)}
    return RlhfNumbers(**draft.head, ppo=settings, parts=head, conventions=replace(conventions, live=True))


def _rows(episodes: list[int] | None, count: int) -> list[int]:
    """Pick the episodes that the file names, counted from 1; all of them if it names none."""
    chosen = list(range(1, count + 1)) if episodes is None else episodes
    if not chosen or len(set(chosen)) < len(chosen) or not all(1 <= each <= count for each in chosen):
        raise refusal("text.episodes", str(chosen), f"numbers from 1 to {count}, each once")
    return [each - 1 for each in chosen]


LOGITS = Level(
    "rlhf_ppo",
    "logits",
    "no model is run, nothing is drawn",
    parts=(
        _PRESET,
        _CONVENTIONS._replace(schema={"enum": ["live"]}, otherwise="the only ones at this level"),
        _COMPARE,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("text.end_word", Word, (), "the token that ends a response; else the first one", None,
             otherwise="first token of text.vocabulary"),
        Part("text.responses", Word, _SLOTS, "an episode per row, a token of the vocabulary per position", noun="token"),
        Part("text.mask", Flag, _SLOTS, "1 on the tokens of the response, 0 behind; else up to and including the end token",
             None, otherwise="up to text.end_word"),
        Part("text.episodes", list[int], (), "which rows are taken, counted from 1; else all", None, [1]),
        *(
            Part(f"{name}.logits", Number, (*_SLOTS, "token"),
                 "a list per episode: a row per position, a column per token of the vocabulary")
            for name in POLICIES
        ),
        *(Part(f"{name}.values", Number, _SLOTS, "an episode per row, a column per position") for name in CRITICS),
        Part("reward_model.scores", Number, ("response",), "a number per episode"),
    ),
    tables={"text": "what was written", **TABLES, **POLICIES, **CRITICS, "reward_model": "what it says of each response"},
    settings=LIVE,
    presets=rlhf,
    limits={"response": ROWS, "position": (1, LONGEST), "token": LIMITS["vocabulary"]},
    make=_numbers,
    values=lambda numbers: values_of(numbers.conventions) | dict(numbers.parts),
)  # fmt: skip


def _plain_numbers(draft: Draft) -> Numbers:
    check_plain(draft.settings)
    return draft.numbers(draft.fitted())


PER_TOKEN = Level(
    "rlhf_ppo",
    "per-token",
    "no model is run, nothing is drawn",
    parts=(
        Part("per_token.words", Token, _TOKENS, "an episode per row, a column per token of the response", noun="token"),
        Part("per_token.logprobs_old", LogProb, _TOKENS, "log-probs of the policy that wrote, in the shape of words"),
        Part("per_token.logprobs_ref", LogProb, _TOKENS, "log-probs of the reference, in the shape of words"),
        Part("per_token.values", Number, _TOKENS, "the critic's values, in the shape of words"),
        Part("per_token.scores", Number, _TOKENS, "scores, in the shape of words; usually 0 but on the last one"),
        Part("cases.advantages", Number, ("case",), "a number per case", example=[2.0, -2.0]),
        Part("cases.ratios", Ratio, ("case",), "a number per case", example=[1.5, 0.5]),
    ),
    tables={
        "ppo": TABLES["ppo"],
        "per_token": "what is given for every response token",
        "cases": "may be left out: pairs for the table of the clipped loss",
    },
    optional=("cases",),
    settings=PRESET_DEFAULT,
    accepts={key: setting for key, setting in LIVE.items() if "." not in key},
    limits={"episode": ROWS, "token": (1, LONGEST)},
    ragged=("token",),
    make=_plain_numbers,
)
