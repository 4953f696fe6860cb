"""List the settings of a numbers file by the keys that they have in it, and what of them is read otherwise than written."""

from collections.abc import Mapping
from typing import Any

from blueprint.inputs.read import Source
from blueprint.inputs.setting import STORED_OFF, Setting
from blueprint.workbooks.classic_ppo.presets import CLASSIC
from blueprint.workbooks.common.conventions.data import LIVE, PRESET_DEFAULT
from blueprint.workbooks.kl_controller.schema import CONTROLLER


def settings_of(level: str) -> dict[str, Setting]:
    """List the settings of a level by their keys in the file, such as `ppo.gamma` or `loss.aggregation`."""
    match level:
        case "classic":
            return {f"ppo.{name}": each for name, each in CLASSIC.items()}
        case "controller":
            return {f"controller.{name}": each for name, each in CONTROLLER.items()}
        case "per-token":
            return {f"ppo.{name}": each for name, each in PRESET_DEFAULT.items()}
        case _:
            return {name if "." in name else f"ppo.{name}": each for name, each in LIVE.items()}


def read_as_off(found: Source) -> list[str]:
    """Say of each limit of a file, a line each, that the number which older versions wrote for off is read as off."""
    limits = [key for key, setting in settings_of(found.raw["level"]).items() if setting.limit]
    stored = [key for key in limits if _of(found.raw, key) == STORED_OFF]
    return [f'{key} = {STORED_OFF:.0f} is read as "off", for which older versions wrote it' for key in stored]


def _of(raw: Mapping[str, Any], key: str) -> object:
    table, _, name = key.partition(".")
    return raw.get(table, {}).get(name)
