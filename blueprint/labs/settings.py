"""The settings of a lab: a method, a recipe, and other values for single keys; what is refused of them is a sentence.

`cart-pole.toml` holds every key with its default, and says in its comments what it is.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from blueprint.inputs import nearest, shown
from blueprint.quoting import unquoted

METHODS = ("ppo", "a2c", "reinforce")
MOST_SEED = 2**31 - 1

Above0 = Annotated[FiniteFloat, Field(gt=0)]
NotNegative = Annotated[FiniteFloat, Field(ge=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Off = Literal["off"]


class LabError(ValueError):
    """Says in a sentence why a lab cannot begin or go on; where it has begun, with the iteration and the quantity."""


class Settings(BaseModel):
    """What a run of a lab is made by: what each key means stands in the comments of `cart-pole.toml`.

    method: ppo, a2c or reinforce. seed: of weights, environments, actions and minibatches. steps: of all environments together.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    method: Literal["ppo", "a2c", "reinforce"]
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)]
    steps: Annotated[int, Field(ge=1, le=10_000_000)]
    environments: Annotated[int, Field(ge=1, le=256)]
    rollout_steps: Annotated[int, Field(ge=1, le=4096)]
    time_limit: Annotated[int, Field(ge=1)] | Off
    hidden: Annotated[list[Annotated[int, Field(ge=1, le=512)]], Field(min_length=1, max_length=4)]
    shared_trunk: bool
    init: Literal["orthogonal", "torch"]
    epochs: Annotated[int, Field(ge=1, le=1000)]
    minibatch: Annotated[int, Field(ge=2, le=1_000_000)] | Literal["all"]
    lr: Above0
    lr_schedule: Literal["linear", "constant"]
    max_norm: Above0
    gamma: Share
    gae_lambda: Share
    clip_range: Above0 | Off
    clip_schedule: Literal["linear", "constant"]
    value_clip_range: Above0 | Off
    vf_coef: NotNegative
    ent_coef: NotNegative

    @property
    def batch(self) -> int:
        """Steps of all environments in one iteration; of REINFORCE, whose episodes have any length, not known before."""
        return self.environments * self.rollout_steps

    @property
    def iterations(self) -> int:
        """How many iterations the steps are enough for; REINFORCE makes as many as it takes."""
        return max(1, self.steps // self.batch)

    def clip(self, left: float) -> float:
        """Returns ε where a share of the steps is left; infinite if it is off."""
        if self.clip_range == "off":
            return float("inf")
        return self.clip_range * (left if self.clip_schedule == "linear" else 1.0)

    @property
    def value_clip(self) -> float:
        """The critic's clip; infinite if it is off."""
        return float("inf") if self.value_clip_range == "off" else self.value_clip_range


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("cart-pole.toml").read_text(encoding="utf-8"))


def recipes() -> tuple[str, ...]:
    """Names the recipes."""
    return tuple(_tables()["recipe"])


def settings(
    method: str = "ppo",
    *,
    recipe: str | None = None,
    seed: int = 0,
    steps: int = 100_000,
    changed: Sequence[str] | Mapping[str, Any] = (),
) -> Settings:
    """Returns the settings of a method, by a recipe if one is named, with other values for single keys.

    changed: `key=value` words, or a value by key. A method has the last word over a recipe, and `changed` over both.
    Raises LabError for an unknown method, recipe or key, and for a value that is none, in a sentence.
    """
    tables = _tables()
    _refuse_unknown("method", method, METHODS)
    if recipe is not None:
        _refuse_unknown("recipe", recipe, recipes())
    own = tables[method] if method != "ppo" else {}
    values = {**tables["ppo"], **(tables["recipe"][recipe] if recipe else {}), **own}
    for key, value in changed.items() if isinstance(changed, Mapping) else map(_pair, changed):
        _refuse_unknown("setting", key, tuple(tables["ppo"]))
        values[key] = value
    try:
        found = Settings.model_validate({"method": method, "seed": seed, "steps": steps, **values})
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        wanted = ", or ".join(_wanted(each["msg"]) for each in error.errors())
        raise LabError(f"{key}: found {shown(first['input'])}, expected {wanted}") from error
    if found.method != "reinforce" and found.steps < found.batch:
        raise LabError(
            f"steps: found {steps:,}, expected at least {found.batch:,}, which is one iteration: {found.environments} "
            f"environments of {found.rollout_steps} steps"
        )
    return found


def _refuse_unknown(what: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        close = nearest(str(word), known)
        meant = f" (did you mean {close}?)" if close else ""
        raise LabError(f"there is no {what} {unquoted(word, 40)}{meant}: write one of {', '.join(known)}")


def _wanted(message: str) -> str:
    """Says in our words what pydantic expects."""
    said = message.removeprefix("Input should be ").replace("'", '"').replace("a valid boolean", "true or false")
    if said.startswith(("greater", "less")):
        return f"a number {said}"
    return (
        "a list of 1 to 4 numbers" if "list" in said.lower() else said.replace("a valid ", "a ").replace("a i", "an i")
    )


def _pair(word: str) -> tuple[str, Any]:
    """Splits `key=value`; the value is written as in a TOML file, and a word needs no quotes."""
    key, equals, text = word.partition("=")
    if not equals:
        raise LabError(f"--set {unquoted(word, 60)}: found no =, expected key=value, such as --set clip_range=0.1")
    try:
        return key.strip(), tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), text.strip()
