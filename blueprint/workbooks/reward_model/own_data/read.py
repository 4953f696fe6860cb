"""Rows of comparisons: a pair, or several responses with their ranks; and the scores that a reward model gave to each."""

from collections.abc import Mapping
from math import isnan
from typing import Any, NamedTuple

from blueprint.inputs import NumbersError, counted, refusal
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data import Record, Written, listed, number_of, pair_of, plain, text_of, tokens_of

SIDES = ("chosen", "rejected")
Names = Mapping[str, str]
"""By what is looked for the name of its column."""


class Response(NamedTuple):
    """A prompt with a response, as tokens, and its score, or none."""

    written: Written
    score: float | None


class Compared(NamedTuple):
    """A row: its responses, the best first, and by how much the two of a pair are meant to be apart; 0 if nobody says."""

    responses: list[Response]
    margin: float


def compared_of(row: Record, names: Names) -> Compared:
    """Reads a row. Raises NumbersError for what is no pair and no ranking."""
    if isinstance(listed(row.cells.get(names.get("responses", ""))), list):
        return Compared(_ranking(row, names), 0.0)
    pair = pair_of(row, names)
    scores = [_number(row, names, f"score_{side}") for side in SIDES]
    responses = [
        _response(f"{row.where}, {side}", pair.prompt, getattr(pair, side), score)
        for side, score in zip(SIDES, scores, strict=True)
    ]
    return Compared(responses, _number(row, names, "margin") or 0.0)


def _ranking(row: Record, names: Names) -> list[Response]:
    """Reads several responses, the best first: by their ranks, of which 1 is the best, else by their scores."""
    cells = listed(row.cells[names["responses"]])
    if len(cells) < 2:
        raise NumbersError(
            f"{row.where}: {counted(len(cells), 'response')} cannot be compared; write two or more, or leave the row out."
        )
    ranks, scores = (_list(row, names, what, len(cells)) for what in ("rank", "scores"))
    if not ranks and not scores:
        raise NumbersError(
            f"{row.where}: nothing says which response is the best; write their ranks, 1 for the best, or scores."
        )
    order = [float(each) for each in ranks] if ranks else [-each for each in scores]
    if len(set(order)) < len(order):
        raise NumbersError(
            f"{row.where}: two responses have one {'rank' if ranks else 'score'}; give each another, or leave one out."
        )
    prompt = text_of(listed(row.cells.get(names.get("prompt", ""))))
    made = [
        _response(f"{row.where}, response {place + 1}", prompt, each, scores[place] if scores else None)
        for place, each in enumerate(cells)
    ]
    return [made[place] for place in sorted(range(len(made)), key=order.__getitem__)]


def _list(row: Record, names: Names, what: str, count: int) -> list[float]:
    """Returns a number for each response, or none. Raises NumbersError where there are more or fewer."""
    if (cell := listed(row.cells.get(names.get(what, "")))) in (None, ""):
        return []
    where = f"{row.where}, {unquoted(names[what])}"
    if not isinstance(cell, list) or len(cell) != count:
        raise refusal(
            where, f"{len(cell)} numbers" if isinstance(cell, list) else "no list", f"{count}, one for each response"
        )
    found = [number_of(each, where) for each in cell]
    if any(map(isnan, found)):
        raise refusal(where, "nothing", "a number for each response")
    return found


def _number(row: Record, names: Names, what: str) -> float | None:
    """Returns the number in a column, None where there is none."""
    if what not in names:
        return None
    found = number_of(row.cells.get(names[what]), f"{row.where}, {unquoted(names[what])}")
    return None if isnan(found) else found


def _response(where: str, prompt: str, response: Any, score: float | None) -> Response:
    content = (
        response
        if isinstance(response, list) and not any(isinstance(each, dict) for each in response)
        else text_of(response)
    )
    return Response(Written(where, plain([*tokens_of(prompt), *tokens_of(content)]), {}, True), score)
