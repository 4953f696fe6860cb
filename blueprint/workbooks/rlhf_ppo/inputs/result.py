"""Define what numbers of RLHF PPO are besides what all numbers are: conventions, plain or live ones, and what is drawn."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from blueprint.inputs import DEFAULT, Array, Draft, Numbers, NumbersError, Part, Settings, refusal, shown
from blueprint.inputs.entries import Text
from blueprint.workbooks.common.conventions.data import LIVE, PLAIN, PRESET_DEFAULT, Conventions, followed, rlhf
from blueprint.workbooks.common.epochs import Update as Steps

_GROUPS = dict.fromkeys(("ppo", *(key.partition(".")[0] for key in LIVE if "." in key)))
TABLES = MappingProxyType(dict.fromkeys(_GROUPS, "settings; one that is left out is as in the preset"))
"""The tables of settings, in the order of a file, with what describes them."""
PARTS = (
    Part("preset", Text, (), "what a library does, for every setting that is left out", None, "verl"),
    Part(
        "conventions", Literal["plain", "live"], (), "live: every convention is a switch", None, "live",
        "a preset or convention is asked for",
    ),
    Part(
        "compare", tuple[str, ...] | str, (), "the presets that stand side by side; else all", (), ["trl_1.12", "verl"]
    ),
)  # fmt: skip
BATCH, MINIBATCH = "batch", "minibatch"
"""Words for what advantages are whitened over."""


@dataclass(frozen=True)
class Update(Steps):
    """Hold how the new weights come about.

    Attributes:
        minibatches: steps of an epoch, each on as many responses.
        order: for each epoch the numbers of the responses in the order in which they are taken; of one minibatch, none.
        whiten: whether advantages are whitened over the whole batch, or over each minibatch anew.
    """

    minibatches: int = 1
    order: tuple[tuple[int, ...], ...] = ()
    whiten: str = BATCH

    @property
    def facts(self) -> dict[str, str]:
        """What a file says of it among its properties."""
        taken = {"minibatches": str(self.minibatches), "whiten": self.whiten} if self.order else {}
        return {**super().facts, **taken}


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
        update: how the new weights come about.
        responses: words that are written whatever the draws say, for each episode; () where the draws decide everything.
    """

    level: str = "weights"
    seed: int
    vocabulary: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    max_new_tokens: int
    draws: Array
    weights: dict[str, Array]
    update: Update = Update()
    responses: tuple[tuple[str, ...], ...] = ()


def conventions_of(draft: Draft) -> tuple[Settings, Conventions]:
    """Return the settings that a file gives, and its conventions: live if it asks for any that the plain build lacks.

    Raises:
        NumbersError: if there is no preset of a name, or conventions are stated to be plain and are not.
    """
    settings, stated, preset = draft.settings, draft.parts.get("conventions"), draft.parts.get("preset")
    listed = draft.parts["compare"]
    compare = [name.strip() for name in (listed.split(",") if isinstance(listed, str) else listed) if name.strip()]
    for name in (preset or DEFAULT, *compare):
        rlhf().preset(name)
    needs_live = (
        preset is not None or bool(compare) or not all(_is_plain(key, value) for key, value in settings.items())
    )
    if needs_live and stated == "plain":
        raise NumbersError(
            "conventions: found plain, but a preset or convention is asked for, which only live ones have."
        )
    live = stated == "live" or needs_live
    return followed(settings) if live else settings, Conventions(live, preset or DEFAULT, tuple(compare))


def check_plain(settings: Settings) -> None:
    """Check settings at a level that has no live conventions.

    Raises:
        NumbersError: for one that the plain build does not know.
    """
    for key, value in settings.items():
        if not _is_plain(key, value):
            setting = PRESET_DEFAULT[key]
            allowed = " or ".join(map(shown, setting.words)) or f"a number from {setting.low:g} to {setting.high:g}"
            raise refusal(f"ppo.{key}", shown(value), f"{allowed} (live conventions need logits or weights)")


def _is_plain(key: str, value: float | str) -> bool:
    """Tell whether the plain build knows a setting, and may hold this value."""
    setting = PRESET_DEFAULT.get(key)
    return setting is not None and (value in setting.words if setting.words else setting.holds(float(value)))


def values_of(conventions: Conventions) -> dict[str, object]:
    """Return what a file states of live conventions; nothing where they are not live."""
    if not conventions.live:
        return {}
    compare = {"compare": conventions.compare} if conventions.compare else {}
    return {"preset": conventions.preset, "conventions": "live", **compare}
