"""Turn a numbers file and overrides into fully explicit, checked numbers."""

from blueprint.numbers.catalogue import Catalogue, Preset, catalogue, rlhf
from blueprint.numbers.errors import NumbersError
from blueprint.numbers.load import load
from blueprint.numbers.preset import PRESET_DEFAULT, Setting
from blueprint.numbers.read import names
from blueprint.numbers.result import TokenNumbers, WeightNumbers

__all__ = [
    "PRESET_DEFAULT",
    "Catalogue",
    "NumbersError",
    "Preset",
    "Setting",
    "TokenNumbers",
    "WeightNumbers",
    "catalogue",
    "load",
    "names",
    "rlhf",
]
