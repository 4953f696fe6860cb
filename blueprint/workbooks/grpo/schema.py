"""What a file of numbers of GRPO and its family may hold, a level each: logits and scores ("responses"), prompts and weights
("prompts"), and responses and log-probs of one's own ("rollouts"); with the settings and presets that say something there.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Array,
    Catalogue,
    Draft,
    Level,
    Numbers,
    Part,
    Setting,
    Values,
    catalogue,
    check_vocabulary,
    padded,
    refusal,
    settings_in,
)
from blueprint.inputs.entries import About, Draw, Flag, LogProb, Number, Positive, Prompt, Response, Text, Word, Written
from blueprint.workbooks.common import Choices, numbers_file, update
from blueprint.workbooks.common.definitions.writing_rows import completed as completed_by
from blueprint.workbooks.common.numbers_file import compared_by_name, parts_of_presets
from blueprint.workbooks.common.rollout import RESPONSE

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
GRPO = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
MODELS = {"policy": "the policy in training", "old": "the policy at the step's start", "reference": "the reference",
          "engine": "the generation engine, which wrote the tokens"}  # fmt: skip
SETTINGS = "settings; one that is left out is as in the preset"
_SLOTS = ("response", "position")
ONLY_RUN = (
    "update_step", "reward.from", "reward.answer", "reward.right", "reward.form", "reward.free_tokens", "reward.token_cost",
)  # fmt: skip
"""Settings that say something only where models are run, and rules score what they write."""
GIVEN = {key: each for key, each in GRPO.items() if key not in ONLY_RUN}
"""The settings where logits, or log-probs, and scores are given."""
PRESETS = parts_of_presets("trl_grpo", "verl_grpo")
TABLES = {"ppo": SETTINGS, **{group: SETTINGS for group in RECORDS.titles if group not in ("ppo", "reward")}}
"""The tables of settings, with what describes them."""


@cache
def grpo_presets() -> Catalogue:
    """Read the presets of GRPO and its family: the default, the libraries and the papers."""
    return catalogue(FOLDER, RECORDS)


@cache
def presets_of_given() -> Catalogue:
    """Read the same with the settings that say something where models are not run."""
    return replace(grpo_presets(), settings=GIVEN)


def _check_groups(parts: Values, responses: str) -> None:
    """Check that there are as many responses to each prompt. responses: the key under which there is something of each."""
    found, prompts = len(parts[responses]), len(parts["text.prompts"])
    if found % prompts:
        raise refusal(responses, f"{found} responses", f"as many for each of the {prompts} prompts")


def _checked_responses(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, or the responses are not as many for each prompt.
    """
    parts = compared_by_name(draft.fitted(), grpo_presets())
    check_vocabulary(parts["text.vocabulary"])
    _check_groups(parts, "text.responses")
    numbers_file.check_words(parts, "text.responses")
    if np.any(np.diff(np.asarray(parts["text.mask"]), axis=1) > 0):
        raise refusal("text.mask", "a 1 behind a 0", "1 from the first position to the last token, 0 behind")
    return draft.numbers(parts)


def _numbered(numbers: Numbers) -> Values:
    """Return the numbers of the responses: those to a prompt stand side by side."""
    places = np.arange(1.0, 1 + len(numbers["reward.scores"])).reshape(len(numbers["text.prompts"]), -1)
    return {"group.response": places, "response.number": places.ravel()}


