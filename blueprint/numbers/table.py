"""Refuse unknown keys, in every table of a numbers file."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """Refuse unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
