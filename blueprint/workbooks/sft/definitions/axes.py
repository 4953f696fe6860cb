"""Along what rows lie: texts, their positions, tokens; microbatches, and texts laid out in a column."""

from blueprint.language import Axis
from blueprint.workbooks.common import n, t, v

o = Axis("o", "text", start=1)
b = Axis("b", "microbatch", start=1)

__all__ = ["b", "n", "o", "t", "v"]
