"""What a reader says of a file that it cannot use: one sentence."""

from blueprint.quoting import QuotingError


class ReadError(QuotingError):
    """A file is no workbook of ours, or has been changed so that a block cannot be found whole; one sentence says how."""


def require(holds: object, otherwise: str) -> None:
    """Raises ReadError, with a sentence, where something does not hold."""
    if not holds:
        raise ReadError(otherwise)
