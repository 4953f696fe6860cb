"""Make the tables of a numbers file: they refuse unknown keys, and those of settings are made from what may stand there."""

from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WrapValidator

from blueprint.inputs.entries import About, Number, Text, Title, between, one_of
from blueprint.inputs.setting import OFF, Setting, says_off


class Table(BaseModel):
    """Refuse unknown keys; built when a file of its level is first read, since a file has one level of many."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def empty(cls) -> Self:
        """Make the table in which nothing is given, as a default: unchecked, for a check would build what may not be read."""
        return cls.model_construct()


class NumbersFile(Table):
    """What every numbers file has."""

    level: Text
    title: Title = Field("", description="heads the workbook; else the file's name")
    about: About = Field("", description="a sentence below the title")


def setting_field(setting: Setting) -> tuple[Any, Any]:
    """Translate a setting into a field of a table that may be left out: its kind, and nothing as its default."""
    if setting.words:
        return Annotated[Text, BeforeValidator(one_of(setting.words))] | None, None
    if setting.limit:
        limit = between(setting.low, setting.largest, '"off", or a number')
        return Annotated[Number, AfterValidator(limit), WrapValidator(_unlimited)] | None, None
    check = _whole(setting) if setting.whole else between(setting.low, setting.high)
    return Annotated[Number, AfterValidator(check)] | None, None


def _unlimited(value: object, known: Callable[[object], float]) -> float:
    return OFF if says_off(value) else known(value)


def _whole(setting: Setting) -> Callable[[float], float]:
    """Make a check that a number is one of a few whole ones."""

    def check(number: float) -> float:
        if number not in range(int(setting.low), int(setting.high) + 1):
            raise ValueError(" or ".join(str(each) for each in range(int(setting.low), int(setting.high) + 1)))
        return number

    return check
