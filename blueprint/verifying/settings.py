"""The conventions that a dump is held against: a preset, what the file says over it, and what the user says over both; also what
else a run may have set them to, and what their values mean, as data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

import torch

from blueprint.dumps import Dump, MinibatchError, catalogue_of, require
from blueprint.inputs import OFF, Catalogue, NumbersError, Preset, nearest, says_off, suggestion
from blueprint.inputs import Setting as Known
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions import LIVE

Setting = float | str
Settings = Mapping[str, Setting]


@dataclass(frozen=True)
class VerifyOptions:
    """How dumps are verified, as the options of `blueprint verify` say it.

    preset: whose conventions, None: those of the library that the file names. overrides: other values, as `ppo.gamma=0.99`.
    tolerance: multiplies every tolerance. device: where torch computes. causes: whether to look for what explains a deviation.
    above_zero: accept log-probs above 0, as made-up numbers of an exercise are.
    """

    preset: str | None = None
    overrides: tuple[str, ...] = ()
    tolerance: float = 1.0
    device: str = "cpu"
    causes: bool = True
    above_zero: bool = False


DEFAULT = VerifyOptions()
SMALLEST_TOLERANCE = 1e-6
"""Of the factor: the tolerance of float64 is 1e-9, and its numbers are rounded to 1e-16."""


def shown(value: Setting) -> str:
    """Returns a value as it is typed."""
    return value if isinstance(value, str) else "off" if value == OFF else f"{value:g}"


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
    """Returns a setting of RLHF PPO as a number: itself, or the place of its word.

    Raises MinibatchError for a word that the setting does not have, or a number that is none.
    """
    if words := LIVE[name].words:
        if value not in words:
            raise MinibatchError(f"{name} is {value!r}: write one of {', '.join(words)}")
        return float(tuple(words).index(str(value)))
    try:
        return float(_number(value))
    except ValueError:
        raise MinibatchError(f'{name} is {value!r}: write a number, or "off" for a limit') from None


def checked(values: Settings) -> dict[str, Setting]:
    """Returns settings of RLHF PPO, numbers as numbers and limits that are off as infinite.

    Raises MinibatchError where one is missing, or has a word that it does not have.
    """
    missing = [name for name in LIVE if name not in values]
    require(not missing, f"no value for {', '.join(missing)}: start from the values of a preset")
    numbers = {name: number_of(name, values[name]) for name in LIVE}
    return {**values, **{name: number for name, number in numbers.items() if not LIVE[name].words}}


def known_device(name: str) -> None:
    """Raises MinibatchError unless torch can compute in float64 on a device of that name."""
    try:
        torch.zeros(1, dtype=torch.float64, device=name).cpu()
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        raise MinibatchError(
            f"--device {name}: torch cannot compute in float64 there ({str(error).partition('. ')[0].splitlines()[0]})"
        ) from error


@dataclass(frozen=True)
class Chosen:
    """A preset with changes. why: how it came to be chosen; differs: what is not as the preset says, and who said so."""

    preset: Preset
    values: Settings
    why: str
    differs: tuple[str, ...]

    def __str__(self) -> str:
        """Says which preset is held against, why, and what differs from it."""
        title = f"Preset {self.preset.name} ({self.preset.title}, read at {self.preset.version}), {self.why}"
        return "\n".join([f"{title}.", *(f"  {each}" for each in self.differs)])


def choose(dump: Dump, options: VerifyOptions = DEFAULT) -> Chosen:
    """Chooses the preset that is named, else that of the file's library; overrides such as `ppo.gamma=0.99` go over it.

    Raises MinibatchError for an unknown preset, a file that does not say its library, or an override that is none.
    """
    known = catalogue_of(dump)
    named = options.preset or dump.preset
    if named is None:
        raise MinibatchError(f"{dump.path} {_unnamed(known, dump.library)}, of {', '.join(known.presets)}")
    found = _preset(known, named)
    yours = dict(_override(known, each) for each in options.overrides)
    said = {plain(key): value for key, value in dump.hyperparameters.items() if plain(key) in known.settings}
    values = laid_over(found.values, said, yours)
    taken = named.startswith(str(dump.library)) and any(note.startswith("taken for ") for note in dump.notes)
    why = f"because the file {'is taken for' if taken else 'says'} {dump.library or named}"
    why = "as asked" if options.preset else why
    differs = [
        f"{written(known, key)} = {shown(values[key])} ({'as asked' if key in yours else 'the file says so'}; "
        f"{found.name}: {shown(found.values[key])})"
        for key in {**said, **yours}
        if _number(values[key]) != _number(found.values[key])
    ]
    return Chosen(found, values, why, tuple(differs))


def check_options(options: VerifyOptions, known: Catalogue) -> None:
    """Raises MinibatchError for a preset that a catalogue has not, or an override that is none, whatever the file."""
    if options.preset is not None:
        _preset(known, options.preset)
    for each in options.overrides:
        _override(known, each)


def _unnamed(known: Catalogue, library: str | None) -> str:
    """Says why no preset goes with a file's library."""
    if library is None:
        return "does not say which library wrote it: name one with --preset"
    quoted = unquoted(library)
    if any(name.startswith(f"{library.lower()}_") for name in known.presets):
        return f"is of {quoted} and does not say of which version: add version to its metadata, or name a preset with --preset"
    return f"is of {quoted}, for which there is no preset: name one that does as it does with --preset"


