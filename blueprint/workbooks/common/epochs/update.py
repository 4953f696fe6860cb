"""What is typed of steps: the keys `update.…` of a numbers file, and the numbers of the optimiser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from pydantic import WithJsonSchema, WrapValidator

from blueprint.inputs import Draft, Part, refusal, shown
from blueprint.inputs.entries import Number, Whole, between
from blueprint.inputs.setting import OFF

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
RANGES = {f"optimiser.{name}": limits[:2] for name, limits in LIMITS.items()} | {DECIMALS: (0, MOST_DECIMALS)}
"""What may be typed in a sheet."""
RATES = (*(name for name in RANGES if name != DECIMALS), NORM_EPS)
"""The blocks in which rates are typed."""
_LIMIT = Annotated[
    Number,
    between(*LIMITS["max_norm"][:2], '"off", or a number'),
    WrapValidator(lambda value, check: value if value == "off" else check(value)),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "off", "type": "string"}]}),
]


@dataclass(frozen=True)
class Update:
    """Hold how the new weights come about.

    Attributes:
        by: typed, where no optimiser makes them; sgd, adam or adamw, where they are steps along the gradient.
        epochs: how often the batch is gone through.
        rates: the numbers of the optimiser, by the names under which they stand in a file.
        decimals: to how many the last weights are rounded for the workbook that begins with them; None: for none.
    """

    by: str = TYPED
    epochs: int = 1
    rates: Mapping[str, float] = field(default_factory=dict)
    decimals: int | None = field(default=None, kw_only=True)

    @property
    def facts(self) -> dict[str, str]:
        """What a file says of it among its properties."""
        return {"update": self.by, "epochs": str(self.epochs)}


class File(Protocol):
    """What is read of a saved file (`reopening.saved.Saved`)."""

    @property
    def file(self) -> Any:
        """The file itself, with what is noted among its properties."""

    def array(self, name: str, axes: int | None = None) -> Any:
        """Returns what is typed in a block."""

    def __contains__(self, name: str, /) -> bool: ...


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


def update_of(draft: Draft) -> Update:
    """Return how the weights move, by the keys of `PARTS`.

    Raises:
        NumbersError: for numbers of steps where none is taken.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        refuse_typed(draft, PARTS[1:])
        return Update()
    return Update(by, draft.parts["update.epochs"], rates_of(draft), decimals=draft.parts.get("update.decimals"))


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


def update_in(file: File, names: Iterable[str] = RATES) -> Update:
    """Return how the weights moved in a saved file, with the rates that are typed in it. names: of the blocks of rates."""
    said = file.file.noted
    if "update" not in said:
        return Update()
    decimals = int(file.array(DECIMALS, 0)) if DECIMALS in file else None
    rates = {name: float(file.array(name, 0)) for name in names if name in file}
    return Update(said["update"], int(said["epochs"]), rates, decimals=decimals)


def values_of(update: Update) -> dict[str, object]:
    """Return what a numbers file says where an optimiser takes steps; nothing where none does."""
    if update.by == TYPED:
        return {}
    rates = {f"update.{name.partition('.')[2]}": each for name, each in update.rates.items() if name != NORM_EPS}
    handed = {} if update.decimals is None else {"update.decimals": update.decimals}
    return {"update.by": update.by, "update.epochs": update.epochs, **rates, **handed}
