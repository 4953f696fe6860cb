"""Completes a checked file: sizes from what is given, the shape of every part, and what is left out drawn from the seed, few digits
each, so that a person can multiply them.

Every part has a stream of random numbers of its own, named after it: to give one part leaves the others as they were.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from blueprint.inputs import LONGEST, ROWS, Array, NumbersError, check_known, check_vocabulary, counted, refusal, shown

# What each size may be; 64 words, and 31 + 32 + 1 rows of W, are the longest safe column of one formula.
LIMITS = {
    "vocabulary": (2, 64),
    "embedding": (1, 31),
    "hidden": (1, 32),
    "episodes": ROWS,
    "prompt": (1, LONGEST - 1),
    "max_new_tokens": (1, LONGEST - 1),
}
# The shape of each part, in the names of the sizes; `joined` is embedding + hidden + 1.
SHAPES: dict[str, tuple[str, ...]] = {
    "draws": ("episodes", "max_new_tokens"),
    "E": ("vocabulary", "embedding"),
    "W": ("joined", "hidden"),
    "Y": ("hidden", "vocabulary"),
    "w": ("hidden",),
    "b": (),
}


@dataclass(frozen=True)
class Sizes:
    """Hold the sizes; `prompt` is the number of words of the longest prompt."""

    vocabulary: int = 8
    embedding: int = 3
    hidden: int = 4
    episodes: int = 2
    prompt: int = 4
    max_new_tokens: int = 4

    @property
    def columns(self) -> int:
        """Count the columns t = 1 … T of an episode."""
        return self.prompt + self.max_new_tokens

    @property
    def joined(self) -> int:
        """Count the rows of W, the length of [x; h; 1]."""
        return self.embedding + self.hidden + 1


class Claim(NamedTuple):
    """Say what a part of the file (`source`, a dotted key) tells about a size."""

    source: str
    size: str
    value: int


def resolved(parts: Mapping[str, Any], spare: Collection[str]) -> Sizes:
    """Settle the sizes: a part that may be dropped (`spare`) speaks last, [sizes] before the shapes of parts.

    Raises:
        NumbersError: if a size is outside its limits, or the text would be longer than 500 tokens.
    """
    sizes = Sizes(**{size: claim.value for size, claim in claims_of(parts, spare).items()})
    if sizes.columns > LONGEST:
        raise NumbersError(
            f"sizes.max_new_tokens: found {counted(sizes.prompt, 'prompt token')} and "
            f"{counted(sizes.max_new_tokens, 'new token')}, expected at most {LONGEST} tokens together."
        )
    return sizes


def claims_of(parts: Mapping[str, Any], spare: Collection[str]) -> dict[str, Claim]:
    """Take the first claim for each size, and check it; fixed responses come last of all, since they may be shorter."""
    claims = [
        Claim(key, size, number)
        for key, value in parts.items()
        for size, number in _solved(sizes_in(key, value)).items()
    ]
    claims.sort(
        key=lambda each: (each.source == "rollout.responses", each.source in spare, each.source[:6] != "sizes.")
    )
    settled: dict[str, Claim] = {}
    for claim in claims:
        if claim.size not in settled:
            low, high = LIMITS[claim.size]
            if not low <= claim.value <= high:
                found = shown(claim.value)
                stated = claim.source == f"sizes.{claim.size}"
                raise refusal(claim.source, found if stated else f"{claim.size} = {found}", f"{low} to {high}")
            settled[claim.size] = claim
    return settled


def _solved(told: dict[str, int]) -> dict[str, int]:
    """Return sizes, with the embedding in place of the rows of W, [x; h; 1], if these leave room for one."""
    embedding = told.pop("joined", 0) - told.get("hidden", 0) - 1
    return told | ({"embedding": embedding} if embedding > 0 else {})


def sizes_in(key: str, value: Any) -> dict[str, int]:
    """Read the sizes that a part tells by its shape, `joined` among them."""
    match key.split("."):
        case ["sizes", size]:
            return {size: value}
        case ["text", "vocabulary"]:
            return {"vocabulary": len(value)}
        case ["text", "prompts"]:
            return {"episodes": len(value), "prompt": max(map(len, value), default=1)}
        case ["rollout", "responses"]:
            longest = max(map(len, value), default=0)
            return {"episodes": len(value)} | ({"max_new_tokens": longest} if longest else {})
        case [_, part] if axes := SHAPES[part.removeprefix("delta_")]:
            lengths = (len(value), len(value[0]) if value else 0) if len(axes) == 2 else (len(value),)
            return dict(zip(axes, lengths, strict=True))
    return {}


PLAIN_WORDS = (  # 63, each once
    "the old dog is very sleepy happy big small cat bird runs sleeps sees red blue and a good young "
    "quick slow tree house sun moon rain wind warm cold here there sings jumps plays eats little tall "
    "fox hen cow horse fish river stone road night day green white black kind brave quiet loud home "
    "away under over near far up down"
)

_ONE_DECIMAL_FROM = 0.3  # narrower than this, one decimal would leave mostly zeros
_STEP = 0.2  # an update, or the way from old to reference, is this part of the weights' own spread

_ACTOR = ("E", "W", "Y")
_HEAD = ("E", "W", "w", "b")
MODELS = {
    "old": _ACTOR,
    "reference": _ACTOR,
    "policy": tuple(f"delta_{letter}" for letter in _ACTOR),
    "old_critic": _HEAD,
    "critic": tuple(f"delta_{letter}" for letter in _HEAD),
    "reward_model": _HEAD,
}
_BASES = {"reference": "old", "policy": "old", "critic": "old_critic"}
WEIGHTS = [f"{model}.{part}" for model, parts in MODELS.items() for part in parts]
"""All weights by dotted name, in the order of the models."""


def _stream(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])


def vocabulary(size: int) -> list[str]:
    """List the end word and the first plain words; `size` is 2 to 64."""
    return ["<eos>", *PLAIN_WORDS.split()[: size - 1]]


def prompts(seed: int, words: list[str], sizes: Sizes) -> list[list[str]]:
    """Draw a prompt of `sizes.prompt` words per episode, never the end word."""
    ids = _stream(seed, "text.prompts").integers(1, len(words), (sizes.episodes, sizes.prompt))
    return [[words[each] for each in row] for row in ids]


def uniforms(seed: int, sizes: Sizes) -> Array:
    """Draw u for every column, (episodes, T), two decimals, 0.03 to 0.97."""
    return _stream(seed, "rollout.draws").integers(3, 98, (sizes.episodes, sizes.columns)) / 100


def weights(seed: int, name: str, sizes: Sizes, part: float = 1.0) -> Array:
    """Draw the weights called `name`, such as `old.E`, or, where they are less spread out by `part`, a change of them."""
    spread = part * _spread(name, sizes)
    drawn = _stream(seed, name).normal(size=spread.shape) * spread
    rounded = np.where(spread < _ONE_DECIMAL_FROM, drawn.round(2), drawn.round(1))
    return np.asarray(rounded + 0.0)  # + 0.0 makes 0 of -0, which would print with its sign


def _spread(name: str, sizes: Sizes) -> Array:
    """Give the standard deviation of each weight, in the part's shape; wide layers get less, so none saturates."""
    wide = min(1.0, 2 / sizes.hidden**0.5)
    match name.rpartition(".")[2].removeprefix("delta_"):
        case "E":
            return np.full((sizes.vocabulary, sizes.embedding), 0.6)
        case "W":
            reads = 0.55 * min(1.0, (3 / sizes.embedding) ** 0.5)
            recurs = 0.45 / sizes.hidden**0.5  # below 0.5/√hidden: a larger gain makes an RNN chaotic
            rows = np.repeat([reads, recurs, 0.3], [sizes.embedding, sizes.hidden, 1])
            return np.repeat(rows[:, None], sizes.hidden, axis=1)
        case "Y":
            return np.full((sizes.hidden, sizes.vocabulary), wide)
        case "w":
            return np.full(sizes.hidden, wide)
        case _:
            return np.array(0.3)


