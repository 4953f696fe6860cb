"""What verify computes with, until it evaluates the definitions themselves: PPO for language models in torch, row by row.

`ppo` has all rows from the inputs and the options, in the order of derivation; the modules beside it are its steps.
"""

from blueprint.verifying.formulas.options import (
    NUMBERS,
    WHOLE,
    WORDS,
    Held,
    Named,
    Options,
    Spread,
    Sums,
    Texts,
    Tiled,
    masked_sums,
    with_end,
)

__all__ = [
    "NUMBERS",
    "WHOLE",
    "WORDS",
    "Held",
    "Named",
    "Options",
    "Spread",
    "Sums",
    "Texts",
    "Tiled",
    "masked_sums",
    "with_end",
]
