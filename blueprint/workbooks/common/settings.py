"""The settings: hyperparameters and switches, each as *used | yours | preset*; the formulas read `used` alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import nan

from blueprint.inputs.setting import Setting
from blueprint.language import (
    Axis,
    Block,
    Expr,
    NotationError,
    Operand,
    block,
    choose,
    equal,
    filled,
    is_off,
    match,
    maximum,
    typed,
    where,
)
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common.conventions.data import PRESET_DEFAULT
from blueprint.workbooks.common.presets import PresetTable

# key: (symbol, meaning, decimals)
TOLD: dict[str, tuple[str, str, int]] = {
    "gamma": ("γ", "discount of later rewards (RLHF: often 1)", 3),
    "gae_lambda": ("λ", "reach of GAE (libraries: 0.95 or 1)", 3),
    "kl_coef": ("β", "price of drifting from the reference", 3),
    "clip_range": ("ε", "clip: the ratio counts within 1 ± ε", 3),
    "value_clip_range": ("ε_V", "clip: how far the value may move", 3),
    "vf_coef": ("c1", "weight of the value loss", 3),
    "ent_coef": ("c2", "weight of the entropy bonus", 3),
    "policy_kl_coef": ("c3", "weight of the policy KL in the loss", 3),
    "update_step": ("step", "how much of Δ is taken; 0: no update", 3),
    "whiten_eps": ("ε_w", "keeps whitening from dividing by 0", 10),
    "kl_estimator": ("KL_is", "KL estimate that enters the reward", 0),
    "whiten_advantages": ("Â_is", "whether the loss uses whitened advantages", 0),
}


@dataclass(frozen=True)
class Switch:
    """A setting that is one of a few words: the words, and the 0-based number of the chosen one."""

    words: tuple[str, ...]
    number: Arithmetic

    def says(self, word: str) -> Expr:
        """Returns 1 where the word is the chosen one, else 0."""
        return equal(self.number, self.words.index(word))

    def choose(self, **alternatives: Operand) -> Expr:
        """Takes the alternative of the chosen word; there must be exactly one for each word."""
        if set(alternatives) != set(self.words):
            raise NotationError(f"{self.number} chooses among {', '.join(self.words)}, not {', '.join(alternatives)}")
        return choose(self.number, **{word: alternatives[word] for word in self.words})


@dataclass
class Settings:
    """The settings of a workbook: `used`, switches and their words by key, the lines they stand in, what is typed there."""

    used: dict[str, Block] = field(default_factory=dict)
    switch: dict[str, Switch] = field(default_factory=dict)
    words: dict[str, Block] = field(default_factory=dict)
    numbers: list[tuple[Block, ...]] = field(default_factory=list)
    switches: list[tuple[Block, ...]] = field(default_factory=list)
    typed: dict[Block, object] = field(default_factory=dict)
    choices: dict[Block, Block] = field(default_factory=dict)
    ranges: dict[Block, tuple[float, float]] = field(default_factory=dict)
    outside: Block | None = None
    """How far the numbers are outside their ranges, all together."""


@dataclass(frozen=True)
class Offer:
    """Settings to choose from: what may stand there, what each is called (symbol, meaning, decimals), and the presets."""

    settings: Mapping[str, Setting]
    told: Mapping[str, tuple[str, str, int]]
    presets: PresetTable | None = None


PLAIN = Offer(PRESET_DEFAULT, TOLD)


def settings(yours: Mapping[str, float | str], keys: Iterable[str] = tuple(TOLD), offer: Offer = PLAIN) -> Settings:
    """Makes the settings named by `keys`; `yours` holds the values that stand beside the preset's."""
    made = Settings()
    for key in keys:
        if offer.settings[key].words:
            _switch(made, key, yours.get(key, ""), offer)
        else:
            _number(made, key, yours.get(key, nan), offer)
    return made


def _number(made: Settings, key: str, yours: float | str, offer: Offer) -> None:
    symbol, meaning, decimals = offer.told[key]
    setting = offer.settings[key]
    used, mine, given = _line(made, key, yours, offer)
    low, high = (
        typed(f"{key}.{end}", (), f"{symbol}_{end}", f"{told}: {meaning}", decimals=0 if setting.limit else decimals)
        for end, told in (("low", "lowest"), ("high", "highest"))
    )
    made.typed |= {low: setting.low, high: setting.largest}
    made.ranges[mine] = (setting.low, setting.largest)
    made.numbers.append((used, mine, given, low, high, _outside(made, key, used, low, high)))


def _outside(made: Settings, key: str, used: Block, low: Block, high: Block) -> Block:
    """Adds how far a number is outside its range to what the lines above are outside theirs; off is never outside."""
    outside = block(f"{key}.outside", (), f"{used.symbol}_out", "outside the ranges, up to this line")
    beyond = maximum(0, maximum(low - used, used - high))
    own = where(is_off(used), 0, beyond) if used.limit else beyond
    outside[()] = own if made.outside is None else made.outside + own
    made.outside = outside
    return outside


def _switch(made: Settings, key: str, yours: float | str, offer: Offer) -> None:
    """Makes a setting that is a word; its alternatives stand beside it, and its 0-based number among them."""
    symbol, _, _ = offer.told[key]
    setting = offer.settings[key]
    line = _line(made, key, yours, offer)
    axis = Axis("o", "alternative", size=len(setting.words))
    words = typed(f"{key}.words", (axis,), "alternatives", "the words it may be", text=True)
    number = block(
        f"{key}.number",
        (),
        f"{symbol.removesuffix('_is')}_choice",
        "its number among the alternatives, from 0",
        decimals=0,
    )
    number[()] = match(axis, words[axis], line[0])
    made.typed[words] = list(setting.words)
    made.choices[line[1]] = words
    made.switch[key] = Switch(setting.words, number)
    made.words[key] = words
    made.switches.append((*line, number, words))


def _line(made: Settings, key: str, yours: float | str, offer: Offer) -> tuple[Block, ...]:
    symbol, meaning, decimals = offer.told[key]
    setting = offer.settings[key]
    is_word, limit, told = isinstance(setting.value, str), setting.limit, f"yours: {meaning}"
    mine = typed(f"{key}.yours", (), f"{symbol}_yours", told, text=is_word, limit=limit, decimals=decimals)
    used = block(key, (), symbol, meaning, decimals=decimals)
    name, of_preset, told = f"{key}.preset", f"{symbol}_preset", f"preset: {meaning}"
    if offer.presets is None:
        given = typed(name, (), of_preset, told, text=is_word, limit=limit, decimals=decimals)
        made.typed[given] = setting.value
    else:
        given = block(name, (), of_preset, told, decimals=decimals)
        given[()] = offer.presets.rows[key][offer.presets.number]
    used[()] = where(filled(mine), mine, given)
    made.typed[mine] = yours
    made.used[key] = used
    return used, mine, given
