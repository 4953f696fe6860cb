"""What a file of a minibatch has, and therefore where its computation begins and which parts its loss has."""

from typing import NamedTuple

from blueprint.witness import File, WitnessError

BEGINNINGS = ("score.given", "score.placed", "rewards", "advantages_used")
"""Rows in which a computation begins. The first that a file has is typed; those behind it follow from it."""

ROWS = ("old.logprobs", "policy.logprobs", "reference.logprobs")
RESPONSES = (
    "response.ended", "response.padded", "policy.weight.length", "value.weight.length",
    "after.words", "after.ahead", "after.advantages",
)  # fmt: skip
WHOLE = (
    "reward.mean", "reward.variance", "advantage.mean", "advantage.variance", "response.most", "loss.mean_ratio",
    "policy.words", "policy.responses", "value.words", "value.responses",
    "rest.policy", "rest.value", "rest.entropy", "rest.kl",
)  # fmt: skip
"""What every file types: rows of words, numbers of responses, numbers of the whole batch."""


class Kind(NamedTuple):
    """What a file has.

    begins: the row in which it begins. advantages: whether they follow from rewards and values. kept: whether old values
    are looked at. value_loss, entropy: parts of the loss. logged: what a library logged, in the order of the file.
    """

    begins: str
    advantages: bool
    kept: bool
    value_loss: bool
    entropy: bool
    logged: tuple[str, ...]

    @property
    def typed(self) -> tuple[str, ...]:
        """The names of what is typed, apart from settings, mask and slots."""
        optional = {
            "returns": self.kept and not self.advantages,
            "old_critic.values": self.kept,
            "critic.values": self.value_loss,
            "policy.entropy": self.entropy,
        }
        return (*ROWS, *RESPONSES, *WHOLE, self.begins, *(name for name, has in optional.items() if has))


def kind_of(file: File) -> Kind:
    """Returns what a file has. Raises WitnessError for one without scores, rewards and advantages."""
    begins = next((name for name in BEGINNINGS if name in file), None)
    if begins is None:
        raise WitnessError(f"the file has none of {', '.join(BEGINNINGS)}, in one of which a minibatch begins")
    advantages = begins != "advantages_used"
    kept = "old_critic.values" in file and (advantages or "returns" in file)
    logged = tuple(name.removeprefix("logged.") for name in file if name.startswith("logged."))
    return Kind(begins, advantages, kept, kept and "critic.values" in file, "policy.entropy" in file, logged)
