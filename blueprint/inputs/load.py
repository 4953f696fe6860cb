"""Load a numbers file, with overrides, as fully explicit and checked numbers."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from blueprint.inputs.explain import checked, level_named
from blueprint.inputs.level import Draft
from blueprint.inputs.read import Source, overridden, read
from blueprint.inputs.result import Numbers
from blueprint.inputs.setting import STORED_OFF


def load(
    source: str | PathLike[str] | Source = "default", overrides: Mapping[str, Any] | Sequence[str] = ()
) -> Numbers:
    """Load a built-in set of numbers, or a path ending in .toml, and lay overrides such as `sizes.hidden=6` over it.

    Numbers with more than 15 significant digits are rounded to 15: a spreadsheet stores no more. If an override makes
    parts of a *built-in* set no longer fit, these are drawn from the seed instead; in a user's file nothing is dropped.

    Raises:
        NumbersError: one sentence on the first thing that is wrong with the file or an override.
    """
    found = source if isinstance(source, Source) else read(source)
    drafted = draft(found, overridden(found.raw, overrides))
    return drafted.level.make(drafted)


def draft(found: Source, changed: Sequence[str]) -> Draft:
    """Check merged tables, and take what they give; changed: the keys that overrides have named.

    Raises:
        NumbersError: one sentence on the first thing that is wrong.
    """
    level = level_named(found.raw.get("level"))
    return level.draft(found.name, checked(found.raw, level), changed if found.built_in else None)


def read_as_off(found: Source) -> list[str]:
    """Say of each limit of a file, a line each, that the number which older versions wrote for off is read as off."""
    limits = [key for key, each in level_named(found.raw["level"]).by_dotted_key.items() if each.limit]
    stored = [key for key in limits if value_in(found.raw, key) == STORED_OFF]
    return [f'{key} = {STORED_OFF:.0f} is read as "off", for which older versions wrote it' for key in stored]


def value_in(raw: Mapping[str, Any], key: str) -> Any:
    """Return what stands under a dotted key of a file, None where nothing does."""
    table, dot, name = key.partition(".")
    return raw.get(table, {}).get(name) if dot else raw.get(table)
