"""Hyperparameters and logged results that a library wrote into the metadata, under neutral names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from blueprint.dumps.batch import MinibatchError
from blueprint.dumps.names import LOGGED, SETTING, Alias, Row, aliases
from blueprint.dumps.unexpressed import beyond, notes, unexpressed
from blueprint.inputs.setting import OFF, says_off
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions.data import LIVE

_WRAPPERS = ("args", "config", "hyperparameters", "params", "train", "trainer")
"""Words in front of a name that say nothing: config.cliprange, train/loss/policy_avg."""


@dataclass(frozen=True)
class Mentioned:
    """What metadata say. settings: by key of a numbers file; logged: by neutral name; unknown: names not understood.

    notes: what was logged and cannot be compared, because no convention expresses how it was computed.
    """

    settings: Mapping[str, float | str]
    logged: Mapping[str, float]
    unknown_settings: tuple[str, ...]
    unknown_logged: tuple[str, ...]
    notes: tuple[str, ...] = ()


def mentioned(metadata: Mapping[str, Any], library: str | None) -> Mentioned:
    """Reads `hyperparameters` and `logged` of the metadata; both may be nested or have dotted names.

    library: the library if known; its names go before those of others.

    Raises:
        MinibatchError: two names that say the same thing differently, or a value that cannot stand for its key.
    """
    said, logs = (dict(_flat(_table(metadata, key))) for key in ("hyperparameters", "logged"))
    settings, unknown_settings = _settings(said, library)
    logged, unknown_logged = _logged(logs, library)
    reasons = unexpressed(said, library)
    kept = {name: value for name, value in logged.items() if name not in reasons}
    return Mentioned(settings, kept, tuple(unknown_settings), tuple(unknown_logged), notes(logged, reasons))


def _table(metadata: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = metadata.get(key) or {}
    if not isinstance(found, dict):
        raise MinibatchError(f"metadata, {key}: found {type(found).__name__}, expected names with values.")
    return found


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yields dotted names and their values; entries of a list are numbered from 0."""
    for key, value in table.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            yield from _flat({str(number): each for number, each in enumerate(value)}, f"{name}.")
        else:
            yield name, value


def _matches(name: str, kind: str, library: str | None) -> list[Alias]:
    """Returns the rows that a name means: names of the file's library first, then the longest that it ends with."""
    bare = name
    for mark in ".", "/":
        first, found, rest = bare.partition(mark)
        bare = rest if found and first in _WRAPPERS else bare
    fitting = [
        alias
        for alias in aliases(kind)
        if alias.spelling in (name, bare) or ("." in alias.spelling and name.endswith("." + alias.spelling))
    ]
    its_own = [alias for alias in fitting if alias.library in (library, None)]
    fitting = its_own or fitting
    longest = max((len(alias.spelling) for alias in fitting), default=0)
    return list({alias.row: alias for alias in fitting if len(alias.spelling) == longest}.values())


def _settings(said: Mapping[str, Any], library: str | None) -> tuple[dict[str, float | str], list[str]]:
    found: dict[str, tuple[int, str, Any]] = {}
    unknown = []
    for name, value in said.items():
        matches = _own(name) + [each for each in _matches(name, SETTING, library) if each.row.name != _key_of(name)]
        unknown += [] if matches or beyond(name, library) else [name]
        for alias in matches:
            if not _holds(alias.row, said):
                continue
            converted = _converted(name, value, alias.row)
            if converted is not None:
                _put(found, alias, name, _checked(alias.row.name, name, converted))
    return {key: value for key, (_, _, value) in found.items()}, unknown


def _own(name: str) -> list[Alias]:
    """Returns the row of a key of a numbers file, which means what it says."""
    key = _key_of(name)
    return (
        [Alias(name, Row(SETTING, key, "", "", {"true": "on", "false": "off", "none": "off"}), None, 1)] if key else []
    )


def _key_of(name: str) -> str | None:
    """Returns the key of a numbers file that a name is: kl_coef is ppo.kl_coef."""
    plain = name.removeprefix("ppo.")
    return (plain if "." in plain else f"ppo.{plain}") if plain in LIVE else None


def _holds(row: Row, said: Mapping[str, Any]) -> bool:
    """Whether a row counts: `if=x` counts only where a setting x is true."""
    needed = row.words.get("if")
    return needed is None or any(name.split(".")[-1] == needed and value is True for name, value in said.items())


def _converted(name: str, value: Any, row: Row) -> float | str | None:
    """Returns a value as a numbers file has it; None where it says nothing."""
    word = {True: "true", False: "false", None: "none"}.get(value) if value is None or isinstance(value, bool) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (
            row.words["number"]
            if "number" in row.words
            else _real(f"hyperparameter {name}", value) * float(row.words.get("times", 1))
        )
    if word is not None:
        return _number_or_word(row.words[word]) if word in row.words else None
    if isinstance(value, str):
        return _number_or_word(row.words.get(value, row.words.get("other", value)))
    raise MinibatchError(f"hyperparameter {unquoted(name)}: found {type(value).__name__}, expected a number or a word.")


def _real(name: str, value: float) -> float:
    """Returns a number as a float; refuses a whole number that is none."""
    try:
        return float(value)
    except OverflowError as error:
        raise MinibatchError(f"{unquoted(name)}: found a huge whole number, expected one below 1e308.") from error


def _number_or_word(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


def _checked(key: str, name: str, value: float | str) -> float | str:
    """Returns a value that may stand for a key of a numbers file.

    Raises:
        MinibatchError: it may not.
    """
    setting = LIVE[key.removeprefix("ppo.")]
    if setting.words:
        if value in setting.words:
            return value
        expected = f"one of {', '.join(setting.words)}"
    else:
        number = OFF if setting.limit and says_off(value) else value
        if isinstance(number, float) and setting.holds(number):
            return number
        expected = f"a number from {setting.low:g} to {'off' if setting.limit else f'{setting.high:g}'}"
    found = unquoted(value) if isinstance(value, str) else f"{value:g}"
    raise MinibatchError(f"hyperparameter {unquoted(name)}: found {found}, expected {expected} ({key}).")


def _put(found: dict[str, tuple[int, str, Any]], alias: Alias, name: str, value: Any) -> None:
    """Keeps a value under its neutral name, unless a stronger name has said it."""
    key = alias.row.name
    before = found.get(key)
    if before is not None and before[0] == alias.strength and before[2] != value:
        raise MinibatchError(
            f"{unquoted(before[1])} = {before[2]} and {unquoted(name)} = {value} both say {key}; keep the one that was used."
        )
    if before is None or before[0] < alias.strength:
        found[key] = (alias.strength, name, value)


def _logged(logs: Mapping[str, Any], library: str | None) -> tuple[dict[str, float], list[str]]:
    found: dict[str, tuple[int, str, Any]] = {}
    unknown = []
    for name, value in logs.items():
        matches = _matches(name, LOGGED, library)
        if not matches:
            unknown.append(name)
        elif not isinstance(value, int | float) or isinstance(value, bool):
            raise MinibatchError(f"logged {unquoted(name)}: found {unquoted(str(value))}, expected a number.")
        else:
            _put(found, matches[0], name, _real(f"logged {name}", value))
    return {key: value for key, (_, _, value) in found.items()}, unknown
