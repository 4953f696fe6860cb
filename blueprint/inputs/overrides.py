"""Overrides such as `ppo.kl_coef=0.2`, laid over the tables of a numbers file."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from blueprint.inputs.errors import NumbersError, shown
from blueprint.quoting import unquoted


def overridden(raw: dict[str, Any], overrides: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Write overrides such as `ppo.kl_coef=0.2` into the tables `raw`, and return the keys they named.

    A right side that is not a TOML value is taken as a bare string: `ppo.kl_estimator=k2`. Later ones win. In a mapping
    it may be a number, a list or an array, too.

    Raises:
        NumbersError: if there is no `=`, or the key goes through something that is not a table.
    """
    several = [overrides] if isinstance(overrides, str) else overrides
    pairs = several.items() if isinstance(several, Mapping) else map(_pair, several)
    return [
        write_key(raw, key.strip(), _value(each) if isinstance(each, str) else plain(key, each)) for key, each in pairs
    ]


def _pair(override: str) -> tuple[str, str]:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise NumbersError(
            f"override {shown(override)}: expected a key, an equals sign and a value, as in ppo.kl_coef=0.2."
        )
    return key, text


def _value(text: str) -> object:
    try:
        match tomllib.loads(f"value = {text}"):
            case {"value": value, **others} if not others:  # a second line could bring a second key
                return value
    except (ValueError, RecursionError):
        pass
    return text.strip()


def write_key(raw: dict[str, Any], key: str, value: object) -> str:
    """Write a value into the tables `raw`, and return its dotted key.

    Raises:
        NumbersError: if the key goes through something that is not a table.
    """
    *tables, last = key.split(".")
    table: Any = raw
    for depth, name in enumerate(tables, start=1):
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            value_key = unquoted(".".join(tables[:depth]))
            raise NumbersError(f"{unquoted(key)}: {value_key} is one value, not a table; override all of {value_key}.")
    table[last] = value
    return key


def plain(key: str, value: Any) -> Any:
    """Return a value as TOML has it: arrays as lists, numpy's numbers as Python's."""
    match (
        value.tolist() if hasattr(value, "tolist") else value
    ):  # an array of numpy, torch or pandas, or a number of theirs
        case Mapping() as table:
            return {str(name): plain(f"{key}.{name}", each) for name, each in table.items()}
        case list() | tuple() as several:
            return [plain(key, each) for each in several]
        case str() | bool() | int() | float() as one:
            return one
    found = "nothing" if value is None else type(value).__name__
    raise NumbersError(f"{unquoted(key)}: found {found}, expected a number, a word, a list or a table.")
