"""What numbers of RLHF PPO are besides what all numbers are: conventions, plain or live ones, and how the new weights come
about.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from blueprint.inputs import DEFAULT, Array, Draft, Numbers, NumbersError, Part, Settings, refusal, shown
from blueprint.inputs.entries import Positive, Text, Whole
from blueprint.workbooks.common import update as shared
from blueprint.workbooks.common.conventions import LIVE, PLAIN, PRESET_DEFAULT, Conventions, followed, rlhf
from blueprint.workbooks.common.update import (
    LIMITS,
    NORM_EPS,
    TYPED,
    kept_of,
    kept_parts,
    number_of,
    parts,
    rate,
    rates_of,
    refuse_typed,
)
from blueprint.workbooks.common.update import Update as Steps

_GROUPS = dict.fromkeys(("ppo", *(key.partition(".")[0] for key in LIVE if "." in key)))
TABLES = MappingProxyType(dict.fromkeys(_GROUPS, "settings; one that is left out is as in the preset"))
"""The tables of settings, in the order of a file, with what describes them."""
PARTS = (
    Part("preset", Text, (), "what a library does, for every setting that is left out", None, "verl"),
    Part(
        "conventions", Literal["plain", "live"], (), "live: every convention is a switch", None, "live",
        "a preset or convention is asked for",
    ),
    Part(
        "compare", tuple[str, ...] | str, (), "the presets that stand side by side; else all", (), ["trl_1.12", "verl"]
    ),
)  # fmt: skip
BATCH, MINIBATCH = "batch", "minibatch"
"""Words for what advantages are whitened over."""


@dataclass(frozen=True)
class Update(Steps):
    """Hold how the new weights come about.

    Attributes:
        minibatches: steps of an epoch, each on as many responses.
        order: for each epoch the numbers of the responses in the order in which they are taken; of one minibatch, none.
        whiten: whether advantages are whitened over the whole batch, or over each minibatch anew.
    """

    minibatches: int = 1
    order: tuple[tuple[int, ...], ...] = ()
    whiten: str = BATCH

    @property
    def facts(self) -> dict[str, str]:
        """What a file says of it among its properties."""
        taken = {"minibatches": str(self.minibatches), "whiten": self.whiten} if self.order else {}
        return {**super().facts, **taken}


@dataclass(frozen=True, eq=False, kw_only=True)
class RlhfNumbers(Numbers):
    """Hold numbers of RLHF PPO.

    Attributes:
        conventions: whether they are live, which preset is in use, and which presets stand side by side.
    """

    kind: str = "rlhf_ppo"
    conventions: Conventions = PLAIN

    @property
    def preset(self) -> str | None:
        """The name of the preset in use, where conventions are live."""
        return self.conventions.preset if self.conventions.live else None


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightNumbers(RlhfNumbers):
    """Hold all numbers of level "weights".

    Attributes:
        vocabulary: the words, the end word first.
        prompts: the words of each episode's prompt.
        draws: u for every column t = 1 … T, (episodes, T), T = longest prompt + max_new_tokens; column t draws the word
            written at t, so episode n's first response word is drawn at t = its number of prompt words.
        weights: by dotted name, such as `old.E`, `policy.delta_Y`, `reward_model.b` (the last a 0-d array).
        update: how the new weights come about.
        responses: words that are written whatever the draws say, for each episode; () where the draws decide everything.
    """

    level: str = "weights"
    seed: int
    vocabulary: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    max_new_tokens: int
    draws: Array
    weights: dict[str, Array]
    update: Update = Update()
    responses: tuple[tuple[str, ...], ...] = ()


def conventions_of(draft: Draft) -> tuple[Settings, Conventions]:
    """Return the settings that a file gives, and its conventions: live if it asks for any that the plain build lacks.

    Raises:
        NumbersError: if there is no preset of a name, or conventions are stated to be plain and are not.
    """
    settings, stated, preset = draft.settings, draft.parts.get("conventions"), draft.parts.get("preset")
    listed = draft.parts["compare"]
    compare = [name.strip() for name in (listed.split(",") if isinstance(listed, str) else listed) if name.strip()]
    for name in (preset or DEFAULT, *compare):
        rlhf().preset(name)
    needs_live = (
        preset is not None or bool(compare) or not all(_is_plain(key, value) for key, value in settings.items())
    )
    if needs_live and stated == "plain":
        raise NumbersError(
            "conventions: found plain, but a preset or convention is asked for, which only live ones have."
        )
    live = stated == "live" or needs_live
    return followed(settings) if live else settings, Conventions(live, preset or DEFAULT, tuple(compare))


def check_plain(settings: Settings) -> None:
    """Check settings at a level that has no live conventions.

    Raises:
        NumbersError: for one that the plain build does not know.
    """
    for key, value in settings.items():
        if not _is_plain(key, value):
            setting = PRESET_DEFAULT[key]
            allowed = " or ".join(map(shown, setting.words)) or f"a number from {setting.low:g} to {setting.high:g}"
            raise refusal(f"ppo.{key}", shown(value), f"{allowed} (live conventions need logits or weights)")


def _is_plain(key: str, value: float | str) -> bool:
    """Tell whether the plain build knows a setting, and may hold this value."""
    setting = PRESET_DEFAULT.get(key)
    return setting is not None and (value in setting.words if setting.words else setting.holds(float(value)))


def values_of(conventions: Conventions) -> dict[str, object]:
    """Return what a file states of live conventions; nothing where they are not live."""
    if not conventions.live:
        return {}
    compare = {"compare": conventions.compare} if conventions.compare else {}
    return {"preset": conventions.preset, "conventions": "live", **compare}


MOST_STEPS = 12
"""A step has five sheets: with more of them, nobody finds anything."""
_APART = {"critic_lr": "lr", "critic_max_norm": "max_norm"}
"""What the critic has for its own where it is trained apart, and as which it is if nothing is said."""
RANGES = {**shared.RANGES, **{f"optimiser.{name}": LIMITS[like][:2] for name, like in _APART.items()}}
"""What may be typed in a sheet."""
_ONE = "1, since a typed Δ is one step"
LEARN = {
    f"{model}.{part}": f"{old}.{part}"
    for model, old, parts_of in (("policy", "old", "EWY"), ("critic", "old_critic", "EWwb"))
    for part in parts_of
}
"""What the optimiser moves, by key, and where it begins."""


def _apart(name: str) -> Part:
    like, about = rate(_APART[name]), f"the critic's {_APART[name]}, in presets that train it apart"
    return like._replace(key=f"update.{name}", about=about, default=None, otherwise=f"as {_APART[name]}")


UPDATE_PARTS = (
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
    *kept_parts(LEARN),
)
RATES = (*RANGES, NORM_EPS)
"""The blocks in which rates are typed."""


def update_of(draft: Draft, responses: int, live: bool, weights: Mapping[str, Array]) -> Update:
    """Return how the new weights come about.

    responses: how many there are. live: whether the critic may be trained apart. weights: all, by key.

    Raises:
        NumbersError: for a Δ or an update step that an optimiser would not read; for minibatches that cannot be.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        # One step sees the whole batch: what advantages are whitened over is the same either way.
        silent = [part for part in UPDATE_PARTS[1:] if part.key != "update.whiten"]
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
    kept = kept_of(draft, {key: weights[begins].shape for key, begins in LEARN.items()})
    return Update(by, epochs, rates, number, order, whiten if order else BATCH, kept=kept)


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


def values_of_update(update: Update) -> dict[str, object]:
    """Return what a file says where an optimiser updates; nothing where Δ is typed."""
    found = shared.values_of(update)
    taken = {"minibatches": update.minibatches, "order": update.order, "whiten": update.whiten} if update.order else {}
    first = dict(list(found.items())[:2])
    return {**first, **{f"update.{key}": value for key, value in taken.items()}, **found}
