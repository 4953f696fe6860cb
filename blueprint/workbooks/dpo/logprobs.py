"""Level "pair-logprobs": pairs of one's own, with log-probs of their tokens, or of whole responses, where there are any."""

from typing import TYPE_CHECKING, Any

from blueprint.inputs import LONGEST, Draft, Level, Numbers, Part, refusal
from blueprint.inputs.entries import About, LogProb, Number, Text, Written
from blueprint.workbooks.dpo.offered import BY_RESPONSE, PER, check_asked, presets_of
from blueprint.workbooks.dpo.schema import DPO, RECORDS, SETTINGS

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

SIDES = ("chosen", "rejected")
MODELS = {
    "policy": "the policy in training; without them this is a first step, and 0 stands for each",
    "reference": "the reference; without them this is a first step, and the policy stands there",
}
"""Whose log-probs may be given, and what holds without them."""
NUMBERS = {
    "mismatched": "log-ratio of the policy to the reference on the prompt with another response, which KTO alone reads; else 0",
    "rewards": "true reward of the response, which RPO alone reads; else 0",
}
"""Numbers of each response, and what holds without them."""
LARGEST = (1, 32)
"""The least and the most pairs: both responses of each stand side by side."""


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, lists differ in length, nothing was written, only one side of something is
            given, or a setting reads what is not given.
    """
    parts = draft.fitted()
    if parts["per"] not in PER:
        raise refusal("per", parts["per"], "token or response")
    for table in (*MODELS, *NUMBERS):
        one, other = (f"{table}.{side}" for side in SIDES)
        if (one in parts) != (other in parts):
            raise refusal(table, "numbers of one side of the pairs", f"both {one} and {other}, or neither")
    if "reference.chosen" in parts and "policy.chosen" not in parts:
        raise refusal("reference.chosen", "log-probs", "those of policy.chosen, too, with which they are compared")
    if not any(len(row) for side in SIDES for row in parts[f"text.{side}"]):
        raise refusal("text.chosen", "no token in any response", "a token in at least one of them")
    if parts["per"] == BY_RESPONSE:
        _check_single(parts)
    check_asked(parts, draft.settings)
    return draft.numbers(parts)


def _check_single(parts: dict[str, Any]) -> None:
    """Check that each response has one entry, where a log-prob is that of a whole response."""
    for side in SIDES:
        for place, row in enumerate(parts[f"text.{side}"], start=1):
            if len(row) != 1:
                raise refusal(f"text.{side}, row {place}", f"{len(row)} tokens", 'one text, where per is "response"')


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    mask = file.array("mask", 2)
    found = {"text": _within(file.array("word_written", 2), mask, str)}
    found |= {
        name: _within(file.array(f"{name}.logprobs", 2), mask, float) for name in MODELS if f"{name}.logprobs" in file
    }
    if not any(map(any, found["policy"])):
        del found["policy"]  # a probability of 1 on every token: nobody gave them
    found |= {
        "mismatched": file.array("mismatched.ratio", 1).tolist(),
        "rewards": file.array("true.reward", 1).tolist(),
    }
    parts = {
        f"{table}.{side}": tuple(rows[place::2]) for table, rows in found.items() for place, side in enumerate(SIDES)
    }
    per = PER[0] if "logp.of" in file else BY_RESPONSE
    head = {
        "per": per,
        "preset": file.preset(presets_of(per)),
        "text.prompts": tuple(map(str, file.array("prompt", 1))),
    }
    return Numbers(kind="dpo", level="pair-logprobs", **file.head(), ppo=file.settings(), parts={**head, **parts})


def _within(rows: Any, mask: Any, made: Any) -> tuple[tuple[Any, ...], ...]:
    """Return what stands on the tokens of each response."""
    pairs = zip(rows, mask, strict=True)
    return tuple(
        tuple(made(each) for each, is_token in zip(row, of, strict=True) if is_token == 1) for row, of in pairs
    )


def _of(side: str) -> tuple[str, str]:
    return "pair", f"token of the {side} response"


LEVEL = Level(
    "dpo",
    "pair-logprobs",
    "pairs of one's own are given, with log-probs where there are any",
    parts=(
        Part("preset", Text, (), "the library or paper whose settings are used where none is given", "default"),
        Part("per", Text, (), 'what has a log-prob: each "token", or each "response", as the loss takes it', PER[0]),
        Part("text.prompts", About, ("pair",), "a line for each pair", noun="prompt"),
        *(Part(f"text.{side}", Written, _of(side), f"the {side} response to each prompt, its tokens; ? for one that is not known",
               noun="token") for side in SIDES),
        *(Part(f"{name}.{side}", LogProb, _of(side), f"{side}: {says}", None) for name, says in MODELS.items() for side in SIDES),
        *(Part(f"{name}.{side}", Number, ("pair",), f"{side}: {says}", None) for name, says in NUMBERS.items() for side in SIDES),
    ),
    tables={
        **dict.fromkeys(RECORDS.titles, SETTINGS), "text": "what was asked, chosen and rejected",
        **{name: f"log-probs: {says.partition(';')[0]}" for name, says in MODELS.items()},
        "reference": "log-probs, and settings", **{name: says.partition(",")[0] for name, says in NUMBERS.items()},
    },
    settings=presets_of(PER[0]).settings,
    accepts=DPO,
    of_settings="dpo",
    presets=lambda: presets_of(PER[0]),
    limits={"pair": LARGEST, **{_of(side)[1]: (0, LONGEST) for side in SIDES}},
    ragged=tuple(_of(side)[1] for side in SIDES),
    make=_numbers,
)  # fmt: skip
