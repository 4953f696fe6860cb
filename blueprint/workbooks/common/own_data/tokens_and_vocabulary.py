"""The tokens of one's own responses with the numbers beside them, how many there is room for, and the vocabulary of them all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np

from blueprint.inputs import LONGEST, NumbersError, counted, refusal
from blueprint.inputs.entries import ERRORS
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.cells import listed, numbers_of, text_of

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
        f"--most-tokens: {counted(cut, 'response')} cut to the first {most} tokens; lengths and loss are of these"
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
