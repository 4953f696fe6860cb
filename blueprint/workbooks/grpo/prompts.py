"""Level "prompts": a small policy writes several responses to each prompt, and rules score them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import LONGEST, ROWS, Draft, Level, Numbers, Part, refusal
from blueprint.inputs.entries import Draw, Number, Positive, Prompt, Word
from blueprint.workbooks.common import weights
from blueprint.workbooks.common.rollout import block_name
from blueprint.workbooks.common.side_by_side import compared_by_name, presets_in
from blueprint.workbooks.grpo.schema import GRPO, PRESETS, TABLES, grpo_presets

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

FOLDER = Path(__file__).parent
MODELS = {
    "old": ("the policy that wrote the responses", ("E", "W", "Y")),
    "reference": ("the frozen policy from which drifting costs", ("E", "W", "Y")),
    "policy": ("policy = old + update_step · delta", ("delta_E", "delta_W", "delta_Y")),
    "reward_model": ("reads the whole text and scores it at its last token", ("E", "W", "w", "b")),
}
WEIGHTS = weights.keys_of(MODELS)
"""All weights by their keys in a numbers file."""
_EACH = ("response", "token of the response")


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or the responses are not as many
            for each prompt.
    """
    parts = compared_by_name(draft.fitted(), grpo_presets())
    _check_words(parts)
    responses, prompts = len(parts["rollout.draws"]), len(parts["text.prompts"])
    if responses % prompts:
        raise refusal("rollout.draws", f"{responses} responses", f"as many for each of the {prompts} prompts")
    most, columns = parts["sizes.max_new_tokens"], np.shape(parts["rollout.draws"])[1]
    if columns != most:
        raise refusal("rollout.draws", f"{columns} draws in a row", f"{most}, as sizes.max_new_tokens says")
    weights.check_inputs(parts, "old")
    return draft.numbers(parts)


def _check_words(parts: dict[str, Any]) -> None:
    """Check that prompts and answers are made of tokens of the vocabulary; the first one ends a text, and is in no prompt."""
    weights.check_texts(parts)
    known = [each.casefold() for each in parts["text.vocabulary"]]
    for place, answer in enumerate(parts["text.answers"], start=1):
        if answer.casefold() not in known:
            raise refusal(f"text.answers, item {place}", answer, "a token of text.vocabulary")


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    vocabulary, questions = tuple(map(str, file.array("vocabulary"))), len(file.array("answer", 1))
    draws = file.array("rollout.draw", 2)
    most = max(1, int(np.nan_to_num(float(file.array("max_new_tokens.high", 0)))))
    # Of a blank workbook one knows how many columns there are, and takes them for those of prompts of one length.
    longest = max(1, draws.shape[1] - most)
    asked = [tuple(filter(None, row)) or (vocabulary[-1],) * longest for row in file.rows("given")]
    each = len(asked) // questions
    parts: dict[str, Any] = {
        **presets_in(file, grpo_presets()),
        "sizes.max_new_tokens": most,
        "text.vocabulary": vocabulary,
        "text.prompts": tuple(asked[::each]),
        "text.answers": tuple(map(str, file.array("answer", 1))),
        "rollout.draws": _of_response(draws, asked, most),
        "engine.off": _of_response(file.array("engine.off", 2), asked, most),
        "reward.scores": file.array("score.typed", 1),
        "reward.greedy": file.array("greedy", 1),
        **{name: file.array(block_name(name)) for name in WEIGHTS},
    }
    return Numbers(kind="grpo", level="prompts", **file.head(), ppo=file.settings(), parts=parts)


def _of_response(rows: Any, asked: list[tuple[str, ...]], most: int) -> Any:
    """Return the numbers that stand behind each prompt."""
    return np.array([row[len(prompt) - 1 :][:most] for row, prompt in zip(rows, asked, strict=True)])


LEVEL = Level(
    "grpo",
    "prompts",
    "a small policy writes several responses to each prompt, and rules score them",
    parts=(
        *PRESETS,
        Part("sizes.max_new_tokens", Positive, (), "tokens a response may have, the end token included"),
        Part("text.vocabulary", Word, ("token",), "the first token ends a text; tokens differ by more than capitals", noun="token"),
        Part("text.prompts", Prompt, ("prompt",), "tokens of the vocabulary, blanks between them", noun="prompt"),
        Part("text.answers", Word, ("prompt",), "the right answer to each prompt, a token of the vocabulary", noun="answer"),
        Part("rollout.draws", Draw, _EACH, "a draw u per token of a response; those to a prompt one after the other"),
        Part("engine.off", Number, _EACH, "how far the log-prob of the generation engine is from the old policy's"),
        Part("reward.scores", Number, ("response",), "typed scores, which count where reward.from is typed"),
        Part("reward.greedy", Number, ("prompt",), "the score of the greedy response to each prompt, which ReMax subtracts"),
        *map(weights.weight, WEIGHTS),
    ),
    tables={
        **TABLES, "sizes": "how long a response may be", "text": "what is asked, and what is right",
        "rollout": "how the responses come about", "engine": "what writes the tokens", "reward": "scores, and settings",
        **{model: about for model, (about, _) in MODELS.items()},
    },
    settings=GRPO,
    presets=grpo_presets,
    limits={"response": ROWS, "token of the response": (1, LONGEST), "prompt": ROWS, **weights.LIMITS},
    make=_numbers,
)  # fmt: skip
