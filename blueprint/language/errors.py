"""The one exception of the notation: a sentence that says what to write instead."""


class NotationError(ValueError):
    """Something was written that the notation does not mean; the message names the line's right form."""
