"""What a numbers file, and a saved workbook, say of how the new weights come about: the optimiser, its rates, how often the batch
is gone through, and what Adam kept from steps before, where it does not begin anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import WithJsonSchema, WrapValidator

from blueprint.inputs import Array, Draft, Numbers, Part, refusal, shown
from blueprint.inputs.catalogue import OFF
from blueprint.inputs.entries import Number, Whole, between
from blueprint.workbooks.common import numbers_file
from blueprint.workbooks.common.definitions.optimiser import KEPT_M, KEPT_V, SGD, STEPS

TYPED = "typed"
"""Word of an update that no optimiser makes: where a Δ can be typed it is, elsewhere there is none."""
MOST_EPOCHS = 8
"""A step has sheets of its own: with more of them, nobody finds anything."""
ABOUT = "how the new weights come about"
NO_STEPS = "nothing, since no optimiser takes steps"
NORM_EPS = "optimiser.norm_eps"
DECIMALS = "handed.decimals"
"""The block in which stands to how many decimals weights are rounded that another workbook begins with."""
MOST_DECIMALS = 6
LIMITS: Mapping[str, tuple[float, float, float, str]] = {
    "lr": (0, 1e6, 0.02, "learning rate"),
    "beta1": (0, 0.9999999, 0.9, "how much of the mean gradient Adam keeps"),
    "beta2": (0, 0.9999999, 0.999, "how much of the mean squared gradient Adam keeps"),
    "eps": (1e-12, 1e6, 1e-8, "keeps Adam from dividing by 0"),
    "weight_decay": (0, 1e6, 0.0, "apart from the gradient with adamw, else part of it"),
    "max_norm": (1e-12, 1e6, 1.0, "the largest norm of the whole gradient, or off"),
}
"""The least, the most, the default, and what it is."""
MOST_KEPT = 1_000_000
"""Steps that Adam may have taken before."""
RANGES = {f"optimiser.{name}": limits[:2] for name, limits in LIMITS.items()} | {
    DECIMALS: (0, MOST_DECIMALS),
    STEPS: (0, MOST_KEPT),
}
"""What may be typed in a sheet."""
RATES = (*(name for name in RANGES if name not in (DECIMALS, STEPS)), NORM_EPS)
"""The blocks in which rates are typed."""
_LIMIT = Annotated[
    Number,
    between(*LIMITS["max_norm"][:2], '"off", or a number'),
    WrapValidator(lambda value, check: value if value == "off" else check(value)),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "off", "type": "string"}]}),
]


@dataclass(frozen=True, eq=False)
class Kept:
    """Hold what Adam kept from steps before.

    Attributes:
        steps: how many it has taken.
        means: mean gradients and mean squared gradients, in the shapes of the weights, by the blocks in which they are typed:
            `optimiser.kept.m.policy.E`.
    """

    steps: int
    means: Mapping[str, Array]

    @property
    def typed(self) -> dict[str, object]:
        """What is typed of it, by the names of blocks."""
        return {STEPS: self.steps, **self.means}


@dataclass(frozen=True)
class Update:
    """Hold how the new weights come about.

    Attributes:
        by: typed, where no optimiser makes them; sgd, adam or adamw, where they are steps along the gradient.
        epochs: how often the batch is gone through.
        rates: the numbers of the optimiser, by the names under which they stand in a file.
        decimals: to how many the last weights are rounded for the workbook that begins with them; None: for none.
        kept: what Adam kept from steps before; None where it begins anew.
    """

    by: str = TYPED
    epochs: int = 1
    rates: Mapping[str, float] = field(default_factory=dict)
    decimals: int | None = field(default=None, kw_only=True)
    kept: Kept | None = field(default=None, kw_only=True)

    @property
    def facts(self) -> dict[str, str]:
        """What a file says of it among its properties."""
        return {"update": self.by, "epochs": str(self.epochs)}


def rate(name: str) -> Part:
    """Describe the number of an optimiser."""
    low, high, default, about = LIMITS[name]
    entry: Any = _LIMIT if name == "max_norm" else Annotated[Number, between(low, high)]
    return Part(f"update.{name}", entry, (), about, default, default)


def parts(typed: str, passes: str) -> tuple[Part, Part]:
    """Describe by what weights move, and how often. typed: what "typed" means; passes: what an epoch is."""
    by, count = Literal["typed", "sgd", "adam", "adamw"], Annotated[Whole, between(1, MOST_EPOCHS, "a whole number")]
    return Part("update.by", by, (), typed, TYPED, "adamw"), Part("update.epochs", count, (), passes, 1, 4)


PARTS = (
    *parts("typed: the weights stay as they are", "steps, each on the whole batch"),
    *map(rate, LIMITS),
    Part("update.decimals", Annotated[Whole, between(0, MOST_DECIMALS, "a whole number")], (),
         "to how many decimals the last weights are rounded for the next stage", None, 2, "none are handed over"),
)  # fmt: skip
"""The keys of a kind that takes steps on whole batches."""


def update_of(draft: Draft, shapes: Mapping[str, tuple[int, ...]]) -> Update:
    """Return how the weights move, by the keys of `PARTS`. shapes: as of `kept_of`.

    Raises:
        NumbersError: for numbers of steps where none is taken.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        refuse_typed(draft, (*PARTS[1:], *kept_parts(shapes)))
        return Update()
    return Update(
        by,
        draft.parts["update.epochs"],
        rates_of(draft),
        decimals=draft.parts.get("update.decimals"),
        kept=kept_of(draft, shapes),
    )


