"""Level "enumerated": a language of a few tokens, and the reward of every response of two of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.inputs import Draft, Level, Numbers, Part, check_vocabulary, settings_in
from blueprint.inputs.entries import Number, Text, Word

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
