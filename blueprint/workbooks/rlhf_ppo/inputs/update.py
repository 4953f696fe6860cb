"""Say how the new weights come about: by a typed Δ, or by steps of an optimiser."""

from typing import Annotated, Any, Literal

from blueprint.inputs import Draft, Part, refusal
from blueprint.inputs.entries import Number, Whole, between
from blueprint.inputs.setting import OFF
from blueprint.workbooks.rlhf_ppo.inputs.result import TYPED, Update

MOST_EPOCHS = 8
_RATES: dict[str, tuple[float, float, float, str]] = {
    "lr": (0, 1e6, 0.02, "learning rate"),
    "beta1": (0, 0.9999999, 0.9, "how much of the mean gradient Adam keeps"),
    "beta2": (0, 0.9999999, 0.999, "how much of the mean squared gradient Adam keeps"),
    "eps": (1e-12, 1e6, 1e-8, "keeps Adam from dividing by 0"),
    "weight_decay": (0, 1e6, 0.0, "apart from the gradient with adamw, else part of it"),
    "max_norm": (1e-12, 1e6, 1.0, "the largest norm of the whole gradient, or off"),
}
"""The least, the most, the default, and what it is."""
RANGES = {f"optimiser.{name}": (low, high) for name, (low, high, _, _) in _RATES.items()}
"""What may be typed in a sheet."""


def _rate(name: str) -> Part:
    low, high, default, about = _RATES[name]
    entry: Any = Annotated[Number, between(low, high)]
    return Part(f"update.{name}", entry | Literal["off"] if name == "max_norm" else entry, (), about, default, default)


PARTS = (
    Part(
        "update.by",
        Literal["typed", "sgd", "adam", "adamw"],
        (),
        "typed: by the Δ of policy and critic",
        TYPED,
        "adamw",
    ),
    Part(
        "update.epochs",
        Annotated[Whole, between(1, MOST_EPOCHS, "a whole number")],
        (),
        "passes over the rollout",
        1,
        4,
    ),
    *map(_rate, _RATES),
)
RATES = (*(f"optimiser.{name}" for name in _RATES), "optimiser.norm_eps")
"""The blocks in which rates are typed."""
ABOUT = "how the new weights come about"


def update_of(draft: Draft) -> Update:
    """Return how the new weights come about.

    Raises:
        NumbersError: for a Δ or an update step that an optimiser would not read.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        if (epochs := draft.parts["update.epochs"]) != 1:
            raise refusal("update.epochs", str(epochs), '1, since a typed Δ is one step; or write update.by = "adamw"')
        return Update()
    unread = [key for key in draft.parts if ".delta_" in key and key not in draft.spare]
    unread += ["ppo.update_step"] * ("update_step" in draft.settings)
    for key in unread:
        raise refusal(key, "a value", f'nothing, since update.by = "{by}" takes steps along the gradient instead')
    rates = {f"optimiser.{name}": _number(draft.parts[f"update.{name}"]) for name in _RATES}
    return Update(by, draft.parts["update.epochs"], rates | {"optimiser.norm_eps": 1e-6})


def values_of(update: Update) -> dict[str, object]:
    """Return what a file says where an optimiser updates; nothing where Δ is typed."""
    if update.by == TYPED:
        return {}
    rates = {f"update.{name}": update.rates[f"optimiser.{name}"] for name in _RATES}
    return {"update.by": update.by, "update.epochs": update.epochs, **rates}


def _number(value: float | str) -> float:
    return OFF if value == "off" else float(value)