RESPONSES = Level(
    "grpo",
    "responses",
    "logits and scores of several responses to each prompt are given, nothing is drawn",
    parts=(
        *PRESETS,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("text.prompts", Text, ("prompt",), "a text for each prompt; the responses to one stand side by side",
             block="prompt"),
        Part("text.responses", Word, _SLOTS, "a response per row, a token of the vocabulary per position", noun="token",
             block="word_written"),
        Part("text.mask", Flag, _SLOTS, "1 on the tokens of the response, 0 behind", block="mask"),
        Part("text.truncated", Flag, ("response",), "1 where the response was cut off before its end", block="truncated"),
        Part("reward.scores", Number, ("response",), "a number per response", block="score"),
        Part("reward.greedy", Number, ("prompt",), "the score of the greedy response to each prompt, which ReMax subtracts",
             block="greedy"),
        *(
            Part(f"{name}.logits", Number, (*_SLOTS, "token"), f"{says}: a list per response, a row per position",
                 block=f"{name}.logits")
            for name, says in MODELS.items()
        ),
    ),
    tables={
        **TABLES,
        "text": "what was asked and written", "reward": "scores, and settings", **MODELS,
    },
    settings=GIVEN,
    presets=presets_of_given,
    limits={"response": ROWS, "position": (1, LONGEST), "token": (2, 64), "prompt": ROWS},
    make=_checked_responses,
    more_typed=_numbered,
)  # fmt: skip


WEIGHTS_OF = {
    "old": ("the policy that wrote the responses", ("E", "W", "Y")),
    "reference": ("the frozen policy from which drifting costs", ("E", "W", "Y")),
    "policy": ("policy = old + update_step · delta", ("delta_E", "delta_W", "delta_Y")),
    "reward_model": ("reads the whole text and scores it at its last token", ("E", "W", "w", "b")),
}
WEIGHTS = numbers_file.keys_of(WEIGHTS_OF)
"""All weights by their keys in a numbers file."""
DELTAS = tuple(key for key in WEIGHTS if ".delta_" in key)
LEARN = {f"policy.{letter}": f"old.{letter}" for letter in "EWY"}
"""What an optimiser moves, and where it begins."""
_EACH = ("response", "token of the response")


