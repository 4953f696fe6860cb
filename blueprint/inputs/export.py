"""Export: what a build does not need: a complete numbers file, its schema, origins. What they lead to is loaded when called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from blueprint.inputs.read import Source
from blueprint.inputs.result import Numbers

if TYPE_CHECKING:
    from blueprint.inputs.origin import Origin

SCHEMA_FILE = "blueprint-numbers.schema.json"
"""The name under which the schema lies beside a numbers file."""


def toml_of(numbers: Numbers, schema: str = f"./{SCHEMA_FILE}") -> str:
    """Write numbers of any level as a complete numbers file, each key with a comment; `load` gives the same numbers back.

    schema: where an editor finds the JSON Schema, seen from the folder of the file: the first line holds Taplo's directive
    (taplo.tamasfe.dev, Configuration, Directives; read in taplo 0.9).
    """
    from blueprint.inputs.write import written

    return written(numbers, schema)


def schema_of() -> dict[str, Any]:
    """Describe numbers files of every level of every kind as a JSON Schema (draft 2020-12)."""
    from blueprint.inputs import json_schema

    return json_schema.schema_of()


def origins(found: Source, overrides: Sequence[tuple[str, str]] = ()) -> list[Origin]:
    """List every key of merged numbers with its value and where that comes from.

    overrides: pairs of the option that says it, such as `--set`, and what it says, such as `ppo.gamma=1`.

    Raises:
        NumbersError: one sentence on the first thing that is wrong with the file or an override.
    """
    from blueprint.inputs import origin

    return origin.origins(found, overrides)
