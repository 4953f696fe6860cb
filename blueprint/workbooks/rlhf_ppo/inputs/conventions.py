"""Say which conventions hold in a numbers file: the plain build's, or live ones, each a switch."""

from types import MappingProxyType
from typing import Literal

from blueprint.inputs import DEFAULT, Draft, NumbersError, Part, Settings, refusal, shown
from blueprint.inputs.entries import Text
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT, Conventions, followed, rlhf

_GROUPS = dict.fromkeys(("ppo", *(key.partition(".")[0] for key in LIVE if "." in key)))
TABLES = MappingProxyType(dict.fromkeys(_GROUPS, "settings; one that is left out is as in the preset"))
"""The tables of settings, in the order of a file, with what is said of them."""
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


def conventions_of(draft: Draft) -> tuple[Settings, Conventions]:
    """Return the settings that a file gives, and its conventions: live if it asks for any that the plain build lacks.

    Raises:
        NumbersError: if there is no preset of a name, or conventions are said to be plain and are not.
    """
    given, said, preset = draft.settings, draft.parts.get("conventions"), draft.parts.get("preset")
    listed = draft.parts["compare"]
    compare = [name.strip() for name in (listed.split(",") if isinstance(listed, str) else listed) if name.strip()]
    for name in (preset or DEFAULT, *compare):
        rlhf().preset(name)
    asked = preset is not None or bool(compare) or not all(_is_plain(key, value) for key, value in given.items())
    if asked and said == "plain":
        raise NumbersError(
            "conventions: found plain, but a preset or convention is asked for, which only live ones have."
        )
    live = said == "live" or asked
    return followed(given) if live else given, Conventions(live, preset or DEFAULT, tuple(compare))


def check_plain(given: Settings) -> None:
    """Check settings at a level that has no live conventions.

    Raises:
        NumbersError: for one that the plain build does not know.
    """
    for key, value in given.items():
        if not _is_plain(key, value):
            setting = PRESET_DEFAULT[key]
            allowed = " or ".join(map(shown, setting.words)) or f"a number from {setting.low:g} to {setting.high:g}"
            raise refusal(f"ppo.{key}", shown(value), f"{allowed} (live conventions need logits or weights)")


def _is_plain(key: str, value: float | str) -> bool:
    """Tell whether the plain build knows a setting, and may hold this value."""
    if key not in PRESET_DEFAULT:
        return False
    setting = PRESET_DEFAULT[key]
    return value in setting.words if setting.words else setting.low <= float(value) <= setting.high


def values_of(said: Conventions) -> dict[str, object]:
    """Return what a file says where conventions are live; nothing where they are not."""
    if not said.live:
        return {}
    return {"preset": said.preset, "conventions": "live"} | ({"compare": said.compare} if said.compare else {})