def draws(seed: int, given: list[list[float]] | None, prompts: list[list[str]], sizes: Sizes) -> Array:
    """Return a draw for every column, (episodes, T); given ones begin at the column of the last prompt word.

    Given ones may also have all T columns.
    """
    columns = uniforms(seed, sizes)
    if given and len(given[0]) == sizes.columns:
        return np.array(given, dtype=float)
    for row, response, prompt in zip(columns, given or [], prompts, strict=given is not None):
        first = len(prompt) - 1  # column t = len(prompt), counted from 1, writes the first response word
        row[first : first + len(response)] = response
    return columns


def all_weights(seed: int, parts: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """Return all weights by dotted name, in the order of the models."""
    done: dict[str, Array] = {}
    for name in WEIGHTS:
        given = parts.get(name)
        done[name] = np.array(given, dtype=float) if given is not None else _left_out(seed, name, parts, sizes, done)
    return done


def base_of(name: str) -> str:
    """Name the weights from which others start: `old.E` for `reference.E` and `policy.delta_E`; "" where there are none."""
    model, _, part = name.partition(".")
    return f"{_BASES[model]}.{part.removeprefix('delta_')}" if model in _BASES else ""


def is_drawn(name: str, parts: Collection[str]) -> bool:
    """Tell whether weights that are left out are drawn: they are not where those from which they start are given."""
    return base_of(name) not in parts


def _left_out(seed: int, name: str, parts: Mapping[str, Any], sizes: Sizes, done: Mapping[str, Array]) -> Array:
    """Fill one part: an update is 0 and a reference the old policy where those are given; the rest is drawn."""
    base, is_update = base_of(name), "delta_" in name
    if not is_drawn(name, parts):
        return np.zeros_like(done[base]) if is_update else done[base].copy()
    drawn = weights(seed, name, sizes, _STEP if base else 1.0)
    # A reference near the old policy, but not it: else every KL would be 0.
    return drawn if is_update or not base else (done[base] + drawn).round(2) + 0.0


def fitting(parts: Mapping[str, Any], sizes: Sizes, spare: Collection[str]) -> dict[str, Any]:
    """Return the parts that fit the sizes and each other, without those of `spare` that do not.

    Raises:
        NumbersError: if a part that may not be dropped does not fit.
    """
    kept, claims = dict[str, Any](), claims_of(parts, spare)
    for key, value in parts.items():
        try:
            _check_sizes(key, value, sizes, claims)
            words = kept.get("text.vocabulary") or vocabulary(sizes.vocabulary)
            if key == "text.vocabulary":
                check_vocabulary(value)
            elif key == "text.prompts":
                _check_prompts(value, words)
            elif key == "rollout.responses":
                _check_responses(value, words, sizes)
        except NumbersError:
            if key not in spare:
                raise
        else:
            kept[key] = value
    return kept


def _check_sizes(key: str, value: Any, sizes: Sizes, claims: Mapping[str, Claim]) -> None:
    """Check that a part tells the sizes that were settled, and that its rows are of one length."""
    told = sizes_in(key, value)
    # Responses may be shorter, and draws may be there for every column of the sheet.
    if key == "rollout.responses" or told.get("max_new_tokens") == sizes.columns:
        told.pop("max_new_tokens", None)
    for size, found in told.items():
        if found != getattr(sizes, size):
            called = "embedding + hidden + 1" if size == "joined" else size
            source = f", as {claims[size].source} says" if size in claims else ""
            raise refusal(key, f"{called} = {found}", f"{getattr(sizes, size)}{source}")
    axes = SHAPES.get(key.rpartition(".")[2].removeprefix("delta_"), ())
    for number, row in enumerate(value if len(axes) == 2 else (), start=1):
        if len(row) != len(value[0]):
            expected = f"{len(value[0])}, as many as in every row"
            raise refusal(f"{key}, row {number}", counted(len(row), "number"), expected)


def _check_prompts(prompts: list[list[str]], vocabulary: list[str]) -> None:
    for row, prompt in enumerate(prompts, start=1):
        for item, word in enumerate(prompt, start=1):
            where = f"text.prompts, row {row}, item {item}"
            if word == vocabulary[0]:
                raise refusal(where, shown(word), "a token that does not end the text")
            check_known(where, word, vocabulary[1:])


def _check_responses(responses: list[list[str]], vocabulary: list[str], sizes: Sizes) -> None:
    """Check that every response has words of the vocabulary, not too many, and none behind the end word."""
    for row, response in enumerate(responses, start=1):
        where = f"rollout.responses, row {row}"
        if len(response) > sizes.max_new_tokens:
            raise refusal(where, counted(len(response), "token"), f"at most {sizes.max_new_tokens} (max_new_tokens)")
        for item, word in enumerate(response, start=1):
            if word:  # an empty one leaves it to the draw
                check_known(f"{where}, item {item}", word, vocabulary)
            if word == vocabulary[0] and item < len(response):
                behind = counted(len(response) - item, "token")
                raise refusal(
                    f"{where}, item {item}", f"{shown(word)} and {behind} behind it", "it to end the response"
                )
