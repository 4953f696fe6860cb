"""Define what numbers of RLHF PPO are besides what all numbers are: conventions, and what is drawn."""

from dataclasses import dataclass

from blueprint.inputs import Array, Numbers
from blueprint.workbooks.common.conventions.data import PLAIN, Conventions


@dataclass(frozen=True, eq=False, kw_only=True)
class RlhfNumbers(Numbers):
    """Hold numbers of RLHF PPO.

    Attributes:
        conventions: whether they are live, which preset is in use, and which presets stand side by side.
    """

    kind: str = "rlhf_ppo"
    conventions: Conventions = PLAIN

    @property
    def preset(self) -> str | None:
        """The name of the preset in use, where conventions are live."""
        return self.conventions.preset if self.conventions.live else None


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightNumbers(RlhfNumbers):
    """Hold all numbers of level "weights".

    Attributes:
        vocabulary: the words, the end word first.
        prompts: the words of each episode's prompt.
        draws: u for every column t = 1 … T, (episodes, T), T = longest prompt + max_new_tokens; column t draws the word
            written at t, so episode n's first response word is drawn at t = its number of prompt words.
        weights: by dotted name, such as `old.E`, `policy.delta_Y`, `reward_model.b` (the last a 0-d array).
        responses: words that are written whatever the draws say, for each episode; () where the draws decide everything.
    """

    level: str = "weights"
    seed: int
    vocabulary: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    max_new_tokens: int
    draws: Array
    weights: dict[str, Array]
    responses: tuple[tuple[str, ...], ...] = ()
