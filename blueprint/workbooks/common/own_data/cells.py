"""What stands in a cell: a text, a number, a list; a cell of a CSV file may hold a list as JSON."""

import json
from collections.abc import Iterable, Mapping
from math import isfinite, nan
from typing import Any
from unicodedata import category

from blueprint.inputs import refusal, shown
from blueprint.inputs.entries import ERRORS

TRUE, FALSE = ("true", "yes", "length"), ("false", "no", "stop", "eos", "eos_token", "none", "null", "")
"""Words that stand for 1 and for 0; length and stop are why a response ended."""
UNKNOWN = "?"
"""A token of which nothing is known but its log-prob."""
LONGEST = 40
"""Letters of a token that a cell shows."""


def listed(value: Any) -> Any:
    """Returns a list where a text spells one, as in CSV; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def text_of(value: Any) -> str:
    """Returns a text, of a conversation its last message, on one line."""
    match value:
        case {"content": content}:
            return text_of(content)
        case [*_, {"content": content}]:
            return text_of(content)
        case None:
            return ""
        case _:
            return " ".join("".join(" " if category(each)[0] == "C" else each for each in str(value)).split())


def tokens_of(value: Any) -> list[str]:
    """Returns the tokens of a response: the entries of a list, or what stands between blanks in a text."""
    if isinstance(value, list) and not any(isinstance(each, dict) for each in value):
        return [_token(str(each)) for each in value]
    return [_token(each) for each in text_of(value).split()]


def spelled(cells: Iterable[Any], count: int) -> list[str]:
    """Returns the tokens that stand beside so many log-probs in a cell, as OpenAI's servers write them; [] without any."""
    for found in map(listed, cells):
        each = found.get("content") if isinstance(found, dict) else found
        if (
            isinstance(each, list)
            and len(each) == count
            and all(isinstance(one, dict) and "token" in one for one in each)
        ):
            return tokens_of([one["token"] for one in each])
    return []


def _token(text: str) -> str:
    """Returns a token as a cell shows it: blanks as ␣, line ends as ↵, nothing that cannot be seen, at most 40 letters."""
    seen = text.replace("\n", "↵").replace(" ", "␣")
    seen = "".join("�" if category(each)[0] == "C" else each for each in seen) or "␣"
    seen = f"‘{seen}’" if seen.upper() in ERRORS else seen  # a spreadsheet would take it for an error of its own
    return seen if len(seen) <= LONGEST else seen[: LONGEST - 1] + "…"


def number_of(value: Any, where: str) -> float:
    """Returns a number; a flag is 1 or 0, nothing is NaN. Raises NumbersError for what is none."""
    if value is None:
        return nan
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in ("", "none", "null", "nan"):
            return nan
        value = {"true": 1.0, "false": 0.0}.get(word, value)
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise refusal(where, shown(value), "a number") from None
    if found in (float("inf"), float("-inf")):
        raise refusal(where, shown(found), "a finite number")
    return found


def flag_of(value: Any, where: str) -> float:
    """Returns 1 or 0, also of why a response ended. Raises NumbersError for anything else."""
    word = str(value).strip().casefold()
    if word in TRUE or word in FALSE:
        return float(word in TRUE)
    found = number_of(value, where)
    if found not in (0, 1):
        raise refusal(where, shown(value), "0 or 1, true or false, or length where a response was cut off")
    return found


def numbers_of(value: Any, where: str, most: float | None = None) -> list[float]:
    """Returns the numbers of a list; of log-probs as OpenAI's servers write them, those under `logprob`.

    most: what none may exceed. Raises NumbersError, with the entry, for what is no finite number.
    """
    value = listed(value)
    if isinstance(value, Mapping):
        value = value.get("content", value)
    if not isinstance(value, list):
        raise refusal(where, shown(value), "a list of numbers, one for each token")
    found = []
    for place, each in enumerate(value, start=1):
        at = f"{where}, item {place}"
        number = number_of(each.get("logprob") if isinstance(each, Mapping) else each, at)
        if not isfinite(number):
            raise refusal(at, "nothing", "a number")
        if most is not None and number > most:
            raise refusal(at, shown(number), f"at most {most:g}: the log of a probability (these may be −log p)")
        found.append(number)
    return found
