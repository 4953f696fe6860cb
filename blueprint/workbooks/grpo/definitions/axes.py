"""Along what rows lie: prompts, the responses to each, all responses, their positions; and tokens of the vocabulary."""

from blueprint.language import Axis
from blueprint.workbooks.common import n, t, v

q = Axis("q", "prompt", start=1)
i = Axis("i", "response to the prompt", start=1)
j = i.alias("j")
o = n.alias("o")

__all__ = ["i", "j", "n", "o", "q", "t", "v"]
