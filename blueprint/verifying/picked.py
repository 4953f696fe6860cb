"""Which rows of a small dump are shown as a workbook, and how near that is to the dump computed again."""

from collections.abc import Mapping

import numpy as np

from blueprint.dumps import Array, require
from blueprint.verifying.verdict import Agreement, ViewOptions

FEW, ALL = 4, 8
"""Rows of a larger dump that are shown unasked, and rows of a dump that is shown whole."""


def picked(path: str, badness: Array, most: int, options: ViewOptions, called: str) -> Array:
    """Returns which rows are shown: those that are asked for, else all of a few, else the worst. badness: [N], the worst first.

    Raises MinibatchError for a row that is not there, two wishes at once, or more than fit.
    """
    count = len(badness)
    require(
        options.rows is None or options.worst is None,
        f"--rows names the {called}, --worst finds them: use one of the two",
    )
    if options.rows is not None:
        stray = [row for row in options.rows if not 0 <= row < count]
        require(not stray, f"{path} has no row {stray[0] if stray else ''}: it has {called} 0 … {count - 1}")
        rows = np.array(list(dict.fromkeys(options.rows)))
    elif options.worst is None and count <= ALL:
        rows = np.arange(count)
    else:
        rows = np.sort(np.argsort(-badness, kind="stable")[: options.worst or FEW])
    require(len(rows) <= most, f"{len(rows)} {called} are asked for: a workbook shows up to {most}")
    return rows


def agreement_of(theirs: Mapping[str, Array], ours: Mapping[str, Array], near: float) -> Agreement:
    """Compares blocks of a workbook with rows and numbers, as far as both are there; each over 1 + its largest."""
    found = {}
    for name, row in ours.items():
        if name in theirs:
            apart = np.abs(np.asarray(theirs[name], float) - row).max(initial=0.0)
            found[name] = float(apart / (1 + np.abs(row).max(initial=0.0)))
    return Agreement(found, near)
