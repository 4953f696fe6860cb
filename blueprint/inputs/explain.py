"""Check raw tables against the schema, and turn the first complaint into one sentence of ours."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from blueprint.inputs.errors import NumbersError, nearest, refusal, shown, suggestion
from blueprint.quoting import unquoted
from blueprint.workbooks.classic_ppo.schema import ClassicFile
from blueprint.workbooks.common.conventions.table import TABLES
from blueprint.workbooks.kl_controller.schema import ControllerFile
from blueprint.workbooks.rlhf_ppo.inputs.files import LogitFile, TokenFile, WeightFile

File = WeightFile | LogitFile | TokenFile | ClassicFile | ControllerFile
LEVELS: dict[str, type[File]] = {
    "weights": WeightFile, "logits": LogitFile, "per-token": TokenFile, "classic": ClassicFile, "controller": ControllerFile
}  # fmt: skip

CONVENTIONS_KEYS = {"preset", "conventions", "compare", *TABLES}

_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "model_type": "a table",
}


def checked(raw: dict[str, Any]) -> File:
    """Check the tables of a numbers file.

    Raises:
        NumbersError: for the first complaint; an unknown key goes before what is missing because of it.
    """
    model = _model_of(raw)
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        # Suppress the cause: pydantic's own text names classes that a reader of the file has never seen.
        raise _first(error, model) from None


def _model_of(raw: dict[str, Any]) -> type[File]:
    level = raw.get("level")
    if isinstance(level, str) and level in LEVELS:
        return LEVELS[level]
    raise refusal("level", "nothing" if level is None else shown(level), " or ".join(map(shown, LEVELS)))


def _first(error: ValidationError, model: type[BaseModel]) -> NumbersError:
    complaints = error.errors(include_url=False)
    unknown = [each for each in complaints if each["type"] == "extra_forbidden"]
    return _sentence((unknown or complaints)[0], model)


def _sentence(complaint: ErrorDetails, model: type[BaseModel]) -> NumbersError:
    where = place(complaint["loc"])
    match complaint["type"]:
        case "extra_forbidden":
            return _unknown(where, list(_dotted(model)))
        case "missing":
            return refusal(where, "nothing", "a value, as nothing is drawn at this level")
        case "value_error":
            return refusal(where, shown(complaint["input"]), str(complaint["ctx"]["error"]))
        case kind:
            return refusal(where, shown(complaint["input"]), _EXPECTED.get(kind, "a value of another kind"))


def _unknown(where: str, known: list[str]) -> NumbersError:
    """Look for the key that was meant in the same table first, then in the others.

    A level without conventions says so, if that is what was asked for.
    """
    first = where.partition(".")[0]
    if first in CONVENTIONS_KEYS and first not in {key.partition(".")[0] for key in known}:
        return NumbersError(
            f"{where}: not at this level; live conventions need numbers that begin at weights or logits."
        )
    table, _, name = where.rpartition(".")
    neighbours = {key.rpartition(".")[2]: key for key in known if key.rpartition(".")[0] == table}
    others = [key for key in known if "." in key and key not in neighbours.values()]
    meant = neighbours.get(nearest(name, list(neighbours)) or "") or nearest(where, others)
    return NumbersError(f"{where}: unknown key, {suggestion(meant, list(neighbours.values()))}")


def place(loc: tuple[int | str, ...]) -> str:
    """Spell a place in the file: the dotted key, then row and item, counted from 1."""
    keys = ".".join(unquoted(step) for step in loc if isinstance(step, str))
    match [step + 1 for step in loc if isinstance(step, int)]:
        case [item]:
            return f"{keys}, item {item}"
        case [row, item, *_]:
            return f"{keys}, row {row}, item {item}"
        case _:
            return keys


def _dotted(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """List every key of a level, tables included, as it would be overridden; those that it shares with others come last."""
    own = list(model.__annotations__)
    for name in (*own, *(each for each in model.model_fields if each not in own)):
        field = model.model_fields[name]
        yield prefix + name
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _dotted(kind, f"{prefix}{name}.")
