"""One's own pairs and rankings, as CSV, JSON or JSONL: read, and written as the tables of a numbers file."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs import NumbersError, counted, refusal
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.cells_and_tokens import (
    END,
    Written,
    listed,
    number_of,
    plain,
    text_of,
    tokens_of,
    vocabulary_of,
    within,
)
from blueprint.workbooks.common.own_data.chosen_and_rejected import pair_of
from blueprint.workbooks.common.own_data.table_file import Record, own_file, table_beside
from blueprint.workbooks.reward_model.schema import MOST_PAIRS, MOST_RESPONSES

SIDES = ("chosen", "rejected")
Names = Mapping[str, str]
"""By what is looked for the name of its column."""


class Compared(NamedTuple):
    """A row. responses: the prompt before each, the best first; scores: of each, or none; margin: how far the two of a pair should
    be apart, 0 if nobody says.
    """

    responses: list[Written]
    scores: list[float | None]
    margin: float


def compared_of(row: Record, names: Names) -> Compared:
    """Reads a row. Raises NumbersError for what is no pair and no ranking."""
    if isinstance(listed(row.cells.get(names.get("responses", ""))), list):
        return _ranking(row, names)
    pair = pair_of(row, names)
    scores = [_number(row, names, f"score_{side}") for side in SIDES]
    responses = [_response(f"{row.where}, {side}", pair.prompt, getattr(pair, side)) for side in SIDES]
    return Compared(responses, scores, _number(row, names, "margin") or 0.0)


def _ranking(row: Record, names: Names) -> Compared:
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
    order = ranks or [-each for each in scores]
    if len(set(order)) < len(order):
        raise NumbersError(
            f"{row.where}: two responses have one {'rank' if ranks else 'score'}; give each another, or leave one out."
        )
    prompt = text_of(listed(row.cells.get(names.get("prompt", ""))))
    made = [_response(f"{row.where}, response {place}", prompt, each) for place, each in enumerate(cells, start=1)]
    best = sorted(range(len(made)), key=order.__getitem__)
    return Compared([made[at] for at in best], [scores[at] if scores else None for at in best], 0.0)


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


def _response(where: str, prompt: str, response: Any) -> Written:
    return Written(where, plain([*tokens_of(prompt), *tokens_of(response)]), {}, True)


TABLE = table_beside(__file__)
AT_THE_END = "scores: each stands after the last token, where it is read by default; 0 stands everywhere else"

MARGINS = (
    "margins: subtracted from the difference of scores, as TRL does where there is such a column (loss.margin = typed)"
)


def tables_from(
    path: Path, told: Sequence[str] = (), prompts: str | None = None, most_tokens: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Returns the tables of a numbers file of comparisons, and a line for everything one should know of them.

    told: which column is which, `what=column`. prompts: the rows to be taken, such as 1-3,7. most_tokens: of each text those that
    are kept. Raises NumbersError, with file and line, for what cannot be read so.
    """
    own = own_file(path, told, TABLE)
    rows = [compared_of(row, own.names) for row in own.chosen(prompts, MOST_RESPONSES)]
    rows.sort(key=lambda row: len(row.responses) == 2)  # pairs come behind rankings, as a numbers file counts them
    responses = [each for row in rows for each in row.responses]
    scores = [each for row in rows for each in row.scores]
    _check_few(rows, responses, scores, own.name)
    kept, cut = within(responses, most_tokens)
    texts = [  # one that was not cut ends in the end token
        [*one.tokens, END] if len(one.tokens) == len(each.tokens) else one.tokens
        for one, each in zip(kept, responses, strict=True)
    ]
    pairs, width = _pairs(rows), max(map(len, texts))
    vocabulary = vocabulary_of(texts, own.name)
    known = {each.casefold(): each for each in vocabulary}
    text = {
        "vocabulary": vocabulary,
        "end": END,
        "texts": [[known[token.casefold()] for token in row] for row in texts],
    }
    # Each score stands after the last token of its text.
    head = [
        [0.0] * (len(row) - 1) + [score] + [0.0] * (width - len(row)) for row, score in zip(texts, scores, strict=True)
    ]
    counts = f"{len(rows)} of {len(own.rows)}, {counted(len(responses), 'response')}"
    about = f"{counted(len(rows), 'comparison')} of {counted(len(responses), 'response')}, read from {own.name}."
    loss = {"loss": {"margin": "typed"}} if "margin" in pairs else {}
    said = [*own.said, f"comparisons: {counts}", *cut, AT_THE_END, *([MARGINS] if loss else [])]
    tables = own.head("scores", about) | loss
    return {**tables, "text": text, "pairs": pairs, "scores": {"head": head}}, said


def _check_few(
    rows: Sequence[Compared], responses: Sequence[Written], scores: Sequence[float | None], name: str
) -> None:
    """Checks that there is room for all. Raises NumbersError; also where a response has no score."""
    pairs = sum(len([*combinations(row.responses, 2)]) for row in rows)
    if len(responses) > MOST_RESPONSES or pairs > MOST_PAIRS:
        raise NumbersError(
            f"{name}: {len(responses)} responses in {pairs} pairs, but a workbook shows up to {MOST_RESPONSES} in {MOST_PAIRS}; "
            f"choose fewer rows with --prompts."
        )
    if lacking := next((each.where for each, score in zip(responses, scores, strict=True) if score is None), ""):
        raise NumbersError(
            f"{lacking}: there is no score; write what a reward model gave it: score_chosen and score_rejected, or scores."
        )


def _pairs(rows: Sequence[Compared]) -> dict[str, Any]:
    """Numbers responses in the order of rows: rankings, the best first, and pairs with their margins."""
    found: dict[str, list[Any]] = {"rankings": [], "chosen": [], "rejected": [], "margin": []}
    number = 1
    for row in rows:
        places = [number + place for place in range(len(row.responses))]
        number += len(places)
        if len(places) > 2:
            found["rankings"].append(places)
        else:
            found["chosen"].append(places[0])
            found["rejected"].append(places[1])
        found["margin"] += [row.margin] * len([*combinations(places, 2)])
    return {key: each for key, each in found.items() if each and any(each)}
