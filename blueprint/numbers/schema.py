"""Describe a numbers file, level by level, as pydantic models: which tables, which keys, which kind of value."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, create_model

from blueprint.numbers.kinds import (
    About,
    Draw,
    LogProb,
    Matrix,
    Number,
    Prompt,
    Ratio,
    Seed,
    Text,
    Title,
    Token,
    Vector,
    Whole,
    Word,
    between,
    one_of,
)
from blueprint.numbers.preset import PRESET_DEFAULT, Setting


class Table(BaseModel):
    """Refuse unknown keys, in every table of a numbers file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _setting(setting: Setting) -> tuple[Any, float | str]:
    """Translate a row of the preset into a field: its kind and its default."""
    if setting.words:
        return Annotated[Text, BeforeValidator(one_of(setting.words))], setting.value
    return Annotated[Number, AfterValidator(between(setting.low, setting.high))], setting.value


_settings: dict[str, Any] = {key: _setting(setting) for key, setting in PRESET_DEFAULT.items()}
if TYPE_CHECKING:
    Ppo = Table  # a type checker cannot read a table that is built from data
else:
    Ppo = create_model("Ppo", __base__=Table, **_settings)


class Sizes(Table):
    """Sizes; each may be left out where a given part tells it. Their limits are checked in `sizes.py`."""

    vocabulary: Whole | None = None
    embedding: Whole | None = None
    hidden: Whole | None = None
    episodes: Whole | None = None
    prompt: Whole | None = None
    max_new_tokens: Whole | None = None


class Words(Table):
    """The vocabulary, whose first word ends a text, and a prompt per episode: a string, or a list of words."""

    vocabulary: list[Word] | None = None
    prompts: list[Prompt] | None = None


class Rollout(Table):
    """The draws of the response words, (episodes, max_new_tokens), each 0.01 to 0.99."""

    draws: list[list[Draw]] | None = None


class Actor(Table):
    """Weights of a language model: E (vocabulary, embedding), W ([x; h; 1], hidden), Y (hidden, vocabulary)."""

    E: Matrix | None = None
    W: Matrix | None = None
    Y: Matrix | None = None


class ActorStep(Table):
    """What one update adds to a language model's weights, in their shapes."""

    delta_E: Matrix | None = None
    delta_W: Matrix | None = None
    delta_Y: Matrix | None = None


class Head(Table):
    """Weights of a model with one number as its output: E and W as in `Actor`, w (hidden,), b a number."""

    E: Matrix | None = None
    W: Matrix | None = None
    w: Vector | None = None
    b: Number | None = None


class HeadStep(Table):
    """What one update adds to the critic's weights, in their shapes."""

    delta_E: Matrix | None = None
    delta_W: Matrix | None = None
    delta_w: Vector | None = None
    delta_b: Number | None = None


class WeightFile(Table):
    """A file of level "weights": models are run, and whatever is left out is drawn from the seed."""

    level: Literal["weights"]
    title: Title = ""
    about: About = ""
    seed: Seed = 1
    sizes: Sizes = Sizes()
    text: Words = Words()
    rollout: Rollout = Rollout()
    ppo: Ppo = Ppo()
    old: Actor = Actor()
    reference: Actor = Actor()
    policy: ActorStep = ActorStep()
    old_critic: Head = Head()
    critic: HeadStep = HeadStep()
    reward_model: Head = Head()


class PerToken(Table):
    """Numbers per response word, a list per episode, all of the words' ragged shape."""

    words: list[list[Token]]
    logprobs_old: list[list[LogProb]]
    logprobs_ref: list[list[LogProb]]
    values: Matrix
    scores: Matrix


class Cases(Table):
    """Pairs of an advantage and a ratio, for the table of the clipped loss."""

    advantages: list[Number]
    ratios: list[Ratio]


class TokenFile(Table):
    """A file of level "per-token": it begins at log-probabilities, and nothing is drawn."""

    level: Literal["per-token"]
    title: Title = ""
    about: About = ""
    ppo: Ppo = Ppo()
    per_token: PerToken
    cases: Cases | None = None
