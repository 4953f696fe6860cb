"""What stands in a cell of one's own file: a list, a text, a number, a flag, the numbers of tokens; the tokens of responses with
the numbers beside them, how many there is room for, and the vocabulary of them all.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, nan
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np

from blueprint.inputs import LONGEST, NumbersError, counted, refusal, shown
from blueprint.inputs.entries import ERRORS
from blueprint.quoting import unquoted

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


UNKNOWN = "?"
"""A token of which nothing is known but its log-prob."""
LONGEST_SPELLED = 40
"""Letters of a token that a cell shows."""


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
    return seen if len(seen) <= LONGEST_SPELLED else seen[: LONGEST_SPELLED - 1] + "…"


MOST_COLUMNS = 16_000
"""Cells in a row, all responses side by side: a sheet has 16,384 columns."""
UNALIGNED = "tokens: log-probs are of other tokens than what stands between blanks, which are written ? where unknown"


class Written(NamedTuple):
    """A response: its tokens, and by model the numbers of its tokens; aligned: whether the file's words are these tokens."""

    where: str
    tokens: list[str]
    numbers: dict[str, list[float]]
    aligned: bool


def written_of(
    where: str, cells: Mapping[str, Any], names: Mapping[str, str], numbers: Mapping[str, float | None]
) -> Written:
    """Reads what stands in the cells of one response, by what they hold: `response` or `tokens`, and numbers of each token.

    names: those of the columns. numbers: by what is looked for the most that one may be. Raises NumbersError, with the entry.
    """
    found = {
        what: numbers_of(cells[what], f"{where}, {unquoted(names[what])}", most)
        for what, most in numbers.items()
        if cells.get(what) not in (None, "", [])
    }
    tokens = tokens_of(listed(cells["tokens"] if cells.get("tokens") else cells.get("response")))
    counts = {len(each) for each in found.values()}
    if len(counts) > 1:
        raise refusal(where, f"lists of {' and '.join(map(str, sorted(counts)))} numbers", "one for each token in all")
    if not counts or len(tokens) in counts:
        return Written(where, tokens, found, True)
    if cells.get("tokens"):
        raise refusal(where, f"{len(tokens)} tokens and {max(counts)} log-probs", "as many of the one as of the other")
    named = spelled([cells.get(what) for what in numbers], max(counts))
    return Written(where, named or [UNKNOWN] * max(counts), found, False)


def within(written: Sequence[Written], most: int | None) -> tuple[list[Written], list[str]]:
    """Keeps the first tokens of each response, where that is asked for. Raises NumbersError for what fits no workbook."""
    longest = max(written, key=lambda each: len(each.tokens))
    room = min(LONGEST, MOST_COLUMNS // len(written) - 2)
    if most is None and len(longest.tokens) > room:
        raise NumbersError(
            f"{longest.where}: {len(longest.tokens):,} tokens, but there is room for {room} of each response; "
            f"--most-tokens 40 keeps the first 40 of each, or choose fewer prompts with --prompts."
        )
    if most is None or len(longest.tokens) <= most:
        return list(written), []
    if not 1 <= most <= room:
        raise NumbersError(f"--most-tokens {most}: write a number from 1 to {room}.")
    kept = [
        each._replace(tokens=each.tokens[:most], numbers={name: row[:most] for name, row in each.numbers.items()})
        for each in written
    ]
    cut = sum(len(each.tokens) > most for each in written)
    return kept, [
        f"--most-tokens: {counted(cut, 'response')} cut to the first {counted(most, 'token')}; lengths and loss are of these"
    ]


def in_all(written: Sequence[Written], what: str) -> bool:
    """Tells whether a file has numbers of something. Raises NumbersError where only some rows have them."""
    there = [what in each.numbers for each in written]
    if any(there) and not all(there):
        lacking = written[there.index(False)]
        raise refusal(f"{lacking.where}, {what}", "no log-probs", "some in every row that is taken, or in none")
    return all(there)


END = "<eos>"
MOST = 64
"""Tokens of a vocabulary."""
SPELLED = str.maketrans("*?~ ", "＊？～␣")
"""Signs that a spreadsheet reads as patterns, in their wide form, which it does not."""


def vocabulary_of(texts: Iterable[Sequence[str]], name: str, known: Sequence[str] = (END,)) -> list[str]:
    """Returns the tokens of texts, the end token first; or those that are known, where all are among them.

    Tokens that differ by capitals alone are one. Raises NumbersError, if they are more than a workbook holds.
    """
    found: dict[str, str] = {END: END}
    for token in (token for text in texts for token in text):
        found.setdefault(token.casefold(), token)
    there = {each.casefold() for each in known}
    if found.keys() <= there:
        return list(known)
    if len(found) > MOST:
        raise NumbersError(
            f"{name}: {len(found) - 1} different words, but a vocabulary holds {MOST - 1} and the end token; choose fewer rows "
            f"with --prompts, or keep the first words of each with --most-tokens."
        )
    return list(found.values())


def plain(tokens: Iterable[str]) -> list[str]:
    """Returns tokens as a vocabulary may hold them."""
    return [each.translate(SPELLED) for each in tokens]


def drawn(*shape: int, seed: int) -> list[list[float]]:
    """Draws weights of a model that nobody trained: normal, deviation 0.6, with one decimal."""
    return np.round(np.random.default_rng(seed).normal(0, 0.6, shape), 1).tolist()  # type: ignore[no-any-return]
