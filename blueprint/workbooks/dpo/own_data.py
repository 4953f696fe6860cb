"""One's own pairs, as CSV, JSON or JSONL: read, and written as the tables of a numbers file."""

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs import NumbersError, counted, refusal, shown
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.cells_and_tokens import (
    UNALIGNED,
    Written,
    flag_of,
    in_all,
    listed,
    number_of,
    tokens_of,
    within,
    written_of,
)
from blueprint.workbooks.common.own_data.chosen_and_rejected import Pair, pair_of
from blueprint.workbooks.common.own_data.table_file import Own, Record, heading, own_file, table_beside
from blueprint.workbooks.dpo.schema import BY_RESPONSE, MOST_PAIRS, PER

TABLE = table_beside(__file__)
SINGLE = {"response": "{}", "policy": "policy_{}", "reference": "reference_{}"}
"""What a row of a single response has, and what that is in a pair."""


def paired(own: Own) -> Own:
    """Puts rows of single responses, each good or bad, side by side: the first good one with the first bad one, and so on.

    Raises NumbersError where there is not one good for each bad one.
    """
    names, bad, good = own.names, list[Record](), list[Record]()
    for row in own.rows:
        is_good = flag_of(row.cells.get(names["label"]), f"{row.where}, {unquoted(names['label'])}")
        (good if is_good else bad).append(row)
    if len(bad) != len(good):
        raise NumbersError(
            f"{own.name}: {len(good)} good and {len(bad)} bad responses, but a workbook has as many of each; leave some rows out."
        )
    there = [what for what in SINGLE if what in names]
    called = {what for side in ("chosen", "rejected") for what in (SINGLE[each].format(side) for each in there)}
    rows = [_side_by_side(one, other, names, there) for one, other in zip(good, bad, strict=True)]
    return own._replace(rows=rows, names={each: each for each in (*called, *({"prompt"} & names.keys()))})


def _side_by_side(one: Record, other: Record, names: dict[str, str], there: Sequence[str]) -> Record:
    """Makes the row of a pair; where the two prompts differ, both stand above it."""
    sides = (("chosen", one), ("rejected", other))
    cells = {SINGLE[what].format(side): row.cells.get(names[what]) for side, row in sides for what in there}
    first, second = (row.cells.get(names.get("prompt", "")) for row in (one, other))
    prompt = first if first == second else f"{first} / {second}"
    return Record(f"{one.where} and {other.where.rpartition(', ')[2]}", cells | {"prompt": prompt})


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


KTO = "single responses: the first good one stands beside the first bad one, and so on; of the losses, kto asks for no pairs"
FIRST = "a first step, on which the policy is the reference"


def tables_from(
    path: Path, told: Sequence[str] = (), prompts: str | None = None, most_tokens: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Returns the tables of a numbers file of pairs, and a line for everything one should know of them.

    told: which column is which, `what=column`. prompts: the pairs to be taken, such as 1-3,7. most_tokens: of each response those
    that are kept. Raises NumbersError, with file and line, for what cannot be read so.
    """
    own = own_file(path, told, TABLE)
    said = own.said
    if not {"chosen", "rejected"} <= own.names.keys():
        own = paired(own)
        said.append(KTO)
    rows = own.chosen(prompts, MOST_PAIRS[1])
    per = per_of(rows, own.names)
    pairs = [both_of(row, own.names, per) for row in rows]
    written, cut = within([each for pair in pairs for each in pair.sides], most_tokens)
    logs, spoken = _of_models(written)
    unaligned = [] if all(each.aligned for each in written) else [UNALIGNED]
    said += [f"pairs: {len(rows)} of {len(own.rows)}", *unaligned, *cut, *spoken]
    headings = [heading(pair.prompt) for pair in pairs]
    if shortened := [text for text, is_cut in headings if is_cut]:
        said.append(f"prompts longer than {len(shortened[0])} letters are cut")
    rewards = [each for pair in pairs for each in pair.rewards]
    text = {"prompts": [text for text, _ in headings], **_sides([each.tokens for each in written])}
    about = f"{counted(len(pairs), 'pair')} of a chosen and a rejected response, read from {own.name}."
    head = own.head("pair-logprobs", about)
    return {**head, "per": per, "text": text, **logs, **({"rewards": _sides(rewards)} if rewards else {})}, said


def _sides(of_responses: Sequence[Any]) -> dict[str, list[Any]]:
    """Parts what each response has by sides: chosen and rejected ones stand in turn."""
    return {side: list(of_responses[place::2]) for place, side in enumerate(SIDES)}


def _of_models(written: Sequence[Written]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Returns log-probs by table, and what holds where there are none."""
    there = [model for model in MODELS if in_all(written, model)]
    tables = {model: _sides([each.numbers[model] for each in written]) for model in there}
    match there:
        case []:
            return {}, [f"no log-probs: {FIRST} and every log-ratio is 0"]
        case [only]:
            return {"policy": tables[only]}, [f"log-probs: those of {only} stand for both models: {FIRST}"]
        case _:
            return tables, []
