"""What goes wrong around a class, in one sentence."""

from blueprint.quoting import QuotingError


class ClassError(QuotingError):
    """A roster, key, grading policy or folder that cannot be worked with; one sentence says what to write instead."""
