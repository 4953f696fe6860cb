"""Say how the new weights come about: by a typed Δ, or by steps of an optimiser."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema, WrapValidator

from blueprint.inputs import DEFAULT, Draft, Part, refusal, shown
from blueprint.inputs.entries import Number, Positive, Whole, between
from blueprint.inputs.setting import OFF
from blueprint.workbooks.common.conventions.data import rlhf
from blueprint.workbooks.rlhf_ppo.inputs.result import BATCH, MINIBATCH, TYPED, Update

MOST_EPOCHS, MOST_STEPS = 8, 12
"""A step has five sheets: with more of them, nobody finds anything."""
_RATES: dict[str, tuple[float, float, float, str]] = {
    "lr": (0, 1e6, 0.02, "learning rate"),
    "beta1": (0, 0.9999999, 0.9, "how much of the mean gradient Adam keeps"),
    "beta2": (0, 0.9999999, 0.999, "how much of the mean squared gradient Adam keeps"),
    "eps": (1e-12, 1e6, 1e-8, "keeps Adam from dividing by 0"),
    "weight_decay": (0, 1e6, 0.0, "apart from the gradient with adamw, else part of it"),
    "max_norm": (1e-12, 1e6, 1.0, "the largest norm of the whole gradient, or off"),
}
"""The least, the most, the default, and what it is."""
_APART = {"critic_lr": "lr", "critic_max_norm": "max_norm"}
"""What the critic has for its own where it is trained apart, and as which it is if nothing is said."""
RANGES = {
    f"optimiser.{name}": _RATES[like][:2] for name, like in {**dict(zip(_RATES, _RATES, strict=True)), **_APART}.items()
}
"""What may be typed in a sheet."""


_COUNTS = ("update.epochs", "update.minibatches")
_LIMIT = Annotated[
    Number,
    between(*_RATES["max_norm"][:2], '"off", or a number'),
    WrapValidator(lambda value, check: value if value == "off" else check(value)),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "off", "type": "string"}]}),
]


def _rate(name: str) -> Part:
    low, high, default, about = _RATES[name]
    entry: Any = _LIMIT if name == "max_norm" else Annotated[Number, between(low, high)]
    return Part(f"update.{name}", entry, (), about, default, default)


def _apart(name: str) -> Part:
    like, about = _rate(_APART[name]), f"the critic's {_APART[name]}, in presets that train it apart"
    return like._replace(key=f"update.{name}", about=about, default=None, otherwise=f"as {_APART[name]}")


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
    Part("update.minibatches", Positive, (), "steps of an epoch, each on as many whole responses", 1, 2),
    Part(
        "update.order",
        Whole,
        ("epoch", "place"),
        "responses in the order in which an epoch takes them",
        None,
        [[2, 1]],
        "1, 2, … in every epoch",
    ),
    Part(
        "update.whiten",
        Literal["batch", "minibatch"],
        (),
        "what advantages are whitened over, once or in every step",
        None,
        MINIBATCH,
        "as the preset does",
    ),
    *map(_rate, _RATES),
    *map(_apart, _APART),
)
RATES = (*RANGES, "optimiser.norm_eps")
"""The blocks in which rates are typed."""
ABOUT = "how the new weights come about"


def update_of(draft: Draft, responses: int, live: bool) -> Update:
    """Return how the new weights come about. responses: how many there are. live: whether the critic may be trained apart.

    Raises:
        NumbersError: for a Δ or an update step that an optimiser would not read; for minibatches that cannot be.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        for part in PARTS[1:]:
            # One step sees the whole batch: what advantages are whitened over is the same either way.
            found = draft.parts.get(part.key, part.default)
            if found != part.default and part.key != "update.whiten":
                expected = "1, since a typed Δ is one step" if part.key in _COUNTS else "nothing, since Δ is typed"
                raise refusal(part.key, shown(found), f'{expected}; or write update.by = "adamw"')
        return Update()
    unread = [key for key in draft.parts if ".delta_" in key and key not in draft.spare]
    unread += ["ppo.update_step"] * ("update_step" in draft.settings)
    for key in unread:
        raise refusal(key, "a value", f'nothing, since update.by = "{by}" takes steps along the gradient instead')
    rates = {f"optimiser.{name}": _number(draft.parts[f"update.{name}"]) for name in _RATES}
    rates |= _rates_apart(draft, rates, live)
    epochs, number = draft.parts["update.epochs"], draft.parts["update.minibatches"]
    order = minibatches_of(epochs, number, draft.parts.get("update.order"), responses)
    whiten = draft.parts.get("update.whiten", rlhf().preset(draft.parts.get("preset", DEFAULT)).whitens)
    return Update(by, epochs, rates | {"optimiser.norm_eps": 1e-6}, number, order, whiten if order else BATCH)


