"""Which tokens of a dump count, as they do or by a well-known mistake."""

import numpy as np

from blueprint.dumps import Array


def from_here_on(mask: Array) -> Array:
    """Returns how many tokens count from each position on, [N, T]: 0 behind the last one."""
    return np.asarray(np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1))


def counted(mask: Array, way: str) -> Array:
    """Returns the mask, [N, T], bool, as it is or by one of the mistakes.

    no_last: without the last token of each row, as where the end token is taken for a pad. no_first: without the first.
    one_more: with the token behind the last. all: every position, prompt and pads, too.
    """
    match way:
        case "no_last":
            return np.asarray(mask & (from_here_on(mask) > 1))
        case "no_first":
            return np.asarray(mask & (np.cumsum(mask, axis=1) > 1))
        case "one_more":
            return np.asarray(mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1])
        case "all":
            return np.ones_like(mask)
    return mask