def rates_of(draft: Draft) -> dict[str, float]:
    """Return the numbers of an optimiser by the blocks in which they are typed; torch adds 1e-6 to the norm."""
    return {f"optimiser.{name}": number_of(draft.parts[f"update.{name}"]) for name in LIMITS} | {NORM_EPS: 1e-6}


def refuse_typed(
    draft: Draft, unread: Iterable[Part], expected: str = NO_STEPS, own: Mapping[str, str] | None = None
) -> None:
    """Refuse keys that say something where no optimiser takes steps. expected: instead of them; own: by key, else.

    Raises:
        NumbersError: for the first of them.
    """
    for part in unread:
        found = draft.parts.get(part.key, part.default)
        if found != part.default:
            instead = (own or {}).get(part.key, expected)
            raise refusal(part.key, shown(found), f'{instead}; or write update.by = "adamw"')


def number_of(value: float | str) -> float:
    """Return a number of an optimiser; a limit that is off has one, too."""
    return OFF if value == "off" else float(value)


def update_in(file: Any, names: Iterable[str] = RATES) -> Update:
    """Return how the weights moved in a saved file, with the rates that are typed in it. names: of the blocks of rates."""
    said = file.file.noted
    if "update" not in said:
        return Update()
    decimals = int(file.array(DECIMALS, 0)) if DECIMALS in file else None
    rates = {name: float(file.array(name, 0)) for name in names if name in file}
    return Update(said["update"], int(said["epochs"]), rates, decimals=decimals, kept=_saved_kept(file))


def values_of(update: Update) -> dict[str, object]:
    """Return what a numbers file says where an optimiser takes steps; nothing where none does."""
    if update.by == TYPED:
        return {}
    rates = {f"update.{name.partition('.')[2]}": each for name, each in update.rates.items() if name != NORM_EPS}
    handed = {} if update.decimals is None else {"update.decimals": update.decimals}
    kept = {} if update.kept is None else _values_of_kept(update.kept)
    return {"update.by": update.by, "update.epochs": update.epochs, **rates, **handed, **kept}


UPDATE = "update"
"""Part of numbers that no file has: how the weights move (`Update`), which a file says under several keys."""


