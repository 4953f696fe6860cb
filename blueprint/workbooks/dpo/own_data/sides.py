"""Both responses of a pair, with log-probs of their tokens, or of each response as a whole."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import NamedTuple

from blueprint.inputs import refusal, shown
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data import Pair, Record, Written, listed, number_of, pair_of, tokens_of, written_of
from blueprint.workbooks.dpo.offered import BY_RESPONSE, PER

SIDES, MODELS = ("chosen", "rejected"), ("policy", "reference")
Names = Mapping[str, str]
"""By what is looked for the name of its column."""


class Both(NamedTuple):
    """A pair: its prompt, the chosen and the rejected response with their numbers; and the true reward of each, or none."""

    prompt: str
    sides: tuple[Written, ...]
    rewards: tuple[float, ...]


def per_of(rows: Sequence[Record], names: Names) -> str:
    """Tells whether log-probs are of tokens or of whole responses, by the first one that is there."""
    columns = [names[f"{model}_{side}"] for model in MODELS for side in SIDES if f"{model}_{side}" in names]
    cells = (listed(row.cells.get(name)) for row in rows for name in columns)
    first: object = next((cell for cell in cells if cell not in (None, "")), [])
    return PER[0] if isinstance(first, list | dict) else BY_RESPONSE


def both_of(row: Record, names: Names, per: str) -> Both:
    """Reads what stands in a row of a pair. per: what log-probs are of. Raises NumbersError for what cannot be read so."""
    pair, made = pair_of(row, names), _whole if per == BY_RESPONSE else _of_tokens
    sides = tuple(made(row, pair, side, names) for side in SIDES)
    scored = [names[f"rewards_{side}"] for side in SIDES if f"rewards_{side}" in names]
    rewards = tuple(_reward(row, name) for name in scored) if len(scored) == len(SIDES) else ()
    return Both(pair.prompt, sides, rewards)


def _of_tokens(row: Record, pair: Pair, side: str, names: Names) -> Written:
    """Reads a response with a log-prob for each of its tokens, where there are any."""
    called = {model: names[f"{model}_{side}"] for model in MODELS if f"{model}_{side}" in names}
    cells = {model: row.cells.get(name) for model, name in called.items()} | {"response": getattr(pair, side)}
    return written_of(f"{row.where}, {side}", cells, called, dict.fromkeys(called, 0.0))


def _whole(row: Record, pair: Pair, side: str, names: Names) -> Written:
    """Reads a response with one log-prob for all of it, which stands as its only token."""
    found = {}
    for model in (each for each in MODELS if f"{each}_{side}" in names):
        name = names[f"{model}_{side}"]
        if (cell := listed(row.cells.get(name))) not in (None, ""):
            found[model] = [_logprob(cell, f"{row.where}, {unquoted(name)}")]
    text = " ".join(tokens_of(getattr(pair, side)))
    return Written(f"{row.where}, {side}", tokens_of([text]), found, True)


def _logprob(cell: object, where: str) -> float:
    if isinstance(cell, list | dict):
        raise refusal(where, "a list", "one number for each response in all rows, or a list for its tokens in all")
    number = number_of(cell, where)
    if isnan(number) or number > 0:
        raise refusal(where, shown(cell), "the log of a probability, at most 0")
    return number


def _reward(row: Record, name: str) -> float:
    where = f"{row.where}, {unquoted(name)}"
    found = number_of(row.cells.get(name), where)
    if isnan(found):
        raise refusal(where, "nothing", "a number in every row that is taken, or no such column")
    return found
