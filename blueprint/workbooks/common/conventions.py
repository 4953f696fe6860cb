"""The conventions in which libraries differ: their records, `conventions.toml`, what each library does, `presets.csv`, and what a
page that sets libraries side by side says of a kind of workbook.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blueprint.inputs.catalogue import Catalogue, catalogue, settings_in

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
LIVE, GROUPS, PRESET_DEFAULT = RECORDS
"""Every setting of a workbook whose conventions are live, the titles of their groups, and the settings of the plain build."""

FOLLOWS = MappingProxyType(
    {key: setting.follows.removeprefix("ppo.") for key, setting in LIVE.items() if setting.follows}
)
"""By key the setting that means it, too, where only that one is given: most libraries have one number for both."""


def followed(given: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return settings with those that follow them; what is given itself follows nothing."""
    return {**{key: given[led] for key, led in FOLLOWS.items() if led in given}, **given}


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


Values = Mapping[str, float | str]


@dataclass(frozen=True)
class Change:
    """Conventions that are not as the default's, together; what they are called, and what is to be said of them."""

    title: str
    values: Values
    says: str = ""


@dataclass(frozen=True)
class Comparison:
    """How the libraries of a kind are compared on one batch.

    Attributes:
        title: what is asked.
        introduction: what the table shows.
        columns: by its title the block that holds what is told of each library; the first one's differences are explained.
        over: by level, what gradients are taken over, in words.
        gradients: what is to be known of gradients.
        of_the_batch: settings that make the batch, the same for every library: they are no difference between libraries.
        silent: of a library's settings, the keys that say nothing there.
        parts: of numbers, what is to be laid over them before libraries are set side by side.
        asked: what is asked of numbers so that libraries stand side by side.
        tuned: what users of any library set anew.
        changes, defects: changes of the default, each computed by itself; of a defect its version and place are said.
        sources: how a workbook of a row is built, and which recorded runs its numbers were compared with.
    """

    title: str
    introduction: str
    columns: Mapping[str, str]
    over: Mapping[str, str]
    gradients: str
    of_the_batch: tuple[str, ...] = ()
    silent: Callable[[Values], tuple[str, ...]] = lambda values: ()
    parts: Mapping[str, object] = field(default_factory=dict)
    asked: tuple[str, ...] = ("conventions=live",)
    tuned: str = "γ, λ, clips and coefficients"
    changes: tuple[Change, ...] = ()
    defects: tuple[Change, ...] = ()
    sources: str = ""

    @property
    def main(self) -> str:
        """The title of the number whose differences are explained."""
        return next(iter(self.columns))


def comparison_in(folder: Path, **more: Any) -> Comparison:
    """Reads `comparison.toml` of a folder. more: what is no text, as `silent`."""
    found = tomllib.loads((folder / "comparison.toml").read_text(encoding="utf-8"))
    for name in ("changes", "defects"):
        listed = found.pop(name, ())
        found[name] = tuple(
            Change(each["title"], each["values"], " ".join(each.get("says", "").split())) for each in listed
        )
    if "asked" in found:
        found["asked"] = tuple(found["asked"])
    return Comparison(**found, **more)