def _rates_apart(draft: Draft, rates: Mapping[str, float], live: bool) -> dict[str, float]:
    """Return what the critic has for its own, where conventions are live.

    Raises:
        NumbersError: for such a rate where they are not.
    """
    given = {name: draft.parts[f"update.{name}"] for name in _APART if f"update.{name}" in draft.parts}
    for name, value in given.items():
        if not live:
            expected = f"nothing, since one optimiser moves policy and critic by {_APART[name]}; or a preset that trains them apart"
            raise refusal(f"update.{name}", str(value), expected)
    found = {
        name: _number(given[name]) if name in given else rates[f"optimiser.{like}"] for name, like in _APART.items()
    }
    return {f"optimiser.{name}": value for name, value in found.items()} if live else {}


def minibatches_of(
    epochs: int, number: int, order: list[list[int]] | None, responses: int
) -> tuple[tuple[int, ...], ...]:
    """Return the order in which each epoch takes the responses; none where there is one minibatch.

    Raises:
        NumbersError: for minibatches of unequal size (TRL 0.11.4 and 1.12 refuse them too: `exact_div`), more steps than a
            reader can follow, or an order in which a response is missing.
    """
    if responses % number:
        fit = " or ".join(str(each) for each in range(1, responses + 1) if responses % each == 0)
        raise refusal(
            "update.minibatches", str(number), f"{fit}: whole responses, as many in each, and there are {responses}"
        )
    if epochs * number > MOST_STEPS:
        steps = f"{epochs} epochs of {number} minibatches"
        raise refusal("update.minibatches", steps, f"at most {MOST_STEPS} steps, each of which has its own sheets")
    every = tuple(range(1, responses + 1))
    if number == 1:
        if order is not None:
            raise refusal("update.order", "a list", "nothing, since one minibatch holds all responses")
        return ()
    rows = [list(every)] * epochs if order is None else order
    if len(rows) != epochs:
        raise refusal("update.order", f"{len(rows)} rows", f"{epochs}, one for each epoch")
    for at, row in enumerate(rows, start=1):
        if sorted(row) != list(every):
            listed = ", ".join(map(str, row))
            raise refusal(f"update.order, row {at}", f"[{listed}]", f"each of 1 … {responses} once, in any order")
    return tuple(map(tuple, rows))


def values_of(update: Update) -> dict[str, object]:
    """Return what a file says where an optimiser updates; nothing where Δ is typed."""
    if update.by == TYPED:
        return {}
    rates = {
        f"update.{name}": update.rates[f"optimiser.{name}"]
        for name in (*_RATES, *_APART)
        if f"optimiser.{name}" in update.rates
    }
    taken = {"minibatches": update.minibatches, "order": update.order, "whiten": update.whiten} if update.order else {}
    return {
        "update.by": update.by,
        "update.epochs": update.epochs,
        **{f"update.{key}": value for key, value in taken.items()},
        **rates,
    }


def _number(value: float | str) -> float:
    return OFF if value == "off" else float(value)
