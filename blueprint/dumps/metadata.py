"""Hyperparameters and logged results that a library wrote into the metadata, under neutral names."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from blueprint.dumps.formats import MinibatchError, require
from blueprint.dumps.recognise import LOGGED, NAMES, SETTING, Alias, Names, Row
from blueprint.inputs.catalogue import OFF, Setting, dotted, says_off
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions import LIVE

LARGEST = 1e308
"""Whole numbers beyond it are no float."""
_NUMBERS_FILE_WORDS = {"true": "on", "false": "off", "none": "off"}
"""What may stand for a key of a numbers file."""


@dataclass(frozen=True)
class Mentioned:
    """What metadata say. settings: by key of a numbers file; logged: by neutral name; unknown: names not understood.

    called: by neutral name of a logged number, its name in the file. notes: what was logged and cannot be compared,
    because no convention expresses how it was computed.
    """

    settings: Mapping[str, float | str]
    logged: Mapping[str, float]
    unknown_settings: tuple[str, ...]
    unknown_logged: tuple[str, ...]
    called: Mapping[str, str]
    notes: tuple[str, ...] = ()


def mentioned(
    metadata: Mapping[str, Any],
    library: str | None,
    names: Names = NAMES,
    known: Mapping[str, Setting] = LIVE,
    table: str = "ppo",
) -> Mentioned:
    """Reads `hyperparameters` and `logged` of the metadata; both may be nested or have dotted names.

    library: the library if known; its names go before those of others. known: by key, the settings that there are; table: that of a
        numbers file in which those stand whose key has no dot.
    Raises MinibatchError for two names that say the same thing differently, one that means different things in different
    libraries, or a value that cannot stand for its key.
    """
    hyperparameters, logs = (dict(_flat(_table(metadata, key))) for key in ("hyperparameters", "logged"))
    settings, logged = _Reading(names, library, table), _Reading(names, library, table)
    settings.read_settings(hyperparameters, known)
    logged.read_logged(logs)
    reasons = _unexpressed(hyperparameters, library, names)
    unexpressed = {name: reasons[name] for name in logged.found if name in reasons}
    return Mentioned(
        {key: each.value for key, each in settings.found.items()},
        {name: each.value for name, each in logged.found.items() if name not in unexpressed},
        tuple(settings.unknown),
        tuple(logged.unknown),
        {name: each.name for name, each in logged.found.items()},
        tuple(
            f"not compared: {', '.join(name for name in unexpressed if unexpressed[name] == reason)}; no convention says {reason}"
            for reason in dict.fromkeys(unexpressed.values())
        ),
    )


def without_effect(
    metadata: Mapping[str, Any],
    settings: Mapping[str, float | str],
    library: str | None,
    names: Names,
    notes: Collection[str],
) -> tuple[str, ...]:
    """Returns the hyperparameters of which no setting came under their own names: they are read otherwise, or do nothing here.

    settings: by key of a numbers file, what came of the hyperparameters. notes: those that are not understood stand there.
    """
    made = {key.removeprefix("ppo.") for key in settings}
    found = list[str]()
    for name, value in _flat(_table(metadata, "hyperparameters"), lists=False):
        spelled = [name, *(f"{name}.{at}" for at in range(len(value)))] if isinstance(value, list) else [name]
        keys = {each.row.name.removeprefix("ppo.") for one in spelled for each in names.matching(one, SETTING, library)}
        if not (keys | {name.removeprefix("ppo.")}) & made and not any(name in note for note in notes):
            found.append(f"{name} = {value}")
    return tuple(found)


def _table(metadata: Mapping[str, Any], key: str) -> dict[str, Any]:
    found: dict[str, Any] = metadata.get(key) or {}
    require(isinstance(found, dict), f"metadata, {key}: found {type(found).__name__}, expected names with values.")
    return found


def _flat(table: Any, before: str = "", lists: bool = True) -> Iterator[tuple[str, Any]]:
    """Yields dotted names and their values; entries of lists are numbered from 0, or lists are values as they are."""
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        if isinstance(value, dict) or (lists and isinstance(value, list | tuple)):
            yield from _flat(value, f"{before}{key}.", lists)
        else:
            yield f"{before}{key}", value


class _Found(NamedTuple):
    """A value, what the file calls it, and how strong that name is."""

    strength: int
    name: str
    value: Any


class _Reading:
    """What a file of a library says, read by a table of names: by neutral name, and the names that are not understood."""

    def __init__(self, names: Names, library: str | None, table: str) -> None:
        self.names, self.library, self.table = names, library, table
        self.found: dict[str, _Found] = {}
        self.unknown: list[str] = []

    def read_settings(self, hyperparameters: Mapping[str, Any], known: Mapping[str, Setting]) -> None:
        """Reads settings by key of a numbers file: kl_coef is ppo.kl_coef, and of DPO beta is dpo.beta."""
        for name, value in hyperparameters.items():
            plain = name.removeprefix(f"{self.table}.").removeprefix("ppo.")
            own = known[plain].words if plain in known else ()
            words = {word: means for word, means in _NUMBERS_FILE_WORDS.items() if word not in own}
            matches = [Alias(name, Row(SETTING, dotted(plain), "", "", words), None)] if plain in known else []
            matches += [
                each for each in self.names.matching(name, SETTING, self.library) if each.row.name != dotted(plain)
            ]
            self.unknown += [] if matches or self.names.beyond(name, self.library) else [name]
            for alias in matches:
                converted = _converted(name, value, alias.row) if _applies(alias.row, hyperparameters) else None
                if converted is not None:
                    self._put(alias, name, _checked(known, alias.row, (name, value), converted, self.table))

    def read_logged(self, logs: Mapping[str, Any]) -> None:
        """Reads logged numbers."""
        for name, value in logs.items():
            matches = self.names.matching(name, LOGGED, self.library)
            if not matches:
                self.unknown.append(name)
                continue
            found = f'"{unquoted(value)}" in quotes' if _is_quoted(value) else unquoted(str(value))
            require(
                isinstance(value, int | float) and not isinstance(value, bool),
                f"logged {unquoted(name)}: found {found}, expected a number.",
            )
            meanings = " or ".join(f"{'−' * (each.sign < 0)}{each.row.name}" for each in matches)
            require(
                len(matches) == 1,
                f"logged {unquoted(name)} means {meanings} in different libraries; say "
                '"library" in the metadata, or write the neutral name.',
            )
            self._put(matches[0], name, matches[0].sign * _real(f"logged {name}", value))

    def _put(self, alias: Alias, name: str, value: Any) -> None:
        """Keeps a value under its neutral name, unless a stronger name has said it."""
        key = alias.row.name
        before = self.found.get(key)
        if before is None or before.strength < alias.strength:
            self.found[key] = _Found(alias.strength, name, value)
        elif before.strength == alias.strength and before.value != value:
            raise MinibatchError(
                f"{unquoted(before.name)} = {before.value} and {unquoted(name)} = {value} both say {key}; "
                "keep the one that was used."
            )


def _checked(
    known: Mapping[str, Setting], row: Row, said: tuple[str, Any], value: float | str, table: str
) -> float | str:
    """Returns a value that may stand for a key of a numbers file; said: what the file has, a name and a value.

    Raises MinibatchError if it may not.
    """
    name, found = said
    plain = row.name.removeprefix("ppo.")
    setting, written = known[plain], plain if "." in plain else f"{table}.{plain}"
    expected = f"one of {', '.join(_words(setting, row, name))}"
    if not setting.words:
        value = OFF if setting.limit and says_off(value) else value
        expected = f"a number from {setting.low:g} to {'off' if setting.limit else f'{setting.high:g}'}"
    if value in setting.words or (not setting.words and isinstance(value, float) and setting.holds(value)):
        return value
    raise MinibatchError(
        f"hyperparameter {unquoted(name)}: found {unquoted(_text(found))}, expected {expected} ({written})."
    )


def _words(setting: Setting, row: Row, name: str) -> Iterator[str]:
    """Yields the words that a file may say under a name: under that of a library its own ones, where the table tells them."""
    own = {word: means for word, means in row.words.items() if means in setting.words}
    own = {} if dotted(name) == row.name or "." in name else own
    yield from own
    yield from (word for word in setting.words if word not in own.values())


def _is_quoted(value: Any) -> bool:
    """Whether it is a number that was written as a text."""
    return isinstance(value, str) and value.strip().replace(".", "", 1).lstrip("+-").isdecimal()


def _applies(row: Row, hyperparameters: Mapping[str, Any]) -> bool:
    """Whether a row counts: `if=x` counts only where a setting x is there and neither 0, false nor none."""
    return "if" not in row.words or any(
        value and name.rpartition(".")[2] == row.words["if"] for name, value in hyperparameters.items()
    )


def _converted(name: str, value: Any, row: Row) -> float | str | None:
    """Returns a value as a numbers file has it; None where it says nothing."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return row.words.get("number") or float(row.words.get("times", 1)) * _real(f"hyperparameter {name}", value)
    require(
        isinstance(value, str | bool | None),
        f"hyperparameter {unquoted(name)}: found {type(value).__name__}, expected a number or a word.",
    )
    word = row.words.get(_text(value), row.words.get("other", value) if isinstance(value, str) else None)
    try:
        return None if word is None else float(word)
    except ValueError:
        return word


def _real(name: str, value: float) -> float:
    """Returns a number as a float; refuses a whole number that is none."""
    try:
        return float(value)
    except OverflowError as error:
        raise MinibatchError(f"{unquoted(name)}: found a huge whole number, expected one below 1e308.") from error


def _unexpressed(hyperparameters: Mapping[str, Any], library: str | None, names: Names) -> dict[str, str]:
    """Returns, by neutral name of a logged number, which setting changes it that no convention expresses, and how."""
    found: dict[str, str] = {}
    for name, value in hyperparameters.items():
        for row in names.beyond(name, library):
            if _text(value) not in row.words and _applies(row, hyperparameters):
                reason = f"{unquoted(name)} = {unquoted(_text(value))} ({row.meaning})"
                found = dict.fromkeys(row.name.split(), reason) | found
    return found


def _text(value: Any) -> str:
    """Returns a value as the table has it: true, false, none, a word, or a number."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) and abs(value) < LARGEST else str(value)
