"""The conventions of a replay: those of a preset, with what the file and the user say over them."""

from collections.abc import Mapping

import torch

from blueprint.dumps import MinibatchError
from blueprint.inputs.setting import OFF, says_off
from blueprint.witness import NUMBERS, WORDS, Options

Setting = float | str
Settings = Mapping[str, Setting]


def plain(key: str) -> str:
    """Returns a key of a numbers file as presets write it: `ppo.gamma` is `gamma`, other tables keep their name."""
    return key.removeprefix("ppo.")


def laid_over(preset: Settings, *changes: Settings) -> dict[str, Setting]:
    """Returns a preset with changes over it, later ones over earlier ones; the keys are those of presets."""
    found = dict(preset)
    for each in changes:
        found |= {plain(key): value for key, value in each.items()}
    return found


def number_of(name: str, value: Setting) -> float:
    """Returns an option as the number that is computed with: itself, or the place of its word.

    Raises MinibatchError for a word that the option does not have, or a number that is none.
    """
    if name in WORDS:
        if value not in WORDS[name]:
            raise MinibatchError(f"{name} is {value!r}: write one of {', '.join(WORDS[name])}")
        return float(WORDS[name].index(str(value)))
    try:
        return OFF if says_off(value) else float(value)
    except ValueError:
        raise MinibatchError(f'{name} is {value!r}: write a number, or "off" for a limit') from None


def options_of(values: Settings, device: str = "cpu") -> Options:
    """Returns settings by their names as the options of one file, [1, 1, 1], on a device.

    Raises MinibatchError where one is missing.
    """
    names = (*NUMBERS, *WORDS)
    missing = [name for name in names if name not in values]
    if missing:
        raise MinibatchError(f"no value for {', '.join(missing)}: start from the values of a preset")
    found = {name: number_of(name, values[name]) for name in names}
    numbers = torch.tensor([found[name] for name in names], dtype=torch.float64, device=device).view(-1, 1, 1, 1)
    return Options(dict(zip(names, numbers, strict=True)))


def known_device(name: str) -> None:
    """Raises MinibatchError unless torch can compute in float64 on a device of that name."""
    try:
        torch.zeros(1, dtype=torch.float64, device=name)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        why = str(error).splitlines()[0]
        raise MinibatchError(f"--device {name}: torch cannot compute in float64 there ({why})") from error
