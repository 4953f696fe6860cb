"""Level "rollouts": responses and rewards of one's own, with log-probs where there are any; no logits, no model."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import LONGEST, ROWS, Catalogue, Draft, Level, Numbers, Part, Setting, refusal
from blueprint.inputs.entries import About, Flag, LogProb, Number, Written
from blueprint.workbooks.common.side_by_side import compared_by_name, presets_in
from blueprint.workbooks.grpo.schema import GIVEN, PRESETS, TABLES, grpo_presets

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

MODELS = {
    "policy": "the policy in training; without them this is a first step, and 0 stands for each",
    "old": "the policy at the step's start; without them it is the policy in training: a first step",
    "reference": "the reference; without them no KL is paid",
    "engine": "the generation engine, which wrote the tokens; without them nothing corrects the rollout",
}
"""Whose log-probs may be given, and what holds without them."""
LOGPROBS = tuple(f"{name}.logprobs" for name in MODELS)
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


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, lists differ in length, responses are not as many for each prompt, nothing was
            written, or what is given does not go together.
    """
    parts = compared_by_name(draft.fitted(), grpo_presets())
    responses, prompts = parts["text.responses"], parts["text.prompts"]
    if len(responses) % len(prompts):
        raise refusal(
            "text.responses", f"{len(responses)} responses", f"as many for each of the {len(prompts)} prompts"
        )
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
            raise refusal(asked, f"{draft.settings[asked]} without {part}", f"none, or {part}, which it reads")


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    mask = file.array("mask", 2)
    parts: dict[str, Any] = {
        **presets_in(file, grpo_presets()),
        "text.prompts": tuple(map(str, file.array("prompt", 1))),
        "text.responses": _within(file.array("word_written", 2), mask, str),
        "text.truncated": file.array("truncated", 1),
        "reward.scores": file.array("score", 1),
        "reward.greedy": file.array("greedy", 1),
        **{key: _within(file.array(key, 2), mask, float) for key in PER_TOKEN if key in file},
    }
    if not any(map(any, parts["policy.logprobs"])):
        del parts["policy.logprobs"]  # a probability of 1 on every token: nobody gave them
    return Numbers(kind="grpo", level="rollouts", **file.head(), ppo=file.settings(), parts=parts)


def _within(rows: Any, mask: Any, made: Any) -> tuple[tuple[Any, ...], ...]:
    """Return what stands on the tokens of each response."""
    pairs = zip(rows, mask, strict=True)
    return tuple(
        tuple(made(each) for each, is_token in zip(row, of, strict=True) if is_token == 1) for row, of in pairs
    )


LEVEL = Level(
    "grpo",
    "rollouts",
    "responses and scores of one's own are given, with log-probs where there are any",
    parts=(
        *PRESETS,
        Part("text.prompts", About, ("prompt",), "a line for each prompt; the responses to one stand side by side", noun="prompt"),
        Part("text.responses", Written, _TOKENS, "a response per row, its tokens; ? for one that is not known", noun="token"),
        Part("text.truncated", Flag, ("response",), "1 where the response was cut off before its end; without it, 0", None),
        Part("reward.scores", Number, ("response",), "a number per response"),
        Part("reward.greedy", Number, ("prompt",), "that of the greedy response, which ReMax subtracts; without it, 0", None),
        *(Part(f"{name}.logprobs", LogProb, _TOKENS, f"of each token, {says}", None) for name, says in MODELS.items()),
        Part(ENTROPY, Number, _TOKENS, "of the policy at each token; without it, nothing is paid for it", None),
    ),
    tables={
        **TABLES, "text": "what was asked and written", "reward": "scores, and settings",
        **{name: f"log-probs: {says.partition(';')[0]}" for name, says in MODELS.items()},
    },
    settings=GIVEN,
    presets=lambda: presets_of(PER_TOKEN),
    limits={"response": ROWS, "position": (0, LONGEST), "prompt": ROWS},
    ragged=("position",),
    make=_numbers,
)  # fmt: skip
