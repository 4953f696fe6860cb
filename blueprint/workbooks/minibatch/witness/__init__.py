"""Files that show a few responses of a training minibatch, a window of columns each.

What lies outside the window enters as typed numbers: statistics and counts of the whole batch, the value and the advantage
behind the last column, and the sums over words that are not shown. Where a file begins depends on what its dump had.
"""

from blueprint.witness import TABLE, File, KindWitness, held, shapes
from blueprint.workbooks.minibatch.witness.compute import compute
from blueprint.workbooks.minibatch.witness.logged import kind_of


def group_key(file: File) -> object:
    """Returns what files must share: what they have, their settings, and the shape of the window."""
    return kind_of(file), held(file), shapes(file, "mask", TABLE)


WITNESS = KindWitness(("after.words",), ("mask",), compute, group_key)
