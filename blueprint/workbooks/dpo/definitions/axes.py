"""Along what rows lie: pairs, the responses of all pairs, their positions; and tokens of the vocabulary."""

from blueprint.workbooks.common import n, t, v
from blueprint.workbooks.common.pairs import o, p

__all__ = ["n", "o", "p", "t", "v"]
