"""Quoting: what somebody else's file says, in a message of ours.

A cell, a sheet's name, a tensor's name or a key may hold anything: escape sequences that command the terminal, signs
that turn the direction of the line, forty thousand letters. Whatever is quoted goes through here.
"""

from collections.abc import Iterator, Sequence

LONGEST, LONGEST_FORMULA = 60, 400
"""Letters that a message quotes of a text, and of a formula."""
LONGEST_MESSAGE, KEPT_AT_THE_END = 2_000, 600
"""Letters of a message; the end of a longer one is kept too, since there stands what to do."""
SPACES = "\n\t\u00a0\u2007\u2009\u202f"
"""What may stand in a page of ours besides letters and the plain space."""


class QuotingError(ValueError):
    """An error whose message may quote a file: it is one line, of a bearable length, of letters that can be seen."""

    def __init__(self, message: object = "") -> None:
        """Takes the sentence that people read."""
        super().__init__(sentence(message))


def quoted(text: object) -> str:
    """Returns a text in quotes, cut, with everything escaped that cannot be seen."""
    return repr(_cut(str(text), LONGEST))


def unquoted(text: object, longest: int = LONGEST) -> str:
    """Returns a text without quotes, such as a name, cut, with everything escaped that cannot be seen."""
    return _cut(printable(str(text)[: longest + 1]), longest)


def sentence(text: object) -> str:
    """Returns a message as one line of a bearable length, in which everything can be seen."""
    line = printable(str(text), kept="\u00a0")
    if len(line) <= LONGEST_MESSAGE:
        return line
    return f"{line[: LONGEST_MESSAGE - KEPT_AT_THE_END]} … {line[-KEPT_AT_THE_END:]}"


def printable(text: str, kept: str = "") -> str:
    """Returns a text in which what cannot be seen, but for what is kept, is spelled as Python spells it."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in kept else repr(letter)[1:-1] for letter in text)


def encodable(text: str) -> str:
    r"""Returns a text that a file in UTF-8 can hold: a byte in a file's name that is none is spelled: `\udce9`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def page(text: str) -> str:
    r"""Returns a page of text, or of JSON, in which what cannot be seen is spelled as JSON spells it: `\u202e`."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in SPACES else _as_json(letter) for letter in text)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _as_json(letter: str) -> str:
    """Spells a character by its code; one beyond the first plane has two halves."""
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yields lines in which the columns stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield from ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
