"""Check raw tables against the level that they name, and turn the first complaint into one sentence of ours."""

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint.inputs.errors import NumbersError, nearest, place, refusal, shown, suggestion
from blueprint.inputs.level import Level, NumbersFile
from blueprint.workbooks.registry import kind_of_level, kinds

_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "model_type": "a table",
}


def level_named(word: object) -> Level:
    """Return the level of this name.

    Raises:
        NumbersError: if no kind of workbook has one of that name.
    """
    kind = kind_of_level(word) if isinstance(word, str) else None
    if kind is None or not isinstance(word, str):
        known = [shown(each) for kind in kinds() for each in kind.levels]
        raise refusal("level", "nothing" if word is None else shown(word), " or ".join(known))
    level: Level = kind.level(word)
    return level


def checked(raw: dict[str, Any], level: Level) -> NumbersFile:
    """Check the tables of a numbers file.

    Raises:
        NumbersError: for the first complaint; an unknown key goes before what is missing because of it.
    """
    try:
        return level.file.model_validate(raw)
    except ValidationError as error:
        complaints = error.errors(include_url=False)
        unknown = [each for each in complaints if each["type"] == "extra_forbidden"]
        # Suppress the cause: pydantic's own text names classes that a reader of the file has never seen.
        raise _refused((unknown or complaints)[0], level) from None


def _refused(complaint: ErrorDetails, level: Level) -> NumbersError:
    where, found = place(complaint["loc"]), shown(complaint["input"])
    match complaint["type"]:
        case "extra_forbidden":
            return _unknown(where, level.keys)
        case "missing":
            return refusal(where, "nothing", "a value, as nothing is drawn at this level")
        case "value_error":
            return refusal(where, found, str(complaint["ctx"]["error"]))
        case kind:
            return refusal(where, found, _EXPECTED.get(kind, "a value of another kind"))


def _unknown(where: str, known: list[str]) -> NumbersError:
    """Look for the key that was meant in the same table first, then in the others, then at other levels."""
    table, _, name = where.rpartition(".")
    neighbours = {key.rpartition(".")[2]: key for key in known if key.rpartition(".")[0] == table}
    others = [key for key in known if "." in key and key not in neighbours.values()]
    meant = neighbours.get(nearest(name, list(neighbours)) or "") or nearest(where, others)
    elsewhere = [] if meant else _levels_with(where)
    if elsewhere:
        begin = " or ".join(filter(None, (", ".join(elsewhere[:-1]), elsewhere[-1])))
        return NumbersError(f"{where}: not at this level; numbers that begin at {begin} have it.")
    return NumbersError(f"{where}: unknown key, {suggestion(meant, list(neighbours.values()))}")


def _levels_with(key: str) -> list[str]:
    """List the levels of all kinds whose files have a key."""
    levels = {word: kind.level(word) for kind in kinds() for word in kind.levels}
    return [word for word, level in levels.items() if key in level.keys]
