"""Quoting: what somebody else's file says, in a message of ours.

A cell, a sheet's name, a tensor's name or a key may hold anything: escape sequences that command the terminal, signs
that turn the direction of the line, forty thousand letters. Whatever is quoted goes through here.
"""

from __future__ import annotations

from unicodedata import category

LONGEST, LONGEST_FORMULA = 60, 400
"""Letters that a message quotes of a text, and of a formula."""
LONGEST_MESSAGE, KEPT_AT_THE_END = 2_000, 600
"""Letters of a message; the end of a longer one is kept too, since there stands what to do."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control and format characters, halves of letters, letters that there are not, and line breaks of their own."""


class Told(ValueError):
    """An error whose message may quote a file: it is one line, of a bearable length, of letters that can be seen."""

    def __init__(self, message: object = "") -> None:
        """Takes the sentence that people read."""
        super().__init__(sentence(message))


def quoted(text: object) -> str:
    """Returns a text in quotes, cut, with everything escaped that cannot be seen."""
    return repr(_cut(str(text)))


def plain(text: object, longest: int = LONGEST) -> str:
    """Returns a text without quotes, such as a name, cut, with everything escaped that cannot be seen."""
    return printable(_cut(str(text), longest), kept="")


def sentence(text: object) -> str:
    """Returns a message as one line of a bearable length, in which everything can be seen."""
    line = printable(str(text), kept="")
    if len(line) <= LONGEST_MESSAGE:
        return line
    return f"{line[: LONGEST_MESSAGE - KEPT_AT_THE_END]} … {line[-KEPT_AT_THE_END:]}"


def printable(text: str, kept: str = "\n\t") -> str:
    """Returns a text in which every character that cannot be seen, but for those kept, is spelled as JSON spells it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter in kept or category(letter) not in _UNSEEN else _escaped(letter) for letter in text)


def _cut(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _escaped(letter: str) -> str:
    r"""Spells a character as `\u202e`, one beyond the first plane as two halves: in a text of JSON it stays the same."""
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
