"""Complete a checked file: every part given, or drawn from the seed, few digits each, so that a person can multiply them.

Every part has a stream of random numbers of its own, named after it: to give one part leaves the others as they were.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from blueprint.inputs import Array
from blueprint.workbooks.rlhf_ppo.inputs.sizes import Sizes

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