def with_update(draft: Draft, parts: Mapping[str, Any], weights: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return parts with how the weights move in place of the keys that say so.

    weights: what the optimiser moves, by the name of a weight (`policy.E`) the part that has its shape, where a file may say
    what Adam kept of it.

    Raises:
        NumbersError: for numbers of steps where none is taken.
    """
    others = {key: value for key, value in parts.items() if not key.startswith("update.")}
    shapes = {name: np.shape(parts[like]) for name, like in (weights or {}).items()}
    return {**others, UPDATE: update_of(draft, shapes)}


def saved_update(file: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the weights moved in a saved file, as a part of its numbers."""
    return {UPDATE: update_in(file)}


def stated(numbers: Numbers) -> dict[str, Any]:
    """Return what a numbers file says, how the weights move among it."""
    return {key: each for key, each in numbers.parts.items() if key != UPDATE} | values_of(numbers[UPDATE])


_MEANS = {"m": (KEPT_M, "Adam's mean gradient"), "v": (KEPT_V, "Adam's mean squared gradient")}
"""By letter, what the names of their blocks begin with, and what they are."""


def _key_of(letter: str, weight: str) -> str:
    """Return the key of a mean: `update.m_policy_E`."""
    return f"update.{letter}_{weight.replace('.', '_')}"


def _mean_part(letter: str, weight: str) -> Part:
    axes = numbers_file.SHAPES[weight.rpartition(".")[2]]
    entry: Any = Number if letter == "m" else Annotated[Number, between(0, 1e12)]
    example: Any = 0.01 if letter == "m" else 0.0001
    for _ in axes:
        example = [example]
    about = f"{_MEANS[letter][1]} of {weight} before, in its shape; else 0"
    return Part(_key_of(letter, weight), entry, axes, about, None, example)


def kept_parts(weights: Iterable[str]) -> tuple[Part, ...]:
    """Describe what Adam kept from steps before. weights: what it moves, by key: `policy.E`, `critic.w`."""
    steps = Part("update.steps", Annotated[Whole, between(0, MOST_KEPT, "a whole number")], (),
                 "steps that Adam took before; 0: it begins anew", 0, 40)  # fmt: skip
    means = (_mean_part(letter, weight) for weight in weights for letter in _MEANS)
    return (steps, *means)


def kept_of(draft: Draft, shapes: Mapping[str, tuple[int, ...]]) -> Kept | None:
    """Return what Adam kept from steps before; None where it begins anew. shapes: of what it moves, by key.

    Raises:
        NumbersError: for means of no steps, or of an optimiser that keeps none, or in another shape than the weight's.
    """
    steps, by, found = draft.parts.get("update.steps", 0), draft.parts["update.by"], dict[str, Array]()
    for weight, shape in shapes.items():
        for letter, (begins, _) in _MEANS.items():
            value = draft.parts.get(key := _key_of(letter, weight))
            if value is not None and (not steps or by == SGD):
                raise refusal(key, "a mean of steps before", f"nothing, since {_none_taken(by)}")
            mean = np.zeros(shape) if value is None else _as_array(key, value)
            if mean.shape != shape:
                raise refusal(key, _spelled(mean.shape), f"{_spelled(shape)}, the shape of {weight}")
            found[begins + numbers_file.block_name(weight)] = mean
    if steps and by == SGD:
        raise refusal("update.steps", str(steps), f"nothing, since {_none_taken(by)}")
    return Kept(steps, found) if steps and found else None


def _none_taken(by: str) -> str:
    return "sgd keeps no means" if by == SGD else "update.steps = 0: Adam begins anew"


def _as_array(key: str, value: Any) -> Array:
    """Return a list of lists of numbers as an array. Raises NumbersError where rows differ in length."""
    if isinstance(value, list) and any(np.shape(row) != np.shape(value[0]) for row in value):
        raise refusal(key, "rows of different lengths", "as many numbers in each")
    return np.array(value, dtype=float)


def _spelled(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "one number"


def _values_of_kept(kept: Kept) -> dict[str, object]:
    """Return what a numbers file says of what Adam kept."""
    found: dict[str, object] = {"update.steps": kept.steps}
    for letter, (begins, _) in _MEANS.items():
        for name, mean in kept.means.items():
            if name.startswith(begins):
                found[_key_of(letter, name.removeprefix(begins).replace(".head.", "."))] = mean
    return found


def _saved_kept(file: Any) -> Kept | None:
    """Return what Adam kept by a saved file."""
    if STEPS not in file:
        return None
    names = [name for name in file.file.places if name.startswith((KEPT_M, KEPT_V))]
    return Kept(int(file.array(STEPS, 0)), {name: file.array(name) for name in names})
