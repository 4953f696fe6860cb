"""Texts that print numbers: two programs may round a tie apart, or know other digits beyond the fifteenth."""

from __future__ import annotations

import re

NUMBER = re.compile(r"\d+(?:\.\d+)?")
FIFTEEN_DIGITS = 1e-14


class Print(str):
    """A text that prints numbers, and so may be rounded by another program in another way; a word is no print."""


def same_print(ours: str, theirs: str) -> bool:
    """Tells whether two texts are the same but for the last decimal of a number, or for what is beyond 15 digits."""
    if ours == theirs:
        return True
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(_same_number(a, b) for a, b in pairs)


def _same_number(ours: str, theirs: str) -> bool:
    decimals = max(len(text.partition(".")[2]) for text in (ours, theirs))
    last = (
        1.001 * 10.0**-decimals if decimals else 0.0
    )  # 1.001: the difference of two printed decimals is itself rounded
    return abs(float(ours) - float(theirs)) <= max(last, FIFTEEN_DIGITS * abs(float(ours)))
