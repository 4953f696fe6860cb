"""A class: a variant of one worksheet for each student, and what comes back of them, marked."""

from blueprint.quoting import QuotingError


class ClassError(QuotingError):
    """A roster, key, grading policy or folder that cannot be worked with; one sentence says what to write instead."""
