"""Make the tables of a numbers file: they refuse unknown keys, and those of settings are made from what may stand there."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WrapValidator, create_model

from blueprint.inputs.kinds import Number, Text, between, one_of
from blueprint.inputs.setting import OFF, Setting, says_off


class Table(BaseModel):
    """Refuse unknown keys; built when a file of its level is first read, since a file has one level of five."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def empty(cls) -> Self:
        """Make the table in which nothing is given, as a default: unchecked, for a check would build what may not be read."""
        return cls.model_construct()


def entry(described: str, default: Any = None, *, example: Any = None, needed: bool = False) -> Any:
    """Describe a key: what a written file says beside it, and an example where it may be left out without a default."""
    examples = None if example is None else [example]
    return Field(... if needed else default, description=described, examples=examples)


def table_of(name: str, settings: Mapping[str, Setting]) -> type[Table]:
    """Make a table of settings, each of which may be left out."""
    fields: dict[str, Any] = {key: field(setting) for key, setting in settings.items()}
    return create_model(name, __base__=Table, **fields)


def _unlimited(value: object, known: Callable[[object], float]) -> float:
    return OFF if says_off(value) else known(value)


def field(setting: Setting) -> tuple[Any, Any]:
    """Translate a setting into a field of a table that may be left out: its kind, and nothing as its default."""
    if setting.words:
        return Annotated[Text, BeforeValidator(one_of(setting.words))] | None, None
    if setting.limit:
        limit = between(setting.low, setting.largest, '"off", or a number')
        return Annotated[Number, AfterValidator(limit), WrapValidator(_unlimited)] | None, None
    check = _whole(setting) if setting.whole else between(setting.low, setting.high)
    return Annotated[Number, AfterValidator(check)] | None, None


def _whole(setting: Setting) -> Callable[[float], float]:
    """Make a check that a number is one of a few whole ones."""

    def check(number: float) -> float:
        if number not in range(int(setting.low), int(setting.high) + 1):
            raise ValueError(" or ".join(str(each) for each in range(int(setting.low), int(setting.high) + 1)))
        return number

    return check
