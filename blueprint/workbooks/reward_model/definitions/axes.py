"""Along what rows lie: responses, their positions, pairs, rankings; o and u are pairs and positions laid out in a column."""

from blueprint.language import Axis
from blueprint.workbooks.common import n, t, v
from blueprint.workbooks.common.pairs import o, p

q = Axis("q", "ranking", start=1)
u = t.alias("u")

__all__ = ["n", "o", "p", "q", "t", "u", "v"]
