"""Describe a numbers file, level by level, as pydantic models: which tables, which keys, which kind of value."""

from typing import Literal

from blueprint.numbers.kinds import (
    About,
    Draw,
    LogProb,
    Matrix,
    Number,
    Prompt,
    Ratio,
    Seed,
    Title,
    Token,
    Vector,
    Whole,
    Word,
)
from blueprint.numbers.live import LiveFile, Ppo
from blueprint.numbers.table import Table


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


class WeightFile(LiveFile):
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


class Logits(Table):
    """Logits of one policy for every slot of every response, [episodes][slots][vocabulary]."""

    logits: list[Matrix]


class Values(Table):
    """A critic's number in every slot, [episodes][slots]; behind a response too."""

    values: Matrix


class Responses(Table):
    """The vocabulary, whose word `end_word` ends a response, and the words of every slot; `mask` says which count.

    Left out, `end_word` is the first word, and the mask reaches up to and including the first end word.
    """

    vocabulary: list[Word]
    end_word: Word | None = None
    responses: list[list[Word]]
    mask: Matrix | None = None
    episodes: list[int] | None = None


class Scored(Table):
    """The score of each response."""

    scores: list[Number]


class LogitFile(LiveFile):
    """A file of level "logits": three policies' logits, two critics' values and scores are given; no model is run."""

    level: Literal["logits"]
    title: Title = ""
    about: About = ""
    text: Responses
    old: Logits
    reference: Logits
    policy: Logits
    old_critic: Values
    critic: Values
    reward_model: Scored


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
