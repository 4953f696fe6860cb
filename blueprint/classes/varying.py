"""What varies: which keys of a numbers file a teacher means by a few words."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, get_args, get_origin

from blueprint.classes.errors import ClassError
from blueprint.classes.moves import MOST_DECIMALS, SMALLEST, decimals_of, leaves, moved_setting
from blueprint.inputs import Level, Numbers, NumbersError, Part, Setting, given, load, nearest, suggestion, tables_of
from blueprint.inputs.entries import Draw, Flag
from blueprint.quoting import unquoted

SETTINGS = "settings"
"""The word for all settings that are numbers."""


def resolved(level: Level, numbers: Numbers, named: Iterable[str]) -> list[str]:
    """Returns the keys of the numbers file that vary; without a name, all numbers that are no whole ones.

    named: `settings`, a table (`old`), a key (`old.E`, `ppo.gamma`), or the last part of keys (`draws`). Raises ClassError
    for a name that means nothing which could vary.
    """
    several = [name.strip() for name in named if name.strip()]
    found = [key for name in several for key in _meant(level, numbers, name)] or [*_numbers_of(level, numbers)]
    if not found:
        raise ClassError(f"numbers of level {level.word} have nothing that varies by itself: name keys with --vary")
    return list(dict.fromkeys(found))


def _numbers_of(level: Level, numbers: Numbers) -> Iterator[str]:
    """Yields the keys of the parts that hold numbers, but for draws: small changes of these change words, or nothing.

    Nor do numbers vary that have more decimals than a person types beside parts that have not, as ln(1 − p) in a file of
    tenths: they were computed so that what follows from them is short, and beside them it would not be.
    """
    held = given(numbers)
    parts = [part.key for part in level.parts if part.axes and part.key in held and _is_number(part)]
    parts = [key for key in parts if _entry_of(level, key) is not Draw]
    short = [key for key in parts if max(map(decimals_of, leaves(held[key])), default=0) <= MOST_DECIMALS]
    yield from short or parts


def _entry_of(level: Level, key: str) -> Any:
    return next(part.entry for part in level.parts if part.key == key)


def _is_number(part: Part) -> bool:
    return part.entry is not Flag and get_args(part.entry)[:1] == (float,)


def _meant(level: Level, numbers: Numbers, name: str) -> list[str]:
    """Returns the keys that a name means."""
    usual = _settings_in_use(level, numbers)
    if name == SETTINGS:
        return [key for key, setting in usual.items() if not setting.words and _may_vary(key, level, numbers)]
    if name == level.word:
        return [*_numbers_of(level, numbers)]
    known = [part.key for part in level.parts if part.key in given(numbers) and (_is_number(part) or _is_text(part))]
    known += usual
    found = [key for key in known if name in (key, key.partition(".")[0], key.rpartition(".")[2])]
    if not found:
        words = [SETTINGS, level.word, *dict.fromkeys(key.partition(".")[0] for key in known), *known]
        raise ClassError(
            f"--vary {unquoted(name)}: nothing of that name can vary, {suggestion(nearest(name, words), words)}"
        )
    return found


def _is_text(part: Part) -> bool:
    """Tells whether a part holds texts, each a list of words or words with blanks between them."""
    return len(part.axes) == 1 and any(get_origin(each) is list for each in get_args(part.entry)[:1])


def _settings_in_use(level: Level, numbers: Numbers) -> dict[str, Setting]:
    """Returns the settings that may vary, by their keys in a file: words, and numbers of a usual size."""
    held = values_of(level, numbers)
    return {
        key: setting
        for key, setting in level.by_dotted_key.items()
        if key in held and not setting.whole and (setting.words or SMALLEST < abs(float(held[key])) <= setting.largest)
    }


def _may_vary(key: str, level: Level, numbers: Numbers) -> bool:
    """Tells whether a setting may be another one beside what else these numbers say."""
    near = {key: moved_setting(level.by_dotted_key[key], values_of(level, numbers)[key], Random(0))}
    try:
        load(tables_of(given(numbers) | near))
    except NumbersError:
        return False
    return True


def values_of(level: Level, numbers: Numbers) -> dict[str, Any]:
    """Returns everything that holds, by its key: what is given, and the settings of the preset."""
    preset = level.preset(numbers)
    usual = {key: setting.value for key, setting in (level.defaults or level.settings).items()}
    return {level.dotted(key): value for key, value in (preset.values if preset else usual).items()} | given(numbers)
