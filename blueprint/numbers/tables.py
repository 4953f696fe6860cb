"""Make the table of a numbers file that holds settings: a key per setting, each with its kind and its default."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, create_model

from blueprint.numbers.kinds import Number, Text, between, one_of
from blueprint.numbers.preset import Setting
from blueprint.numbers.schema import Table


def table_of(name: str, settings: Mapping[str, Setting]) -> type[Table]:
    """Make a table that takes these settings and refuses any other key."""
    fields: dict[str, Any] = {key: _field(setting) for key, setting in settings.items()}
    return create_model(name, __base__=Table, **fields)


def _field(setting: Setting) -> tuple[Any, float | str]:
    if setting.words:
        return Annotated[Text, BeforeValidator(one_of(setting.words))], setting.value
    return Annotated[Number, AfterValidator(between(setting.low, setting.high))], setting.value
