"""Hold the blocks and the check that the tests of the four spellings share."""

from collections.abc import Mapping

from blueprint.language import Expr, block, less, typed
from blueprint.language.nodes import Op
from tests.language.common import i, k, n, t, v

a, b, c = typed("a"), typed("b"), typed("c")
x = typed("x", (n, t))
e = typed("e", (n, t), edges=(t.first - 1, t.last + 1))
w = typed("w", (v,))
W = typed("W", (k, v))
whole = typed("whole", (i,))
words = typed("words", (v,), text=True)
most = typed("most", limit=True)
gamma = block("gamma", (), "γ")
ratio = block("ratio", (n, t), "ρ_old")
small = less(a, b)

Pair = tuple[Expr, str]


def rows_without_a_pair(table: Mapping[str, object], pairs: list[Pair]) -> set[str]:
    """Returns the rows of a spelling table that no pair's outermost operation uses."""
    return set(table) - {expr.name for expr, _ in pairs if isinstance(expr, Op)}
