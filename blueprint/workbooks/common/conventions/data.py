"""The conventions in which libraries differ: their records, `conventions.toml`, and what each library does, `presets.csv`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from blueprint.inputs.catalogue import Catalogue, catalogue, settings_in

FOLDER = Path(__file__).parents[1]
RECORDS = settings_in(FOLDER)
LIVE, GROUPS, PRESET_DEFAULT = RECORDS
"""Every setting of a workbook whose conventions are live, the titles of their groups, and the settings of the plain build."""

FOLLOWS = MappingProxyType(
    {key: setting.follows.removeprefix("ppo.") for key, setting in LIVE.items() if setting.follows}
)
"""By key the setting that means it, too, where only that one is given: most libraries have one number for both."""


def followed(given: Mapping[str, float | str], but: Collection[str] = ()) -> dict[str, float | str]:
    """Return settings with those that follow them; what is given itself, or is named in `but`, follows nothing."""
    return {**{key: given[led] for key, led in FOLLOWS.items() if led in given and key not in but}, **given}


RESPONSE = MappingProxyType({"mask": (1, "1 for a token of the response or 0 for any other")})
"""What may stand in a typed mask (`Kind.whole`)."""


@cache
def rlhf() -> Catalogue:
    """Read the presets of RLHF PPO: the default and ten libraries."""
    return catalogue(FOLDER, RECORDS)


@dataclass(frozen=True)
class Conventions:
    """Say whether conventions are live, which preset is in use, and which presets stand side by side."""

    live: bool = False
    preset: str = "default"
    compare: tuple[str, ...] = ()


PLAIN = Conventions()
