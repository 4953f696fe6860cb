"""Turn a numbers file and overrides into explicit, checked numbers."""

from blueprint.inputs.catalogue import DEFAULT, Catalogue, Preset, catalogue, data_in, settings_in
from blueprint.inputs.errors import NumbersError, counted, name_of, nearest, refusal, shown, suggestion
from blueprint.inputs.level import Draft, Level, Values
from blueprint.inputs.load import given, load, origins, read_as_off
from blueprint.inputs.numbers import LONGEST, ROWS, Array, Numbers, Part, Settings, check_one_more
from blueprint.inputs.read import Source, names, read, source_of, tables_of
from blueprint.inputs.setting import OFF, STORED_OFF, Setting, dotted, in_groups, says_off, shown_value
from blueprint.inputs.words import check_known, check_vocabulary
from blueprint.inputs.write import SCHEMA_FILE, schema_of, toml_of

__all__ = [
    "DEFAULT",
    "LONGEST",
    "OFF",
    "ROWS",
    "SCHEMA_FILE",
    "STORED_OFF",
    "Array",
    "Catalogue",
    "Draft",
    "Level",
    "Numbers",
    "NumbersError",
    "Part",
    "Preset",
    "Setting",
    "Settings",
    "Source",
    "Values",
    "catalogue",
    "check_known",
    "check_one_more",
    "check_vocabulary",
    "counted",
    "data_in",
    "dotted",
    "given",
    "in_groups",
    "load",
    "name_of",
    "names",
    "nearest",
    "origins",
    "read",
    "read_as_off",
    "refusal",
    "says_off",
    "schema_of",
    "settings_in",
    "shown",
    "shown_value",
    "source_of",
    "suggestion",
    "tables_of",
    "toml_of",
]
