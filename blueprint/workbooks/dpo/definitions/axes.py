"""Along what rows lie: pairs, the responses of all pairs, their positions; and tokens of the vocabulary."""

from blueprint.language import Axis
from blueprint.workbooks.common import n, t, v

p = Axis("p", "pair", start=1)
o = p.alias("o")

__all__ = ["n", "o", "p", "t", "v"]
