"""The number that a student means by a text: as it is written by hand, on paper, or with another keyboard."""

import re
from fractions import Fraction
from unicodedata import decimal

from blueprint.page import parse_cell
from blueprint.quoting import quoted

LONGEST = 60
"""Letters of a text that may mean a number; a longer one is a remark."""
_ABOUT = re.compile(r"(?:≈|≃|≅|~|∼|ca\.?|circa|approx\.?)\s*", re.IGNORECASE)
_UNIT = re.compile(r"\s*(?:nats?|tokens?)\.?$", re.IGNORECASE)
"""Units that say what every number of a worksheet is counted in; one in bits is another number."""
_SIGN = {ord(each): "-" for each in "−–‐‑‒﹣－"} | {ord("＋"): "+"}
_MARK = {ord(each): "." for each in "．٫"} | {
    ord("，"): ",",
    ord("％"): "%",
    ord("⁄"): "/",
    ord("∕"): "/",
    ord("／"): "/",
}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_POWER = re.compile(r"(?:(?P<times>[^*·×x⋅∙]+?)\s*[*·×x⋅∙]\s*)?10\s*(?:\^|\*\*)\s*\(?\s*(?P<power>[+-]?\d{1,3})\s*\)?")
_HIGH = re.compile(r"(?<=10)\s*([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_FRACTION = re.compile(r"([+-]?\s*\d{1,15})\s*/\s*(\d{1,15})")


def number_meant(text: str) -> float:
    """Returns the number that a text means: "0,5", "50 %", "≈ 0.5 nats", "17/100", "1.2·10^-1", digits of any script.

    Raises parse_cell.NoNumber for anything else, also where it could mean two numbers.
    """
    if text.lstrip().startswith("="):
        raise parse_cell.NoNumber(f"found the formula {quoted(text)} as text, which was never computed: type it anew")
    if parse_cell.is_error(text) or len(text) > LONGEST:
        return parse_cell.number_in(text)
    bare = _plain(text)
    if bare.endswith("%"):
        return _plain_number(bare[:-1], text) / 100
    if match := _FRACTION.fullmatch(bare):
        above, below = (int(part.replace(" ", "")) for part in match.groups())
        if not below:
            raise parse_cell.NoNumber(f"found {quoted(text)}, which divides by 0: expected a number")
        return float(Fraction(above, below))
    if match := _POWER.fullmatch(bare):
        times = match["times"].strip().replace(",", ".") if match["times"] else "1"
        return _plain_number(f"{times}e{match['power']}", text)
    return _plain_number(bare, text)


def _plain(text: str) -> str:
    """Returns a text in ASCII as far as numbers go: without what says "about" and without the unit."""
    raised = _HIGH.sub(lambda found: "^" + found[1].translate(_RAISED), text.strip())
    digits = "".join(str(decimal(each, each)) for each in raised.translate(_SIGN).translate(_MARK))
    without = _UNIT.sub("", digits)
    about = _ABOUT.match(without)
    return without[about.end() if about else 0 :].strip()


def _plain_number(bare: str, text: str) -> float:
    """Reads a number as `parse_cell.number_in` does; a comma is always a decimal one. text: what the refusal quotes."""
    try:
        return parse_cell.number_in(bare.replace(",", ".") if bare.count(",") == 1 and "." not in bare else bare)
    except parse_cell.NoNumber as error:
        raise parse_cell.NoNumber(str(error).replace(quoted(bare), quoted(text), 1)) from None
