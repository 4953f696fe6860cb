"""Say how the new weights come about: by a typed Δ, or by steps of an optimiser."""

from collections.abc import Mapping
from typing import Literal

from blueprint.inputs import DEFAULT, Draft, Part, refusal
from blueprint.inputs.entries import Positive, Whole
from blueprint.workbooks.common.conventions.data import rlhf
from blueprint.workbooks.common.epochs import TYPED, rate, rates_of, refuse_typed
from blueprint.workbooks.common.epochs import update as shared
from blueprint.workbooks.common.epochs.update import LIMITS, NORM_EPS, number_of, parts
from blueprint.workbooks.rlhf_ppo.inputs.result import BATCH, MINIBATCH, Update

MOST_STEPS = 12
"""A step has five sheets: with more of them, nobody finds anything."""
_APART = {"critic_lr": "lr", "critic_max_norm": "max_norm"}
"""What the critic has for its own where it is trained apart, and as which it is if nothing is said."""
RANGES = {**shared.RANGES, **{f"optimiser.{name}": LIMITS[like][:2] for name, like in _APART.items()}}
"""What may be typed in a sheet."""
_ONE = "1, since a typed Δ is one step"


def _apart(name: str) -> Part:
    like, about = rate(_APART[name]), f"the critic's {_APART[name]}, in presets that train it apart"
    return like._replace(key=f"update.{name}", about=about, default=None, otherwise=f"as {_APART[name]}")


PARTS = (
    *parts("typed: by the Δ of policy and critic", "passes over the rollout"),
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
    *map(rate, LIMITS),
    *map(_apart, _APART),
)
RATES = (*RANGES, NORM_EPS)
"""The blocks in which rates are typed."""


def update_of(draft: Draft, responses: int, live: bool) -> Update:
    """Return how the new weights come about. responses: how many there are. live: whether the critic may be trained apart.

    Raises:
        NumbersError: for a Δ or an update step that an optimiser would not read; for minibatches that cannot be.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        # One step sees the whole batch: what advantages are whitened over is the same either way.
        silent = [part for part in PARTS[1:] if part.key != "update.whiten"]
        refuse_typed(
            draft, silent, "nothing, since Δ is typed", dict.fromkeys(("update.epochs", "update.minibatches"), _ONE)
        )
        return Update()
    unread = [key for key in draft.parts if ".delta_" in key and key not in draft.spare]
    unread += ["ppo.update_step"] * ("update_step" in draft.settings)
    for key in unread:
        raise refusal(key, "a value", f'nothing, since update.by = "{by}" takes steps along the gradient instead')
    rates = rates_of(draft)
    rates |= _rates_apart(draft, rates, live)
    epochs, number = draft.parts["update.epochs"], draft.parts["update.minibatches"]
    order = minibatches_of(epochs, number, draft.parts.get("update.order"), responses)
    whiten = draft.parts.get("update.whiten", rlhf().preset(draft.parts.get("preset", DEFAULT)).whitens)
    return Update(by, epochs, rates, number, order, whiten if order else BATCH)


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
        name: number_of(given[name]) if name in given else rates[f"optimiser.{like}"] for name, like in _APART.items()
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
    found = shared.values_of(update)
    taken = {"minibatches": update.minibatches, "order": update.order, "whiten": update.whiten} if update.order else {}
    first = dict(list(found.items())[:2])
    return {**first, **{f"update.{key}": value for key, value in taken.items()}, **found}