def _checked_prompts(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or the responses are not as many
            for each prompt.
    """
    parts = compared_by_name(draft.fitted(), grpo_presets())
    _check_words(parts)
    _check_groups(parts, "rollout.draws")
    most, columns = parts["sizes.max_new_tokens"], np.shape(parts["rollout.draws"])[1]
    if columns != most:
        raise refusal("rollout.draws", f"{columns} draws in a row", f"{most}, as sizes.max_new_tokens says")
    numbers_file.check_inputs(parts, "old")
    _check_typed_responses(parts)
    parts = update.with_update(draft, parts, LEARN)
    if (by := parts[update.UPDATE].by) != update.TYPED:
        for key in (*DELTAS, *(["ppo.update_step"] if "update_step" in draft.settings else [])):
            if key in draft.parts or key == "ppo.update_step":
                raise refusal(
                    key, "a value", f'nothing, since update.by = "{by}" takes steps along the gradient instead'
                )
        return draft.numbers(parts)
    none = {key: np.zeros_like(parts[f"old.{key[-1]}"], dtype=float) for key in DELTAS}
    return draft.numbers(none | parts)


ANSWERS, TYPED_RESPONSES = "text.answers", "rollout.responses"


def _check_typed_responses(parts: dict[str, Any]) -> None:
    """Check that typed responses are made of tokens of the vocabulary, of which the first may only stand last, and not too many."""
    responses, known = parts.get(TYPED_RESPONSES), {each.casefold() for each in parts["text.vocabulary"]}
    if responses is None:
        return
    if len(responses) != (drawn := len(parts["rollout.draws"])):
        raise refusal(TYPED_RESPONSES, f"{len(responses)} responses", f"{drawn}, as rollout.draws has")
    end, most = parts["text.vocabulary"][0].casefold(), parts["sizes.max_new_tokens"]
    for place, row in enumerate(responses, start=1):
        where, words = f"{TYPED_RESPONSES}, row {place}", [word.casefold() for word in row]
        if len(row) > most:
            raise refusal(where, f"{len(row)} tokens", f"at most {most}, as sizes.max_new_tokens says")
        if stray := next((word for word in words if word and word not in known), ""):
            raise refusal(where, stray, "a token of text.vocabulary")
        if end in words[:-1]:
            raise refusal(where, f"{end} and tokens behind it", "it to end the response")


def _check_words(parts: dict[str, Any]) -> None:
    """Check that prompts and answers are made of tokens of the vocabulary; the first one ends a text, and is in no prompt."""
    numbers_file.check_texts(parts)
    numbers_file.check_words({**parts, ANSWERS: [[each] for each in parts[ANSWERS]]}, ANSWERS, unit="item")


def _saved_prompts(file: Any, parts: Values) -> Values:
    """Return prompts and their length, and the numbers of each token of a response, which stand behind its prompt."""
    questions, draws = len(parts["text.answers"]), file.array("rollout.draw", 2)
    most = max(1, int(np.nan_to_num(float(file.array("max_new_tokens.high", 0)))))
    # Of a blank workbook one knows how many columns there are, and takes them for those of prompts of one length.
    longest = max(1, draws.shape[1] - most)
    asked = [tuple(filter(None, row)) or parts["text.vocabulary"][-1:] * longest for row in file.rows("given")]
    found = {
        "sizes.max_new_tokens": most,
        "text.prompts": tuple(asked[:: len(asked) // questions]),
        "rollout.draws": _of_response(draws, asked, most),
        "engine.off": _of_response(file.array("engine.off", 2), asked, most),
        **update.saved_update(file, parts),
    }
    if RESPONSE in file:
        rows = zip(file.rows(RESPONSE), asked, strict=True)
        found[TYPED_RESPONSES] = tuple(_up_to_last(row[len(prompt) - 1 :][:most]) for row, prompt in rows)
    return found


def _up_to_last(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return typed tokens without the blank cells behind the last one."""
    return words[: max((place for place, word in enumerate(words, start=1) if word), default=0)]


def _of_response(rows: Any, asked: list[tuple[str, ...]], most: int) -> Any:
    """Return the numbers that stand behind each prompt."""
    return np.array([row[len(prompt) - 1 :][:most] for row, prompt in zip(rows, asked, strict=True)])


LOWEST_DRAW, HIGHEST_DRAW = 0.01, 0.99


def _laid_out(numbers: Numbers) -> Values:
    """Return prompts and their length, and the numbers of each token of a response, which stand where it is written, (n, t)."""
    asked, most = numbers["text.prompts"], numbers["sizes.max_new_tokens"]
    columns = max(map(len, asked)) + most
    each = [prompt for prompt in asked for _ in range(len(numbers["rollout.draws"]) // len(asked))]
    return {
        **_numbered(numbers),
        "given": padded(each, columns + 1),
        "rollout.draw": _placed(numbers["rollout.draws"], each, columns, 0.5),
        "engine.off": _placed(numbers["engine.off"], each, columns, 0.0),
        "rollout.draw.low": LOWEST_DRAW,
        "rollout.draw.high": HIGHEST_DRAW,
        "max_new_tokens": most,
        "max_new_tokens.low": 1,
        "max_new_tokens.high": most,
        **_typed_responses(numbers, each, columns),
    }


def _typed_responses(numbers: Numbers, prompts: list[tuple[str, ...]], columns: int) -> Values:
    """Return the tokens that are written whatever is drawn, where a file has them, each where it is written."""
    if TYPED_RESPONSES not in numbers.parts:
        return {}
    rows = zip(prompts, numbers[TYPED_RESPONSES], strict=True)
    return {RESPONSE: padded([[""] * (len(prompt) - 1) + list(response) for prompt, response in rows], columns)}


def _placed(rows: Array, prompts: list[tuple[str, ...]], columns: int, otherwise: float) -> Array:
    """Lay a number for each token of a response out where the token is written: behind its prompt."""
    made = np.full((len(rows), columns), otherwise)
    for row, given, prompt in zip(made, rows, prompts, strict=True):
        row[len(prompt) - 1 : len(prompt) - 1 + len(given)] = given
    return made


PROMPTS = Level(
    "grpo",
    "prompts",
    "a small policy writes several responses to each prompt, and rules score them",
    parts=(
        *PRESETS,
        *update.PARTS,
        *update.kept_parts(LEARN),
        Part("sizes.max_new_tokens", Positive, (), "tokens a response may have, the end token included"),
        Part("text.vocabulary", Word, ("token",), "the first token ends a text; tokens differ by more than capitals", noun="token",
             block="vocabulary"),
        Part("text.prompts", Prompt, ("prompt",), "tokens of the vocabulary, blanks between them", noun="prompt"),
        Part("text.answers", Word, ("prompt",), "the right answer to each prompt, a token of the vocabulary", noun="answer",
             block="answer"),
        Part("rollout.draws", Draw, _EACH, "a draw u per token of a response; those to a prompt one after the other"),
        Part(TYPED_RESPONSES, Response, ("response",),
             'tokens that are written whatever the draws say, a response each; draws go on behind them, and for "" in a list',
             None, ["very very sleepy <eos>", ""], noun="response"),
        Part("engine.off", Number, _EACH, "how far the log-prob of the generation engine is from the old policy's"),
        Part("reward.scores", Number, ("response",), "typed scores, which count where reward.from is typed", block="score.typed"),
        Part("reward.greedy", Number, ("prompt",), "the score of the greedy response to each prompt, which ReMax subtracts",
             block="greedy"),
        *(numbers_file.weight(key)._replace(default=None, otherwise="0: the policy is the old one") if key in DELTAS
          else numbers_file.weight(key) for key in WEIGHTS),
    ),
    tables={
        **TABLES, "update": update.ABOUT, "sizes": "how long a response may be", "text": "what is asked, and what is right",
        "rollout": "how the responses come about", "engine": "what writes the tokens", "reward": "scores, and settings",
        **{model: about for model, (about, _) in WEIGHTS_OF.items()},
    },
    settings=GRPO,
    presets=grpo_presets,
    limits={"response": ROWS, "token of the response": (1, LONGEST), "prompt": ROWS, **numbers_file.LIMITS},
    make=_checked_prompts,
    values=update.stated,
    more_typed=_laid_out,
    more_saved=_saved_prompts,
)  # fmt: skip


GIVEN_LOGPROBS = {
    "policy": "the policy in training; without them this is a first step, and 0 stands for each",
    "old": "the policy at the step's start; without them it is the policy in training: a first step",
    "reference": "the reference; without them no KL is paid",
    "engine": "the generation engine, which wrote the tokens; without them nothing corrects the rollout",
}
"""Whose log-probs may be given, and what holds without them."""
LOGPROBS = tuple(f"{name}.logprobs" for name in GIVEN_LOGPROBS)
ENTROPY = "policy.entropy"
PER_TOKEN = (*LOGPROBS, ENTROPY)
ASKS_FOR = {
    "reference.logprobs": tuple(key for key in GIVEN if key.startswith("kl.")),
    "engine.logprobs": tuple(key for key in GIVEN if key.startswith("rollout.")),
    ENTROPY: ("loss.ent_coef", "loss.entropy_least", "loss.entropy_aggregation"),
}
"""By what may be missing the settings that say something only where it is there."""
_TOKENS = ("response", "position")


def without(given: Iterable[str]) -> dict[str, Setting]:
    """Return the settings that say something where only this is given, by key."""
    there = set(given)
    gone = {key for part, keys in ASKS_FOR.items() if part not in there for key in keys}
    return {key: setting for key, setting in GIVEN.items() if key not in gone}


def presets_of(given: Iterable[str]) -> Catalogue:
    """Read the presets, with the settings that say something where only this is given."""
    return replace(grpo_presets(), settings=without(given))


def _checked_rollouts(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, lists differ in length, responses are not as many for each prompt, nothing was
            written, or what is given does not go together.
    """
    parts = compared_by_name(draft.fitted(), grpo_presets())
    responses, prompts = parts["text.responses"], parts["text.prompts"]
    _check_groups(parts, "text.responses")
    if not any(responses):
        raise refusal("text.responses", "no token in any response", "a token in at least one of them")
    _check_together(draft, parts)
    zeros = {"text.truncated": len(responses), "reward.greedy": len(prompts)}
    return draft.numbers({**{key: np.zeros(count) for key, count in zeros.items()}, **parts})


def _check_together(draft: Draft, parts: dict[str, Any]) -> None:
    """Check that no log-probs stand without the policy's, and no setting asks for what is not given."""
    if "policy.logprobs" not in parts and (other := next((key for key in PER_TOKEN if key in parts), "")):
        raise refusal(other, "numbers of each token", "those of policy.logprobs, too, with which they are compared")
    for part, keys in ASKS_FOR.items():
        if part not in parts and (asked := next((key for key in keys if key in draft.settings), "")):
            raise refusal(
                asked, f"{draft.settings[asked]} without {part}", f"no such key, or {part} in the file, which it reads"
            )


def _numbered_rollouts(numbers: Numbers) -> Values:
    """Return the numbers of the responses, and a probability of 1 on every token where nobody gave log-probs."""
    if "policy.logprobs" in numbers.parts:
        return _numbered(numbers)
    sizes = ROLLOUTS.sizes(numbers)
    return _numbered(numbers) | {"policy.logprobs": np.zeros((sizes["response"], sizes["position"]))}


def _unknown(file: Any, parts: Values) -> Values:
    """Take a probability of 1 on every token for log-probs that nobody gave."""
    return {} if any(map(any, parts["policy.logprobs"])) else {"policy.logprobs": None}


ROLLOUTS = Level(
    "grpo",
    "rollouts",
    "responses and scores of one's own are given, with log-probs where there are any",
    parts=(
        *PRESETS,
        Part("text.prompts", About, ("prompt",), "a line for each prompt; the responses to one stand side by side", noun="prompt",
             block="prompt"),
        Part("text.responses", Written, _TOKENS, "a response per row, its tokens; ? for one that is not known", noun="token",
             block="word_written"),
        Part("text.truncated", Flag, ("response",), "1 where the response was cut off before its end; without it, 0", None,
             block="truncated"),
        Part("reward.scores", Number, ("response",), "a number per response", block="score"),
        Part("reward.greedy", Number, ("prompt",), "that of the greedy response, which ReMax subtracts; without it, 0", None,
             block="greedy"),
        *(Part(f"{name}.logprobs", LogProb, _TOKENS, f"of each token, {says}", None, block=f"{name}.logprobs")
          for name, says in GIVEN_LOGPROBS.items()),
        Part(ENTROPY, Number, _TOKENS, "of the policy at each token; without it, nothing is paid for it", None, block=ENTROPY),
    ),
    tables={
        **TABLES, "text": "what was asked and written", "reward": "scores, and settings",
        **{name: f"log-probs: {says.partition(';')[0]}" for name, says in GIVEN_LOGPROBS.items()},
    },
    settings=GIVEN,
    presets=lambda: presets_of(PER_TOKEN),
    limits={"response": ROWS, "position": (0, LONGEST), "prompt": ROWS},
    ragged=("position",),
    make=_checked_rollouts,
    mask="mask",
    more_typed=_numbered_rollouts,
    more_saved=_unknown,
)  # fmt: skip


NOTHING_DONE = {"kl.coef": 0.0, "kl.reach": 1.0, "rollout.mean_eps": 0.0}
"""Numbers that differ from the default, which may be in no formula without a cell of its own."""


def completed(use: Choices) -> Choices:
    """Returns choices with a number or a word for every setting of the kind; those that were not there cannot be chosen."""
    return completed_by(use, GRPO, NOTHING_DONE)
