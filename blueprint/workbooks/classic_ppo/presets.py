"""The settings of classic PPO, their records being `conventions.toml`, and what four libraries do with them."""

from functools import cache
from pathlib import Path

from blueprint.inputs.catalogue import Catalogue, catalogue
from blueprint.inputs.setting import settings_in

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
CLASSIC = RECORDS.settings


@cache
def classic_presets() -> Catalogue:
    """Read the presets of classic PPO: the default, CleanRL, Stable-Baselines3, TorchRL and rlax."""
    return catalogue(FOLDER, RECORDS)
