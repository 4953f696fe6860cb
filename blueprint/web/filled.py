"""Fields of plain data that say something."""

from typing import Any

Data = dict[str, Any]


def filled(**fields: Any) -> Data:
    """Returns the fields that are not empty; 0 says something."""
    return {name: value for name, value in fields.items() if value is not None and value != "" and value != []}
