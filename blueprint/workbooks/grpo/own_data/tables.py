"""From a file of one's own to the tables of a numbers file, and what there is to say of the way."""

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs import counted, name_of, refusal
from blueprint.quoting import printable, unquoted
from blueprint.workbooks.common.own_data import (
    UNALIGNED,
    Record,
    Spoken,
    Written,
    flag_of,
    heading,
    in_all,
    listed,
    number_of,
    records_in,
    some_cells,
    within,
    written_of,
)
from blueprint.workbooks.grpo.own_data.columns import Columns, columns_of
from blueprint.workbooks.grpo.own_data.grouped import Group, chosen, groups_in

MODELS = ("policy", "old", "reference", "engine")
ROLLOUTS = Spoken("rollouts", "one per response, with its prompt and its reward", "the rows of a few prompts")


NUMBERS = {**dict.fromkeys(MODELS, 0.0), "entropy": None}
"""What a response has a number of for each token, and the most that one may be."""


class Response(NamedTuple):
    """A response as it was written, its reward, and whether it was cut off."""

    written: Written
    reward: float
    truncated: float


def tables_from(
    path: Path, told: Sequence[str] = (), prompts: str | None = None, most_tokens: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Returns the tables of a numbers file of responses and rewards, and a line for everything one should know of them.

    told: which column is which, `what=column`. prompts: those to be taken, such as 1-3,7. most_tokens: of each response those
    that are kept. Raises NumbersError, with file and line, for what cannot be read so.
    """
    name, records = printable(path.name), records_in(path, ROLLOUTS)
    columns = columns_of(some_cells(records), told, name)
    every = groups_in(records, columns)
    groups = chosen(every, prompts, name)
    responses = [_response(row, columns) for group in groups for row in group.rows]
    said = [*columns.said, *_taken(groups, every, responses)]
    written, cut = within([each.written for each in responses], most_tokens)
    said += cut
    logs, spoken = _of_models(written)
    titles = [heading(group.prompt) for group in groups]
    said += spoken + (
        [f"prompts longer than {len(titles[0][0])} letters are cut"] if any(cut for _, cut in titles) else []
    )
    size = len(groups[0].rows)
    about = f"{counted(size, 'response')} to each of {counted(len(groups), 'prompt')}, read from {name}."
    reward = {"scores": [each.reward for each in responses], **_greedy(groups, columns)}
    text = {
        "prompts": [title for title, _ in titles],
        "responses": [each.tokens for each in written],
        "truncated": [each.truncated for each in responses],
    }
    head = {"level": "rollouts", "title": name_of(path), "about": about[:255]}
    return {**head, "text": text, "reward": reward, **logs}, said


def _response(row: Record, columns: Columns) -> Response:
    """Reads what stands in a row of one response."""
    cells = {what: row.cells.get(name) for what, name in columns.names.items()}
    written = written_of(row.where, cells, columns.names, NUMBERS)
    cut = (
        flag_of(cells["truncated"], f"{row.where}, {unquoted(columns.names['truncated'])}")
        if "truncated" in cells
        else 0.0
    )
    return Response(written, _reward(row, columns), cut)


def _reward(row: Record, columns: Columns) -> float:
    """Adds up the rewards of a response; one of several that is missing was not given, and adds nothing."""
    found = {}
    for name, weight in columns.weights.items():
        cell, where = listed(row.cells.get(name)), f"{row.where}, {unquoted(name)}"
        parts = list(cell.values()) if isinstance(cell, dict) else [cell]
        found[name] = [weight * number_of(each, where) for each in parts]
    numbers = [each for several in found.values() for each in several if not isnan(each)]
    if not numbers:
        names = unquoted(" + ".join(columns.weights))
        raise refusal(
            f"{row.where}, {names}",
            "no number",
            "the reward of the response; leave out the rows of its prompt, or write it",
        )
    return sum(numbers)


def _taken(groups: Sequence[Group], every: Sequence[Group], responses: Sequence[Response]) -> list[str]:
    """Says what was taken, and how texts became tokens."""
    said = [
        f"groups: {counted(len(groups), 'prompt')} of {len(every)}, {counted(len(groups[0].rows), 'response')} to each"
    ]
    if len(groups[0].rows) == 1:
        said.append("one response to each prompt: a group of one has no other to be compared with")
    if not all(each.written.aligned for each in responses):
        said.append(UNALIGNED)
    return said


def _of_models(written: Sequence[Written]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Returns log-probs and entropies by table, and what stands for what. Raises NumbersError where only some rows have them."""
    tables: dict[str, dict[str, Any]] = {}
    for what in NUMBERS:
        if in_all(written, what):
            table, key = ("policy", "entropy") if what == "entropy" else (what, "logprobs")
            tables.setdefault(table, {})[key] = [each.numbers[what] for each in written]
    if "logprobs" in tables.get("policy", {}) or not tables:
        return tables, [] if tables else ["no log-probs: a first step, on which every ratio is 1"]
    stands = next((name for name in ("old", "engine", "reference") if name in tables), "")
    if not stands:
        return {}, ["entropy is left out: without log-probs nothing is compared with it"]
    tables["policy"] = {**tables.pop(stands), **tables.get("policy", {})}
    return tables, [f"log-probs of the policy in training: those of {stands} stand there, a first step"]


def _greedy(groups: Sequence[Group], columns: Columns) -> dict[str, list[float]]:
    """Returns the reward of the greedy response to each prompt, where there is a column of it."""
    if (name := columns.names.get("greedy")) is None:
        return {}
    rows = [group.rows[0] for group in groups]
    found = [number_of(row.cells.get(name), f"{row.where}, {unquoted(name)}") for row in rows]
    if any(map(isnan, found)):
        raise refusal(f"{rows[[*map(isnan, found)].index(True)].where}, {unquoted(name)}", "nothing", "a number")
    return {"greedy": found}
