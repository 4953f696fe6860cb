"""One batch by several libraries: what each computes, which of its conventions move the number, told as a page."""

from blueprint.which.measure import Answer, Effect, answers
from blueprint.which.page import Batch, page

__all__ = ["Answer", "Batch", "Effect", "answers", "page"]
