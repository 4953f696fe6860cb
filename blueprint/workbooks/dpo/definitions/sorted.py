"""AOT: the whole distribution of one number against that of another, both sorted (2406.05882).

TRL 1.16.0, dpo_trainer.py, loss types aot and aot_unpaired.
"""

from blueprint.language import Operand, Sum, at_most, equal, less
from blueprint.workbooks.dpo.definitions.axes import o, p
from blueprint.workbooks.dpo.definitions.margins import Margins
from blueprint.workbooks.dpo.definitions.sequences import Sequences
from blueprint.workbooks.dpo.definitions.steps import Row, Steps


def aligned(of: Margins, seen: Sequences, s: Steps) -> dict[str, Operand]:
    """Makes the losses that compare the smallest with the smallest, the next with the next, and so on."""
    s.under("Sorted")
    mine = s.pair("sorted.policy", seen.policy.chosen[p] - seen.policy.rejected[p])
    theirs = s.pair("sorted.reference", seen.reference.chosen[p] - seen.reference.rejected[p])
    return {
        "aot": _compared("aot", mine, theirs, s)[p],
        "aot_unpaired": _compared("aot_unpaired", of.ratio.chosen, of.ratio.rejected, s)[p],
    }


def _compared(name: str, x: Row, y: Row, s: Steps) -> Row:
    """Compares two rows in order, (p): the k-th smallest of each."""
    smooth = s.use.used["loss.label_smoothing"]
    first, second = _in_order(f"{name}.first", x, s), _in_order(f"{name}.second", y, s)
    u = s.pair(f"{name}.argument", s.use.used["beta"] * (first[p] - second[p]))
    turned = s.pair(f"{name}.turned", -u[p])
    right, wrong = s.log_sigmoid(f"{name}.right", u), s.log_sigmoid(f"{name}.wrong", turned)
    return s.pair(f"loss.{name}", -((1 - smooth) * right[p]) - smooth * wrong[p])


def _in_order(name: str, x: Row, s: Steps) -> Row:
    """Sorts a row, (p), upwards: each goes to the place that says how many are smaller, or equal and before it.

    Numbers that are apart by rounding alone count as equal: a sheet compares 15 digits, and a program all of them.
    """
    tie = s.use.used["loss.aot_tie"]
    down = s.down(f"{name}.down", x)
    smaller = s.along(f"{name}.smaller", (o, p), less(down[o] + tie, x[p]))
    same = s.along(f"{name}.same", (o, p), at_most(abs(down[o] - x[p]), tie))
    before = s.along(f"{name}.before", (o, p), same[o, p] * s.places.before[o, p])
    rank = s.pair(f"{name}.rank", 1 + Sum(o, smaller[o, p]) + Sum(o, before[o, p]))
    left = s.along(f"{name}.left", (o, p))
    left[o.first - 1, p] = rank[p]
    left[o, p] = left[o - 1, p] - 1
    here = s.along(f"{name}.here", (o, p), equal(left[o, p], 0))
    placed = s.along(f"{name}.placed", (o,), Sum(p, here[o, p] * x[p]))
    return s.across(f"{name}.sorted", placed)