def _preset(known: Catalogue, name: str) -> Preset:
    try:
        return known.preset(name)
    except NumbersError as error:
        raise MinibatchError(str(error)) from error


def _override(known: Catalogue, text: str) -> tuple[str, Setting]:
    key, equals, value = text.partition("=")
    keys = [written(known, each) for each in known.settings]
    name = plain(key.strip().removeprefix(f"{known.table}."))
    require(equals != "", f"--set {unquoted(text)}: expected a key, an equals sign and a value, as in ppo.gamma=0.99")
    require(name in known.settings, f"--set {unquoted(key)}: unknown, {suggestion(nearest(key, keys), keys)}")
    return name, _value(written(known, name), known.settings[name], value.strip())


def written(known: Catalogue, key: str) -> str:
    """Returns a key of a preset as numbers files of its kind have it."""
    return key if "." in key else f"{known.table}.{key}"


def _value(key: str, setting: Known, text: str) -> Setting:
    if setting.words:
        require(
            text in setting.words,
            f"--set {key}: found {unquoted(text)}, expected one of {', '.join(setting.words)}",
        )
        return text
    try:
        number = float(_number(text))
    except ValueError:
        or_off = ', or "off"' if setting.limit else ""
        raise MinibatchError(f"--set {key}: found {unquoted(text)}, expected a number{or_off}") from None
    allowed = f"{shown(setting.low)} to {'off' if setting.limit else shown(setting.high)}"
    require(setting.holds(number), f"--set {key}: found {unquoted(text)}, expected {allowed}")
    require(
        not setting.whole or not isfinite(number) or number == round(number),
        f"--set {key}: found {unquoted(text)}, expected a whole number, {allowed}",
    )
    return number


def _number(value: Setting) -> Setting:
    """Returns a limit that is off as the number that it is, and all else as it is."""
    return OFF if says_off(value) else value


