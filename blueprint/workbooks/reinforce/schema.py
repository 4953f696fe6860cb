"""Level "bandit": a policy over a few tokens, each with its reward, and the uniform draws by which it is sampled."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.inputs import LONGEST, Draft, Level, Numbers, Part, check_vocabulary, settings_in
from blueprint.inputs.entries import Draw, Number, Text, Word

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

REINFORCE = settings_in(Path(__file__).parent).settings
TYPED = {
    "text.vocabulary": "vocabulary", "policy.logits": "policy.logits", "policy.direction": "moved.direction",
    "policy.steps": "moved.step", "reward.scores": "reward.scores", "draws.uniform": "draws.uniform",
}  # fmt: skip
"""By key in a numbers file the block in which it is typed."""


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts: dict[str, Any] = {key: file.array(name) for key, name in TYPED.items()}
    parts["text.vocabulary"] = tuple(map(str, parts["text.vocabulary"]))
    parts["text.prompt"] = str(file.array("prompt", 0)[()])
    return Numbers(kind="reinforce", level="bandit", **file.head(), ppo=file.settings(), parts=parts)


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file. Raises NumbersError if two tokens are one."""
    parts = draft.fitted()
    check_vocabulary(parts["text.vocabulary"])
    return draft.numbers(parts)


LEVEL = Level(
    "reinforce",
    "bandit",
    "a policy over a few tokens, the reward of each, and uniform draws",
    parts=(
        Part("text.prompt", Text, (), "what is asked; the response is one token"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("policy.logits", Number, ("token",), "a logit per token: the policy is their soft-max"),
        Part("policy.direction", Number, ("token",), "where training takes the logits: what one step adds to each"),
        Part("policy.steps", Number, ("step",), "how many such steps other policies are away; 0 is the policy itself"),
        Part("reward.scores", Number, ("token",), "the reward of each token, whenever it is drawn"),
        Part("draws.uniform", Draw, ("draw",), "a number from 0.01 to 0.99 per draw"),
    ),
    tables={
        "reinforce": "settings; one that is left out is as in the preset",
        "text": "what was asked, and the tokens that may be the answer",
        "policy": "the policy that draws, and where others stand", "reward": "a number per token", "draws": "chance, typed",
    },
    settings=REINFORCE,
    of_settings="reinforce",
    limits={"token": (2, 16), "step": (1, 32), "draw": (2, LONGEST)},
    make=_numbers,
)  # fmt: skip
