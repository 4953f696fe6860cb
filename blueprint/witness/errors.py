"""The one error of this room."""

LONGEST = 60
"""Letters of a word that a sentence quotes."""


def quoted(word: object) -> str:
    """Spells a word of a file in quotes, shortened, with everything escaped that cannot be seen."""
    text = str(word)
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


class WitnessError(ValueError):
    """Something was asked of the witness, or stands in a file, with which nothing can be computed."""
