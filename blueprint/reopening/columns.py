"""The columns of an episode: a sheet keeps those that it was made with, numbers have as many as prompts and answers need."""

from __future__ import annotations

import numpy as np

from blueprint.inputs.result import Array
from blueprint.workbooks.rlhf_ppo.inputs.draw import uniforms
from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers
from blueprint.workbooks.rlhf_ppo.inputs.sizes import Sizes


def columns_of(numbers: WeightNumbers, typed: Array) -> Array:
    """Returns the typed draws, (episodes, columns), on as many columns as the numbers have.

    What is typed beyond them is left out; a column that the sheet lacks has its draws from the seed.
    """
    drawn = _from_seed(numbers)
    width = min(drawn.shape[1], typed.shape[1])
    drawn[:, :width] = typed[:, :width]
    return drawn


def _from_seed(numbers: WeightNumbers) -> Array:
    longest, most = max(map(len, numbers.prompts)), numbers.max_new_tokens
    sizes = Sizes(episodes=len(numbers.prompts), prompt=longest, max_new_tokens=most)
    return np.asarray(uniforms(numbers.seed, sizes))
