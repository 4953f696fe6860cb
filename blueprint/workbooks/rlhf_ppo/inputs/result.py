"""Define what a loaded set of numbers is: everything explicit, nothing left to draw."""

from dataclasses import dataclass
from typing import ClassVar

from blueprint.inputs.result import Array, Ragged, Settings
from blueprint.workbooks.common.conventions.data import PLAIN, Conventions


@dataclass(frozen=True, eq=False)
class WeightNumbers:
    """Hold all numbers of level "weights".

    Attributes:
        vocabulary: the words, the end word first.
        prompts: the words of each episode's prompt.
        draws: u for every column t = 1 … T, (episodes, T), T = longest prompt + max_new_tokens; column t draws the word
            written at t, so episode n's first response word is drawn at t = its number of prompt words.
        ppo: the settings the file gives, and only those; the rest is the preset's.
        weights: by dotted name, such as `old.E`, `policy.delta_Y`, `reward_model.b` (the last a 0-d array).
        responses: words that are written whatever the draws say, for each episode; () where the draws decide everything.
        drawn_anew: the built-in parts that no longer fitted the overrides, and were drawn from the seed instead.
    """

    kind: ClassVar = "rlhf_ppo"

    name: str
    title: str
    about: str
    seed: int
    vocabulary: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    max_new_tokens: int
    draws: Array
    ppo: Settings
    weights: dict[str, Array]
    drawn_anew: tuple[str, ...] = ()
    conventions: Conventions = PLAIN
    responses: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class TokenNumbers:
    """Hold all numbers of level "per-token": a row per episode, an entry per response word."""

    kind: ClassVar = "rlhf_ppo"

    name: str
    title: str
    about: str
    words: tuple[tuple[str, ...], ...]
    logprobs_old: Ragged
    logprobs_ref: Ragged
    values: Ragged
    scores: Ragged
    case_advantages: tuple[float, ...]
    case_ratios: tuple[float, ...]
    ppo: Settings
    drawn_anew: tuple[str, ...] = ()
