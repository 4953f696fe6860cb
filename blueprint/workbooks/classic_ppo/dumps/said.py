"""Settings and logged numbers of classic PPO that a library wrote into the metadata, under neutral names."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from blueprint.dumps.batch import MinibatchError
from blueprint.inputs.setting import OFF, says_off
from blueprint.quoting import unquoted
from blueprint.workbooks.classic_ppo.dumps.names import LOGGED, SETTING, Row, meant
from blueprint.workbooks.classic_ppo.presets import CLASSIC

CLIP_VALUES = "clip_vloss"
"""CleanRL's switch: the values are clipped by `clip_coef`, like the ratio, or not at all."""


class Said(NamedTuple):
    """Settings by key of a numbers file, logged numbers by neutral name with what the file calls them, and unknown names."""

    settings: dict[str, float | str]
    logged: dict[str, float]
    called: dict[str, str]
    unknown: dict[str, list[str]]


def said_in(metadata: Mapping[str, Any], library: str | None) -> Said:
    """Reads `hyperparameters` and `logged` of the metadata.

    Raises:
        MinibatchError: a value that cannot stand for its key, or two names that say one thing differently.
    """
    settings, unknown_settings = _settings(_table(metadata, "hyperparameters"), library)
    logged, called, unknown_logged = _logged(_table(metadata, "logged"), library)
    return Said(settings, logged, called, {"hyperparameters": unknown_settings, "logged numbers": unknown_logged})


def _table(metadata: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = metadata.get(key) or {}
    if not isinstance(found, dict):
        raise MinibatchError(f"metadata, {key}: found {type(found).__name__}, expected names with values.")
    return found


def _settings(table: Mapping[str, Any], library: str | None) -> tuple[dict[str, float | str], list[str]]:
    found: dict[str, float | str] = {}
    unknown = []
    for name, value in table.items():
        rows = meant(SETTING, name, library)
        key = name.removeprefix("ppo.")
        if key in CLASSIC:
            _put(found, key, _checked(key, name, value), name)
        elif rows:
            _put(found, rows[0][0].name, _converted(rows[0][0], name, value), name)
        elif name != CLIP_VALUES:
            unknown.append(name)
    return _with_clipped_values(found, table), unknown


def _with_clipped_values(found: dict[str, float | str], table: Mapping[str, Any]) -> dict[str, float | str]:
    """Adds what CleanRL's `clip_vloss` says: the values are clipped as far as the ratio, or not."""
    if not isinstance(table.get(CLIP_VALUES), bool):
        return found
    reach = found.get("clip_range", CLASSIC["clip_range"].value) if table[CLIP_VALUES] else OFF
    return {"value_clip_range": reach} | found


def _converted(row: Row, name: str, value: Any) -> float | str:
    word = {True: "true", False: "false", None: "none"}.get(value) if value is None or isinstance(value, bool) else None
    return _checked(row.name, name, row.words.get(word, word) if word is not None else value)


def _checked(key: str, name: str, value: Any) -> float | str:
    """Returns a value that may stand for a key of a numbers file. Raises MinibatchError: it may not."""
    setting = CLASSIC[key]
    if setting.words:
        if value in setting.words:
            return str(value)
        expected = f"one of {', '.join(setting.words)}"
    else:
        number = OFF if setting.limit and says_off(value) else value
        if isinstance(number, int | float) and not isinstance(number, bool) and setting.holds(float(number)):
            return float(number)
        expected = f"a number from {setting.low:g} to {'off' if setting.limit else f'{setting.high:g}'}"
    raise MinibatchError(
        f"hyperparameter {unquoted(name)}: found {unquoted(str(value))}, expected {expected} (ppo.{key})."
    )


def _put(found: dict[str, float | str], key: str, value: float | str, name: str) -> None:
    if found.get(key, value) != value:
        raise MinibatchError(
            f"{unquoted(name)} = {value} and another name that says {found[key]} both say ppo.{key}; keep the one that was used."
        )
    found[key] = value


def _logged(table: Mapping[str, Any], library: str | None) -> tuple[dict[str, float], dict[str, str], list[str]]:
    found: dict[str, float] = {}
    called: dict[str, str] = {}
    unknown = []
    for name, value in table.items():
        rows = meant(LOGGED, name, library)
        if not rows:
            unknown.append(name)
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MinibatchError(f"logged {unquoted(name)}: found {unquoted(str(value))}, expected a number.")
        if len(rows) > 1:
            raise MinibatchError(
                f"logged {unquoted(name)} means {' or '.join(_spelled(*each) for each in rows)} in different libraries; say "
                '"library" in the metadata, or write the neutral name.'
            )
        row, sign = rows[0]
        found[row.name] = float(value) * sign if isfinite(value) else float(value)
        called[row.name] = name
    return found, called, unknown


def _spelled(row: Row, sign: float) -> str:
    return f"{'−' if sign < 0 else ''}{row.name}"
