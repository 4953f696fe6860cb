"""Turn a numbers file and overrides into fully explicit, checked numbers."""

from blueprint.numbers.catalogue import Catalogue, Preset, catalogue, rlhf
from blueprint.numbers.classic import ClassicNumbers
from blueprint.numbers.classic_settings import CLASSIC, classic_presets
from blueprint.numbers.controller import CONTROLLER, ControllerNumbers
from blueprint.numbers.conventions import OFF
from blueprint.numbers.doors import SCHEMA_FILE, origins, schema_of, toml_of
from blueprint.numbers.errors import NumbersError, name_of
from blueprint.numbers.keys import read_as_off
from blueprint.numbers.load import Numbers, load
from blueprint.numbers.logits import LogitNumbers
from blueprint.numbers.preset import PRESET_DEFAULT, Setting
from blueprint.numbers.read import Source, names, read, source_of, tables_of
from blueprint.numbers.result import Conventions, TokenNumbers, WeightNumbers

__all__ = [
    "CLASSIC",
    "CONTROLLER",
    "OFF",
    "PRESET_DEFAULT",
    "SCHEMA_FILE",
    "Catalogue",
    "ClassicNumbers",
    "ControllerNumbers",
    "Conventions",
    "LogitNumbers",
    "Numbers",
    "NumbersError",
    "Preset",
    "Setting",
    "Source",
    "TokenNumbers",
    "WeightNumbers",
    "catalogue",
    "classic_presets",
    "load",
    "name_of",
    "names",
    "origins",
    "read",
    "read_as_off",
    "rlhf",
    "schema_of",
    "source_of",
    "tables_of",
    "toml_of",
]
