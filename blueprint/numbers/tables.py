"""Make the table of a numbers file that holds settings: a key per setting, each of which may be left out."""

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from blueprint.numbers.live import field
from blueprint.numbers.preset import Setting
from blueprint.numbers.table import Table


def table_of(name: str, settings: Mapping[str, Setting]) -> type[Table]:
    """Make a table that takes these settings and refuses any other key."""
    fields: dict[str, Any] = {key: field(setting) for key, setting in settings.items()}
    return create_model(name, __base__=Table, **fields)
