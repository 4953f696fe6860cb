"""One batch by several libraries: what each computes, which of its conventions move the number, told as a page."""

from blueprint.comparison.measure import Answer, Changed, Effect, answers, changed, told_of
from blueprint.comparison.page import Batch, page

__all__ = ["Answer", "Batch", "Changed", "Effect", "answers", "changed", "page", "told_of"]
