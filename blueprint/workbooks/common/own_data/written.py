"""A response of one's own: its tokens, and by model a number for each; how texts become tokens, and how many a workbook shows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blueprint.inputs import LONGEST, NumbersError, counted, refusal
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.cells import UNKNOWN, listed, numbers_of, spelled, tokens_of

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
