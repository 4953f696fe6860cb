"""What a worksheet is refused with."""


class WorksheetError(ValueError):
    """A worksheet was asked for that cannot be made; one sentence says what to ask for instead."""


def require(holds: object, otherwise: str) -> None:
    """Raises WorksheetError, with a sentence, where something does not hold."""
    if not holds:
        raise WorksheetError(otherwise)
