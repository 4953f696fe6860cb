"""Turn a numbers file and overrides into fully explicit, checked numbers."""

from blueprint.inputs.errors import NumbersError, name_of
from blueprint.inputs.export import SCHEMA_FILE, origins, schema_of, toml_of
from blueprint.inputs.level import Draft, Level
from blueprint.inputs.load import load, read_as_off
from blueprint.inputs.read import Source, names, read, source_of, tables_of
from blueprint.inputs.result import Numbers
from blueprint.inputs.setting import Setting
from blueprint.inputs.shapes import Part

__all__ = [
    "SCHEMA_FILE",
    "Draft",
    "Level",
    "Numbers",
    "NumbersError",
    "Part",
    "Setting",
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
