"""Describe a numbers file, level by level, as pydantic models: which tables, which keys, which kind of value, what it is.

The descriptions are what a written file says beside its keys and what an editor shows.
"""

from typing import Any, Literal

from pydantic import Field

from blueprint.inputs.kinds import (
    About,
    Draw,
    Flag,
    LogProb,
    Matrix,
    Number,
    Prompt,
    Ratio,
    Response,
    Seed,
    Title,
    Token,
    Vector,
    Whole,
    Word,
)
from blueprint.inputs.limits import LIMITS
from blueprint.inputs.table import Table, entry
from blueprint.workbooks.common.conventions.table import LiveFile, Ppo


def _size(name: str, described: str) -> Any:
    """Describe a size that may be left out; its limits are checked in `sizes.py`."""
    low, high = LIMITS[name]
    return Field(None, description=described, json_schema_extra={"minimum": low, "maximum": high})


class Sizes(Table):
    """Sizes; each may be left out where a given part tells it."""

    vocabulary: Whole | None = _size("vocabulary", "words that there are")
    embedding: Whole | None = _size("embedding", "length of x, which stands for a word")
    hidden: Whole | None = _size("hidden", "length of the memory h")
    episodes: Whole | None = _size("episodes", "texts side by side")
    prompt: Whole | None = _size("prompt", "words of the longest prompt")
    max_new_tokens: Whole | None = _size("max_new_tokens", "words a response may have, the end word included")


class Words(Table):
    """The vocabulary and a prompt per episode."""

    vocabulary: list[Word] | None = entry("the first word ends a text; words differ by more than capitals")
    prompts: list[Prompt] | None = entry("an episode each: words of the vocabulary, blanks between them")


class Rollout(Table):
    """How the response words come about."""

    draws: list[list[Draw]] | None = entry(
        "an episode per row, a draw u per response word (or per column of the sheet)"
    )
    responses: list[Response] | None = entry(
        'words that are written whatever the draws say, an episode each; draws go on behind them, and for "" in a list',
        example=["very very sleepy <eos>", ""],
    )


_E = "a row per word, a column per number of x"
_W = "rows: x, h, 1; a column per number of h; h = tanh([x, h before, 1] · W)"
_Y = "a row per number of h, a column per word; scores = h · Y"
_HEAD = "a number per number of h; output = h · w + b"
_ADDED = "what the update adds to"


class Actor(Table):
    """Weights of a language model."""

    E: Matrix | None = entry(_E)
    W: Matrix | None = entry(_W)
    Y: Matrix | None = entry(_Y)


class ActorStep(Table):
    """What one update adds to a language model's weights, in their shapes."""

    delta_E: Matrix | None = entry(f"{_ADDED} E, in its shape")
    delta_W: Matrix | None = entry(f"{_ADDED} W, in its shape")
    delta_Y: Matrix | None = entry(f"{_ADDED} Y, in its shape")


class Head(Table):
    """Weights of a model whose output is one number."""

    E: Matrix | None = entry(_E)
    W: Matrix | None = entry(_W)
    w: Vector | None = entry(_HEAD)
    b: Number | None = entry("the b of w")


class HeadStep(Table):
    """What one update adds to the critic's weights, in their shapes."""

    delta_E: Matrix | None = entry(f"{_ADDED} E, in its shape")
    delta_W: Matrix | None = entry(f"{_ADDED} W, in its shape")
    delta_w: Vector | None = entry(f"{_ADDED} w, in its shape")
    delta_b: Number | None = entry(f"{_ADDED} b")


