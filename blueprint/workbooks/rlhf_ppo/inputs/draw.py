"""Draw from the seed what a numbers file leaves out, few digits each, so that a person can multiply them.

Every part has a stream of random numbers of its own, named after it: to give one part leaves the others as they were.
"""

from __future__ import annotations

import numpy as np

from blueprint.inputs import Array
from blueprint.workbooks.rlhf_ppo.inputs.sizes import Sizes

END_WORD = "<eos>"
PLAIN_WORDS = (  # 63, each once
    "the old dog is very sleepy happy big small cat bird runs sleeps sees red blue and a good young "
    "quick slow tree house sun moon rain wind warm cold here there sings jumps plays eats little tall "
    "fox hen cow horse fish river stone road night day green white black kind brave quiet loud home "
    "away under over near far up down"
)

_ONE_DECIMAL_FROM = 0.3  # narrower than this, one decimal would leave mostly zeros
_STEP = 0.2  # an update, or the way from old to reference, is this part of the weights' own spread


def _stream(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])


def vocabulary(size: int) -> list[str]:
    """List the end word and the first plain words; `size` is 2 to 64."""
    return [END_WORD, *PLAIN_WORDS.split()[: size - 1]]


def prompts(seed: int, words: list[str], sizes: Sizes) -> list[list[str]]:
    """Draw a prompt of `sizes.prompt` words per episode, never the end word."""
    ids = _stream(seed, "text.prompts").integers(1, len(words), (sizes.episodes, sizes.prompt))
    return [[words[each] for each in row] for row in ids]


def uniforms(seed: int, sizes: Sizes) -> Array:
    """Draw u for every column, (episodes, T), two decimals, 0.03 to 0.97."""
    return _stream(seed, "rollout.draws").integers(3, 98, (sizes.episodes, sizes.columns)) / 100


def weights(seed: int, name: str, sizes: Sizes) -> Array:
    """Draw the weights called `name`, such as `old.E`."""
    return _normal(seed, name, _spread(name, sizes))


def nudge(seed: int, name: str, sizes: Sizes) -> Array:
    """Draw a small change of weights, in the shape of the part that `name` ends in."""
    return _normal(seed, name, _STEP * _spread(name, sizes))


def _normal(seed: int, name: str, spread: Array) -> Array:
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
            return np.repeat(_row_spread(sizes)[:, None], sizes.hidden, axis=1)
        case "Y":
            return np.full((sizes.hidden, sizes.vocabulary), wide)
        case "w":
            return np.full(sizes.hidden, wide)
        case _:
            return np.array(0.3)


def _row_spread(sizes: Sizes) -> Array:
    """Give the spread of each row of W; recurrent rows stay below 0.5/√hidden: a larger gain makes an RNN chaotic."""
    reads = 0.55 * min(1.0, (3 / sizes.embedding) ** 0.5)
    recurs = 0.45 / sizes.hidden**0.5
    return np.repeat([reads, recurs, 0.3], [sizes.embedding, sizes.hidden, 1])
