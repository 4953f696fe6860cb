"""Define the kinds of values a numbers file is made of: numbers, draws, words, lines of text, settings.

A check that fails raises `ValueError` with what is *expected*, as a noun phrase; `load.py` makes the sentence of it.
Nothing is converted silently, but for two things: a whole number may stand for a number, and a number with more than 15
significant digits is rounded to 15, because a spreadsheet stores no more.

Each kind also says what an editor may check: as JSON Schema, which cannot say all that the checks here do.
"""

from collections.abc import Callable
from math import isfinite
from typing import Annotated, Any
from unicodedata import category

from pydantic import AfterValidator, BeforeValidator, Strict, WithJsonSchema, WrapValidator

from blueprint.inputs.catalogue import OFF, Setting, says_off

_LARGEST = 9.99e307  # about the largest number that can be typed into a cell
DRAW_LOW, DRAW_HIGH = 0.01, 0.99
_LARGEST_SEED = 2**32 - 1
_PATTERN_SIGNS = "*?~"  # MATCH, which finds a word's id, reads these as patterns
ERRORS = ("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!")
_NOT_IN_XML = "\ufffe\uffff"


def _checked(expected: str, holds: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(expected)
        return value

    return check


def must_be(expected: str, holds: Callable[[Any], bool]) -> AfterValidator:
    """Make a check of values; expected: what a refusal says that they must be."""
    return AfterValidator(_checked(expected, holds))


def between(low: float, high: float, noun: str = "a number") -> AfterValidator:
    """Make a check that a number lies between two bounds, both included."""
    return must_be(f"{noun} from {low:.10g} to {high:.10g}", lambda number: low <= number <= high)


def _line(longest: int, **more: object) -> Any:
    """Make the kind of a text of one line; more: what else an editor may check."""
    return Annotated[
        Text,
        must_be(f"at most {longest} characters", lambda text: len(text) <= longest),
        must_be("text without control characters", lambda text: not set(map(category, text)) & {"Cc", "Cs"}),
        must_be("text without control characters", lambda text: not set(text) & set(_NOT_IN_XML)),
        WithJsonSchema({"type": "string", "maxLength": longest, **more}),
    ]


def _split(prompt: object) -> object:
    return prompt.split() if isinstance(prompt, str) else prompt


_WORDS = {"type": "array", "items": {"type": "string"}}
_SENTENCE = {"type": "string"}
_LONGEST_WORD = 40

Text = Annotated[str, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[
    float,
    Strict(),
    must_be("a finite number", isfinite),
    must_be(f"at most {_LARGEST:g}, all that a cell holds", lambda number: abs(number) <= _LARGEST),
    AfterValidator(lambda number: float(f"{number:.15g}")),
]
Seed = Annotated[
    Whole,
    between(0, _LARGEST_SEED, "a whole number"),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": _LARGEST_SEED}),
]
Positive = Annotated[
    Whole,
    must_be("a whole number of at least 1", lambda number: number >= 1),
    must_be("a whole number of at most 15 digits, all that a cell holds", lambda number: number < 10**15),
    WithJsonSchema({"type": "integer", "minimum": 1}),
]
Draw = Annotated[
    Number, between(DRAW_LOW, DRAW_HIGH), WithJsonSchema({"type": "number", "minimum": DRAW_LOW, "maximum": DRAW_HIGH})
]
Flag = Annotated[Number, must_be("0 or 1", lambda number: number in (0, 1)), WithJsonSchema({"enum": [0, 1]})]
LogProb = Annotated[
    Number,
    must_be("a log-probability of at most 0", lambda number: number <= 0),
    WithJsonSchema({"type": "number", "maximum": 0}),
]
Ratio = Annotated[
    Number,
    must_be("a ratio of probabilities above 0", lambda number: number > 0),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
Title, About = _line(100), _line(255)
Token: Any = Annotated[_line(_LONGEST_WORD, minLength=1), must_be("a word of at least one character", bool)]
_NO_ERROR = must_be("a word that a spreadsheet does not take for an error", lambda text: text.upper() not in ERRORS)
Written: Any = Annotated[Token, _NO_ERROR]
Word: Any = Annotated[
    Token,
    must_be("a word without blanks", lambda text: text.split() == [text]),
    must_be(
        "a word without * ? ~, which a spreadsheet reads as patterns", lambda text: not set(text) & set(_PATTERN_SIGNS)
    ),
    _NO_ERROR,
    WithJsonSchema({"type": "string", "maxLength": _LONGEST_WORD, "pattern": r"^[^\s*?~]+$"}),
]
Prompt = Annotated[
    list[Text],
    BeforeValidator(_split),
    must_be("at least one word", bool),
    WithJsonSchema({"anyOf": [{**_SENTENCE, "pattern": r"\S"}, {**_WORDS, "minItems": 1}]}),
]
Response = Annotated[list[Text], BeforeValidator(_split), WithJsonSchema({"anyOf": [_SENTENCE, _WORDS]})]


FEW = 4
"""So many numbers are named one by one."""


def named_one_by_one(setting: Setting) -> bool:
    """Tell whether a setting has so few whole numbers that each of them is named."""
    return setting.whole and setting.high - setting.low < FEW


def of_setting(setting: Setting) -> Any:
    """Return the kind of values that a setting may have; a limit may be off."""
    if setting.words:
        words = " or ".join(f'"{each}"' for each in setting.words)
        return Annotated[Text, BeforeValidator(_checked(words, lambda value: value in setting.words))]
    if setting.whole:
        allowed = range(int(setting.low), int(setting.high) + 1)
        said = (
            " or ".join(map(str, allowed))
            if named_one_by_one(setting)
            else f"a whole number from {allowed[0]} to {allowed[-1]}"
        )
        return Annotated[Number, must_be(said, lambda number: number in allowed)]
    if not setting.limit:
        return Annotated[Number, between(setting.low, setting.high)]
    limit = between(setting.low, setting.largest, '"off", or a number')
    return Annotated[Number, limit, WrapValidator(lambda value, check: OFF if says_off(value) else check(value))]