class WeightFile(LiveFile):
    """A file of level "weights": models are run, and whatever is left out is drawn from the seed."""

    level: Literal["weights"] = entry("where the numbers begin: models are run over prompts", needed=True)
    title: Title = entry("heads the workbook; else the file's name", "")
    about: About = entry("a sentence below the title", "")
    seed: Seed = entry("fills whatever is left out", 1)
    sizes: Sizes = entry("each may be left out where a given part tells it", Sizes.empty())
    text: Words = entry("what is given of each text", Words.empty())
    rollout: Rollout = entry("how the response words come about", Rollout.empty())
    ppo: Ppo = Ppo.empty()
    old: Actor = entry("the policy that wrote the responses", Actor.empty())
    reference: Actor = entry("the frozen policy from which drifting costs", Actor.empty())
    policy: ActorStep = entry("policy = old + update_step · delta", ActorStep.empty())
    old_critic: Head = entry("its values give the advantages and the value targets", Head.empty())
    critic: HeadStep = entry("critic = old_critic + update_step · delta", HeadStep.empty())
    reward_model: Head = entry("reads the whole text and scores it once, at its last word", Head.empty())


class Logits(Table):
    """Logits of one policy for every slot of every response."""

    logits: list[Matrix] = entry("a list per episode: a row per slot, a column per word of the vocabulary", needed=True)


class Values(Table):
    """A critic's number in every slot; behind a response too."""

    values: Matrix = entry("an episode per row, a column per slot", needed=True)


class Responses(Table):
    """The vocabulary, the words of every slot, and which of them count."""

    vocabulary: list[Word] = entry("words differ by more than capitals", needed=True)
    end_word: Word | None = entry("the word that ends a response; else the first one")
    responses: list[list[Word]] = entry("an episode per row, a word of the vocabulary per slot", needed=True)
    mask: list[list[Flag]] | None = entry(
        "1 on the words of the response, 0 behind; else up to and including the end word"
    )
    episodes: list[int] | None = entry("which rows are taken, counted from 1; else all", example=[1])


class Scored(Table):
    """The score of each response."""

    scores: list[Number] = entry("a number per episode", needed=True)


class LogitFile(LiveFile):
    """A file of level "logits": three policies' logits, two critics' values and scores are given; no model is run."""

    level: Literal["logits"] = entry("where the numbers begin: no model is run, nothing is drawn", needed=True)
    title: Title = entry("heads the workbook; else the file's name", "")
    about: About = entry("a sentence below the title", "")
    text: Responses = entry("what was written", needed=True)
    old: Logits = entry("the policy that wrote the responses", needed=True)
    reference: Logits = entry("the frozen policy from which drifting costs", needed=True)
    policy: Logits = entry("the policy after the update", needed=True)
    old_critic: Values = entry("its values give the advantages and the value targets", needed=True)
    critic: Values = entry("the critic after the update", needed=True)
    reward_model: Scored = entry("what it says of each response", needed=True)


class PerToken(Table):
    """Numbers per response word, a list per episode, all of the words' ragged shape."""

    words: list[list[Token]] = entry("an episode per row, a column per word of the response", needed=True)
    logprobs_old: list[list[LogProb]] = entry("log-probs of the policy that wrote, in the shape of words", needed=True)
    logprobs_ref: list[list[LogProb]] = entry("log-probs of the reference, in the shape of words", needed=True)
    values: Matrix = entry("the critic's values, in the shape of words", needed=True)
    scores: Matrix = entry("scores, in the shape of words; usually 0 but on the last one", needed=True)


class Cases(Table):
    """Pairs of an advantage and a ratio, for the table of the clipped loss."""

    advantages: list[Number] = entry("a number per case", example=[2.0, -2.0], needed=True)
    ratios: list[Ratio] = entry("a number per case", example=[1.5, 0.5], needed=True)


class TokenFile(Table):
    """A file of level "per-token": it begins at log-probabilities, and nothing is drawn."""

    level: Literal["per-token"] = entry("where the numbers begin: no model is run, nothing is drawn", needed=True)
    title: Title = entry("heads the workbook; else the file's name", "")
    about: About = entry("a sentence below the title", "")
    ppo: Ppo = Ppo.empty()
    per_token: PerToken = entry("what is given for every response word", needed=True)
    cases: Cases | None = entry("may be left out: pairs for the table of the clipped loss")
