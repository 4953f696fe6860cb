"""Say where every number comes from: a built-in set, a file, an override, a preset, the seed."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from blueprint.inputs.errors import shown
from blueprint.inputs.explain import checked
from blueprint.inputs.keys import settings_of
from blueprint.inputs.load import Numbers, load, parts_of, spare_of
from blueprint.inputs.read import Source, overridden
from blueprint.inputs.setting import OFF
from blueprint.inputs.spell import scalar
from blueprint.inputs.values import assumed, given, level_of, preset_of
from blueprint.workbooks.common.conventions.data import FOLLOWS
from blueprint.workbooks.rlhf_ppo.inputs.complete import base_of, is_drawn
from blueprint.workbooks.rlhf_ppo.inputs.files import WeightFile
from blueprint.workbooks.rlhf_ppo.inputs.logits import LogitNumbers
from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers
from blueprint.workbooks.rlhf_ppo.inputs.sizes import Claim, told_by

_FIRST = 3
_OTHERWISE = {
    "title": "the file's name",
    "text.vocabulary": "default words",
    "text.end_word": "first word of text.vocabulary",
    "text.mask": "up to text.end_word",
    "rollout.terminated": "as rollout.done",
    "conventions": "a preset or convention is asked for",
    **{key: f"as {led if '.' in led else f'ppo.{led}'}" for key, led in FOLLOWS.items()},
}
"""Where a value comes from that nobody gave, and that is neither drawn nor a preset's."""


@dataclass(frozen=True)
class Origin:
    """Hold a key of a numbers file, its value in a few words, and where that comes from."""

    key: str
    value: str
    origin: str


def origins(found: Source, overrides: Sequence[tuple[str, str]]) -> list[Origin]:
    """List every key with its value and origin; see `doors.origins`."""
    raw = deepcopy(found.raw)
    numbers = load(replace(found, raw=deepcopy(raw)), [override for _, override in overrides])
    changed = {key: option for option, override in overrides for key in overridden(raw, [override])}
    given_by = _Finder(replace(found, raw=raw), changed, numbers)
    preset = preset_of(numbers)
    of_preset = f"preset {preset.name if preset else 'default'}"
    lines = [Origin(key, in_brief(value), given_by.of(key)) for key, value in given(numbers).items()]
    lines += [Origin(key, in_brief(value), of_preset) for key, value in assumed(numbers).items()]
    settings = list(settings_of(level_of(numbers)))
    return sorted(lines, key=lambda line: settings.index(line.key) if line.key in settings else -1)


class _Finder:
    """Finds where the value of a key comes from."""

    def __init__(self, found: Source, changed: Mapping[str, str], numbers: Numbers) -> None:
        self._found, self._changed, self._numbers = found, changed, numbers
        self._claims: dict[str, Claim] = {}
        self._kept: set[str] = set()
        file = checked(found.raw)
        if isinstance(file, WeightFile):
            parts = parts_of(file)
            self._claims = told_by(parts, spare_of(found, file, changed))
            self._kept = parts.keys() - set(numbers.drawn_anew)

    def of(self, key: str) -> str:
        """Return where a value comes from, in a few words."""
        table, _, name = key.partition(".")
        claim = self._claims.get(name) if table == "sizes" else None
        if claim and claim.source != key:
            return f"told by {claim.source}"
        if key in self._numbers.drawn_anew:
            return f"drawn anew, {self._seed()}"
        by_hand = self._changed.get(key) or self._changed.get(table)
        if by_hand and _is_in(self._found.raw, key):
            return by_hand
        return self._found.told if _is_in(self._found.raw, key) else self._left_out(key)

    def _left_out(self, key: str) -> str:
        if key == "conventions" and isinstance(self._numbers, LogitNumbers):
            return "the only ones at this level"
        if key in _OTHERWISE:
            return _OTHERWISE[key]
        if not isinstance(self._numbers, WeightNumbers) or not self._is_a_part(key):
            return "default"
        if is_drawn(key, self._kept):
            return self._seed()
        return "no update" if "delta_" in key else f"as {base_of(key)}"

    def _is_a_part(self, key: str) -> bool:
        assert isinstance(self._numbers, WeightNumbers)
        return key in self._numbers.weights or key in ("text.prompts", "rollout.draws")

    def _seed(self) -> str:
        return f"seed {self._numbers.seed}" if isinstance(self._numbers, WeightNumbers) else "seed"


def _is_in(raw: Mapping[str, Any], key: str) -> bool:
    table, dot, name = key.partition(".")
    return name in raw.get(table, {}) if dot else table in raw


def in_brief(value: Any) -> str:
    """Return a value in a few words: its shape and its first members, where it is a list."""
    if isinstance(value, str):
        return shown(value)
    if not isinstance(value, list | tuple):
        return '"off"' if value == OFF else scalar(value)
    members = _leaves(value)
    first = ", ".join(map(scalar, members[:_FIRST]))
    return f"{' by '.join(_shape(value))}: {first}{', …' if len(members) > _FIRST else ''}"


def _shape(value: Any) -> list[str]:
    """Return the sizes of nested lists; "?" where rows differ."""
    if not all(isinstance(each, list | tuple) for each in value):
        return [str(len(value))]
    inner = [_shape(each) for each in value]
    return [str(len(value)), *(inner[0] if all(each == inner[0] for each in inner) else ["?"])]


def _leaves(value: Any) -> list[Any]:
    return [leaf for each in value for leaf in (_leaves(each) if isinstance(each, list | tuple) else [each])]
