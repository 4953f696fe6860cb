"""Turn a numbers file and overrides into fully explicit, checked numbers."""

from blueprint.inputs.doors import SCHEMA_FILE, origins, schema_of, toml_of
from blueprint.inputs.errors import NumbersError, name_of
from blueprint.inputs.keys import read_as_off
from blueprint.inputs.load import Numbers, load
from blueprint.inputs.read import Source, names, read, source_of, tables_of

__all__ = [
    "SCHEMA_FILE",
    "Numbers",
    "NumbersError",
    "Source",
    "load",
    "name_of",
    "names",
    "origins",
    "read",
    "read_as_off",
    "schema_of",
    "source_of",
    "tables_of",
    "toml_of",
]
