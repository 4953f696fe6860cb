"""What stands in a cell of one's own file: a list, a text, a number, a flag, the numbers of tokens."""

import json
import re
from collections.abc import Mapping
from math import isfinite, nan
from typing import Any
from unicodedata import category

from blueprint.inputs import refusal, shown

TRUE, FALSE = ("true", "yes", "length"), ("false", "no", "stop", "eos", "eos_token", "none", "null", "")
"""Words that stand for 1 and for 0; length and stop are why a response ended."""
SHAREGPT = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
"""Who speaks in ShareGPT's messages, {"from": …, "value": …}; as LLaMA-Factory reads them (data/README.md at 015ff25), answers and
function calls are learned."""


def listed(value: Any) -> Any:
    """Returns a list where a text spells one, as in CSV, and ShareGPT's messages as those of others; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    messages = value if isinstance(value, list) and value else [value]
    if not all(isinstance(each, dict) and {"from", "value"} <= each.keys() for each in messages):
        return value
    return [{"role": SHAREGPT.get(str(each["from"]), str(each["from"])), "content": each["value"]} for each in messages]


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


_DECIMAL = re.compile(r"[-+]?\d*\.\d+")
"""A number whose decimals stand behind a point."""


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
        pointed = value.strip().replace(",", ".", 1) if isinstance(value, str) else ""
        written = f", with a point: {pointed}" if _DECIMAL.fullmatch(pointed) else ""
        raise refusal(where, shown(value), f"a number{written}") from None
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