VALUES: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {
        "gamma": (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1),
        "gae_lambda": (0, 0.9, 0.92, 0.95, 0.97, 0.98, 0.99, 1),
        "kl_coef": (0,),
        "loss.kl_coef": (0,),
        "clip_range": (0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, "off"),
        "loss.clip_range_high": (0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, "off"),
        "value_clip_range": (0.1, 0.2, 0.25, 0.3, 0.5, 1, "off"),
        "vf_coef": (0, 0.1, 0.25, 0.5, 1),
        "ent_coef": (0, 0.001, 0.01),
        "whiten_eps": (1e-8, 1e-6, 1e-5, 1e-4),
        "reward.kl_clamp_in": (10, 20, "off"),
        "reward.kl_clamp_out": (10, 20, "off"),
        "loss.kl_clamp_in": (10, 20, "off"),
        "loss.kl_clamp_out": (10, 20, "off"),
        "reward.length_penalty": (0, 0.01, 0.1),
        "reward.score_clip": (1, 5, 10, "off"),
        "reward.missing_eos_value": (-10, -3, -1, 0, 1, 3),
        "advantage.tail_slots": (0, 1, 2),
        "advantage.ddof": (0, 1),
        "loss.dual_clip": (2, 3, 5, 10, "off"),
        "loss.log_ratio_clamp": (0.1, 0.2, 0.3, 0.5, 1, 10, 20, "off"),
        "loss.ratio_threshold": (2, 10, "off"),
        "value.factor": (0.25, 0.5, 1),
        "value.tail": (0, 1),
    }
)
"""Values of conventions that are numbers, beside those of the presets."""

TOGETHER = MappingProxyType({"clip": ("clip_range", "loss.clip_range_high")})
"""Conventions that are often one setting of a library."""

FINE = ("_eps", "whiten_eps", "ratio_threshold", "log_ratio_clamp", "kl_clamp_in", "kl_clamp_out", "kl_clamp_of")
"""Conventions, by how their names end, that move a number so little, or so rarely, that they are no part of pairs."""

MEANINGS: Mapping[tuple[str, float | str], str] = MappingProxyType(
    {
        ("kl_coef", 0): "no KL",
        ("reward.kl_in", "none"): "no KL in the reward",
        ("reward.kl_in", "loss"): "the KL in the loss, not in the reward",
        ("reward.kl_in", "both"): "the KL in the reward and in the loss",
        ("reward.kl_clamp_of", "k3"): "only k3 clamped",
        ("loss.kl_coef", 0): "no KL in the loss",
        ("loss.kl_clamp_of", "k3"): "only k3 clamped",
        ("reward.kl_at_first_pad", "on"): "the KL of the first pad is paid, too",
        ("reward.score_slot", "last"): "the score on the last token",
        ("reward.score_slot", "end"): "the score in the very last position",
        ("reward.score_slot", "one_past"): "the score one past the last token",
        ("reward.score_slot", "two_past"): "the score two past the last token",
        ("reward.length_penalty", 0): "no price for length",
        ("reward.score_clip", "off"): "scores not clipped",
        ("reward.whiten", "off"): "raw rewards, not whitened",
        ("reward.whiten", "on"): "rewards whitened before GAE",
        ("whiten_advantages", "off"): "raw advantages, not whitened",
        ("whiten_advantages", "keep_mean"): "whitened, and their mean added back",
        ("advantage.ddof", 0): "the variance divided by N",
        ("advantage.ddof", 1): "the variance divided by N − 1",
        ("advantage.stats", "all"): "padding counted in mean and variance",
        ("advantage.tail_slots", 0): "no V kept behind the last token",
        ("advantage.tail_slots", 1): "V one past the last token kept",
        ("advantage.tail_slots", 2): "V two past the last token kept",
        ("advantage.gae_holes", "carry"): "V and A carried over holes of the mask",
        ("advantage.gae_holes", "zero"): "V and r set to 0 in holes of the mask",
        ("batch.response_mask", "all"): "every position counted, pads too",
        ("loss.dual_clip", "off"): "no dual clip",
        ("loss.sample_filter", "ended"): "only responses that ended counted",
        ("loss.sample_filter", "none"): "responses that did not end counted, too",
        ("value_clip_range", "off"): "values not clipped",
        ("value.tail", 1): "the position behind the last token counted",
        ("value.combine", "clipped_only"): "the clipped square alone, not the larger one",
        ("metrics.over", "all"): "pads counted in the mean",
        ("metrics.over", "mask"): "only tokens counted in the mean",
    }
)
"""By convention and value; "off" is that of a limit, too. Values that say what they mean are not listed."""
