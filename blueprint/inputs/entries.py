"""Define the kinds of values a numbers file is made of: numbers, draws, words, lines of text.

A check that fails raises `ValueError` with what is *expected*, as a noun phrase; `explain.py` makes the sentence of it.
Nothing is converted silently, but for two things: a whole number may stand for a number, and a number with more than 15
significant digits is rounded to 15, because a spreadsheet stores no more.

Each kind also says what an editor may check: as JSON Schema, which cannot say all that the checks here do.
"""

import unicodedata
from collections.abc import Callable
from math import isfinite
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Strict, WithJsonSchema

_LARGEST = 9.99e307  # about the largest number that can be typed into a cell
DRAW_LOW, DRAW_HIGH = 0.01, 0.99
_LARGEST_SEED = 2**32 - 1
_PATTERN_SIGNS = "*?~"  # MATCH, which finds a word's id, reads these as patterns
_ERRORS = ("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!")
_NOT_IN_XML = "\ufffe\uffff"


def _fifteen_digits(number: float) -> float:
    """Round to 15 significant digits, all that a spreadsheet stores."""
    if not isfinite(number):
        raise ValueError("a finite number")
    if abs(number) > _LARGEST:
        raise ValueError(f"at most {_LARGEST:g}, all that a cell holds")
    return float(f"{number:.15g}")


def between(low: float, high: float, noun: str = "a number") -> Callable[[float], float]:
    """Make a check that a number lies between two bounds, both included."""

    def check(number: float) -> float:
        if not low <= number <= high:
            raise ValueError(f"{noun} from {low:.10g} to {high:.10g}")
        return number

    return check


def _ratio(number: float) -> float:
    if number <= 0:
        raise ValueError("a ratio of probabilities above 0")
    return number


def _log_probability(number: float) -> float:
    if number > 0:
        raise ValueError("a log-probability of at most 0")
    return number


def _zero_or_one(number: float) -> float:
    if number not in (0, 1):
        raise ValueError("0 or 1")
    return number


def _at_least_one(number: int) -> int:
    if number < 1:
        raise ValueError("a whole number of at least 1")
    return number


def one_of(words: tuple[str, ...]) -> Callable[[object], object]:
    """Make a check that a value is one of a few words."""

    def check(value: object) -> object:
        if value not in words:
            raise ValueError(" or ".join(f'"{each}"' for each in words))
        return value

    return check


def _line(longest: int) -> Callable[[str], str]:
    """Make a check that a text is one line without control characters."""

    def check(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"at most {longest} characters")
        if any(unicodedata.category(letter) in ("Cc", "Cs") or letter in _NOT_IN_XML for letter in text):
            raise ValueError("text without control characters")
        return text

    return check


def _token(text: str) -> str:
    if not text:
        raise ValueError("a word of at least one character")
    return text


def _word(text: str) -> str:
    if text.split() != [text]:
        raise ValueError("a word without blanks")
    if any(sign in text for sign in _PATTERN_SIGNS):
        raise ValueError("a word without * ? ~, which a spreadsheet reads as patterns")
    if text.upper() in _ERRORS:
        raise ValueError("a word that a spreadsheet does not take for an error")
    return text


def _split(prompt: object) -> object:
    return prompt.split() if isinstance(prompt, str) else prompt


def _not_empty(words: list[str]) -> list[str]:
    if not words:
        raise ValueError("at least one word")
    return words


def _numeric(**limits: float) -> WithJsonSchema:
    """Tell editors the limits of a number."""
    return WithJsonSchema({"type": "number", **limits})


def _textual(longest: int, **more: object) -> WithJsonSchema:
    """Tell editors how long a text may be."""
    return WithJsonSchema({"type": "string", "maxLength": longest, **more})


_WORDS = {"type": "array", "items": {"type": "string"}}
_SENTENCE = {"type": "string"}
_LONGEST_TITLE, _LONGEST_ABOUT, _LONGEST_WORD = 100, 255, 40

Text = Annotated[str, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), AfterValidator(_fifteen_digits)]
Seed = Annotated[
    Whole,
    AfterValidator(between(0, _LARGEST_SEED, "a whole number")),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": _LARGEST_SEED}),
]
Draw = Annotated[Number, AfterValidator(between(DRAW_LOW, DRAW_HIGH)), _numeric(minimum=DRAW_LOW, maximum=DRAW_HIGH)]
Flag = Annotated[Number, AfterValidator(_zero_or_one), WithJsonSchema({"enum": [0, 1]})]
Positive = Annotated[Whole, AfterValidator(_at_least_one), WithJsonSchema({"type": "integer", "minimum": 1})]
LogProb = Annotated[Number, AfterValidator(_log_probability), _numeric(maximum=0)]
Ratio = Annotated[Number, AfterValidator(_ratio), _numeric(exclusiveMinimum=0)]
Title = Annotated[Text, AfterValidator(_line(_LONGEST_TITLE)), _textual(_LONGEST_TITLE)]
About = Annotated[Text, AfterValidator(_line(_LONGEST_ABOUT)), _textual(_LONGEST_ABOUT)]
Token = Annotated[
    Text, AfterValidator(_token), AfterValidator(_line(_LONGEST_WORD)), _textual(_LONGEST_WORD, minLength=1)
]
Word = Annotated[Token, AfterValidator(_word), _textual(_LONGEST_WORD, pattern=r"^[^\s*?~]+$")]
Prompt = Annotated[
    list[Text],
    BeforeValidator(_split),
    AfterValidator(_not_empty),
    WithJsonSchema({"anyOf": [{**_SENTENCE, "pattern": r"\S"}, {**_WORDS, "minItems": 1}]}),
]
Response = Annotated[list[Text], BeforeValidator(_split), WithJsonSchema({"anyOf": [_SENTENCE, _WORDS]})]
