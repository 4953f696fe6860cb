"""One's own responses and rewards, as CSV, JSON or JSONL: read, put into groups, and written as the tables of a numbers file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs import ROWS, NumbersError, counted, name_of, refusal
from blueprint.quoting import printable, unquoted
from blueprint.workbooks.common.own_data.cells_and_tokens import (
    UNALIGNED,
    Written,
    flag_of,
    in_all,
    listed,
    number_of,
    text_of,
    within,
    written_of,
)
from blueprint.workbooks.common.own_data.table_file import (
    Record,
    asked_for,
    check_needed,
    check_there,
    choose,
    heading,
    named_in,
    records_in,
    some_cells,
    table_beside,
    told_in,
)

TABLE = table_beside(__file__)


@dataclass(frozen=True)
class Columns:
    """By what is looked for the name of its column, and how much each of the rewards counts, by column."""

    names: dict[str, str]
    weights: dict[str, float]

    @property
    def said(self) -> list[str]:
        """Says which column was taken for what, where its name is another."""
        others = {what: name for what, name in self.names.items() if what != name and what != "reward"}
        rewards = [name if weight == 1 else f"{weight:g}·{name}" for name, weight in self.weights.items()]
        read = [
            *(f"{what} = {unquoted(name)}" for what, name in others.items()),
            f"reward = {unquoted(' + '.join(rewards))}",
        ]
        return [f"columns: {', '.join(read)}"]


def columns_of(found: Sequence[str], told: Sequence[str], name: str) -> Columns:
    """Finds the columns among those that a file has. told: `what=column`, of a reward also `reward=right + 0.5*format`.

    Raises:
        NumbersError: if there is no such column, or what is needed is not among them.
    """
    names = named_in(found, TABLE.columns)
    weights = {names["reward"]: 1.0} if "reward" in names else {}
    for each in told:
        what, column = told_in(each, TABLE.columns)
        weighted = _weighted(column) if what == "reward" and column not in found else {column: 1.0}
        for one in weighted:
            check_there(one, found, each, name)
        names[what] = next(iter(weighted))
        weights = weighted if what == "reward" else weights
    check_needed(names, TABLE.needed, found, name)
    return Columns(names, weights)


def _weighted(text: str) -> dict[str, float]:
    """Reads `right + 0.5*format`: by column how much it counts."""
    found = {}
    for part in text.split("+"):
        number, times, column = part.rpartition("*")
        try:
            found[column.strip()] = float(number) if times else 1.0
        except ValueError:
            raise NumbersError(f"--column reward={unquoted(text)}: write it as right + 0.5*format.") from None
    return found


PER_RESPONSE = ("response", "tokens", "truncated", "policy", "old", "reference", "engine", "entropy")
"""What a row of a prompt has a list of, with an entry for each response."""


class Group(NamedTuple):
    """A prompt, its number in the file from 1, and the rows of its responses."""

    number: int
    prompt: str
    rows: list[Record]

    def __str__(self) -> str:
        return f"prompt {self.number} ({unquoted(self.prompt, 30)})"


def groups_in(records: Iterable[Record], columns: Columns) -> list[Group]:
    """Puts rows together that have one group, or, where there is no such column, one prompt.

    Raises:
        NumbersError: if a group has several prompts, or a row of a prompt no reward, or not as many responses as rewards.
    """
    found: dict[str, Group] = {}
    by = columns.names.get("group", columns.names.get("prompt", ""))
    for record in (each for row in records for each in _responses(row, columns)):
        key = json.dumps(record.cells.get(by), sort_keys=True, default=str)
        cell = record.cells.get(columns.names.get("prompt", by))
        prompt = text_of(listed(cell)) or f"prompt {len(found) + 1}"
        group = found.setdefault(key, Group(len(found) + 1, prompt, []))
        if group.prompt != prompt and cell:
            raise NumbersError(
                f"{record.where}: its group has the prompt {unquoted(group.prompt)}, but here stands {unquoted(prompt)}; "
                f"give each prompt a group of its own, or name another column: --column group=NAME."
            )
        group.rows.append(record)
    return list(found.values())


def _responses(record: Record, columns: Columns) -> Iterator[Record]:
    """Yields a row for each response, where one has lists of rewards and responses; else the row."""
    rewards = {name: listed(record.cells.get(name)) for name in columns.weights}
    many = next((each for each in rewards.values() if isinstance(each, list)), None)
    if many is None:
        yield record
        return
    if not many:
        raise NumbersError(
            f"{record.where}: an empty list of rewards; write one for each response, or leave the row out."
        )
    lists = {name: listed(record.cells.get(columns.names[name])) for name in PER_RESPONSE if name in columns.names}
    every = {**rewards, **{columns.names[name]: each for name, each in lists.items() if each not in (None, "")}}
    for name, each in every.items():
        if not isinstance(each, list) or len(each) != len(many):
            has = counted(len(each), "entry").replace("entrys", "entries") if isinstance(each, list) else "no list"
            raise NumbersError(
                f"{record.where}: {unquoted(name)} has {has}, but there are {len(many)} rewards; write one of each a response."
            )
    for place in range(len(many)):
        yield Record(
            f"{record.where}, response {place + 1}",
            record.cells | {name: each[place] for name, each in every.items()},
        )


def chosen(groups: Sequence[Group], asked: str | None, name: str) -> list[Group]:
    """Takes the prompts that are asked for, such as 1-3,7; without that, all.

    Raises:
        NumbersError: if there is no such prompt, groups differ in size, or there are too many responses.
    """
    wanted = [groups[number - 1] for number in asked_for(asked, len(groups))] if asked is not None else list(groups)
    sizes = Counter(len(group.rows) for group in wanted)
    size = sizes.most_common(1)[0][0]
    if len(sizes) > 1:
        odd, usual = (next(group for group in wanted if (len(group.rows) == size) == same) for same in (False, True))
        raise NumbersError(
            f"{name}: {odd} has {counted(len(odd.rows), 'response')}, {usual} has {size}; a workbook has as many for each: "
            f"{choose(group.number for group in wanted if len(group.rows) == size)}."
        )
    if size * len(wanted) > ROWS[1]:
        fitting = max(1, ROWS[1] // size)
        how = choose(group.number for group in wanted[:fitting]) if size <= ROWS[1] else "write fewer to each"
        raise NumbersError(f"{name}: {size * len(wanted):,} responses, but a workbook shows up to {ROWS[1]}: {how}.")
    return wanted


MODELS = ("policy", "old", "reference", "engine")


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
    name, records = printable(path.name), records_in(path, TABLE)
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
