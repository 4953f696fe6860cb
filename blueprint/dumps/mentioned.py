"""Hyperparameters and logged results that a library wrote into the metadata, under neutral names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from blueprint.dumps.formats import MinibatchError
from blueprint.dumps.names import LOGGED, NAMES, SETTING, Alias, Names, Row
from blueprint.dumps.unexpressed import beyond, notes, unexpressed
from blueprint.inputs.setting import OFF, Setting, says_off
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions.data import LIVE

_WRAPPERS = ("args", "config", "hyperparameters", "params", "train", "trainer")
"""Words in front of a name that say nothing: config.cliprange, train/loss/policy_avg."""
_OWN_WORDS = {"true": "on", "false": "off", "none": "off"}
"""What may stand for a key of a numbers file, which means what it says."""


@dataclass(frozen=True)
class Mentioned:
    """What metadata say. settings: by key of a numbers file; logged: by neutral name; unknown: names not understood.

    called: by neutral name of a logged number, what the file calls it.

    notes: what was logged and cannot be compared, because no convention expresses how it was computed.
    """

    settings: Mapping[str, float | str]
    logged: Mapping[str, float]
    unknown_settings: tuple[str, ...]
    unknown_logged: tuple[str, ...]
    called: Mapping[str, str]
    notes: tuple[str, ...] = ()


def mentioned(
    metadata: Mapping[str, Any], library: str | None, names: Names = NAMES, known: Mapping[str, Setting] = LIVE
) -> Mentioned:
    """Reads `hyperparameters` and `logged` of the metadata; both may be nested or have dotted names.

    library: the library if known; its names go before those of others. known: by key, the settings that there are.

    Raises:
        MinibatchError: two names that say the same thing differently, one that means different things in different libraries,
            or a value that cannot stand for its key.
    """
    said, logs = (dict(_flat(_table(metadata, key))) for key in ("hyperparameters", "logged"))
    settings, unknown_settings = _Reading(names, known, library).settings(said)
    logged, unknown_logged = _Reading(names, known, library).logged(logs)
    reasons = unexpressed(said, library, names)
    kept = {name: each.value for name, each in logged.items() if name not in reasons}
    return Mentioned(
        {key: each.value for key, each in settings.items()},
        kept,
        tuple(unknown_settings),
        tuple(unknown_logged),
        {name: each.name for name, each in logged.items()},
        notes(logged, reasons),
    )


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


class _Found(NamedTuple):
    """A value, what the file calls it, and how strong that name is."""

    strength: int
    name: str
    value: Any


class _Reading:
    """Reads what a file of a library says by a table of names, for the settings that are known."""

    def __init__(self, names: Names, known: Mapping[str, Setting], library: str | None) -> None:
        self.names, self.known, self.library = names, known, library

    def matches(self, name: str, kind: str) -> list[Alias]:
        """Returns the rows that a name means: names of the file's library first, then the longest that it ends with."""
        bare = name
        for mark in ".", "/":
            first, found, rest = bare.partition(mark)
            bare = rest if found and first in _WRAPPERS else bare
        fitting = [
            alias
            for alias in self.names.aliases(kind)
            if alias.spelling in (name, bare) or ("." in alias.spelling and name.endswith("." + alias.spelling))
        ]
        its_own = [alias for alias in fitting if alias.library in (self.library, None)]
        fitting = its_own or fitting
        longest = max((len(alias.spelling) for alias in fitting), default=0)
        return list({(alias.row, alias.sign): alias for alias in fitting if len(alias.spelling) == longest}.values())

    def settings(self, said: Mapping[str, Any]) -> tuple[dict[str, _Found], list[str]]:
        """Returns settings by key of a numbers file, and the names that are not understood."""
        found: dict[str, _Found] = {}
        unknown = []
        for name, value in said.items():
            key = self.key_of(name)
            matches = [Alias(name, Row(SETTING, key, "", "", _OWN_WORDS), None)] if key else []
            matches += [each for each in self.matches(name, SETTING) if each.row.name != key]
            unknown += [] if matches or beyond(name, self.library, self.names) else [name]
            for alias in matches:
                converted = _converted(name, value, alias.row) if _holds(alias.row, said) else None
                if converted is not None:
                    _put(found, alias, name, self.checked(alias.row.name, name, converted))
        return found, unknown

    def logged(self, logs: Mapping[str, Any]) -> tuple[dict[str, _Found], list[str]]:
        """Returns logged numbers by neutral name, and the names that are not understood."""
        found: dict[str, _Found] = {}
        unknown = []
        for name, value in logs.items():
            matches = self.matches(name, LOGGED)
            if not matches:
                unknown.append(name)
                continue
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise MinibatchError(f"logged {unquoted(name)}: found {unquoted(str(value))}, expected a number.")
            if len(matches) > 1:
                meanings = " or ".join(f"{'−' * (each.sign < 0)}{each.row.name}" for each in matches)
                raise MinibatchError(
                    f"logged {unquoted(name)} means {meanings} in different libraries; say "
                    '"library" in the metadata, or write the neutral name.'
                )
            _put(found, matches[0], name, matches[0].sign * _real(f"logged {name}", value))
        return found, unknown

    def key_of(self, name: str) -> str | None:
        """Returns the key of a numbers file that a name is: kl_coef is ppo.kl_coef."""
        plain = name.removeprefix("ppo.")
        return (plain if "." in plain else f"ppo.{plain}") if plain in self.known else None

    def checked(self, key: str, name: str, value: float | str) -> float | str:
        """Returns a value that may stand for a key of a numbers file.

        Raises:
            MinibatchError: it may not.
        """
        setting = self.known[key.removeprefix("ppo.")]
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


def _put(found: dict[str, _Found], alias: Alias, name: str, value: Any) -> None:
    """Keeps a value under its neutral name, unless a stronger name has said it."""
    key = alias.row.name
    before = found.get(key)
    if before is not None and before.strength == alias.strength and before.value != value:
        raise MinibatchError(
            f"{unquoted(before.name)} = {before.value} and {unquoted(name)} = {value} both say {key}; keep the one that was used."
        )
    if before is None or before.strength < alias.strength:
        found[key] = _Found(alias.strength, name, value)
